"""The head of a byte stream: put in order, each byte with the arrival of its earliest copy.

Used while a handshake is pending: segments that came too early wait here for the hole before them, and the marks say
when the byte at an offset arrived. Bounded; what TLS makes of the bytes is not known here.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

HELD_MAX: Final = 24 * 1024
"""Most bytes that wait for a hole in one stream."""
HELD_LEN: Final = 160
"""What a waiting segment takes besides its bytes, however few they are."""
LATER_MAX: Final = 8
"""Segments after a hole that the peer acknowledged, before the hole is taken for the capture's own loss."""
_MARKS_MAX: Final = 128


@mypyc_attr(acyclic=True)
class Arrival:
    """From stream offset ``offset`` on, bytes arrived at ``ns`` in frame ``ref``, in a segment with this ACK."""

    def __init__(self, offset: i64, ns: i64, ref: i64, ack_offset: i64) -> None:
        self.offset: i64 = offset
        self.ns: i64 = ns
        self.ref: i64 = ref
        self.ack_offset: i64 = ack_offset

    def copy(self) -> "Arrival":
        """The same, to keep."""
        return Arrival(self.offset, self.ns, self.ref, self.ack_offset)

    def at(self, offset: i64) -> "Arrival":
        """The same segment, for its bytes from ``offset`` on."""
        return Arrival(offset, self.ns, self.ref, self.ack_offset)


@mypyc_attr(acyclic=True)
class Held:
    """A segment's payload that waits for the bytes before it."""

    def __init__(self, arrival: Arrival, data: bytes, missing_len: i64) -> None:
        self.arrival: Arrival = arrival
        self.data: bytes = data
        self.missing_len: i64 = missing_len
        """Payload bytes after ``data`` that the snap length cut off."""


@mypyc_attr(acyclic=True)
class StreamHead:
    """Arrival marks and waiting segments of one stream."""

    def __init__(self) -> None:
        self.marks: list[Arrival] = []
        """Ascending offsets, as far as the stream was read in order."""
        self.held: list[Held] = []
        """Ascending offsets, not overlapping what was read."""
        self.held_len: i64 = 0
        """Bytes that these take."""
        self.weight: i64 = 0
        """Bytes that all of it took when it was last weighed."""
        self.later: i64 = 0
        """Segments that came after the first hole opened."""
        self.read_offset: i64 = 0
        """How far the stream was read in order before its TLS began."""
        self.prefix: bytes = b""
        """Bytes up to ``read_offset``, from ``prefix_offset`` on, while it is not known where TLS begins."""
        self.prefix_offset: i64 = 0

    def mark(self, arrival: Arrival) -> None:
        """Remember that the stream went on with ``arrival``."""
        marks = self.marks
        if len(marks) >= _MARKS_MAX:
            # The oldest but the first go: a message that begins before them takes the time of the first mark.
            del marks[1 : _MARKS_MAX // 2]
        marks.append(arrival)

    def arrival(self, offset: i64) -> Arrival:
        """The arrival of the byte at ``offset``, which must have been marked."""
        marks = self.marks
        i: i64 = len(marks) - 1
        while i > 0 and marks[i].offset > offset:
            i -= 1
        return marks[i]

    def forget_before(self, offset: i64) -> None:
        """Drop the marks that only concern bytes before ``offset``."""
        marks = self.marks
        if len(marks) <= 2:
            return
        i: i64 = len(marks) - 1
        while i > 0 and marks[i].offset > offset:
            i -= 1
        if i > 0:
            del marks[:i]

    def hold(self, held: Held) -> None:
        """Keep a segment that came too early, in order of offset: those of its bytes that do not wait already.

        Who waits came earlier, so it keeps its bytes; a segment that reaches around it is cut in pieces.
        """
        waiting = self.held
        start: i64 = held.arrival.offset
        end: i64 = start + len(held.data)
        i: i64 = self._place_of(start)
        if i > 0:
            before: i64 = waiting[i - 1].arrival.offset + len(waiting[i - 1].data)
            if before > start:
                start = before
        while start < end:
            if i == len(waiting) or waiting[i].arrival.offset >= end:
                self._insert(i, held, start, end)
                return
            after: i64 = waiting[i].arrival.offset
            if after > start:
                self._insert(i, held, start, after)
                i += 1
            start = after + len(waiting[i].data)
            i += 1

    def _place_of(self, start: i64) -> i64:
        """How many of the waiting segments begin at or before ``start``."""
        waiting = self.held
        low: i64 = 0
        high: i64 = len(waiting)
        while low < high:
            middle: i64 = (low + high) >> 1
            if waiting[middle].arrival.offset > start:
                high = middle
            else:
                low = middle + 1
        return low

    def _insert(self, i: i64, held: Held, start: i64, end: i64) -> None:
        """Let the bytes from ``start`` to ``end`` of ``held`` wait at place ``i``."""
        origin = held.arrival
        piece = held
        if start != origin.offset or end - start != len(held.data):
            missing_len: i64 = 0
            if end - origin.offset == len(held.data):
                missing_len = held.missing_len
            piece = Held(
                Arrival(start, origin.ns, origin.ref, origin.ack_offset),
                held.data[start - origin.offset : end - origin.offset],
                missing_len,
            )
        self.held.insert(i, piece)
        self.held_len += end - start + HELD_LEN

    def take(self) -> Held:
        """Remove and return the waiting segment with the lowest offset."""
        held = self.held.pop(0)
        self.held_len -= len(held.data) + HELD_LEN
        return held
