"""Makes the row of a flow that stalled or failed while others go on: the report's engine, with what is known so far.

What all flows say together is looked up afresh a few times a second, not for each row.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pcapstall.core.times import HOUR, MS
from pcapstall.diagnose.answerers import Answerers
from pcapstall.diagnose.capture_point import PointFinder
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.clocks import Clocks
from pcapstall.diagnose.dns import DnsLog
from pcapstall.diagnose.engine import diagnose
from pcapstall.diagnose.histories import Histories
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.knowledge import Knowledge
from pcapstall.diagnose.neighbours import Neighbours
from pcapstall.diagnose.outcome import Outcome
from pcapstall.diagnose.races import Races
from pcapstall.diagnose.surroundings import Surroundings
from pcapstall.flows.flow import Flow
from pcapstall.pipeline.trust.captures import doubtful_files, loopback_files
from pcapstall.pipeline.watch.story import STALLED, WENT_ON
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.from_flow import flow_report
from pcapstall.report.model import CaptureReport
from pcapstall.report.watching import Told
from pcapstall.wire.unread import UnreadPackets

FRESH_NS: Final = 250 * MS
"""For how long of the capture's time what was looked up is used."""
KNOWN_MAX: Final = 40_000
"""Connections, lives, pairs of hosts and endpoints that are remembered, at most: the latest half of them at least."""
LOOKUPS_NS: Final = HOUR
"""After so long DNS lookups are forgotten."""


class WatchVerdicts:
    """Tells what happens to flows, as rows."""

    def __init__(
        self,
        knowledge: Knowledge,
        at: str,
        tls_ports: frozenset[int],
        captures: Callable[[], Sequence[CaptureReport]],
        known_max: int,
        tell: Callable[[Told], None],
        keep: Callable[[FlowReport], bool] | None,
    ) -> None:
        self.dns = DnsLog()
        self._knowledge = knowledge
        self._at = at
        self._tls_ports = tls_ports
        self._captures = captures
        self._known_max = known_max
        self._tell = tell
        self._keep = keep
        self._t0_ns = 0
        self._now_ns = 0
        self._fresh_ns = 0
        self._lookups_ns = 0
        self._races: Races | None = None
        self.unread = UnreadPackets()
        """Packets that may have held segments of the flows."""
        self._surroundings: Surroundings | None = None
        self._points = PointFinder(knowledge, at)

    def pass_time(self, now_ns: int) -> None:
        """It is ``now_ns`` by the capture's clock."""
        self._now_ns = now_ns
        if not 0 <= now_ns - self._fresh_ns < FRESH_NS:
            self._fresh_ns = now_ns
            self._races = self._surroundings = None
            self._knowledge.forget(self._known_max)
        if not 0 <= now_ns - self._lookups_ns < LOOKUPS_NS:
            self._lookups_ns = now_ns
            self.dns = DnsLog()

    def lost_race(self, flow: Flow, meet_all: Callable[[], None]) -> bool:
        """Whether another attempt of the same client connected first; ``meet_all`` lets all connections be known."""
        if self._races is None:
            meet_all()
            self._races = Races(self._knowledge)
        return self._races.is_lost_by(flow)

    def tell(self, kind: str, ns: int, flow: Flow, intervals: Intervals, outcome: Outcome, gone: str | None) -> bool:
        """Something happened at ``ns``; what stalled, if anything, is `Intervals.stalled`. Whether it was told.

        ``gone`` names a stall that was told, and of which nothing can be measured any more.
        """
        outcome.look_for_early_data(flow)
        surroundings = self._known()
        point = self._points.of_flow(flow)
        case = Case(flow, intervals, outcome, point, surroundings)
        verdict = None if kind == STALLED else diagnose(case)
        row = flow_report(flow, intervals, outcome, verdict, point, self._t0_ns)
        if kind == STALLED:
            row = row._replace(flags=[flag for flag in row.flags if flag != "near_capture_end"])
        if gone is not None:
            row = row._replace(stalled=gone)
        if self._keep is not None and not self._keep(row):
            return False
        self._tell(Told(kind, case.end_ns if kind == WENT_ON else ns, self._t0_ns, row))
        return True

    def _known(self) -> Surroundings:
        if self._surroundings is None:
            captures = self._captures()
            if not self._t0_ns:
                self._t0_ns = min((found.first_ns for found in captures if found.first_ns is not None), default=0)
            self._points = PointFinder(self._knowledge, self._at, loopback_files(captures))
            self._surroundings = Surroundings(
                self._knowledge,
                self.dns,
                Neighbours(self._knowledge),
                Clocks((), Histories()),
                self._tls_ports,
                doubtful_files(captures),
                self.unread,
                answerers=Answerers(self._knowledge),
            )
        return self._surroundings
