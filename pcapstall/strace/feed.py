"""Lines out of chunks: where the next line of a file begins and ends, without what was wrapped around it.

Lines are extents of the chunk they lie in; only one that straddles two chunks is put together. What they say is not
looked at.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.textfile import TextStream
from pcapstall.strace.wrappers import Wrapper

MAX_LINE: Final = 4 * 1024 * 1024
"""A longer line is cut there. The longest honest ones come of -s with all of a buffer in it."""
_NEWLINE: Final = 10
_RETURN: Final = 13


class LineFeed:
    """The lines of one stream. `text`, `start` and, after `finish`, `end` describe the one that `next` moved to."""

    def __init__(self, stream: TextStream, wrapper: Wrapper | None = None) -> None:
        self.text: bytes = b""
        self.start: i64 = 0
        self.limit: i64 = 0
        """The line ends before this offset of `text`, at the first line feed if there is one."""
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
        """Of the whole lines in the chunk."""
        self._rest: bytes = b""
        """What follows them: the beginning of a line."""
        self._eof: bool = False
        self._again: bool = False
        self._finished: bool = True

    def next(self) -> bool:
        """Move to the next line; False after the last. The line before must have been finished."""
        if self._again:
            self._again = False
            return True
        if self._wrapper is not None:
            return self._next_wrapped(self._wrapper)
        if self._at >= self._end and not self._refill():
            return False
        self.number += 1
        self.first_number = self.number
        self.text = self._chunk
        self.start = self._at
        self.limit = self._end
        self._finished = False
        return True

    def finish(self, at: i64) -> i64:
        """The end of the line, which is at or after ``at``. Looked for once, however often it is asked for."""
        if self._finished:
            return self.end
        self._finished = True
        chunk = self._chunk
        limit: i64 = self._end
        while at < limit:
            if chunk[at] == _NEWLINE:
                break
            at += 1
        self._at = at + 1
        while at > self.start and chunk[at - 1] == _RETURN:
            at -= 1
        self.end = at
        return at

    def line(self) -> bytes:
        """A copy of the line."""
        return self.text[self.start : self.finish(self.start)]

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

    def _refill(self) -> bool:
        """Read on until there is a whole line; what follows the last line feed waits for the next time."""
        parts = [self._rest]
        total: i64 = len(self._rest)
        while not self._eof:
            more = self._stream.read()
            if not more:
                self._eof = True
                break
            newline: i64 = more.rfind(b"\n")
            if total > MAX_LINE:
                # The line is read as far as it is kept; the rest of it is passed over.
                if newline < 0:
                    continue
                more = more[more.find(b"\n") :]
                newline = more.rfind(b"\n")
            if newline >= 0:
                parts.append(more[: newline + 1])
                self._rest = more[newline + 1 :]
                break
            parts.append(more)
            total += len(more)
        else:
            self._rest = b""
        if self._eof:
            self._rest = b""
        self._chunk = b"".join(parts)
        self._at = 0
        self._end = len(self._chunk)
        return self._end > 0

    def _next_wrapped(self, wrapper: Wrapper) -> bool:
        if not self._raw_line():
            return False
        self.first_number = self.number
        self.soft_breaks = 0
        text = wrapper.unwrap(self.text[self.start : self.end])
        self.stamp_ns = wrapper.stamp_ns
        while wrapper.wants_more and len(text) < MAX_LINE:
            wrapper.wants_more = False
            if not self._raw_line():
                break
            self.soft_breaks += 1
            text += wrapper.unwrap(self.text[self.start : self.end])
        wrapper.wants_more = False
        self.text = text
        self.start = 0
        self.end = self.limit = len(text)
        return True

    def _raw_line(self) -> bool:
        if self._at >= self._end and not self._refill():
            return False
        self.number += 1
        self.text = self._chunk
        self.start = self._at
        self._finished = False
        self.finish(self._at)
        return True
