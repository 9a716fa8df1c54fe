"""Two reports compared: intervals, outcomes and stalls before and after. Numbers only; `to_changes` writes them.

A connection of one time is none of another, so flows are never matched: stalls are counted by where they were (the
name asked for, or else the server), in which interval, and whose time it was.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from pcapstall.core.errors import InputError
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.model import IntervalSummary
from pcapstall.report.names import INTERVALS
from pcapstall.report.percentiles import Tally, outcome_counts

NEW: Final = "new"
MORE: Final = "more"
SAME: Final = "same"
FEWER: Final = "fewer"
GONE: Final = "gone"
KINDS: Final = (NEW, MORE, SAME, FEWER, GONE)
"""What may have become of a stall, in the order in which people want to know."""

Key = tuple[str, str, str | None]
"""Where, interval and cause of a stall."""


class Stall(NamedTuple):
    """What is compared of a flow that stalled."""

    sni: str | None
    server: str
    interval: str
    cause: str | None
    length_ns: int


class StallChange(NamedTuple):
    """Stalls of one kind: in one place, of one interval, by one cause."""

    where: str
    """The SNI, or the server's endpoint where none was seen."""
    interval: str
    cause: str | None
    before: int
    after: int
    """How many flows."""
    longest_before_ns: int | None
    longest_after_ns: int | None
    flows_before: int
    """How many flows there were in that place, stalled or not; so is `flows_after`."""
    flows_after: int

    @property
    def kind(self) -> str:
        """One of `KINDS`, by the number of flows."""
        if not self.before:
            return NEW
        if not self.after:
            return GONE
        return MORE if self.after > self.before else FEWER if self.after < self.before else SAME


class IntervalChange(NamedTuple):
    """One interval over all flows, as far as it was seen to end, and how many were not."""

    name: str
    before: IntervalSummary | None
    after: IntervalSummary | None
    open_before: int
    open_after: int


class OutcomeChange(NamedTuple):
    """How many flows ended in one way."""

    name: str
    before: int
    after: int


class Side:
    """One of the two reports: what was read, and what its flows come to. Flows are added one by one."""

    def __init__(self, name: str) -> None:
        self.name = name
        """As the user named it."""
        self.about = ""
        """What was read, in one line."""
        self.remarks: list[str] = []
        """What is to be mistrusted."""
        self.unreadable: list[InputError] = []
        """The files of it that could not be read; the others are compared all the same."""
        self.thresholds_ns: dict[str, int] = {}
        self.tally = Tally()
        self.stalls: list[Stall] = []
        self.places: Counter[tuple[str | None, str]] = Counter()
        """How many flows by SNI and server."""
        self._names: dict[str, set[str]] = {}

    def add(self, flow: FlowReport) -> None:
        """Count a flow."""
        self.tally.add(flow)
        self.places[flow.sni, flow.server] += 1
        if flow.sni is not None:
            self._names.setdefault(flow.server, set()).add(flow.sni)
        if flow.stalled is not None:
            self.stalls.append(Stall(flow.sni, flow.server, flow.stalled, flow.cause, flow.stalled_ns or 0))

    def names_of(self, server: str) -> set[str]:
        """All names that were asked for at ``server``."""
        return self._names.get(server, set())


class Changes(NamedTuple):
    """What became of the one in the other."""

    before: Side
    after: Side
    stalls: list[StallChange]
    """New ones first."""
    intervals: list[IntervalChange]
    """In the order of a handshake."""
    outcomes: list[OutcomeChange]
    """The most frequent first."""

    def of_kind(self, kind: str) -> list[StallChange]:
        """The stalls of which ``kind`` became."""
        return [stall for stall in self.stalls if stall.kind == kind]


def compare_reports(before: Side, after: Side) -> Changes:
    """Put both sides beside each other."""
    earlier, later = before.tally, after.tally
    closed = (earlier.intervals(), later.intervals())
    opened = (earlier.open_intervals(), later.open_intervals())
    names = [name for name in INTERVALS if any(name in found for found in (*closed, *opened))]
    outcomes = [outcome_counts(tally.tls_outcomes, tally.tcp_outcomes) for tally in (earlier, later)]
    found = [
        OutcomeChange(name, outcomes[0].get(name, 0), outcomes[1].get(name, 0))
        for name in dict.fromkeys((*outcomes[1], *outcomes[0]))
    ]
    return Changes(
        before,
        after,
        _stall_changes(before, after),
        [
            IntervalChange(
                name,
                closed[0].get(name),
                closed[1].get(name),
                *(found[name].n if name in found else 0 for found in opened),
            )
            for name in names
        ],
        sorted(found, key=lambda outcome: (-outcome.after - outcome.before, outcome.name)),
    )


def _stall_changes(before: Side, after: Side) -> list[StallChange]:
    places = _Places((before, after))
    counted: dict[Key, tuple[list[int], list[int]]] = {}
    for at, side in enumerate((before, after)):
        for stall in side.stalls:
            lengths = counted.setdefault((places.of(stall.sni, stall.server), stall.interval, stall.cause), ([], []))
            lengths[at].append(stall.length_ns)
    flows = [places.counts(side) for side in (before, after)]
    changes = [
        StallChange(
            *key,
            len(one),
            len(other),
            max(one, default=None),
            max(other, default=None),
            *(found[key[0]] for found in flows),
        )
        for key, (one, other) in counted.items()
    ]
    return sorted(changes, key=_rank)


def _rank(stall: StallChange) -> tuple[int, int, int, str, str, str]:
    longest = stall.longest_before_ns if stall.longest_after_ns is None else stall.longest_after_ns
    many = stall.after or stall.before
    return (KINDS.index(stall.kind), -many, -(longest or 0), stall.where, stall.interval, stall.cause or "")


class _Places:
    """Names the place of a flow: its SNI; without one the only name that anybody asked for at its server."""

    def __init__(self, sides: Iterable[Side]) -> None:
        self._sides = tuple(sides)

    def of(self, sni: str | None, server: str) -> str:
        if sni is not None:
            return sni
        names = set[str]().union(*(side.names_of(server) for side in self._sides))
        return names.pop() if len(names) == 1 else server

    def counts(self, side: Side) -> Counter[str]:
        """How many flows of ``side`` each place has."""
        found: Counter[str] = Counter()
        for (sni, server), count in side.places.items():
            found[self.of(sni, server)] += count
        return found
