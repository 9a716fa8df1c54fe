"""Every record of several captures in the order in which they are reported, and sets of them.

A set takes a bit a record, so that flows of any length can be picked. Compiled: all records pass here twice. Nothing
here looks into a record.
"""

from collections.abc import Iterable, Iterator

from mypy_extensions import i64

from pcapstall.capture.captures import Captures
from pcapstall.capture.reader import FileCursor
from pcapstall.core.frames import file_of, frame_of, frame_ref


class FrameSet:
    """Frames of several files by their references (`core.frames`)."""

    def __init__(self, refs: Iterable[int] = ()) -> None:
        self._bits: dict[int, bytearray] = {}
        self._count: i64 = 0
        self._index: i64 = -1
        """The file that was asked for last, whose bits nothing was added to since: `bytes` are read faster."""
        self._latest: bytes = b""
        self._kept: list[bytes | None] = []
        """By file, its bits as they were asked for; None since more were added. Files take turns at every record."""
        for ref in refs:
            self.add(ref)

    def add(self, ref: i64) -> None:
        """Put the frame ``ref`` into the set; it may be there already."""
        index: i64 = file_of(ref)
        bits = self._bits.setdefault(index, bytearray())
        frame: i64 = frame_of(ref)
        at: i64 = frame >> 3
        if at >= len(bits):
            bits.extend(bytes(max(at + 1, len(bits) * 9 // 8) - len(bits)))
        old: i64 = bits[at]
        new: i64 = old | (i64(1) << (frame & 7))
        if new != old:
            self._index = -1
            if index < len(self._kept):
                self._kept[index] = None
            bits[at] = new
            self._count += 1

    def has(self, ref: i64) -> bool:
        """Whether the frame ``ref`` is in the set."""
        index: i64 = file_of(ref)
        if index != self._index:
            self._latest = self._kept_of(index)
            self._index = index
        frame: i64 = frame_of(ref)
        at: i64 = frame >> 3
        bits = self._latest
        if at >= len(bits):
            return False
        return (i64(bits[at]) >> (frame & 7)) & 1 != 0

    def _kept_of(self, index: i64) -> bytes:
        """The bits of file ``index``, copied only when some were added since it was last asked for."""
        while index >= len(self._kept):
            self._kept.append(None)
        kept = self._kept[index]
        if kept is None:
            kept = bytes(self._bits.get(index, b""))
            self._kept[index] = kept
        return kept

    def __contains__(self, ref: int) -> bool:
        return self.has(ref)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        """File by file, ascending."""
        for index in sorted(self._bits):
            bits = self._bits[index]
            for at in range(len(bits)):
                byte = bits[at]
                if byte:
                    for bit in range(8):
                        if byte >> bit & 1:
                            yield frame_ref(index, at * 8 + bit)


class Records:
    """Goes from record to record: `next`, then look at the cursor that it gives. With ``wanted`` only to those."""

    def __init__(self, captures: Captures, wanted: FrameSet | None = None) -> None:
        self._captures = captures
        self._wanted = wanted
        self._cursor: FileCursor | None = None
        self.number: i64 = 0
        """Of the record, counted over all files in their order, also those that are not wanted."""

    def next(self) -> FileCursor | None:
        """The cursor of whichever file has the next record, at that record; None after the last."""
        captures, wanted = self._captures, self._wanted
        cursor = self._cursor
        number: i64 = self.number
        is_first: bool = cursor is None
        if is_first:
            cursor = captures.turn()
        while cursor is not None:
            bound_ns: i64 = captures.bound_ns
            while is_first or (cursor.next() and cursor.ts_ns <= bound_ns):
                is_first = False
                number += 1
                if wanted is None or wanted.has(cursor.ref):
                    self._cursor = cursor
                    self.number = number
                    return cursor
            cursor = captures.turn()
            is_first = True
        self._cursor = None
        self.number = number
        return None


def records(captures: Captures) -> Iterator[FileCursor]:
    """The cursor of whichever file has the next record, at that record; good until the next one is asked for."""
    found = Records(captures)
    cursor = found.next()
    while cursor is not None:
        yield cursor
        cursor = found.next()
