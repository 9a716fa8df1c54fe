"""Bytes of a half-flow that were jumped over and may still come: a short list of holes in its sequence space.

Only bytes in a hole are new when they come late; anything else below the highest offset was seen before. Bounded: the
oldest hole is given up when there are too many. The bytes themselves are not here.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

HOLES_MAX: Final = 32
"""Holes remembered of one half-flow."""


@mypyc_attr(acyclic=True)
class Hole:
    """Offsets ``start`` to ``end`` (one past the last) have not been seen."""

    def __init__(self, start: i64, end: i64) -> None:
        self.start: i64 = start
        self.end: i64 = end


def add_hole(holes: list[Hole] | None, start: i64, end: i64) -> list[Hole]:
    """Note that ``start`` to ``end`` were jumped over; returns the list, made if there was none."""
    if holes is None:
        holes = []
    elif len(holes) >= HOLES_MAX:
        holes.pop(0)
    holes.append(Hole(start, end))
    return holes


def fill(holes: list[Hole], start: i64, end: i64) -> i64:
    """Take ``start`` to ``end`` out of the holes; returns how many of these bytes were missing."""
    filled: i64 = 0
    at: i64 = 0
    while at < len(holes):
        hole = holes[at]
        low: i64 = start
        if hole.start > low:
            low = hole.start
        high: i64 = end
        if hole.end < high:
            high = hole.end
        if low >= high:
            at += 1
            continue
        filled += high - low
        if low == hole.start and high == hole.end:
            del holes[at]
            continue
        if low == hole.start:
            hole.start = high
        elif high == hole.end:
            hole.end = low
        else:
            holes.insert(at + 1, Hole(high, hole.end))
            hole.end = low
        at += 1
    return filled


def has_hole_before(holes: list[Hole] | None, offset: i64) -> bool:
    """Whether a byte below ``offset`` was jumped over and has not come."""
    return holes is not None and any(hole.start < offset for hole in holes)
