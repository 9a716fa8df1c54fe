"""The report as one self-contained HTML page, readable without its script and better with it.

The same as on a terminal: the answer, what was read, the table, each verdict with its evidence; and pictures of the
whole capture, of the worst flows, and of how long each step takes. Everything from a capture is escaped.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from pcapstall.report import flow_grid, prose, stories
from pcapstall.report.facts import is_warning
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.model import Report
from pcapstall.report.options import RenderOptions
from pcapstall.report.page import escape, page_end, page_start, picture_lines, table_lines
from pcapstall.report.pictures import ecdf, overview, waterfall_svg
from pcapstall.report.pictures.spread import Spread, of_flows
from pcapstall.report.pictures.waterfall import waterfall_of
from pcapstall.report.places import Places
from pcapstall.report.ranking import worst_first
from pcapstall.report.sketch import sketch_of
from pcapstall.report.timeline import Timeline
from pcapstall.report.timeline_cells import NAMES, RIGHT, cells
from pcapstall.report.to_table import legend

PICTURED: Final = 50
"""So many verdicts, the worst ones, have a picture."""
_SKETCHED: Final = "Drawn from the events of the flow alone: pcapstall timeline --flow {} has all there is."


def render(report: Report, out: TextIO, options: RenderOptions) -> None:
    """Write the page."""
    flows = worst_first(report.flows)
    for line in _lines(report, flows):
        out.write(line + "\n")


def _lines(report: Report, flows: Sequence[FlowReport]) -> Iterator[str]:
    totals = report.totals
    names = ", ".join(capture.file for capture in report.captures[:3])
    yield from page_start(f"TLS stalls: {names}")
    kind = "stalled" if totals.stalled else "failed" if totals.failed else "fine"
    yield f'<h1 class="{kind}">{escape(prose.headline(report, flows))}</h1>'
    yield from fact_lines(prose.what_was_read(report), prose.doubts(report))
    if flows:
        grid = flow_grid.page_grid(flows)
        told = {str(flow.id) for flow in flows if stories.has_story(flow)}
        yield from table_lines(grid, told, sortable=True)
        yield f'<p class="dim">{escape(legend(grid))}</p>'
    healthy = prose.healthy_line(report, bool(flows))
    if healthy:
        yield f"<p>{escape(healthy)}</p>"
    spread = report.spread if report.spread is not None else Spread()
    whole = overview.draw(flows, spread, linked=True)
    if whole is not None:
        yield from picture_lines(whole, fits=True)
    places = Places(report)
    for at, flow in enumerate(flow for flow in flows if stories.has_story(flow)):
        yield from _story_lines(report, flow, stories.tell(flow, places), at < PICTURED)
    distributions = ecdf.draw([spread, of_flows(flows)])
    if distributions is not None:
        yield from picture_lines(distributions, fits=True)
    yield from page_end()


def fact_lines(facts: Sequence[str], doubts: Sequence[str]) -> Iterator[str]:
    """What was read: the first sentence, ``doubts`` and warnings are seen, the others when they are asked for."""
    others: list[str] = []
    for at, fact in enumerate(facts):
        if not at or is_warning(fact) or fact in doubts:
            yield f'<p class="{"dim warning" if at else "dim"}">{escape(fact)}</p>'
        else:
            others.append(fact)
    if others:
        yield "<details><summary>What else was read</summary>"
        yield from (f'<p class="dim">{escape(fact)}</p>' for fact in others)
        yield "</details>"


def _story_lines(report: Report, flow: FlowReport, story: stories.Story, pictured: bool) -> Iterator[str]:
    about = f' <span class="dim">{escape(story.about)}</span>' if story.about else ""
    yield f'<article id="flow-{flow.id}" class="{"stalled" if flow.stalled else "failed"}">'
    yield f"<h2>{escape(story.title)}: <code>{escape(story.endpoints)}</code>{about}</h2>"
    yield f'<p class="verdict">{escape(story.verdict)}</p>'
    for text in filter(None, (story.finding, story.parts, story.stages)):
        yield f"<p>{escape(text)}</p>"
    if pictured and any(flow.events.values()):
        known = report.timelines.get(flow.id)
        timeline = known if known is not None else sketch_of(report, flow)
        yield from timeline_lines(timeline, "" if known is not None else _SKETCHED.format(flow.id))
    if story.evidence:
        yield "<ul>"
        for text, where in story.evidence:
            yield f"<li>{escape(text)}" + (f" <code>{escape(where)}</code>" if where else "") + "</li>"
        yield "</ul>"
    if story.threads is not None:
        yield f"<p>{escape(story.threads_title)}</p>"
        yield from table_lines(story.threads, set())
        yield f'<p class="dim">{escape(legend(story.threads))}</p>'
    if story.would_settle:
        yield f"<p><b>Would settle:</b> {escape(story.would_settle)}</p>"
    yield "</article>"


def timeline_lines(timeline: Timeline, caption: str = "", is_open: bool = False) -> Iterator[str]:
    """The waterfall of a flow, and the same as a table."""
    yield from picture_lines(waterfall_svg.draw(waterfall_of(timeline)), caption)
    yield f"<details{' open' if is_open else ''}><summary>The same as a table</summary>"
    heads = "".join(f"<th>{name}</th>" for name in NAMES)
    yield f'<div class="wide" tabindex="0"><table><thead><tr>{heads}</tr></thead><tbody>'
    for row in cells(timeline):
        made = (f"<td{_class_of(name)}>{escape(text)}</td>" for name, text in zip(NAMES, row, strict=True))
        yield f"<tr>{''.join(made)}</tr>"
    yield "</tbody></table></div></details>"


def _class_of(column: str) -> str:
    if column in RIGHT:
        return ' class="right"'
    return ' class="free"' if column in ("Event", "Remarks") else ""
