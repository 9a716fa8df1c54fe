"""Every record of several captures in the order in which they are reported, and sets of them.

A set takes a bit a record, so that flows of any length can be picked. Nothing here looks into a record.
"""

from collections.abc import Iterable, Iterator

from pcapstall.capture.captures import Captures
from pcapstall.capture.reader import FileCursor
from pcapstall.core.frames import file_of, frame_of, frame_ref


def records(captures: Captures) -> Iterator[FileCursor]:
    """The cursor of whichever file has the next record, at that record; good until the next one is asked for."""
    cursor = captures.turn()
    while cursor is not None:
        bound_ns = captures.bound_ns
        while True:
            yield cursor
            if not cursor.next() or cursor.ts_ns > bound_ns:
                break
        if cursor.has_ended() or cursor.ts_ns > captures.bound_ns:
            cursor = captures.turn()


class FrameSet:
    """Frames of several files by their references (`core.frames`)."""

    def __init__(self, refs: Iterable[int] = ()) -> None:
        self._bits: dict[int, bytearray] = {}
        self._count = 0
        for ref in refs:
            self.add(ref)

    def add(self, ref: int) -> None:
        """Put the frame ``ref`` into the set; it may be there already."""
        bits = self._bits.setdefault(int(file_of(ref)), bytearray())
        at, bit = divmod(int(frame_of(ref)), 8)
        if at >= len(bits):
            bits.extend(bytes(max(at + 1, len(bits) * 9 // 8) - len(bits)))
        if not bits[at] >> bit & 1:
            bits[at] |= 1 << bit
            self._count += 1

    def __contains__(self, ref: int) -> bool:
        bits = self._bits.get(int(file_of(ref)))
        at, bit = divmod(int(frame_of(ref)), 8)
        return bits is not None and at < len(bits) and bool(bits[at] >> bit & 1)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[int]:
        """File by file, ascending."""
        for index in sorted(self._bits):
            for at, byte in enumerate(self._bits[index]):
                if byte:
                    yield from (int(frame_ref(index, at * 8 + bit)) for bit in range(8) if byte >> bit & 1)
