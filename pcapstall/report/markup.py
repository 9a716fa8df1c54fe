"""The order in which a report is told in a markup language for tickets: what Markdown and Jira have in common.

How a sentence is escaped and how a table and a story look is each format's own; see `Markup`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pcapstall.report import flow_grid, prose, stories
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.grid import Grid
from pcapstall.report.model import Report
from pcapstall.report.options import RenderOptions
from pcapstall.report.places import Places
from pcapstall.report.ranking import worst_first
from pcapstall.report.to_table import legend


class Markup(NamedTuple):
    """What a markup language needs to say."""

    strong: str
    """What stands before and after a bold text."""
    bullet: str
    """What begins an item of a list."""
    escape: Callable[[str], str]
    """A sentence that is shown as it is."""
    table_lines: Callable[[Grid], Iterator[str]]
    story_lines: Callable[[stories.Story], Iterator[str]]


def report_lines(report: Report, options: RenderOptions, markup: Markup) -> Iterator[str]:
    """The report: the answer, what was read, the table, the healthy flows in a line, each verdict with its evidence."""
    flows = worst_first(report.flows, None if options.all_flows else max(options.stories, 1))
    escape = markup.escape
    yield f"{markup.strong}{escape(prose.headline(report, flows))}{markup.strong}"
    yield ""
    for fact in prose.read_before(report):
        yield f"{markup.bullet} {escape(fact)}"
    if flows:
        grid = flow_grid.flow_grid(flows)
        yield ""
        yield from markup.table_lines(grid)
        yield ""
        yield escape(legend(grid))
    yield from _paragraph(escape(prose.healthy_line(report, bool(flows))))
    yield from _stories(flows, report, options, markup)
    after = prose.read_after(report)
    if after:
        yield ""
        for fact in after:
            yield f"{markup.bullet} {escape(fact)}"


def _stories(flows: Sequence[FlowReport], report: Report, options: RenderOptions, markup: Markup) -> Iterator[str]:
    told = stories.to_be_told(flows, options)
    places = Places(report)
    for flow in told:
        yield ""
        yield from markup.story_lines(stories.tell(flow, places))
    yield from _paragraph(markup.escape(stories.untold_line(flows, told)))


def _paragraph(text: str) -> Iterator[str]:
    if text:
        yield ""
        yield text


def grid_lines(answer: str, grids: Sequence[Grid], unit: str, markup: Markup) -> Iterator[str]:
    """A page of tables: the answer, the tables, what their numbers mean."""
    yield f"{markup.strong}{markup.escape(answer)}{markup.strong}"
    for grid in grids:
        yield ""
        yield from markup.table_lines(grid)
    yield from _paragraph(markup.escape(unit))
