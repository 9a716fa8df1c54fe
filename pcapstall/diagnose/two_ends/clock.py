"""How the clock at the server stands to the clock at the client: bounds, never an average.

A packet cannot arrive before it left. Each packet to the server says that the offset is at most its arrival there less
its departure here, each packet back that it is at least so much (Cristian 1989). All bounds must hold at once, for
some line of time with a drift that clocks can have; when none fits, no offset is claimed.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

DRIFT_MAX_PPB: Final = 100_000
"""Clocks that differ in rate by more than 100 ppm are not two clocks of hosts: one of them was set."""
DRIFT_SHOWS_NS: Final = 60_000_000_000
"""In less time the bounds of a few packets would fit any rate."""
STAMP_NS: Final = 1_000
"""What a stamp may be off by itself: most captures have microseconds, cut off."""
_BILLION: Final = 1_000_000_000


class Sample(NamedTuple):
    """One packet at both ends."""

    client_ns: int
    server_ns: int
    to_server: bool

    @property
    def bound_ns(self) -> int:
        """The offset is at most this, for a packet to the server; at least this, for one back."""
        return self.server_ns - self.client_ns


class _Bounds(NamedTuple):
    """What samples say of the offset, as points of time and offset: of each side only those that can bound a line."""

    origin_ns: int
    """Client time that all are told from."""
    uppers: tuple[tuple[int, int], ...]
    lowers: tuple[tuple[int, int], ...]

    @property
    def are_of_both_ways(self) -> bool:
        """Whether each direction has a sample."""
        return bool(self.uppers and self.lowers)

    def least_upper(self, drift_ppb: int) -> int:
        """The highest line of this rate that no sample contradicts, where it is at the origin."""
        return min(bound - at * drift_ppb // _BILLION for at, bound in self.uppers)

    def most_lower(self, drift_ppb: int) -> int:
        """The lowest one."""
        return max(bound - at * drift_ppb // _BILLION for at, bound in self.lowers)

    def margin(self, drift_ppb: int) -> int:
        """How much room they leave for a line of this rate; negative when none fits."""
        return self.least_upper(drift_ppb) - self.most_lower(drift_ppb)

    def best_drift(self) -> int:
        """The rate with the most room."""
        return _argmax(self.margin, -DRIFT_MAX_PPB, DRIFT_MAX_PPB)


class Clock(NamedTuple):
    """The line that lies midway between all bounds, and how far another one that fits may lie from it."""

    origin_ns: int
    """Client time that the line is told from."""
    offset_ns: int
    """What to add to the client's clock there to have the server's."""
    drift_ppb: int
    """How much faster the server's clock runs: nanoseconds a second. 0 as long as the bounds leave room for that."""
    fastest_ns: int
    """The fastest way there and the fastest way back, together: no packet was faster."""
    samples: int
    bounds: _Bounds
    drifts: tuple[int, int]
    """The rates of all lines that fit lie between these."""

    def offset_at(self, client_ns: int) -> int:
        """What to add to the client's time to have the server's."""
        return self.offset_ns + (client_ns - self.origin_ns) * self.drift_ppb // _BILLION

    def mapped(self, ns: int, of_client: bool, for_client: bool) -> int:
        """A stamp of one end, by the clock of that end or of the other."""
        if of_client == for_client:
            return ns
        return self.to_server(ns) if of_client else self.to_client(ns)

    def to_server(self, client_ns: int) -> int:
        """Client time as the server's clock has it."""
        return client_ns + self.offset_at(client_ns)

    def to_client(self, server_ns: int) -> int:
        """Server time as the client's clock has it."""
        guess = server_ns - self.offset_ns
        return server_ns - self.offset_at(server_ns - self.offset_at(guess))

    def error_at(self, client_ns: int) -> int:
        """How far the true offset may be from `offset_at`, at most, if no clock was set and drift is within
        `DRIFT_MAX_PPB`."""
        at = client_ns - self.origin_ns
        low, high = self.drifts
        highest = _largest(lambda drift: self.bounds.least_upper(drift) + at * drift // _BILLION, low, high)
        lowest = -_largest(lambda drift: -self.bounds.most_lower(drift) - at * drift // _BILLION, low, high)
        offset = self.offset_at(client_ns)
        return max(highest - offset, offset - lowest, self.fastest_ns // 2)

    def above_fastest(self, sample: Sample) -> int:
        """How much longer than the fastest one of its direction this packet was on its way."""
        rest = sample.bound_ns - self.offset_at(sample.client_ns)
        return max(0, (rest if sample.to_server else -rest) - self.fastest_ns // 2)


def clock_of(samples: Iterable[Sample]) -> Clock | None:
    """The clock that all samples fit; None when none does, or when one direction has no sample."""
    found = list(samples)
    bounds = _bounds_of(found)
    if not bounds.are_of_both_ways:
        return None
    margin, best = bounds.margin, bounds.best_drift()
    if margin(best) < 0:
        return None
    drifts = _edge(margin, best, -DRIFT_MAX_PPB), _edge(margin, best, DRIFT_MAX_PPB)
    times = [at for at, _ in (*bounds.uppers, *bounds.lowers)]
    lasts = max(times) - min(times) >= DRIFT_SHOWS_NS
    drift = 0 if margin(0) >= 0 and (not lasts or 2 * margin(0) >= margin(best)) else best
    middle = (bounds.least_upper(drift) + bounds.most_lower(drift)) // 2
    return Clock(bounds.origin_ns, middle, drift, margin(drift), len(found), bounds, drifts)


def misfit_ns(samples: Iterable[Sample]) -> int:
    """By how much samples contradict every clock, at least; 0 when there is one that they fit, or a direction lacks."""
    bounds = _bounds_of(list(samples))
    return max(0, -bounds.margin(bounds.best_drift())) if bounds.are_of_both_ways else 0


def _bounds_of(found: list[Sample]) -> _Bounds:
    origin = min((sample.client_ns for sample in found), default=0)
    uppers = [(s.client_ns - origin, s.bound_ns + STAMP_NS) for s in found if s.to_server]
    lowers = [(s.client_ns - origin, s.bound_ns - STAMP_NS) for s in found if not s.to_server]
    return _Bounds(origin, tuple(_hull(uppers, lower=True)), tuple(_hull(lowers, lower=False)))


def _argmax(value: Callable[[int], int], low: int, high: int) -> int:
    """Where a concave function of whole numbers is largest."""
    while high - low > 2:
        left = low + (high - low) // 3
        right = high - (high - low) // 3
        if value(left) < value(right):
            low = left + 1
        else:
            high = right
    return max(range(low, high + 1), key=value)


def _largest(value: Callable[[int], int], low: int, high: int) -> int:
    return value(_argmax(value, low, high))


def _edge(margin: Callable[[int], int], inside: int, outside: int) -> int:
    """The last rate on the way from ``inside`` to ``outside`` that fits."""
    if margin(outside) >= 0:
        return outside
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        if margin(middle) >= 0:
            inside = middle
        else:
            outside = middle
    return inside


def _hull(points: list[tuple[int, int]], lower: bool) -> list[tuple[int, int]]:
    """The points that can bound a line: the lower (or upper) side of their convex hull (Andrew 1979)."""
    sign = 1 if lower else -1
    kept: list[tuple[int, int]] = []
    for point in sorted((at, sign * bound) for at, bound in points):
        if kept and kept[-1][0] == point[0]:
            continue
        while len(kept) >= 2 and _turns_right(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    return [(at, sign * bound) for at, bound in kept]


def _turns_right(one: tuple[int, int], two: tuple[int, int], three: tuple[int, int]) -> bool:
    return (two[0] - one[0]) * (three[1] - one[1]) <= (two[1] - one[1]) * (three[0] - one[0])
