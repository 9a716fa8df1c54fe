"""Where a report goes: standard output or a file, looked at before anything is read.

Whatever goes wrong with it becomes one sentence; a reader that has had enough (`| head`) is no error. What is written
is not known here.
"""

import io
import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Any, BinaryIO, Final, TextIO, cast

import click

from pcapstall.core.errors import PcapstallError, UsageError
from pcapstall.core.files import files_named
from pcapstall.core.lacking import lack_of
from pcapstall.report.untrusted import printable

STDOUT: Final = "-"

_written: list[str] = []
"""What became of each output that was opened, see `what_there_is`."""
_IN_PART: Final = "what was written so far is not complete"
_WHOLE: Final = "what was written before is complete"


def say(text: str) -> None:
    """Write ``text`` to standard error; what it quotes may hold anything but the end of its own line."""
    say_plainly("\n".join(printable(line) for line in f"pcapstall: {text}".split("\n")))


def say_plainly(text: str) -> None:
    """Write ``text`` to standard error as it is.

    Where standard error is closed, full or read by nobody, there is no place left to say that.
    """
    try:
        click.echo(text, err=True)
    except OSError:
        discard(sys.stderr)


def complain(error: PcapstallError) -> None:
    """Say ``error``: wrong usage may take several lines that point at the place, everything else is one line."""
    say(str(error) if isinstance(error, UsageError) else printable(str(error)))


def what_there_is() -> str:
    """What is there of the output of a command that ends before its time: nothing, a part, or what came before."""
    return _IN_PART if _IN_PART in _written else _WHOLE if _written else "nothing was written"


def not_written(error: OSError) -> UsageError:
    """What ``error`` of standard output means, and what is there, where anything is."""
    return UsageError(f"standard output: {error.strerror}{f'; {what_there_is()}' if _written else ''}")


def forget() -> None:
    """Nothing is there of what was written: the command begins, or has removed it."""
    _written.clear()


def write_any_text() -> None:
    """Let standard output take every character, escaped where its encoding (LANG, PYTHONIOENCODING) has none."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def check(output: str | None, inputs: Sequence[str]) -> None:
    """UsageError when ``output`` cannot be written, or is one of ``inputs``: a pipe may be read for days before."""
    if output is None or output == STDOUT:
        standard_output()
        return
    if not output:
        raise UsageError("-o: the name of the file to write is empty")
    folder = os.path.dirname(output) or os.curdir
    if not os.path.isdir(folder):
        raise UsageError(f"-o {output}: there is no folder {folder}")
    if not os.path.exists(output):
        if not os.access(folder, os.W_OK):
            raise UsageError(f"-o {output}: no permission to write in {folder}")
        return
    for given in inputs:
        for path in files_named(given):
            if os.path.exists(path) and os.path.samefile(output, path):
                raise UsageError(f"-o {output}: that is an input, it would be overwritten")


def standard_output() -> TextIO:
    """Standard output; UsageError when there is none."""
    if sys.stdout is None:
        raise UsageError("standard output is closed")
    return sys.stdout


@contextmanager
def opened(output: str | None) -> Iterator[TextIO]:
    """Standard output, or the file ``output``; UsageError when it cannot be written.

    A file is there as a whole or not at all: what it held before stays until everything is written. When whoever
    reads standard output has had enough (a broken pipe), what is left of the block is not run, and that is no error.
    """
    if output is not None and output != STDOUT:
        with _named_file(output) as out:
            yield cast(TextIO, out)
        return
    standard = standard_output()
    try:
        with ExitStack() as part, _waiting(standard):
            yield cast(TextIO, _Noted(standard, lambda: part.enter_context(_in_part_until_whole())))
            standard.flush()
    except BrokenPipeError:
        discard(sys.stdout)
    except OSError as error:
        if lack_of(error):
            raise
        discard(sys.stdout)
        raise not_written(error) from error


@contextmanager
def opened_for_bytes(output: str) -> Iterator[BinaryIO]:
    """The same for bytes."""
    if output != STDOUT:
        with _named_file(output, "b") as out:
            yield cast(BinaryIO, out)
        return
    with opened(output) as text:
        yield text.buffer


class _Noted:
    """A stream that notes when the first of it is written: before that there is nothing that could be a part."""

    def __init__(self, stream: TextIO, note: Callable[[], object]) -> None:
        self._stream = stream
        self._note = note

    def write(self, text: str) -> int:
        """Write ``text``; from then on the stream does so alone."""
        self._begin()
        return self._stream.write(text)

    @property
    def buffer(self) -> BinaryIO:
        """For bytes: whoever asks for it writes."""
        self._begin()
        return self._stream.buffer

    def _begin(self) -> None:
        if "write" not in self.__dict__:
            self._note()
            self.__dict__["write"] = self._stream.write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _waiting(stream: TextIO) -> Iterator[None]:
    """Let ``stream`` wait for its reader: that it shall not is set by others who write to the same pipe."""
    try:
        waits = os.get_blocking(stream.fileno())
    except OSError:  # it is no file
        waits = True
    if waits:
        yield
        return
    os.set_blocking(stream.fileno(), True)
    try:
        yield
        stream.flush()
    finally:
        os.set_blocking(stream.fileno(), False)


@contextmanager
def _in_part_until_whole() -> Iterator[None]:
    """Note that there may be a part of an output, until the block has ended well."""
    _written.append(_IN_PART)
    yield
    _written[-1] = _WHOLE


@contextmanager
def _named_file(output: str, kind: str = "") -> Iterator[IO[str] | IO[bytes]]:
    """The file that ``-o`` names, as a whole; UsageError when it cannot be written."""
    try:
        with _whole_file(os.path.realpath(output), kind) as out:
            yield out
    except OSError as error:
        if lack_of(error):
            raise
        raise UsageError(f"-o {output}: {error.strerror}{_left_behind(output)}") from error


@contextmanager
def _whole_file(path: str, kind: str = "") -> Iterator[IO[str] | IO[bytes]]:
    """The file ``path``, written beside its place and moved there when it is complete.

    What is no regular file, has other names (hard links) or lies in a folder that takes no new file is written in
    place.
    """
    if not _may_be_replaced(path):
        with _writable(path, "w" + kind) as out, _in_part_until_whole():
            yield out
            out.flush()
        return
    beside = os.path.join(os.path.dirname(path), f".pcapstall-{os.urandom(6).hex()}.part")
    try:
        with _writable(beside, "x" + kind) as out:
            yield out
        if os.path.exists(path):
            os.chmod(beside, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(beside, path)
        _written.append(_WHOLE)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise


def _may_be_replaced(path: str) -> bool:
    if not os.access(os.path.dirname(path), os.W_OK):
        return False
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return True
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and os.access(path, os.W_OK)


def _writable(path: str, mode: str) -> IO[str] | IO[bytes]:
    if mode.endswith("b"):
        return cast(IO[bytes], open(path, mode))
    return cast(IO[str], open(path, mode, encoding="utf-8", errors="backslashreplace"))


def _left_behind(output: str) -> str:
    """What a reader of the file must know, where writing it failed."""
    in_place = os.path.isfile(output) and os.access(output, os.W_OK) and not _may_be_replaced(os.path.realpath(output))
    return "; what is there now is not complete" if in_place else ""


def discard(stream: TextIO | None) -> None:
    """What ``stream`` still holds back is not to be written any more, not even at exit."""
    with suppress(OSError):  # there may be no descriptor left for it, or be none of its own
        if stream is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
