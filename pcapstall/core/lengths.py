"""Very many lengths of time in 8 bytes each, and which of them has a rank: found without sorting all of them.

Compiled: a list would hold an object for each number, and to sort a million of those takes as long as to read a
capture of as many packets. Whose lengths they are is not known here.
"""

import sys
from array import array
from collections.abc import Iterable
from typing import Final

from librt.vecs import append, extend, vec
from mypy_extensions import i64, mypyc_attr

from pcapstall.core.vecs import lengthened

_PARTS_MAX: Final = 64
"""Divisions before everything is sorted after all: twice as many as any lengths need that nobody has arranged."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Column:
    """Lengths that somebody else holds in another form, until they are asked for."""

    def __init__(self, count: i64) -> None:
        self.count: i64 = count
        """How many they are."""

    def write(self, values: vec[i64], start: i64) -> None:
        """Put them at ``values[start]`` and behind it."""
        raise NotImplementedError


class Lengths:
    """Lengths in nanoseconds, in no order."""

    def __init__(self, values: Iterable[int] = ()) -> None:
        self._values: vec[i64] = vec[i64](values)
        self._columns: list[Column] = []
        """More of them."""
        self._in_columns: i64 = 0
        """How many these are."""
        self._divided_at: i64 = 0
        """None before this place is longer than any from it on,"""
        self._divided: i64 = 0
        """as long as there are so many."""

    def append(self, length: i64) -> None:
        """One more."""
        self._values = append(self._values, length)

    def absorb(self, other: "Lengths") -> None:
        """All of ``other``'s as well."""
        self._values = extend(self._values, other._values)
        for column in other._columns:
            self.absorb_column(column)

    def absorb_column(self, column: Column) -> None:
        """All in ``column`` as well."""
        if column.count > 0:
            self._columns.append(column)
            self._in_columns += column.count

    def packed(self) -> memoryview:
        """All of them as they lie in memory, in eight bytes each; `unpacked` is the inverse."""
        self._write_columns()
        return memoryview(self._values)

    def __len__(self) -> int:
        return len(self._values) + self._in_columns

    def values(self) -> list[int]:
        """All of them."""
        self._write_columns()
        return list(self._values)

    def longest(self) -> int:
        """The longest; there must be one."""
        self._write_columns()
        values = self._values
        at: i64 = self._division()
        found: i64 = values[at]
        while at < len(values):
            if values[at] > found:
                found = values[at]
            at += 1
        return found

    def of_rank(self, rank: i64) -> int:
        """The one that is in place ``rank`` when all are sorted, counted from 1; they change their places for it.

        IndexError when there is no such place.
        """
        self._write_columns()
        values = self._values
        if rank < 1 or rank > len(values):
            raise IndexError(f"no rank {rank} among {len(values)} lengths")
        low: i64 = 0
        high: i64 = len(values) - 1
        wanted: i64 = rank - 1
        division: i64 = self._division()
        if wanted >= division:
            low = division
        else:
            high = division - 1
        self._divided_at = wanted
        self._divided = len(values)
        parts: i64 = 0
        while low < high:
            parts += 1
            if parts > _PARTS_MAX:
                self._values = vec[i64](sorted(values))
                return self._values[wanted]
            # C. A. R. Hoare, Algorithm 65 "Find": what is shorter than one of them to the left, the others right.
            pivot: i64 = values[(low + high) >> 1]
            left: i64 = low
            right: i64 = high
            while left <= right:
                while values[left] < pivot:
                    left += 1
                while values[right] > pivot:
                    right -= 1
                if left <= right:
                    value: i64 = values[left]
                    values[left] = values[right]
                    values[right] = value
                    left += 1
                    right -= 1
            if wanted <= right:
                high = right
            elif wanted >= left:
                low = left
            else:
                break
        return values[wanted]

    def _division(self) -> i64:
        """A place that none before it belongs behind."""
        if self._divided == len(self._values):
            return self._divided_at
        return 0

    def _write_columns(self) -> None:
        """Somebody asks for the values."""
        if self._in_columns == 0:
            return
        start: i64 = len(self._values)
        values = lengthened(self._values, self._in_columns)
        for column in self._columns:
            column.write(values, start)
            start += column.count
        self._values = values
        self._columns = []
        self._in_columns = 0


def unpacked(packed: bytes | bytearray | memoryview, byteorder: str) -> Lengths:
    """What `Lengths.packed` has given on a machine of that byte order."""
    found = Lengths()
    if byteorder == sys.byteorder:
        found._values = vec[i64](memoryview(packed).cast("q"))
    else:
        values = array("q", bytes(packed))
        values.byteswap()
        found._values = vec[i64](values)
    return found
