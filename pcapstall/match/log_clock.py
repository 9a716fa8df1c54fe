"""How the clock of a log stands to the capture's: its zone, its year, its start, and how far it may be off.

Told from lines that name one flow: such a line was written while the flow lived, or just around. Each allows a range of
offsets; the offset that most of them allow is the log's.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from pcapstall.core.times import DAY, SECOND
from pcapstall.logs.stamps import ABSOLUTE, BASE_YEAR, ELAPSED, NAIVE, TIME_OF_DAY, YEARLESS, Stamp
from pcapstall.match.offset import QUARTER_NS, nearest

BEFORE_NS: Final = 5_000_000
"""A line may speak of a connection so long before its SYN: "connecting"."""
AFTER_NS: Final = 20_000_000
"""And so long after its last packet: "closed"."""
_ENOUGH: Final = 3
"""So many lines must agree that a clock is wrong."""

# What the offset rests on.
PRINTED: Final = "printed"
"""The stamps say it all."""
BY_LINES: Final = "lines"
"""Lines that name flows."""
BY_STRACE: Final = "strace"
"""The clock of the strace with the same label."""
BY_WRITES: Final = "writes"
"""Lines that a strace shows being written."""
NOTHING: Final = "nothing"


class Anchor(NamedTuple):
    """A line and the life of the flow that it names."""

    stamp: Stamp
    first_ns: int
    last_ns: int


class LogClock(NamedTuple):
    """What to add to a log's stamps to have the capture's time."""

    kind: int
    """Of most of its stamps; 0 without any."""
    offset_ns: int = 0
    error_ns: int | None = None
    """How far it may be off; None when nothing tells."""
    zone_ns: int | None = None
    """The zone that its wall clock shows, a multiple of 15 minutes east of UTC; None for stamps that need none."""
    source: str = NOTHING
    lines: int = 0
    """Lines that allow the offset."""
    of_lines: int = 0
    """Lines that could."""
    host: str = ""
    """The strace whose clock it is, too; empty when none is known to be."""
    own_error_ns: int = 0
    """How far it may be off from that clock."""
    near_ns: int = 0
    """When the capture was taken: the year and the date of stamps that have none."""

    @property
    def known(self) -> bool:
        """Whether stamps can be placed at all."""
        return self.kind == ABSOLUTE or self.source != NOTHING

    @property
    def residual_ns(self) -> int:
        """The offset without the zone and the start: what the log's clock is behind the capture's."""
        return self.offset_ns + (self.zone_ns or 0) if self.kind != ELAPSED else 0

    @property
    def start_ns(self) -> int | None:
        """The start that the stamps count from, on the capture's clock; None for other stamps."""
        return self.offset_ns if self.kind == ELAPSED and self.known else None

    def place(self, stamp: Stamp | None) -> int | None:
        """The time of a stamp on the capture's clock; None when it cannot be placed."""
        if stamp is None:
            return None
        if stamp.kind == ABSOLUTE:
            return stamp.ns + (self.residual_ns if self.kind != ELAPSED else 0)
        if not self.known or (stamp.kind == ELAPSED) != (self.kind == ELAPSED):
            return None
        return counted(stamp, self.near_ns - self.offset_ns) + self.offset_ns


def counted(stamp: Stamp, near_ns: int) -> int:
    """The stamp as nanoseconds of one count: a year or date that it lacks is that of ``near_ns``, or one beside it."""
    if stamp.kind == TIME_OF_DAY:
        return stamp.ns + nearest(near_ns - stamp.ns, DAY)
    if stamp.kind == YEARLESS:
        seconds, rest = divmod(stamp.ns, SECOND)
        moment = datetime.fromtimestamp(seconds, UTC)
        year = _year_of(near_ns)
        found = [_in_year(moment, near) * SECOND + rest for near in (year - 1, year, year + 1)]
        return min(found, key=lambda ns: abs(ns - near_ns))
    return stamp.ns


