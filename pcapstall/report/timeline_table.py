"""A timeline on a terminal: the verdict, what was read, and the table, whose cells are wrapped to fit.

Where there is no terminal the table is as wide as a ticket takes it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from pcapstall.report import prose, styles
from pcapstall.report.drawing import draw, drawn_width
from pcapstall.report.folding import folded
from pcapstall.report.options import RenderOptions
from pcapstall.report.timeline import Timeline
from pcapstall.report.timeline_cells import NAMES, RIGHT, UNTIMED_TITLE, cells, headline, legend, untimed
from pcapstall.report.to_table import (
    BOLD,
    DIM,
    LEGEND_WIDTH,
    RED,
    YELLOW,
    fact_lines,
    paint,
    wrap,
)
from pcapstall.report.untrusted import display_width, printable

_NARROW: Final = 90
"""On less, the time of day is left out: the time since the SYN says as much."""
_LEAST: Final = 12
"""Columns that events and remarks have at least."""
_ACTOR: Final = 15
_ACTOR_NARROW: Final = 10


def table_lines(timeline: Timeline, options: RenderOptions) -> Iterator[str]:
    """The whole page."""
    width = options.width or LEGEND_WIDTH
    if options.style in styles.ESCAPES and not options.picture:
        alignments = ["right" if name in RIGHT else "left" for name in NAMES]
        yield from draw(NAMES, list(cells(timeline)), alignments, options.style).splitlines()
        return
    color = RED if timeline.flow.stalled else YELLOW if timeline.flow.failed else BOLD
    for line in wrap(printable(headline(timeline)), width):
        yield paint(line, color, options)
    yield ""
    if options.picture:
        yield from _picture(timeline, options, width)
    else:
        yield from _table(timeline, options, width)
    lost = f"{'x' if options.plain else '×'}: lost," if options.picture else "lost:"
    said = legend(timeline, lost, of_day=not options.picture and width >= _NARROW)
    yield from (paint(line, DIM, options) for line in wrap(printable(said), width, "  "))
    lines = untimed(timeline)
    if lines:
        yield ""
        yield UNTIMED_TITLE
        for line in lines:
            yield from wrap(f"- {printable(line)}", width, "  ")
    yield ""
    yield from fact_lines([*timeline.notices, *prose.what_was_read(timeline.report)], options._replace(width=width))


def _picture(timeline: Timeline, options: RenderOptions, width: int) -> Iterator[str]:
    """The lanes of client and server."""
    from pcapstall.report.pictures import waterfall, waterfall_text  # most timelines are tables

    signs = waterfall_text.PLAIN if options.plain else waterfall_text.LINES
    fall = waterfall.waterfall_of(timeline, len(timeline.rows) if timeline.everything else waterfall.MOST_MARKS)
    for line in waterfall_text.lines(fall, width, signs):
        yield line.replace(signs.bar, paint(signs.bar, RED, options)) if not options.plain else line
    if fall.left_out:
        yield f"{fall.left_out} more events are left out."


def _table(timeline: Timeline, options: RenderOptions, width: int) -> Iterator[str]:
    rows = [[printable(cell) for cell in row] for row in cells(timeline)]
    names = list(NAMES)
    if width < _NARROW:
        names.remove("Time")
        rows = [[cell for name, cell in zip(NAMES, row, strict=True) if name != "Time"] for row in rows]
    widths = _widths(names, rows, width - drawn_width(options.style, len(names)))
    wrapped = [["\n".join(folded(cell, wide)) for cell, wide in zip(row, widths, strict=True)] for row in rows]
    alignments = ["right" if name in RIGHT else "left" for name in names]
    yield from draw(names, wrapped, alignments, options.style).splitlines()


def _widths(names: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """Columns for each: times in full, actors up to a point, the rest for events and remarks."""
    natural = [max([len(name), *(display_width(row[at]) for row in rows)]) for at, name in enumerate(names)]
    widths = dict(zip(names, natural, strict=True))
    widths["Actor"] = min(widths["Actor"], _ACTOR if "Time" in widths else _ACTOR_NARROW)
    left = room - sum(wide for name, wide in widths.items() if name not in ("Event", "Remarks"))
    event = min(widths["Event"], max(left * 9 // 20, _LEAST))
    remarks = min(widths["Remarks"], max(left - event, _LEAST))
    widths["Event"] = min(widths["Event"], max(left - remarks, event))
    widths["Remarks"] = remarks
    return [widths[name] for name in names]
