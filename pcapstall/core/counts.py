"""How many there are of something: as a sentence has it, and added up by name.

Nothing here knows what is counted.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

What = TypeVar("What")


def several(count: int, noun: str) -> str:
    """``1 segment``, ``3 segments``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def sum_known(values: Iterable[int | None]) -> int | None:
    """The sum of those that are known; None when none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def add_counts(counts: dict[What, int], more: Mapping[What, int]) -> None:
    """Add ``more`` to ``counts``, each to the one of its name."""
    for what, count in more.items():
        counts[what] = counts.get(what, 0) + count