def _year_of(ns: int) -> int:
    try:
        return min(max(datetime.fromtimestamp(ns // SECOND, UTC).year, 1971), 9998)
    except (ValueError, OverflowError, OSError):
        return BASE_YEAR


def _in_year(moment: datetime, year: int) -> int:
    if (moment.month, moment.day) == (2, 29) and not (year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)):
        moment = moment.replace(month=3, day=1)
    return int(moment.replace(year=year).timestamp())


def settle_clock(kind: int, anchors: Sequence[Anchor], near_ns: int) -> LogClock:
    """The clock of a log whose stamps are of ``kind``; ``near_ns`` is when the capture was taken."""
    usable = [anchor for anchor in anchors if anchor.stamp.kind == kind]
    ranges = [_allowed(anchor, near_ns) for anchor in usable]
    count = len(ranges)
    if not ranges:
        return LogClock(kind, source=PRINTED if kind == ABSOLUTE else NOTHING, near_ns=near_ns)
    low, high, most = _best(ranges)
    if kind == ELAPSED:
        return LogClock(kind, (low + high) // 2, (high - low + 1) // 2, None, BY_LINES, most, count, near_ns=near_ns)
    base = _base(kind, low, high)
    at_base = _range_at(ranges, base)
    if at_base is not None and (at_base[2] * 2 >= most or most < _ENOUGH):
        low, high, most = at_base
        source = PRINTED if kind == ABSOLUTE else BY_LINES
        error = max(base - low, high - base)
        return LogClock(kind, base, error, _zone(kind, base), source, most, count, near_ns=near_ns)
    if most < _ENOUGH:
        # Nothing speaks for the printed time, and not enough for another.
        source = PRINTED if kind == ABSOLUTE else BY_LINES
        return LogClock(kind, base, None, _zone(kind, base), source, 0, count, near_ns=near_ns)
    middle = (low + high) // 2
    base = _base(kind, middle, middle)
    return LogClock(kind, middle, (high - low + 1) // 2, _zone(kind, base), BY_LINES, most, count, near_ns=near_ns)


def _allowed(anchor: Anchor, near_ns: int) -> tuple[int, int]:
    """The offsets with which the line lies within the life of its flow."""
    ns = counted(anchor.stamp, near_ns)
    slack = anchor.stamp.resolution_ns
    return anchor.first_ns - BEFORE_NS - ns - slack, anchor.last_ns + AFTER_NS - ns


def _base(kind: int, low: int, high: int) -> int:
    """The offset that a right clock would have: 0, or the zone's that is nearest to UTC and to the range."""
    if kind == ABSOLUTE:
        return 0
    first = -(-low // QUARTER_NS) * QUARTER_NS
    last = high // QUARTER_NS * QUARTER_NS
    if first <= last:
        return min(max(0, first), last)
    middle = (low + high) // 2
    return nearest(middle)


def _zone(kind: int, base: int) -> int | None:
    if kind not in (NAIVE, YEARLESS, TIME_OF_DAY):
        return None
    if kind == TIME_OF_DAY:
        return nearest(base, DAY) - base
    return -base


def _best(ranges: Iterable[tuple[int, int]]) -> tuple[int, int, int]:
    """The offsets that most of the ranges allow, the ones nearest to 0, and how many do."""
    edges = sorted([(low, 0) for low, _ in ranges] + [(high, 1) for _, high in ranges])
    best = (0, 0, 0)
    depth = 0
    for at, (ns, closes) in enumerate(edges):
        if closes:
            depth -= 1
            continue
        depth += 1
        found = (ns, edges[at + 1][0], depth)
        if depth > best[2] or (depth == best[2] and _distance(found) < _distance(best)):
            best = found
    return best


def _distance(found: tuple[int, int, int]) -> int:
    low, high, _ = found
    return 0 if low <= 0 <= high else min(abs(low), abs(high))


def _range_at(ranges: Sequence[tuple[int, int]], ns: int) -> tuple[int, int, int] | None:
    """What the ranges that allow ``ns`` have in common, and how many they are; None when none does."""
    around = [(low, high) for low, high in ranges if low <= ns <= high]
    if not around:
        return None
    return max(low for low, _ in around), min(high for _, high in around), len(around)
