"""How many there are of something: as a sentence has it, and added up by name.

Nothing here knows what is counted.
"""

from collections.abc import Mapping
from typing import TypeVar

What = TypeVar("What")


def several(count: int, noun: str) -> str:
    """``1 segment``, ``3 segments``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def add_counts(counts: dict[What, int], more: Mapping[What, int]) -> None:
    """Add ``more`` to ``counts``, each to the one of its name."""
    for what, count in more.items():
        counts[what] = counts.get(what, 0) + count
