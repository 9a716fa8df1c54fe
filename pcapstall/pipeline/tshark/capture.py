"""Runs tshark over a capture through pyshark, and turns everything that can go wrong with that into one sentence.

pyshark is imported here and in `pdml`, and these only by what asks for a second opinion. The event loop is our
own and closed again, tshark never outlives it. What the packets mean is not known here.
"""

import asyncio
import contextlib
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyshark
from pyshark.capture.capture import TSharkCrashException

from pcapstall.core.counts import several
from pcapstall.core.signals import asking, asks_anew, signal_name
from pcapstall.pipeline.tshark.pdml import JunkError, Pdml, SilenceError
from pcapstall.pipeline.tshark.program import Tshark, TsharkError, kill_group

_DAMAGED: Final = re.compile(r"cut short|damaged|corrupt", re.IGNORECASE)
_NO_COMPLAINT: Final = re.compile(r"Running as user .* could be dangerous|^\s*$")
_STDERR_KEPT: Final = 8192
_READ_AWAY_LEN: Final = 1 << 16
_LAST_WORDS_S: Final = 2.0
"""How long to wait for what a killed tshark had printed, and for its end."""
_LEAKS: Final = (
    TSharkCrashException,
    SyntaxError,  # lxml.etree.XMLSyntaxError is one
    AttributeError,
    IndexError,
    KeyError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What pyshark lets through when tshark's output is not what it expects."""


class _Capture(pyshark.FileCapture):  # type: ignore[misc]
    """pyshark's FileCapture that lets tshark end by itself and remembers how it did."""

    def __init__(self, path: str, tshark: str, parser: Pdml, patience_s: float, **options: Any) -> None:
        super().__init__(path, keep_packets=False, **options)
        self._tshark = tshark
        self.parser = parser
        self._patience_s = patience_s
        self.returncode: int | None = None
        """How tshark ended; None when it was killed."""
        self.stderr = b""
        self._killed = False
        self._started = False
        """Whether tshark runs."""

    def _get_tshark_path(self) -> str:
        # pyshark would first look into a config.ini in the working directory, whoever put it there.
        return self._tshark

    def _setup_tshark_output_parser(self) -> Pdml:
        return self.parser

    async def _get_tshark_process(self, packet_count: int | None = None, stdin: Any = None) -> Any:
        # As pyshark does, but in a group of its own: a wrapper's tshark, too, is ended with it.
        parameters = [self._tshark, "-l", "-n", "-T", "pdml", *self.get_parameters(packet_count=packet_count)]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *parameters, stdin=stdin, stdout=pipe, stderr=pipe, start_new_session=True
        )
        self._create_stderr_handling_task(process.stderr)
        self._created_new_process(parameters, process)
        return process

    def _created_new_process(self, parameters: list[str], process: Any, process_name: str = "TShark") -> None:
        # pyshark would call it a crash when tshark is quick to say what is wrong.
        self._running_processes.add(process)
        self._started = True
        if self.parser.cancelled:
            self.cancel()

    async def _handle_process_stderr_forever(self, stderr: Any) -> None:
        while chunk := await stderr.read(4096):
            # What is wrong stands first (lists of what would be right may follow), a damaged file is found at the end.
            self.stderr += chunk
            if len(self.stderr) > _STDERR_KEPT:
                self.stderr = self.stderr[: _STDERR_KEPT // 2] + b"\n" + self.stderr[-_STDERR_KEPT // 2 :]

    def cancel(self) -> None:
        """Cancel whatever is being waited for, but not what tshark has to say to it."""
        self.parser.cancelled = True
        if not self._started:
            # asyncio waits without end for a process whose start was cancelled before its pipes were open.
            return
        for task in asyncio.all_tasks(self.eventloop) - set(self._stderr_handling_tasks):
            task.cancel()

    async def _cleanup_subprocess(self, process: Any) -> None:
        if process.returncode is None and self._eof_reached:
            # At the end of its output tshark is about to exit: its code says whether it was the end.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), self._patience_s)
        if process.returncode is None:
            self._killed = True
            kill_group(process.pid)
            with contextlib.suppress(TimeoutError):
                # asyncio waits for the end of the pipes, too, and stops reading one that holds enough.
                await asyncio.wait_for(_read_away(process.stdout), _LAST_WORDS_S)
                await asyncio.wait_for(process.wait(), _LAST_WORDS_S)
        elif not self._killed:
            self.returncode = process.returncode
        if self._stderr_handling_tasks:
            _, waiting = await asyncio.wait(self._stderr_handling_tasks, timeout=_LAST_WORDS_S)
            if waiting:  # what tshark has started goes on without it
                kill_group(process.pid)


async def _read_away(pipe: Any) -> None:
    while await pipe.read(_READ_AWAY_LEN):
        pass


@contextlib.contextmanager
def _interruptible(loop: asyncio.AbstractEventLoop, capture: _Capture) -> Iterator[None]:
    """KeyboardInterrupt for SIGINT and its like, but never in the midst of asyncio's own work: tshark would stay."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted = 0

    def interrupt(number: int) -> None:
        nonlocal interrupted
        if asks_anew(number) and not interrupted:
            interrupted = number
            capture.cancel()

    before = {number: signal.getsignal(number) for number in asking()}
    for number in before:
        loop.add_signal_handler(number, interrupt, number)
    try:
        yield
    except asyncio.CancelledError:
        if not interrupted:
            raise
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)
    if interrupted:
        raise KeyboardInterrupt(signal_name(interrupted))


class Question(NamedTuple):
    """What tshark is asked."""

    display_filter: str
    protocols: Sequence[str]
    """Their layers are printed, the others' names alone."""
    fields: Sequence[str]
    """The leaves of those layers that are of interest."""
    preferences: Mapping[str, str]
    decode_as: Sequence[str] = ()
    """``udp.port==8472,vxlan``."""

    def arguments(self) -> list[str]:
        """tshark's. The filter is among them, for pyshark would run `tshark -v` to know how to pass it."""
        arguments = ["-J", " ".join(self.protocols), "-Y", self.display_filter]
        for rule in self.decode_as:
            arguments += ["-d", rule]
        for name, value in self.preferences.items():
            arguments += ["-o", f"{name}:{value}"]
        return arguments


class TsharkRun:
    """One reading of one file."""

    def __init__(self, tshark: Tshark, path: str, question: Question, silence_s: float) -> None:
        self.warning = ""
        """Where tshark found the file damaged; empty when it did not."""
        self._tshark = tshark
        self._path = path
        self._question = question
        self._silence_s = silence_s
        """How long tshark may print nothing."""

    def feed(self, take: Callable[[Any], None]) -> None:
        """Hand pyshark's packets to ``take``, one after the other. TsharkError when it cannot be done.

        Whatever ``take`` raises, and Ctrl-C, comes through; tshark is gone by then.
        """
        count = 0
        parser = Pdml(self._silence_s, self._question.fields)
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            capture = self._open(parser, runner.get_loop())
            packets = iter(capture)
            with _interruptible(runner.get_loop(), capture):
                try:
                    while (packet := self._next(packets, count)) is not None:
                        count += 1
                        take(packet)
                finally:
                    packets.close()
                    capture.close()
        self._judge_end(capture, count)

    def _open(self, parser: Pdml, loop: asyncio.AbstractEventLoop) -> _Capture:
        arguments = self._question.arguments()
        try:
            return _Capture(
                self._path, self._tshark.path, parser, self._silence_s, eventloop=loop, custom_parameters=arguments
            )
        except OSError as error:  # the file was there a moment ago
            raise self._error(f"cannot be asked: {error.strerror or error}") from None

    def _next(self, packets: Iterator[Any], count: int) -> Any:
        try:
            return next(packets, None)
        except SilenceError:
            raise self._error(f"printed nothing for {self._silence_s:g} s and was ended") from None
        except JunkError:
            raise self._error(f"printed something else than PDML after {several(count, 'packet')}") from None
        except OSError as error:
            raise self._error(f"could not be run: {error.strerror or error}") from None
        except _LEAKS as error:
            after = several(count, "packet")
            raise self._error(f"printed what pyshark cannot read after {after} ({error!r})") from None

    def _judge_end(self, capture: _Capture, count: int) -> None:
        returncode = capture.returncode
        if returncode == 0:
            if not capture.parser.ended:
                raise self._error(f"ended in the middle of its output, after {several(count, 'packet')}")
            return
        said = self._complaint(capture.stderr.decode(errors="replace"))
        if returncode is None:
            raise self._error(f"closed its output after {several(count, 'packet')} and did not end")
        if returncode < 0:
            raise self._error(f"crashed ({signal_name(-returncode)}) after {several(count, 'packet')}")
        if not _DAMAGED.search(said):
            raise self._error(said or f"ended with exit status {returncode} after {several(count, 'packet')}")
        self.warning = said

    def _complaint(self, stderr: str) -> str:
        """What is wrong, and the reason that tshark gives in parentheses on the next line."""
        lines = [line.strip() for line in stderr.splitlines() if not _NO_COMPLAINT.search(line)]
        at = next((at for at, line in enumerate(lines) if _DAMAGED.search(line)), 0)
        said = [line for place, line in enumerate(lines[at : at + 2]) if place == 0 or line.startswith("(")]
        text = " ".join(line.rstrip(".") for line in said).removeprefix("tshark: ")
        return text.replace(f'The file "{self._path}"', "the file")

    def _error(self, what: str) -> TsharkError:
        return TsharkError(f"{self._path}: tshark {self._tshark.version}: {what}")
