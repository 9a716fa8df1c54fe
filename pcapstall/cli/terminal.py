"""What is known of the terminal: whether there is one, how wide, whether it may be coloured; progress; Ctrl-C.

Everything that tells a person's screen from a pipe or a file is decided here. Nothing here knows what is shown.
"""

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, TextIO

from pcapstall.capture.captures import Captures
from pcapstall.capture.source import Stop

PROGRESS_AFTER_S: Final = 1.0
PROGRESS_EVERY_S: Final = 0.2
_CLEAR_LINE: Final = "\r\x1b[K"


def width_of(out: TextIO) -> int | None:
    """Columns of the terminal that ``out`` is; None when it is none."""
    return shutil.get_terminal_size().columns if out.isatty() else None


def may_color(out: TextIO) -> bool:
    """Whether escape sequences may be written: a terminal that knows them, and no NO_COLOR (no-color.org)."""
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Progress:
    """A line on standard error that says how far the reading is, once it takes long; only on a terminal."""

    def __init__(self) -> None:
        self._shown = False
        self._wanted = sys.stderr is not None and sys.stderr.isatty()
        self._next = time.monotonic() + PROGRESS_AFTER_S

    def __call__(self, captures: Captures) -> None:
        """Reading goes on."""
        if not self._wanted or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PROGRESS_EVERY_S
        self._shown = True
        sys.stderr.write(f"{_CLEAR_LINE}{describe(captures.bytes_read, captures.total_bytes)}")
        sys.stderr.flush()

    def clear(self) -> None:
        """The reading is over: leave no trace."""
        if self._shown:
            sys.stderr.write(_CLEAR_LINE)
            sys.stderr.flush()


def describe(bytes_read: int, total_bytes: int | None) -> str:
    """``read 812 MB of 5.2 GB, 15%``."""
    if not total_bytes:
        return f"read {_size(bytes_read)}; Ctrl-C reports what was read"
    return f"read {_size(bytes_read)} of {_size(total_bytes)}, {100 * bytes_read // total_bytes}%"


def _size(size: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            number = size / scale
            return f"{number:.1f} {unit}" if number < 100 else f"{number:.0f} {unit}"
    return f"{size} B"


@contextmanager
def ctrl_c_stops(stop: Stop) -> Iterator[None]:
    """While reading, Ctrl-C and SIGTERM end the input instead of the program; what was read is reported."""

    def throw(_number: int, _frame: FrameType | None) -> None:
        stop.throw()

    before: dict[int, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, throw)
        yield
    finally:
        for caught, handler in before.items():
            signal.signal(caught, handler)
