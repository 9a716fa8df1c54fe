"""A timeline in every format: a table for a terminal, markup for a ticket, data for a program.

What a row says is in `timeline_cells`, how a terminal shows it in `timeline_table`.
"""

import csv
import json
from collections.abc import Callable, Iterator
from typing import Any, Final, TextIO

from pcapstall.report import page, prose, to_html, to_jira, to_json, to_markdown
from pcapstall.report.markup import Markup
from pcapstall.report.options import RenderOptions
from pcapstall.report.render import parse_page_format
from pcapstall.report.timeline import Timeline, TimelineRow
from pcapstall.report.timeline_cells import NAMES, RIGHT, UNTIMED_TITLE, cells, headline, legend, untimed
from pcapstall.report.timeline_table import table_lines
from pcapstall.report.to_csv import cell as csv_cell

_encode: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False).encode
_ROW: Final = TimelineRow._fields


def render_timeline(timeline: Timeline, out: TextIO, wanted: str, options: RenderOptions) -> None:
    """Write ``timeline`` in the format ``wanted``, as `-f` takes it."""
    name, style = parse_page_format(wanted)
    if name == "csv":
        _csv(timeline, out)
        return
    for line in _PAGES[name](timeline, options._replace(style=style) if style else options):
        out.write(line + "\n")


def _head(timeline: Timeline) -> dict[str, Any]:
    """Everything but the rows."""
    return to_json.header(timeline.report) | {
        "flow": to_json.flow_object(timeline.flow),
        "zero_ns": str(timeline.zero_ns),
        "everything": timeline.everything,
        "notices": list(timeline.notices),
    }


def row_object(row: TimelineRow) -> dict[str, Any]:
    """A row, as JSON has it: epoch nanoseconds are strings."""
    made = {name: getattr(row, name) for name in _ROW}
    made["ns"] = str(row.ns)
    made["until_ns"] = None if row.until_ns is None else str(row.until_ns)
    return made


def _json(timeline: Timeline, _options: RenderOptions) -> Iterator[str]:
    yield _encode(_head(timeline))[:-1] + ","
    yield ' "rows": ['
    for number, row in enumerate(timeline.rows, 1):
        yield f"  {_encode(row_object(row))}{',' if number < len(timeline.rows) else ''}"
    yield " ]}"


def _jsonl(timeline: Timeline, _options: RenderOptions) -> Iterator[str]:
    yield _encode(_head(timeline))
    for row in timeline.rows:
        yield _encode(row_object(row))


def _csv(timeline: Timeline, out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_ROW)
    for row in timeline.rows:
        writer.writerow([csv_cell(getattr(row, name)) for name in _ROW])


def _about(timeline: Timeline) -> list[str]:
    return [*prose.what_was_read(timeline.report), *timeline.notices]


def _markup(
    timeline: Timeline, markup: Markup, head: Callable[[], list[str]], row: Callable[[list[str]], str]
) -> Iterator[str]:
    escape = markup.escape
    yield f"{markup.strong}{escape(headline(timeline))}{markup.strong}"
    yield ""
    yield from head()
    for texts in cells(timeline):
        yield row([escape(text) for text in texts])
    yield ""
    yield escape(legend(timeline))
    lines = untimed(timeline)
    if lines:
        yield ""
        yield escape(UNTIMED_TITLE)
        yield ""
        for line in lines:
            yield f"{markup.bullet} {escape(line)}"
    yield ""
    for fact in _about(timeline):
        yield f"{markup.bullet} {escape(fact)}"


def _markdown(timeline: Timeline, _options: RenderOptions) -> Iterator[str]:
    rules = ["--:" if name in RIGHT else "---" for name in NAMES]
    head = [f"| {' | '.join(NAMES)} |", f"| {' | '.join(rules)} |"]
    return _markup(timeline, to_markdown.MARKUP, lambda: head, lambda texts: f"| {' | '.join(texts)} |")


def _jira(timeline: Timeline, _options: RenderOptions) -> Iterator[str]:
    head = [f"||{'||'.join(NAMES)}||"]
    return _markup(timeline, to_jira.MARKUP, lambda: head, lambda texts: f"|{'|'.join(text or ' ' for text in texts)}|")


def _html(timeline: Timeline, _options: RenderOptions) -> Iterator[str]:
    escape = page.escape
    yield from page.page_start(f"Timeline of flow {timeline.flow.id}")
    kind = "stalled" if timeline.flow.stalled else "failed" if timeline.flow.failed else "fine"
    yield f'<h1 class="{kind}">{escape(headline(timeline))}</h1>'
    yield from to_html.fact_lines(_about(timeline), prose.doubts(timeline.report))
    yield from to_html.timeline_lines(timeline, is_open=True)
    yield f'<p class="dim">{escape(legend(timeline))}</p>'
    lines = untimed(timeline)
    if lines:
        yield f"<p>{escape(UNTIMED_TITLE)}</p><ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
    yield from page.page_end()


_PAGES: Final[dict[str, Callable[[Timeline, RenderOptions], Iterator[str]]]] = {
    "table": table_lines,
    "markdown": _markdown,
    "jira": _jira,
    "json": _json,
    "jsonl": _jsonl,
    "html": _html,
}
