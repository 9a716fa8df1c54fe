"""Narrows an analysis to the flows that a filter keeps, and shows conditions what they count.

Works on finished rows; whoever has neither a filter nor such a condition never comes here. Nothing is measured anew.
"""

from collections.abc import Callable

from pcapstall.pipeline.analysis import Analysis
from pcapstall.report.conditions import FailConditions
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.percentiles import Tally


def select(
    analysis: Analysis,
    keep: Callable[[FlowReport], bool] | None,
    conditions: FailConditions,
    everything: bool,
    filter_text: str | None = None,
) -> Analysis:
    """``analysis`` of the flows for which ``keep`` holds; all that are healthy are counted, unless ``everything``.

    ``analysis`` must have been made with all flows, where ``keep`` or a condition needs to see them. ``filter_text``
    is ``keep`` as the user wrote it, for what is said of it.
    """
    if keep is None and not conditions.reads_flows:
        return analysis
    shown: list[FlowReport] = []
    all_of_them, healthy = Tally(), Tally()
    spread = None
    if analysis.report.spread is not None:
        from pcapstall.report.pictures.spread import Spread  # only where a picture is drawn

        spread = Spread()
    for flow in analysis.report.flows:
        if keep is not None and not keep(flow):
            continue
        all_of_them.add(flow)
        conditions.add(flow)
        if everything or flow.stalled is not None or flow.failed:
            shown.append(flow)
        else:
            healthy.add(flow)
            if spread is not None:
                spread.add_flow(flow)
    report = analysis.report._replace(
        flows=shown,
        healthy=healthy.healthy(),
        totals=all_of_them.totals(),
        spread=spread,
        filter_text=filter_text if keep is not None else None,
        unfiltered_flows=analysis.report.totals.flows if keep is not None else None,
    )
    return analysis._replace(report=report, tally=all_of_them)
