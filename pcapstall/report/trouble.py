"""The answer of a report in which something stalled or failed: how much, by which causes, and the worst of it.

Plain text, not yet escaped. The other answers are in `prose`, what is said of a single flow is in `happening`.
"""

from collections import Counter
from collections.abc import Sequence

from pcapstall.diagnose.verdict import UNKNOWN, cause_words
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.happening import what_happened
from pcapstall.report.model import Report
from pcapstall.report.prose import flows_counted


def what_went_wrong(report: Report, flows: Sequence[FlowReport]) -> str:
    """The answer in one sentence; ``flows`` are the shown ones, worst first."""
    totals = report.totals
    failed = totals.failed - totals.stalled_and_failed
    of = f"of {flows_counted(report)}"
    if totals.stalled == 0:
        said = f"No stall, but {failed} {of} failed"
    else:
        said = f"{totals.stalled} {of} stalled{_causes(flows, totals.stalled)}"
        if failed:
            said += f" and {failed} more failed"
    if not flows or (flows[0].stalled is None and not flows[0].failed):
        return said + "."
    of_many = totals.stalled > 1 or (totals.stalled == 0 and failed > 1)
    what = "; the worst" if of_many and totals.stalled else "; the first" if of_many else ""
    traced = _traced_with_cause(flows[1:]) if report.straces and flows[0].cause == UNKNOWN else []
    if not traced:
        return f"{said}{what}: {what_happened(flows[0])}."
    # What the straces were given for is not hidden behind a connection that they do not explain.
    missing = ", in no strace" if flows[0].match is None else ""
    others = f"{len(traced)} others are in the straces, their worst" if traced[1:] else "1 other is in the straces"
    return f"{said}{what}{missing}: {what_happened(flows[0])}; {others}: {what_happened(traced[0])}."


def _traced_with_cause(flows: Sequence[FlowReport]) -> list[FlowReport]:
    """The stalled flows of traced processes whose cause is known."""
    return [flow for flow in flows if flow.stalled and flow.match is not None and flow.cause not in (None, UNKNOWN)]


def _causes(flows: Sequence[FlowReport], stalled: int) -> str:
    counts = Counter(flow.cause for flow in flows if flow.stalled is not None and flow.cause is not None)
    if stalled < 2 or counts.total() != stalled:
        return ""
    return f" ({', '.join(f'{cause_words(cause)} {count}' for cause, count in counts.most_common())})"
