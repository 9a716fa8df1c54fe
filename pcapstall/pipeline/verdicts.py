"""Verdicts on the shown flows, and the rows of the report that tell them: rules first, then straces and logs.

Loaded when the first row is asked for. Which flows are shown is decided in `findings`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pcapstall.diagnose.answerers import Answerers
from pcapstall.diagnose.capture_point import Point
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.clock_steps import Steps
from pcapstall.diagnose.clocks import Clocks
from pcapstall.diagnose.dns import DnsLog
from pcapstall.diagnose.engine import Tried, diagnose, explain, made_by_capture
from pcapstall.diagnose.further import further_stalls
from pcapstall.diagnose.histories import HISTORIES_MAX, Histories
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.knowledge import Knowledge
from pcapstall.diagnose.neighbours import Neighbours
from pcapstall.diagnose.outcome import Outcome
from pcapstall.diagnose.surroundings import Surroundings
from pcapstall.diagnose.thresholds import Thresholds
from pcapstall.flows.flow import Flow
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.from_flow import flow_report
from pcapstall.wire.unread import UnreadPackets

if TYPE_CHECKING:
    from pcapstall.pipeline.ends.logs import Logs
    from pcapstall.pipeline.ends.straces import Straces


class Verdicts:
    """Judges one flow after the other by what all of them say."""

    def __init__(
        self,
        knowledge: Knowledge,
        dns: DnsLog,
        flows: Sequence[Flow],
        tls_ports: frozenset[int],
        doubtful_files: frozenset[int],
        unread: UnreadPackets,
        straces: "Straces | None",
        logs: "Logs | None",
        thresholds: Thresholds,
    ) -> None:
        histories = Histories(HISTORIES_MAX)
        clocks = Clocks(flows, histories)
        self._surroundings = Surroundings(
            knowledge,
            dns,
            Neighbours(knowledge),
            clocks,
            tls_ports,
            doubtful_files,
            unread,
            Steps(flows, clocks),
            Answerers(knowledge),
            histories,
        )
        self._straces = straces
        self._logs = logs
        self._thresholds = thresholds

    def case(self, flow: Flow, intervals: Intervals, outcome: Outcome, point: Point) -> Case:
        """``flow`` as the rules see it; ``intervals`` and ``outcome`` have measured and judged it last."""
        return Case(flow, intervals, outcome, point, self._surroundings)

    def of_capture(self, case: Case) -> str | None:
        """The reason of a stall that is the capture's own making; None for any other."""
        return made_by_capture(case)

    def row(self, case: Case, t0_ns: int) -> FlowReport:
        """The row of a flow; ``t0_ns`` is the report's."""
        point = (case.point, case.point_confidence)
        verdict = diagnose(case)
        if self._straces is not None:
            verdict = self._straces.judge(case, verdict)
        if verdict is not None and (further := further_stalls(case, verdict, self._thresholds)):
            verdict = verdict._replace(evidence=[*verdict.evidence, *further])
        row = flow_report(case.flow, case.intervals, case.outcome, verdict, point, t0_ns)
        if self._straces is not None:
            row = self._straces.complete(case.flow, row, verdict)
        return row if self._logs is None else self._logs.complete(case.flow, row)

    def explain(self, case: Case) -> tuple[list[Tried], list[Tried] | None]:
        """Which rules were tried and why each held or did not, and so the process' stages, None without straces."""
        stages = self._straces.explain(case, diagnose(case)) if self._straces is not None else None
        return explain(case), stages
