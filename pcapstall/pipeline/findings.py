"""The flows that are shown, judged in the light of all others: once to be counted, and again for each row asked for.

A row is made when somebody reads it and not kept, so that any number of flows passes through. What only stalled and
failed flows need is loaded with the first of them: the rules take as long to import as everything else together.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from pcapstall.capture.source import Stop
from pcapstall.core.frames import file_of
from pcapstall.diagnose.capture_point import PointFinder
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.outcome import RACED, Outcome
from pcapstall.flows.flow import Flow
from pcapstall.pipeline.scan.collect import Collector, can_stall
from pcapstall.pipeline.scan.tally import LengthTally
from pcapstall.wire.unread import UnreadPackets

if TYPE_CHECKING:
    from pcapstall.diagnose.case import Case
    from pcapstall.diagnose.dns import DnsLog
    from pcapstall.diagnose.engine import Tried
    from pcapstall.diagnose.races import Races
    from pcapstall.pipeline.ends.logs import Logs
    from pcapstall.pipeline.ends.straces import Straces
    from pcapstall.pipeline.verdicts import Verdicts
    from pcapstall.report.flow_model import FlowReport


_CLOCK_STEP: Final = "clock_step"
"""The reason of a stall that the capture's clock made by being set."""


class Findings:
    """What is known of the shown flows."""

    def __init__(
        self,
        collector: Collector,
        at: str,
        tls_ports: frozenset[int],
        show_all: bool = False,
        straces: "Straces | None" = None,
        logs: "Logs | None" = None,
        straces_later: bool = False,
    ) -> None:
        self._straces_later = straces_later
        """Whether somebody will have the straces record the few stalls that are asked for."""
        self._show_all = show_all
        """Whether flows that neither stalled nor failed are shown."""
        self.unread = UnreadPackets()
        """Packets that may have held segments of the flows; to be set before `settle`."""
        self.stepped_files: set[int] = set()
        """Indexes of the captures whose clock was set, as stalls show; known when flows are settled."""
        self.straces = straces
        self.logs = logs
        self._collector = collector
        self._at = at
        self._tls_ports = tls_ports
        self._doubtful_files: frozenset[int] = frozenset()
        self._points = PointFinder(collector.knowledge, at)
        self._candidates: list[Flow] = []
        """All that were kept to be judged, shown or not."""
        self._flows: list[Flow] = []
        self._intervals = Intervals()
        self._outcome = Outcome()

    @cached_property
    def dns(self) -> "DnsLog":
        """Lookups in the capture, which may have held a connection up."""
        from pcapstall.diagnose.dns import DnsLog  # few captures have any

        return DnsLog()

    @cached_property
    def _races(self) -> "Races":
        from pcapstall.diagnose.races import Races  # asked about connections that failed

        return Races(self._collector.knowledge)

    @cached_property
    def _verdicts(self) -> "Verdicts":
        from pcapstall.pipeline.verdicts import Verdicts  # a row has one, a healthy capture has no row

        return Verdicts(
            self._collector.knowledge,
            self.dns,
            self._candidates,
            self._tls_ports,
            self._doubtful_files,
            self.unread,
            self.straces,
            self.logs,
            self._collector.thresholds,
        )

    def settle(
        self,
        stop: Stop | None = None,
        loopback_files: frozenset[int] = frozenset(),
        doubtful_files: frozenset[int] = frozenset(),
    ) -> LengthTally:
        """Everything was read: decide which of the flows kept are shown. Returns the count of those that are.

        ``stop`` thrown ends the reading of straces and logs. The two sets hold indexes of captures: of a loopback
        interface, and such as lack packets or have a clock that stepped.
        """
        collector = self._collector
        stop = stop or Stop()
        self._points = PointFinder(collector.knowledge, self._at, loopback_files)
        self._doubtful_files = doubtful_files
        self._candidates = collector.kept
        shown = LengthTally()
        if self.straces is not None:
            self.straces.match(collector.outlines, stop)
        if self.logs is not None:
            self.logs.match(collector.outlines, self.straces, stop)
        for flow in self._candidates:
            stalled = self._judge(flow)
            if stalled or self._outcome.failed or self._show_all:
                self._flows.append(flow)
                made_by = self._made_by_capture(flow) if stalled else None
                if made_by is not None:
                    shown.add_made_by_capture(flow, self._intervals, self._outcome, made_by == _CLOCK_STEP)
                else:
                    shown.add(flow, self._intervals, self._outcome, stalled)
            else:
                collector.counted.add(flow, self._intervals, self._outcome, False)
                if collector.dots is not None:
                    collector.dots.add(flow, self._intervals)
                collector.knowledge.count_unshown(collector.knowledge.pairs.find(flow))
        collector.kept = self._flows
        self._flows.sort(key=lambda flow: flow.id)
        if self.straces is not None and not self.straces.ended:
            for flow in self._flows:
                case = self.case(flow)
                if case.stalled is not None:
                    self.straces.plan(case)
            if not self._straces_later:
                self.straces.record(stop)
        return shown

    def flows(self) -> Sequence[Flow]:
        """The flows that are shown, in the order of their ids."""
        return self._flows

    def case(self, flow: Flow) -> "Case":
        """What the rules look at; the one before is not good any more, since its measures are overwritten."""
        self._judge(flow)
        return self._verdicts.case(flow, self._intervals, self._outcome, self._points.of_flow(flow))

    def rows(self, t0_ns: int) -> "Iterator[FlowReport]":
        """The rows in the order of the flows' ids."""
        for flow in self._flows:
            yield self.row_of(flow, t0_ns)

    def row(self, flow_id: int, t0_ns: int) -> "FlowReport":
        """One of the rows; KeyError when there is no such row."""
        return self.row_of(self.flow_of(flow_id), t0_ns)

    def row_of(self, flow: Flow, t0_ns: int) -> "FlowReport":
        """The row of a flow that is shown."""
        return self._verdicts.row(self.case(flow), t0_ns)

    def capture_points(self) -> Mapping[str, int]:
        """How many flows, shown or not, by capture point."""
        points = Counter(self._points.of_unshown())
        for flow in self._flows:
            points[self._points.of_flow(flow)[0]] += 1
        return points

    def explain(self, row: int) -> "tuple[list[Tried], list[Tried] | None]":
        """Which rules were tried for a row, and why each held or did not, and which stages of the process (None without
        straces); KeyError when there is no such row."""
        return self._verdicts.explain(self.case(self.flow_of(row)))

    def flow_of(self, row: int) -> Flow:
        """The flow in ``row``; KeyError when there is no such row."""
        for flow in self._flows:
            if flow.id == row:
                return flow
        raise KeyError(row)

    def _made_by_capture(self, flow: Flow) -> str | None:
        """The reason of a stall of the flow judged last that is the capture's own making; None for any other."""
        verdicts = self._verdicts
        case = verdicts.case(flow, self._intervals, self._outcome, self._points.of_flow(flow))
        reason = verdicts.of_capture(case)
        if reason == _CLOCK_STEP:
            self.stepped_files.add(file_of(case.end_ref or case.start_ref))
        return reason

    def _judge(self, flow: Flow) -> bool:
        """Measure ``flow`` again, in the light of the others; whether it stalled."""
        collector = self._collector
        intervals, outcome = self._intervals, self._outcome
        intervals.measure(flow, collector.watched(flow))
        outcome.judge(flow, intervals)
        outcome.look_for_early_data(flow)
        if not flow.ack_ref and self._races.is_lost_by(flow):
            outcome.lost_race()
        stalled = intervals.judge(collector.thresholds, collector.knowledge.pair_of(flow).rtt_ns())
        if stalled and (not can_stall(outcome) or outcome.tcp == RACED):
            intervals.calm()
            return False
        return stalled
