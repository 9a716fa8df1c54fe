"""Takes finished flows from the table: measures each, keeps what has to be shown or asked about, counts the rest.

Compiled, since it sees every flow. Verdicts are not made here: they need what all flows say together.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.frames import file_of
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.knowledge import Knowledge
from pcapstall.diagnose.outcome import CONNECTED, HANDSHAKE_INCOMPLETE, NOT_TLS, PROBE, SEEN_MIDWAY, Outcome
from pcapstall.diagnose.thresholds import Thresholds
from pcapstall.flows.fetch import READ
from pcapstall.flows.flow import FLAG_CLOSED_EARLY, FLAG_MISSED_BYTES, FLAG_NOTES_CUT, Flow
from pcapstall.flows.table import FlowSink
from pcapstall.match.outline import Outlines
from pcapstall.pipeline.scan.dots import FlowDots
from pcapstall.pipeline.scan.tally import LengthTally

ROWS_MAX: Final = 32_768
"""Flows that stalled or failed and are shown one by one; what there is beyond is only counted."""
NOTES_MAX: Final = 500_000
"""Segment headers kept with the flows that are kept."""
ALL_ROWS_MAX: Final = 1_000_000
"""The same where every flow is asked for."""


class Collector(FlowSink):
    """The table's sink."""

    def __init__(self, thresholds: Thresholds, keep_all: bool) -> None:
        self.thresholds: Thresholds = thresholds
        self.keep_all: bool = keep_all
        """Whether flows that neither stalled nor failed are to be shown, too."""
        self.kept: list[Flow] = []
        """Flows that are, or may be, shown; in the order in which they ended."""
        self.outlined: bool = False
        """Whether sockets of straces, or lines of logs, will be matched with the flows."""
        self.outlines: Outlines = Outlines()
        """Then: all flows, in outline."""
        self.counted: LengthTally = LengthTally()
        """The others."""
        self.rows_max: i64 = ROWS_MAX
        if keep_all:
            self.rows_max = ALL_ROWS_MAX
        self.beyond: LengthTally = LengthTally()
        """Those that would be shown, or might, if they were not too many."""
        self._notes: i64 = 0
        self.knowledge: Knowledge = Knowledge()
        self.watched_until: list[int] = []
        """See `Scan.watched_until`; to be set before the table is finished."""
        self.dots: FlowDots | None = None
        """What a picture has of the flows counted; None when none is wanted."""
        self.missed_bytes: dict[int, int] = {}
        """By file index: flows counted of which acknowledged bytes are not in the capture."""
        self.intervals: Intervals = Intervals()
        self.outcome: Outcome = Outcome()

    def expects(self, flows: list[Flow], start: i64, end: i64) -> None:
        """Fetch what is known of their hosts."""
        READ.words ^= self.knowledge.pairs.fetch(flows, start, end)

    def forgets(self, flow: Flow) -> bool:
        """Count a flow that is done and neither stalled nor failed."""
        if self.keep_all or self._measure(flow):
            return False
        self._count(flow)
        return True

    def take(self, flow: Flow) -> bool:
        """Keep a finished flow, or count it."""
        wanted = self._measure(flow)
        if not self.keep_all and not wanted:
            self._count(flow)
            return False
        # No flood shall crowd out those that were followed to their end.
        nothing = self._is_nothing(flow)
        if len(self.kept) < self.rows_max and not (nothing and (not self.keep_all or len(self.kept) >= ROWS_MAX)):
            self._keep(flow)
            return True
        stalled = can_stall(self.outcome) and self.intervals.judge(self.thresholds, 0)
        if self.keep_all or stalled or self.outcome.failed:
            self._count_in(flow, self.beyond, stalled)
        else:
            self._count(flow)
        return False

    def _measure(self, flow: Flow) -> bool:
        """Whether the flow stalled or failed, or may turn out to have."""
        intervals = self.intervals
        outcome = self.outcome
        watched_ns: i64 = 0
        if flow.client_finished_ref == 0:
            # Else nothing is open.
            watched_ns = self.watched(flow)
        intervals.measure(flow, watched_ns)
        if outcome.judge_for_count(flow, intervals):
            return intervals.judge(self.thresholds, 0)
        if outcome.failed or (outcome.tcp != CONNECTED and outcome.tcp != SEEN_MIDWAY):
            return True
        return can_stall(outcome) and intervals.judge(self.thresholds, 0)

    def _keep(self, flow: Flow) -> None:
        """Keep the flow that was measured last."""
        self.kept.append(flow)
        if self.outlined:
            self.outlines.add(flow)
        self.knowledge.learn(flow, self.intervals)
        self._keep_notes(flow)

    def _keep_notes(self, flow: Flow) -> None:
        """Keep the segment headers of a flow that is kept, as long as there is room."""
        self._notes += flow.note_count
        if self._notes > NOTES_MAX:
            self._notes -= flow.note_count
            flow.flags |= FLAG_NOTES_CUT
            flow.forget_notes()

    def _is_nothing(self, flow: Flow) -> bool:
        """Whether a handshake had hardly begun when it was let go of early: one of a flood, nobody's failure."""
        if flow.flags & FLAG_CLOSED_EARLY == 0 or self.outcome.tcp != HANDSHAKE_INCOMPLETE:
            return False
        return not self.intervals.judge(self.thresholds, 0)

    def _count(self, flow: Flow) -> None:
        self._count_in(flow, self.counted, False)

    def _count_in(self, flow: Flow, tally: LengthTally, stalled: bool) -> None:
        """Count the flow that was measured last."""
        if self.outlined:
            self.outlines.add(flow)
        self.knowledge.count_unshown(self.knowledge.learn(flow, self.intervals))
        tally.add(flow, self.intervals, self.outcome, stalled)
        if self.dots is not None:
            self.dots.add(flow, self.intervals)
        if flow.flags & FLAG_MISSED_BYTES != 0:
            index: i64 = file_of(flow.first_ref)
            self.missed_bytes[index] = self.missed_bytes.get(index, 0) + 1

    def watched(self, flow: Flow) -> i64:
        """Until when the capture went on that ``flow`` is in, or the flow was followed."""
        return watched_until(self.watched_until, flow, flow.last_ns)


def watched_until(stamps: list[int], flow: Flow, now_ns: i64) -> i64:
    """Until when the capture went on that ``flow`` is in, or the flow was followed: the first of ``stamps``, the last
    ones before each gap, behind the flow's own; ``now_ns`` when there is none."""
    ns: i64 = flow.last_ns
    if flow.flags & FLAG_CLOSED_EARLY != 0:
        return flow.closed_ns
    low: i64 = 0
    high: i64 = len(stamps)
    while low < high:
        middle: i64 = (low + high) >> 1
        if stamps[middle] < ns:
            low = middle + 1
        else:
            high = middle
    if low == len(stamps):
        return now_ns
    return stamps[low]


def can_stall(outcome: Outcome) -> bool:
    """What is no TLS is not judged, and a probe waits for nothing."""
    return outcome.tls != NOT_TLS and outcome.tls != PROBE
