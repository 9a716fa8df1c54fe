"""What pictures need besides the report: the timelines of its worst flows, made while the inputs are still open.

Bounded, since the captures are read once more and each strace once for each of the flows. Nothing is drawn here.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pcapstall.capture.source import Stop
from pcapstall.pipeline.analysis import Analysis
from pcapstall.pipeline.timeline.timeline import timelines_of
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.ranking import worst_first
from pcapstall.report.sketch import sketch_of
from pcapstall.report.stories import has_story
from pcapstall.report.timeline import Timeline

WORST: Final = 10
"""So many flows are looked at once more, the worst ones; with straces, which take longer, so many."""
WORST_WITH_STRACES: Final = 5


def with_timelines(
    analysis: Analysis,
    captures: Sequence[str],
    keep: Callable[[FlowReport], bool] | None = None,
    stop: Stop | None = None,
) -> Analysis:
    """``analysis`` with the timelines of the worst flows that stalled or failed, of those that ``keep`` holds for."""
    most = WORST_WITH_STRACES if analysis.report.straces else WORST
    flows = (flow for flow in analysis.report.flows if has_story(flow) and (keep is None or keep(flow)))
    worst = worst_first(flows, most)[:most]
    if not worst:
        return analysis
    made = timelines_of(analysis, worst, captures, False, stop)
    timelines = {row.id: whole(timeline) for row, timeline in zip(worst, made, strict=True)}
    return analysis._replace(report=analysis.report._replace(timelines=timelines))


def whole(timeline: Timeline) -> Timeline:
    """``timeline``, with the events that its row has where no packet is known any more: of a pipe."""
    if any(row.source == "packet" for row in timeline.rows):
        return timeline
    events = [row for row in sketch_of(timeline.report, timeline.flow).rows if row.source == "packet"]
    rows = sorted([*timeline.rows, *events], key=lambda row: row.ns)
    return timeline._replace(rows=[row._replace(id=number) for number, row in enumerate(rows, 1)])
