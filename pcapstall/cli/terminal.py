"""What is known of the terminal: whether there is one, how wide, whether it may be coloured; progress; Ctrl-C.

Everything that tells a person's screen from a pipe or a file is decided here. Nothing here knows what is shown.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, Self, TextIO

from pcapstall.capture.captures import Captures
from pcapstall.capture.source import Stop
from pcapstall.cli.stages import stages
from pcapstall.core.digits import is_decimal
from pcapstall.core.signals import asking, asks_anew, signal_name
from pcapstall.report.options import RenderOptions
from pcapstall.report.untrusted import printable, shorten

PROGRESS_AFTER_S: Final = 1.0
PROGRESS_EVERY_S: Final = 0.2
_CLEAR_LINE: Final = "\r\x1b[K"


def width_of(out: TextIO) -> int | None:
    """Columns of the terminal that ``out`` is. Where it is none: what COLUMNS asks for, as with git and ls, else None.

    Shells keep COLUMNS to themselves: it is in the environment only where somebody put it there.
    """
    if out.isatty():
        return _columns()
    asked = os.environ.get("COLUMNS", "")
    return int(asked) or None if is_decimal(asked) and len(asked) < 6 else None


def _columns() -> int:
    import shutil  # with all the archives it knows; not for a pipe

    return shutil.get_terminal_size().columns


def may_color(out: TextIO) -> bool:
    """Whether escape sequences may be written: a terminal that knows them, and no NO_COLOR (no-color.org)."""
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def look_of(out: TextIO, all_flows: bool = False) -> RenderOptions:
    """How a report is to look there."""
    encoding = (out.encoding or "").lower().replace("-", "")
    return RenderOptions(
        width=width_of(out), color=may_color(out), all_flows=all_flows, plain=not encoding.startswith("utf")
    )


class Ticker:
    """A line on standard error that says what takes so long, from one second on; only on a terminal.

    A timer's signal shows it, also while the program waits for a pipe: that is when people wonder.
    """

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._shown = False
        self._handler: Any = None

    def __enter__(self) -> Self:
        if sys.stderr is not None and sys.stderr.isatty():
            self._handler = signal.signal(signal.SIGALRM, self._tick)
            signal.setitimer(signal.ITIMER_REAL, PROGRESS_AFTER_S, PROGRESS_EVERY_S)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handler is None:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler)
        self._handler = None
        if self._shown:
            _write(_CLEAR_LINE)

    def _tick(self, _number: int, _frame: FrameType | None) -> None:
        self._shown = True
        _write(f"{_CLEAR_LINE}{shorten(printable(self._text()), max(_columns() - 1, 20))}")


class Progress(Ticker):
    """How far the reading is."""

    def __init__(self) -> None:
        super().__init__(self._describe)
        self._captures: Captures | None = None

    def __call__(self, captures: Captures) -> None:
        """``captures`` are being read."""
        self._captures = captures
        stages.read_by(self.far)

    def far(self) -> str:
        """How much was read of what, also when that is over; empty before the first of it."""
        captures = self._captures
        return _how_much(captures.bytes_read, captures.total_bytes) if captures and captures.bytes_read else ""

    def _describe(self) -> str:
        if self._captures is None or not self._captures.bytes_read:
            return "nothing has come yet; Ctrl-C ends the waiting"
        return describe(self._captures.bytes_read, self._captures.total_bytes)


def _write(text: str) -> None:
    """To standard error at once, past its buffer: a signal may come while something is being written there."""
    try:
        os.write(sys.stderr.fileno(), text.encode(sys.stderr.encoding, "backslashreplace"))
    except OSError:
        return  # the terminal is gone


def describe(bytes_read: int, total_bytes: int | None) -> str:
    """``read 812 MB of 5.2 GB, 15%``, and how a reading without an end is ended."""
    return _how_much(bytes_read, total_bytes) + ("" if total_bytes else "; Ctrl-C reports what was read")


def _how_much(bytes_read: int, total_bytes: int | None) -> str:
    if not total_bytes:
        return f"read {_size(bytes_read)}"
    return f"read {_size(bytes_read)} of {_size(total_bytes)}, {100 * bytes_read // total_bytes}%"


def _size(size: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            number = size / scale
            return f"{number:.1f} {unit}" if number < 100 else f"{number:.0f} {unit}"
    return f"{size} B"


@contextmanager
def ctrl_c_stops() -> Iterator[Stop]:
    """While reading, Ctrl-C and SIGTERM throw the switch instead of ending the program; what was read is reported.

    So do SIGHUP, where it is not ignored, and SIGXCPU (`core.signals`). What cannot ask the switch is ended by
    KeyboardInterrupt, see `capture.interrupting`.
    """
    stop = Stop()

    def throw(number: int, _frame: FrameType | None) -> None:
        if not asks_anew(number):
            return
        stop.throw(signal_name(number))
        if 0 < stop.interrupts_at <= stop.count:
            raise KeyboardInterrupt(stop.by)

    before: dict[int, Any] = {}
    try:
        for number in asking():
            before[number] = signal.signal(number, throw)
        yield stop
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)
        stop.close()
