"""The report for a terminal or a plain-text file: the answer, what was read, the table, each verdict with evidence.

How a table is drawn is `drawing`'s. Colour and width are as told by the options; nothing here asks a terminal.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TextIO

from pcapstall.report import prose
from pcapstall.report.drawing import colored, draw, drawn_width, is_markup
from pcapstall.report.facts import is_warning
from pcapstall.report.grid import BAD, WARN, Grid
from pcapstall.report.model import Report
from pcapstall.report.options import RenderOptions
from pcapstall.report.ranking import worst_first
from pcapstall.report.untrusted import display_width, printable

if TYPE_CHECKING:
    from pcapstall.report.flow_model import FlowReport
    from pcapstall.report.stories import Story

RED: Final = "31;1"
YELLOW: Final = "33"
GREEN: Final = "32"
BOLD: Final = "1"
DIM: Final = "2"

_WITH_UNIT: Final = r"(?<=\d) (?=(?:ns|us|ms|s|min|h|d|y)\b)"

_MARKS: Final = {BAD: RED, WARN: YELLOW}
LEGEND_WIDTH: Final = 100
"""What is said under a table is wrapped here when there is no terminal: a ticket shows it beside the table."""
_SHORT: Final = 32
"""Frames and lines that take no more are kept on one line."""

GLUE: Final = "\x00"
"""Stands for a space that no line may break at; never in printable text."""


def render(report: Report, out: TextIO, options: RenderOptions) -> None:
    """Write the report."""
    flows = worst_first(report.flows, None if options.all_flows else max(options.stories, 1))
    if is_markup(options.style):
        lines = bare_lines([_grid_of(flows)] if flows else [], options)
    else:
        lines = _lines(report, flows, options)
    for line in lines:
        out.write(line + "\n")


def _lines(report: Report, flows: "Sequence[FlowReport]", options: RenderOptions) -> Iterator[str]:
    worry = report.totals.stalled or report.totals.failed
    answer = RED if report.totals.stalled else YELLOW if worry else GREEN
    for line in wrap(printable(prose.headline(report, flows)), options.width):
        yield paint(line, answer, options)
    yield from fact_lines(prose.read_before(report), options)
    if flows:
        yield ""
        yield from table_lines(_grid_of(flows), options)
    healthy = prose.healthy_line(report, bool(flows))
    if healthy:
        yield ""
        yield from wrap(printable(healthy), options.width, "  ")
    if flows:
        yield from _stories(report, flows, options)
    after = prose.read_after(report)
    if after:
        yield ""
        yield from fact_lines(after, options)


def _grid_of(flows: "Sequence[FlowReport]") -> Grid:
    from pcapstall.report.flow_grid import flow_grid  # a healthy capture has no row

    return flow_grid(flows)


def _stories(report: Report, flows: "Sequence[FlowReport]", options: RenderOptions) -> Iterator[str]:
    from pcapstall.report import stories  # a healthy capture has none
    from pcapstall.report.places import Places

    told = stories.to_be_told(flows, options)
    places = Places(report)
    for flow in told:
        yield ""
        yield from story_lines(stories.tell(flow, places), options)
    untold = stories.untold_line(flows, told)
    if untold:
        yield ""
        yield from wrap(untold, options.width)


def fact_lines(facts: Iterable[str], options: RenderOptions) -> Iterator[str]:
    """What was read, and what is to be mistrusted, a sentence a line."""
    for fact in facts:
        for line in wrap(printable(fact), options.width, "  "):
            yield paint(line, YELLOW if is_warning(fact) else "", options)


def story_lines(story: "Story", options: RenderOptions) -> Iterator[str]:
    """One flow's story, wrapped to the options' width."""
    title = printable(f"{story.title}: {story.endpoints}" + (f" ({story.about})" if story.about else ""))
    for line in wrap(title, options.width, "  "):
        yield paint(line, BOLD, options)
    for text in (story.verdict, story.finding, story.parts, story.stages):
        if text:
            yield from ("  " + line for line in wrap(printable(text), _inner(options, 2)))
    if story.threads is not None:
        yield from thread_lines(story.threads_title, story.threads, options)
        yield ""
    for text, where in story.evidence:
        place = printable(where)
        if len(place) <= _SHORT:
            place = place.replace(" ", GLUE)
        bullet = printable(f"- {text}") + (f" [{place}]" if place else "")
        yield from ("  " + line for line in wrap(bullet, _inner(options, 2), "  "))
    if story.would_settle:
        settle = printable(f"would settle: {story.would_settle}")
        yield from ("  " + line for line in wrap(settle, _inner(options, 2), "  "))


def thread_lines(title: str, threads: Grid, options: RenderOptions) -> Iterator[str]:
    """What each thread did: the table under a story, where there is no terminal as wide as a ticket takes it."""
    inner = options._replace(width=(_inner(options, 2) or LEGEND_WIDTH - 2))
    yield ""
    yield f"  {title}"
    yield from (f"  {line}" for line in table_lines(threads, inner))


def table_lines(grid: Grid, options: RenderOptions) -> Iterator[str]:
    """The grid fitted to the options' width and drawn in their style, and what its columns mean."""
    grid = fitted(grid, options)
    yield from drawn_lines(grid, options)
    yield from (paint(line, DIM, options) for line in wrap(legend(grid), options.width or LEGEND_WIDTH, "  "))


