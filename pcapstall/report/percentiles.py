"""Nearest-rank percentiles, and the tally that collects flows while they pass by.

A tally keeps 8 bytes an interval and flow, so the summary of millions of flows fits in memory when the flows do not.
No text is made here.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from pcapstall.core.lengths import Lengths
from pcapstall.diagnose.thresholds import NAMES, may_end_before
from pcapstall.report.model import HealthySummary, IntervalSummary, Totals
from pcapstall.report.names import INTERVALS, STALL_INTERVALS

if TYPE_CHECKING:
    from pcapstall.report.flow_model import FlowReport


def percentile(lengths: Lengths, percent: int) -> int:
    """The nearest-rank percentile of ``lengths`` (not empty): one that occurs, never one between two."""
    rank = (percent * len(lengths) + 99) // 100
    return lengths.of_rank(max(rank, 1))


RANKS: Final = ("p50", "p90", "p99", "max")
"""The lengths of an `IntervalSummary`."""
FEW: Final = 20
"""Of fewer lengths a high percentile is only the largest under another name."""


def ranks_of(count: int) -> tuple[str, ...]:
    """Which fields of an `IntervalSummary` of ``count`` lengths say something of their own."""
    if count >= FEW:
        return RANKS
    return ("p50", "max") if count > 1 else ("max",)


def outcome_counts(tls_outcomes: Mapping[str, int], tcp_outcomes: Mapping[str, int]) -> dict[str, int]:
    """How many flows ended how, each flow counted once, most first.

    A flow whose TCP connected or was seen midway has a TLS outcome and counts under that; every other has TCP's only.
    """
    unconnected = {name: n for name, n in tcp_outcomes.items() if name not in ("connected", "seen_midway")}
    return most_first({**tls_outcomes, **unconnected})


def summary_of(lengths: Lengths) -> IntervalSummary | None:
    """Percentiles of ``lengths``; None when there are none."""
    if not len(lengths):
        return None
    p50, p90, p99 = (percentile(lengths, percent) for percent in (50, 90, 99))
    return IntervalSummary(len(lengths), p50, p90, p99, lengths.longest())


class Summaries(Mapping[str, IntervalSummary]):
    """Summaries by name, each made when it is first asked for: most are never shown, and sorting takes long."""

    def __init__(self, lengths: Mapping[str, Lengths]) -> None:
        self._lengths = {name: lengths[name] for name in INTERVALS if name in lengths}
        self._made: dict[str, IntervalSummary] = {}

    def __getitem__(self, name: str) -> IntervalSummary:
        if name not in self._made:
            summary = summary_of(self._lengths[name])
            assert summary is not None
            self._made[name] = summary
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lengths)

    def __len__(self) -> int:
        return len(self._lengths)

    def longest(self) -> dict[str, int]:
        """The longest of each, without sorting."""
        return {name: lengths.longest() for name, lengths in self._lengths.items()}


def longest(summaries: Mapping[str, IntervalSummary]) -> dict[str, int]:
    """The longest length of each interval."""
    if isinstance(summaries, Summaries):
        return summaries.longest()
    return {name: summary.max for name, summary in summaries.items()}


class Tally:
    """Counts and interval lengths of the flows added so far."""

    def __init__(self) -> None:
        self.flows = 0
        self.stalled = 0
        self.failed = 0
        self.stalled_and_failed = 0
        self.unjudged = 0
        self.tcp_outcomes: Counter[str] = Counter()
        self.tls_outcomes: Counter[str] = Counter()
        self.capture_points: Counter[str] = Counter()
        self._closed: dict[str, Lengths] = {}
        self._open: dict[str, Lengths] = {}
        self.untrusted: Counter[str] = Counter()
        """Lengths left out, by interval: the capture's own making."""

    def add(self, flow: "FlowReport") -> None:
        """Count one flow."""
        failed = flow.failed
        self.flows += 1
        self.failed += failed
        if flow.stalled is not None:
            self.stalled += 1
            self.stalled_and_failed += failed
        self.tcp_outcomes[flow.tcp_outcome] += 1
        if flow.tls_outcome is not None:
            self.tls_outcomes[flow.tls_outcome] += 1
        self.capture_points[flow.capture_point] += 1
        judged = not STALL_SET.isdisjoint(flow.open_ns)
        for name, length in flow.intervals_ns.items():
            if length is not None:
                self._take(flow, self._closed, name, length)
                judged = judged or name in STALL_SET
        for name, length in flow.open_ns.items():
            self._take(flow, self._open, name, length)
        self.unjudged += not judged

    def _take(self, flow: "FlowReport", lengths: dict[str, Lengths], name: str, length: int) -> None:
        if is_untrusted(flow, name, length):
            self.untrusted[name] += 1
        else:
            _append(lengths, name, length)

    def take_lengths(self, closed: Mapping[str, Lengths], opened: Mapping[str, Lengths]) -> None:
        """The lengths of flows that were counted elsewhere, by interval: of this tally from now on."""
        self._closed = {name: lengths for name, lengths in closed.items() if len(lengths)}
        self._open = {name: lengths for name, lengths in opened.items() if len(lengths)}

    def lengths(self, interval: str, with_open: bool = False) -> Lengths:
        """All lengths of ``interval``; ``with_open`` adds open ones as long as they had become."""
        lengths = Lengths()
        for kept in (self._closed, self._open) if with_open else (self._closed,):
            if interval in kept:
                lengths.absorb(kept[interval])
        return lengths

    def intervals(self) -> Summaries:
        """Percentiles of the intervals that any flow has, in the order of a handshake, open ones left out."""
        return Summaries(self._closed)

    def open_intervals(self) -> Summaries:
        """The same of those that were not seen to end, as long as they had become."""
        return Summaries(self._open)

    def healthy(self) -> HealthySummary:
        """The flows added, as those that are not shown one by one."""
        return HealthySummary(
            self.flows, most_first(self.tls_outcomes), most_first(self.tcp_outcomes), self.intervals()
        )

    def totals(self) -> Totals:
        """The flows added, as all flows of a report."""
        return Totals(
            self.flows,
            self.stalled,
            self.failed,
            self.stalled_and_failed,
            self.unjudged,
            most_first(self.capture_points),
        )


STALL_SET: Final = frozenset(STALL_INTERVALS)


def is_untrusted(flow: "FlowReport", name: str, length: int) -> bool:
    """Whether a length is the capture's own making: it stalled for that or holds the one that did, or ends before it
    begins, which not every interval may."""
    if name == flow.stalled:
        return flow.cause == "capture"
    if flow.holds_clock_step(name, length):
        return True
    return length < 0 and not may_end_before(NAMES.index(name), bool(flow.syn_data))


def _append(by_name: dict[str, Lengths], name: str, length: int) -> None:
    lengths = by_name.get(name)
    if lengths is None:
        lengths = by_name[name] = Lengths()
    lengths.append(length)


def most_first(counts: Mapping[str, int]) -> dict[str, int]:
    """``counts``, the largest first, equal ones by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
