"""Lines out of chunks: where the next line of a file begins and ends, without what was wrapped around it.

Lines are extents of the chunk they lie in; only one that straddles two chunks is put together. What they say is not
looked at.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.source import TextStream
from pcapstall.strace.wrappers import Wrapper

MAX_LINE: Final = 4 * 1024 * 1024
"""A longer line is cut there. The longest honest ones come of -s with all of a buffer in it."""
_NEWLINE: Final = 10
_RETURN: Final = 13


class LineFeed:
    """The lines of one stream. `text`, `start` and `end` describe the one that `next` moved to."""

    def __init__(self, stream: TextStream, wrapper: Wrapper | None = None) -> None:
        self.text: bytes = b""
        self.start: i64 = 0
        self.end: i64 = 0
        """Without the line feed and the carriage returns before it."""
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
        self._chunk: bytes = b""
        self._at: i64 = 0
        self._end: i64 = 0
        self._eof: bool = False
        self._again: bool = False

    def next(self) -> bool:
        """Move to the next line; False after the last."""
        if self._again:
            self._again = False
            return True
        if self._wrapper is not None:
            return self._next_wrapped(self._wrapper)
        if not self._find():
            return False
        self.first_number = self.number
        return True

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

    def _find(self) -> bool:
        chunk = self._chunk
        start: i64 = self._at
        at: i64 = start
        end: i64 = self._end
        while True:
            while at < end:
                if chunk[at] == _NEWLINE:
                    break
                at += 1
            if at < end:
                self._at = at + 1
                break
            if self._eof:
                if start >= end:
                    return False
                self._at = end
                break
            at -= start
            self._refill(start)
            chunk = self._chunk
            start = 0
            end = self._end
        self.number += 1
        while at > start and chunk[at - 1] == _RETURN:
            at -= 1
        self.text = chunk
        self.start = start
        self.end = at
        return True

    def _refill(self, start: i64) -> None:
        """Read on: the rest of the chunk from ``start``, and what follows it up to some line feed."""
        parts = [self._chunk[start : self._end]]
        total: i64 = len(parts[0])
        while True:
            more = self._stream.read()
            if not more:
                self._eof = True
                break
            newline: i64 = more.find(b"\n")
            if total > MAX_LINE:
                # The line is read as far as it is kept; the rest of it is passed over.
                if newline < 0:
                    continue
                more = more[newline:]
                newline = 0
            parts.append(more)
            total += len(more)
            if newline >= 0:
                break
        self._chunk = b"".join(parts)
        self._at = 0
        self._end = len(self._chunk)

    def _next_wrapped(self, wrapper: Wrapper) -> bool:
        if not self._find():
            return False
        self.first_number = self.number
        self.soft_breaks = 0
        text = wrapper.unwrap(self.text[self.start : self.end])
        self.stamp_ns = wrapper.stamp_ns
        while wrapper.wants_more and len(text) < MAX_LINE:
            wrapper.wants_more = False
            if not self._find():
                break
            self.soft_breaks += 1
            text += wrapper.unwrap(self.text[self.start : self.end])
        wrapper.wants_more = False
        self.text = text
        self.start = 0
        self.end = len(text)
        return True