def bare_lines(grids: Sequence[Grid], options: RenderOptions) -> Iterator[str]:
    """The grids alone and in full, in one of `styles.ESCAPES`: for a page, not for the terminal."""
    for at, grid in enumerate(grids):
        if at:
            yield ""
        yield from drawn_lines(grid, options._replace(color=False))


def fitted(grid: Grid, options: RenderOptions) -> Grid:
    """The grid made to fit the options' width in their style."""
    return grid.fitted(options.width, lambda columns: drawn_width(options.style, columns))


def drawn_lines(grid: Grid, options: RenderOptions) -> list[str]:
    """The grid as it is, drawn in the options' style and colours."""
    names = [column.name for column in grid.columns]
    colors: dict[tuple[int, int], str] = {}
    if options.color:
        places = {name: at for at, name in enumerate(names)}
        colors = {(row, places[name]): _MARKS[mark] for (row, name), mark in grid.marks.items() if name in places}
    alignments = ["right" if column.right else "left" for column in grid.columns]
    return draw(names, grid.rows, alignments, options.style, colors).splitlines()


def legend(grid: Grid) -> str:
    """What the columns mean that do not say so themselves, and which were left out; empty when all is clear."""
    meanings = [f"{column.name}: {column.legend}" for column in grid.columns if column.legend]
    said = [f"Times in ms. {'; '.join(meanings)}."] if meanings else []
    if grid.remark:
        said.append(grid.remark)
    return " ".join([*said, *no_room(grid)])


def no_room(grid: Grid) -> list[str]:
    """Which columns of a fitted grid were left out, and how they are had; empty when none was."""
    if not grid.left_out:
        return []
    command = f"COLUMNS={grid.whole_width} pcapstall ... |{GLUE}less{GLUE}-S"
    return [f"No room for {', '.join(grid.left_out)} (with them it is {grid.whole_width} columns wide: {command})."]


def paint(text: str, color: str, options: RenderOptions) -> str:
    """``text`` in a colour (SGR parameters), when colour is wanted and ``color`` is not empty."""
    return colored(text, color) if color and options.color else text


def wrap(text: str, width: int | None, indent: str = "") -> list[str]:
    """``text`` in lines of at most ``width`` columns, those after the first behind ``indent``.

    A line never breaks between a number and its unit, nor within a word: a word too long for a line has its own.
    """
    if width is None:
        return [text.replace(GLUE, " ")] if text else []
    lines: list[str] = []
    line = ""
    for word in unbroken(text, GLUE).split(" "):
        start = indent if lines else ""
        if line and display_width(line) + 1 + display_width(word) > width:
            lines.append(line)
            line = indent + word
        else:
            line = f"{line} {word}" if line else start + word
    if line:
        lines.append(line)
    return [line.replace(GLUE, " ") for line in lines]


def unbroken(text: str, space: str) -> str:
    """``text`` with ``space`` between a number and its unit, where no line may break."""
    return re.sub(_WITH_UNIT, space, text)  # compiled only now: what is piped is not wrapped


def _inner(options: RenderOptions, indent: int) -> int | None:
    return None if options.width is None else max(options.width - indent, 20)
