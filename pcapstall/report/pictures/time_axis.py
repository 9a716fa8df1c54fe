"""Where in a picture a time is: between marks that need their room, and across silences that are cut short.

The axis keeps the order of all times and is drawn as broken where a long silence is; between two anchors it is even.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from math import log2
from typing import Final, NamedTuple

from pcapstall.core.times import MS, US

_SHARE: Final = 60
"""A gap of a part in so many of the whole is a silence, if it is longer than `_SILENCE_NS`."""
_SILENCE_NS: Final = 5 * MS
_LEAST: Final = 46.0
"""How long a silence is drawn, and what is shared out among all of them by their lengths."""
_SHARED: Final = 130.0
_NEAR: Final = 24.0
"""No other gap is drawn longer."""


class Silence(NamedTuple):
    """A stretch that is drawn shorter than it was."""

    start: float
    """Where it is drawn; so is ``end``."""
    end: float
    length_ns: int


class TimeAxis:
    """Times to places."""

    def __init__(
        self, times_ns: Sequence[int], places: Sequence[float], silences: Sequence[Silence], spots: Sequence[float]
    ) -> None:
        self._times = times_ns
        self._places = places
        self.silences = silences
        self.spots = spots
        """Where each of the rooms is: those of one time may need places of their own."""

    def at(self, ns: int) -> float:
        """Where ``ns`` is; what lies beyond the ends is at them."""
        after = bisect_right(self._times, ns)
        if after == 0:
            return self._places[0]
        if after == len(self._times):
            return self._places[-1]
        before_ns, after_ns = self._times[after - 1], self._times[after]
        share = (ns - before_ns) / (after_ns - before_ns)
        return self._places[after - 1] + share * (self._places[after] - self._places[after - 1])


def is_silence(gap_ns: int, whole_ns: int) -> bool:
    """Whether so long a gap of a picture is cut short."""
    return gap_ns >= _SILENCE_NS and gap_ns * _SHARE >= whole_ns


def make_axis(rooms: Sequence[tuple[int, Sequence[tuple[str, float]]]], top: float) -> TimeAxis:
    """An axis from ``top`` on; ``rooms`` are times in order, each with the columns it needs room in, and how much.

    Two times that need no column in common may be nearer to each other than either is tall.
    """
    times: list[int] = []
    places: list[float] = []
    spots: list[float] = []
    silences: list[Silence] = []
    used: dict[str, float] = {}
    whole_ns = rooms[-1][0] - rooms[0][0] if rooms else 0
    silent_ns = sum(
        after - before for (before, _), (after, _) in pairwise(rooms) if is_silence(after - before, whole_ns)
    )
    place = top
    for ns, columns in rooms:
        needed = max((used.get(column, top) + tall / 2 for column, tall in columns), default=top)
        if times:
            gap_ns = ns - times[-1]
            if is_silence(gap_ns, whole_ns):
                long = max(_LEAST + _SHARED * gap_ns / silent_ns, needed - place)
                silences.append(Silence(place, place + long, gap_ns))
                place += long
            else:
                place = max(place + min(3 * log2(1 + gap_ns / (50 * US)), _NEAR), needed)
        else:
            place = max(place, needed)
        for column, tall in columns:
            used[column] = place + tall / 2
        spots.append(place)
        if times and times[-1] == ns:
            places[-1] = place
            continue
        times.append(ns)
        places.append(place)
    return TimeAxis(times, places, silences, spots)
