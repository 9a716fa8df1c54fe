"""A logarithmic scale of durations: where each is, and the round ones that are written beside it.

Durations are nanoseconds; what is shorter than the scale is drawn at its beginning.
"""

from math import ceil, floor, log10
from typing import Final

from pcapstall.core.times import MS, SECOND, US

_LEAST_NS: Final = 10 * US


class LogScale:
    """From ``start`` (the shortest) to ``end`` (the longest) of a picture."""

    def __init__(self, shortest_ns: int, longest_ns: int, start: float, end: float) -> None:
        low = max(shortest_ns, _LEAST_NS)
        self._first = floor(log10(low))
        self._last = max(ceil(log10(max(longest_ns, low))), self._first + 1)
        self._start = start
        self._end = end

    def at(self, ns: int) -> float:
        """Where ``ns`` is."""
        share = (log10(max(ns, 1)) - self._first) / (self._last - self._first)
        return self._start + min(max(share, 0.0), 1.0) * (self._end - self._start)

    def ticks(self) -> list[tuple[float, str]]:
        """Powers of ten, each with its place: ``10 us``, ``1 ms``, ``10 s``."""
        return [(self.at(10**power), in_words(10**power)) for power in range(self._first, self._last + 1)]


def in_words(ns: int) -> str:
    """A round duration: ``100 us``, ``1 ms``, ``1000 s``."""
    for unit, name in ((SECOND, "s"), (MS, "ms"), (US, "us")):
        if ns >= unit:
            return f"{ns // unit} {name}"
    return f"{ns} ns"
