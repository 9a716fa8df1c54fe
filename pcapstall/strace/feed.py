"""Lines out of chunks: the next line of a file, without what was wrapped around it.

A chunk is cut into lines by the standard library, which costs less than looking at each byte for a line feed; only a
line that straddles two chunks is put together. What they say is not looked at.
"""

from io import BytesIO
from typing import Final

from mypy_extensions import i64

from pcapstall.core.textfile import TextStream
from pcapstall.strace.wrappers import Wrapper

MAX_LINE: Final = 4 * 1024 * 1024
"""A longer line is cut there. The longest honest ones come of -s with all of a buffer in it."""
_AT_ONCE: Final = 16 * 1024
"""Bytes of a chunk that are cut into lines at once: as many as the first cache holds beside them."""
_NEWLINE: Final = 10
_RETURN: Final = 13


class LineFeed:
    """The lines of one stream. `text` up to `end` is the one that `next` moved to."""

    def __init__(self, stream: TextStream, wrapper: Wrapper | None = None) -> None:
        self.text: bytes = b""
        self.end: i64 = 0
        """Where the line ends in `text`: before the line feed and the carriage returns before it."""
        self.number: i64 = 0
        """Lines of the file up to here."""
        self.first_number: i64 = 0
        """The number of the line, or of the first when soft breaks joined several."""
        self.soft_breaks: i64 = 0
        """Lines of the file that were joined to this one."""
        self.stamp_ns: i64 = -1
        """What the wrapper says of the line's time; -1 for nothing."""
        self._stream: TextStream = stream
        self._wrapper: Wrapper | None = wrapper
        self._chunk: BytesIO = BytesIO()
        self._lines: list[bytes] = []
        self._at: i64 = 0
        self._rest: bytes = b""
        """What follows the last line feed that was read: the beginning of a line."""
        self._again: bool = False

    def next(self) -> bool:
        """Move to the next line; False after the last."""
        if self._again:
            self._again = False
            return True
        if self._wrapper is not None:
            return self._next_wrapped(self._wrapper)
        if not self._raw_line():
            return False
        self.first_number = self.number
        return True

    def line(self) -> bytes:
        """A copy of the line."""
        return self.text[: self.end]

    def back(self) -> None:
        """Let the next `next` move to the same line again."""
        self._again = True

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()

    @property
    def trouble(self) -> str:
        """Why the stream ended before its file did; empty when it did not."""
        return self._stream.trouble

    def _raw_line(self) -> bool:
        at: i64 = self._at
        if at >= len(self._lines):
            if not self._refill():
                return False
            at = 0
        text = self._lines[at]
        self._at = at + 1
        self.number += 1
        end: i64 = len(text)
        if end > 0 and text[end - 1] == _NEWLINE:
            end -= 1
        while end > 0 and text[end - 1] == _RETURN:
            end -= 1
        self.text = text
        self.end = end
        return True

    def _refill(self) -> bool:
        """Read on until there is a whole line; what follows the last line feed waits for the next time."""
        while True:
            lines = self._chunk.readlines(_AT_ONCE)
            if not lines:
                more = self._stream.read()
                if not more:
                    self._lines = [self._rest] if self._rest else []
                    self._rest = b""
                    return len(self._lines) > 0
                self._chunk = BytesIO(more)
                continue
            if not self._rest:
                pass
            elif len(self._rest) <= MAX_LINE:
                lines[0] = self._rest + lines[0]
            elif lines[0].endswith(b"\n"):
                lines[0] = self._rest + b"\n"  # read as far as it is kept; the rest of it is passed over
            else:
                lines[0] = self._rest
            self._rest = b""
            if not lines[-1].endswith(b"\n"):
                self._rest = lines.pop()
            if lines:
                self._lines = lines
                return True

    def _next_wrapped(self, wrapper: Wrapper) -> bool:
        if not self._raw_line():
            return False
        self.first_number = self.number
        self.soft_breaks = 0
        text = wrapper.unwrap(self.line())
        self.stamp_ns = wrapper.stamp_ns
        while wrapper.wants_more and len(text) < MAX_LINE:
            wrapper.wants_more = False
            if not self._raw_line():
                break
            self.soft_breaks += 1
            text += wrapper.unwrap(self.line())
        wrapper.wants_more = False
        self.text = text
        self.end = len(text)
        return True
