"""`pcapstall verify`: the same measures by tshark beside ours, and where the two readings differ.

Checks its arguments and tshark before anything is read. How tshark is asked and what is compared is the pipeline's.
"""

import itertools
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from pcapstall.capture.source import STDIN, Stop
from pcapstall.cli import destination, options, terminal
from pcapstall.cli.inputs import check_read_twice
from pcapstall.cli.main import CONDITION_HOLDS, OK, UNREADABLE_INPUT
from pcapstall.cli.stages import stages
from pcapstall.core.errors import InputError, PcapstallError, UsageError
from pcapstall.core.files import files_named
from pcapstall.core.times import SECOND, parse_duration
from pcapstall.report.comparison_model import FileComparison
from pcapstall.report.to_comparison import FORMATS

if TYPE_CHECKING:
    from pcapstall.pipeline.tshark.second_opinion import SecondOpinion


@click.command("verify")
@options.captures_argument
@click.option(
    "-f",
    "--format",
    "wanted",
    type=click.Choice(FORMATS),
    default="table",
    help="How to show it. [default: what the name of -o ends with (.md, .json), else table]",
)
@options.output_option
@click.option("--all", "everything", is_flag=True, help="Show every value of every flow, not only the differences.")
@click.option(
    "--keylog",
    type=click.Path(exists=True, dir_okay=False, readable=True),
    metavar="FILE",
    help="Secrets that a TLS program wrote (SSLKEYLOGFILE): tshark decrypts with them, and what that adds is shown.",
)
@click.option(
    "-d",
    "--decode-as",
    multiple=True,
    metavar="RULE",
    help="Handed to tshark, which reads some tunnels and protocols only on their own ports: udp.port==4000,vxlan.",
)
@click.option(
    "--timeout",
    metavar="TIME",
    help="Give tshark up when it prints nothing for TIME. [default: 30 s and 1 s for every 2 MB of the file]",
)
def command(
    captures: tuple[str, ...],
    wanted: str,
    output: str | None,
    everything: bool,
    keylog: str | None,
    decode_as: tuple[str, ...],
    timeout: str | None,
) -> int:
    """Read CAPTURE with tshark, too, and list where the two readings differ.

    Compared, flow by flow: endpoints, SNI, TLS version, alerts, and the frames and times of SYN, SYN-ACK, ACK,
    ClientHello, ServerHello, FIN and RST. A difference whose reason is known is listed with it. Flows that pcapstall
    cannot read, such as those of an unknown link type, are measured by tshark alone.

    CAPTURE is a file, for it is read twice. Each is compared by itself, as tshark counts frames by file.

    Exit status: 0 all values are the same, or differ for a known reason; 1 a difference is unexplained;
    2 wrong usage; 3 pcapstall or tshark cannot read a file at all, or there is no tshark.
    """
    wanted = options.chosen_format(wanted, output)
    if wanted not in FORMATS:
        raise UsageError(f"-f {wanted}: verify has {', '.join(FORMATS)}")
    silence_s = _patience(timeout)
    paths = _files(captures)
    destination.check(output, [*paths, keylog] if keylog is not None else paths)
    _check_folder()
    stages("comparing")
    with _ends_are_heard():
        # pyshark takes a quarter of a second to import; --help and wrong usage need not wait for it.
        from pcapstall.pipeline.tshark.second_opinion import SecondOpinion

        opinion = SecondOpinion(keylog, decode_as, silence_s)
        work = _Work(paths, opinion)
        _show(work, opinion, wanted, output, everything)
    if work.interrupt is not None:
        raise work.interrupt
    if work.failed:
        return UNREADABLE_INPUT
    return CONDITION_HOLDS if work.unexplained else OK


PATIENCE_MAX_NS: Final = 365 * 86_400 * SECOND
"""Longer than anybody waits, and still a number that a clock takes."""


def _patience(timeout: str | None) -> float | None:
    if timeout is None:
        return None
    try:
        silence_ns = parse_duration(timeout)
    except ValueError as error:
        raise UsageError(f"--timeout: {error}") from error
    if silence_ns <= 0:
        raise UsageError(f"--timeout {timeout}: it must be longer than nothing")
    return min(silence_ns, PATIENCE_MAX_NS) / SECOND


def _files(captures: tuple[str, ...]) -> list[str]:
    """The files named, patterns expanded; UsageError for a pipe, InputError when a name stands for nothing."""
    paths: list[str] = []
    for capture in captures:
        if capture in STDIN:
            check_read_twice(capture)
        found = files_named(capture)
        if not found:
            raise InputError(capture, "there is no such file")
        paths += [path for path in found if path not in paths]
    for path in paths:
        check_read_twice(path)
        if not stat.S_ISREG(_mode(path)):
            raise InputError(path, "is not a file")
    return paths


def _check_folder() -> None:
    """UsageError where the folder that it runs in was removed: pyshark looks there when it is loaded."""
    try:
        os.getcwd()
    except OSError as error:
        raise UsageError(
            f"the folder that this runs in cannot be found ({error.strerror}): cd to another one"
        ) from error


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except OSError as error:
        raise InputError(path, error.strerror or "cannot be read") from error


class _Work:
    """The comparisons, each made when it is asked for. Ctrl-C is their end, so that what is done can be shown."""

    def __init__(self, paths: list[str], opinion: "SecondOpinion") -> None:
        self._paths = paths
        self._opinion = opinion
        self.unexplained = False
        """Whether a difference is."""
        self.failed = False
        """Whether a file could not be read by either."""
        self.interrupt: KeyboardInterrupt | None = None

    def __iter__(self) -> Iterator[FileComparison]:
        for path in self._paths:
            try:
                file = self._compared(path)
            except KeyboardInterrupt as interrupt:
                self.interrupt = interrupt
                return
            if file is not None:
                self.unexplained |= any(value.why is None for flow in file.flows for value in flow.differences)
                yield file

    def _compared(self, path: str) -> FileComparison | None:
        from pcapstall.pipeline.tshark.verify import verify_file

        stop = Stop()
        try:
            with terminal.Ticker(f"tshark reads {path}".__str__):
                file, unread = verify_file(path, self._opinion, stop)
        except PcapstallError as error:
            destination.complain(error)
            self.failed = True
            return None
        finally:
            stop.close()
        if unread is not None:
            destination.complain(unread)
            self.failed = True
        return file


def _show(work: _Work, opinion: "SecondOpinion", wanted: str, output: str | None, everything: bool) -> None:
    """Write each file's lines when it is done: hundreds of files take hours. Nothing when there is none."""
    from pcapstall.pipeline.tshark.verify import comparison
    from pcapstall.report.to_comparison import render

    files = iter(work)
    first = next(files, None)
    if first is None:
        return
    with destination.opened(output) as out:

        def written() -> Iterator[FileComparison]:
            for file in itertools.chain([first], files):
                yield file
                out.flush()

        look = terminal.look_of(out, everything)
        render(comparison(written(), opinion), out, wanted, look)


@contextmanager
def _ends_are_heard() -> Iterator[None]:
    """The end of each tshark is told to this process."""
    # Where it is ignored, which is inherited, nobody is told how a tshark has ended.
    children_before = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, children_before)
