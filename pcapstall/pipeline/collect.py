"""Takes finished flows from the table: measures each, keeps what has to be shown or asked about, counts the rest.

Compiled, since it sees every flow. Verdicts are not made here: they need what all flows say together.
"""

from mypy_extensions import i64

from pcapstall.core.frames import file_of
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.knowledge import Knowledge
from pcapstall.diagnose.outcome import CONNECTED, NOT_TLS, PROBE, SEEN_MIDWAY, Outcome
from pcapstall.diagnose.thresholds import Thresholds
from pcapstall.flows.flow import FLAG_MISSED_BYTES, Flow
from pcapstall.flows.table import FlowSink
from pcapstall.pipeline.tally import LengthTally


class Collector(FlowSink):
    """The table's sink."""

    def __init__(self, thresholds: Thresholds, keep_all: bool) -> None:
        self.thresholds: Thresholds = thresholds
        self.keep_all: bool = keep_all
        """Whether flows that neither stalled nor failed are to be shown, too."""
        self.kept: list[Flow] = []
        """Flows that are, or may be, shown; in the order in which they ended."""
        self.counted: LengthTally = LengthTally()
        """The others."""
        self.knowledge: Knowledge = Knowledge()
        self.watched_until: list[int] = []
        """See `Scan.watched_until`; to be set before the table is finished."""
        self.missed_bytes: dict[int, int] = {}
        """By file index: flows counted of which acknowledged bytes are not in the capture."""
        self.intervals: Intervals = Intervals()
        self.outcome: Outcome = Outcome()

    def forgets(self, flow: Flow) -> bool:
        """Count a flow that is done and neither stalled nor failed."""
        if self.keep_all or self._measure(flow):
            return False
        self._count(flow)
        return True

    def take(self, flow: Flow) -> bool:
        """Keep a finished flow, or count it."""
        wanted = self._measure(flow)
        if self.keep_all or wanted:
            self.kept.append(flow)
            self.knowledge.learn(flow, self.intervals)
            return True
        self._count(flow)
        return False

    def _measure(self, flow: Flow) -> bool:
        """Whether the flow stalled or failed, or may turn out to have."""
        intervals = self.intervals
        outcome = self.outcome
        intervals.measure(flow, self.watched(flow.last_ns))
        outcome.judge(flow, intervals)
        if outcome.failed or (outcome.tcp != CONNECTED and outcome.tcp != SEEN_MIDWAY):
            return True
        return can_stall(outcome) and intervals.judge(self.thresholds, 0)

    def _count(self, flow: Flow) -> None:
        pair = self.knowledge.learn(flow, self.intervals)
        pair.healthy += 1
        self.counted.add(self.intervals, self.outcome, False)
        if flow.flags & FLAG_MISSED_BYTES != 0:
            index: i64 = file_of(flow.first_ref)
            self.missed_bytes[index] = self.missed_bytes.get(index, 0) + 1

    def watched(self, ns: i64) -> i64:
        """Until when the capture went on that was being taken at ``ns``."""
        for until in self.watched_until:
            if until >= ns:
                return until
        return ns


def can_stall(outcome: Outcome) -> bool:
    """What is no TLS is not judged, and a probe waits for nothing."""
    return outcome.tls != NOT_TLS and outcome.tls != PROBE
