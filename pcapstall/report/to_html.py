"""The report as one self-contained HTML page: no script, nothing fetched, light and dark by the reader's setting.

The same as on a terminal: the answer, what was read, the table, each verdict with its evidence. Everything from a
capture is escaped, and a content security policy forbids whatever would slip through.
"""

import html
from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from pcapstall.report import flow_grid, prose, stories
from pcapstall.report.grid import ABSENT, BAD, WARN, Grid
from pcapstall.report.model import FlowReport, Report
from pcapstall.report.options import RenderOptions
from pcapstall.report.places import Places
from pcapstall.report.to_table import WITH_UNIT, legend
from pcapstall.report.untrusted import printable

_STYLE: Final = """
:root { color-scheme: light dark; --text: #1c2024; --dim: #5b6570; --page: #fff; --line: #d5dae0; --head: #f1f3f6;
  --bad: #b3121d; --bad-back: #fdecec; --warn: #8a5300; --good: #1b6e36; }
@media (prefers-color-scheme: dark) { :root { --text: #e4e7eb; --dim: #9aa4af; --page: #14171a; --line: #343a41;
  --head: #1e2328; --bad: #ff8f8f; --bad-back: #401a1d; --warn: #f0b35a; --good: #7fd699; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 100rem; color: var(--text); background: var(--page);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.35rem; line-height: 1.35; max-width: 60rem; margin: 0 0 .8rem; padding-left: .8rem;
  border-left: .3rem solid var(--good); }
h1.failed { border-color: var(--warn); }
h1.stalled { border-color: var(--bad); }
h2 { font-size: 1.05rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
p, ul { max-width: 60rem; margin: .4rem 0; }
ul { padding-left: 1.2rem; }
.dim { color: var(--dim); font-size: .9rem; }
.warning { color: var(--warn); }
.wide { overflow-x: auto; margin: 1rem 0 .4rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; text-align: left; white-space: nowrap; border-bottom: 1px solid var(--line); }
th { background: var(--head); font-weight: 600; }
th[title] { text-decoration: underline dotted var(--dim); text-underline-offset: .2em; }
.right { text-align: right; }
.absent { color: var(--dim); }
.bad { color: var(--bad); background: var(--bad-back); font-weight: 600; }
.warn { color: var(--warn); }
code { font: .9em ui-monospace, monospace; overflow-wrap: anywhere; }
a { color: inherit; }
article { margin: 1.2rem 0; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: .4rem;
  max-width: 64rem; break-inside: avoid; }
article:target { border-color: var(--bad); }
.verdict { font-size: 1.02rem; }
"""
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_MARKS: Final = {BAD: "bad", WARN: "warn"}


def render(report: Report, out: TextIO, options: RenderOptions) -> None:
    """Write the page."""
    flows = prose.worst_first(report.flows)
    for line in _lines(report, flows):
        out.write(line + "\n")


def _lines(report: Report, flows: Sequence[FlowReport]) -> Iterator[str]:
    totals = report.totals
    names = ", ".join(capture.file for capture in report.captures[:3])
    yield from page_start(f"TLS stalls: {names}")
    kind = "stalled" if totals.stalled else "failed" if totals.failed else "fine"
    yield f'<h1 class="{kind}">{escape(prose.headline(report, flows))}</h1>'
    for fact in prose.what_was_read(report):
        warning = " warning" if fact.startswith("Warning: ") else ""
        yield f'<p class="dim{warning}">{escape(fact)}</p>'
    if flows:
        grid = flow_grid.flow_grid(flows)
        told = {str(flow.id) for flow in flows if stories.has_story(flow)}
        yield from table_lines(grid, told)
        yield f'<p class="dim">{escape(legend(grid))}</p>'
    healthy = prose.healthy_line(report, bool(flows))
    if healthy:
        yield f"<p>{escape(healthy)}</p>"
    places = Places(report)
    for flow in flows:
        if stories.has_story(flow):
            yield from _story_lines(flow.id, stories.tell(flow, places))
    yield f'<p class="dim">pcapstall {escape(report.version)}</p>'
    yield "</body></html>"


def page_start(title: str) -> Iterator[str]:
    """The page up to its body's contents."""
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield '<head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title>"
    yield f"<style>{_STYLE}</style></head>"
    yield "<body>"


def _story_lines(number: int, story: stories.Story) -> Iterator[str]:
    about = f' <span class="dim">{escape(story.about)}</span>' if story.about else ""
    yield f'<article id="flow-{number}">'
    yield f"<h2>{escape(story.title)}: <code>{escape(story.endpoints)}</code>{about}</h2>"
    yield f'<p class="verdict">{escape(story.verdict)}</p>'
    for text in filter(None, (story.finding, story.parts, story.stages)):
        yield f"<p>{escape(text)}</p>"
    if story.threads is not None:
        yield f"<p>{escape(story.threads_title)}</p>"
        yield from table_lines(story.threads, set())
        yield f'<p class="dim">{escape(legend(story.threads))}</p>'
    if story.evidence:
        yield "<ul>"
        for text, where in story.evidence:
            yield f"<li>{escape(text)}" + (f" <code>{escape(where)}</code>" if where else "") + "</li>"
        yield "</ul>"
    if story.would_settle:
        yield f"<p><b>Would settle:</b> {escape(story.would_settle)}</p>"
    yield "</article>"


def table_lines(grid: Grid, linked: set[str]) -> Iterator[str]:
    """The grid as a table; the ids in ``linked`` lead to their stories."""
    yield '<div class="wide"><table>'
    heads = (
        f"<th{_classes(['right'] if column.right else [])}"
        f"{f' title={chr(34)}{escape(column.legend)}{chr(34)}' if column.legend else ''}>{escape(column.name)}</th>"
        for column in grid.columns
    )
    yield f"<thead><tr>{''.join(heads)}</tr></thead>"
    yield "<tbody>"
    for at, row in enumerate(grid.rows):
        cells: list[str] = []
        for column, cell in zip(grid.columns, row, strict=True):
            classes = ["right"] if column.right else []
            mark = grid.marks.get((at, column.name))
            if mark is not None:
                classes.append(_MARKS[mark])
            shown = escape(cell)
            if cell == ABSENT:
                classes.append("absent")
            elif column.code:
                shown = f"<code>{shown}</code>"
            elif column.name == "#" and cell in linked:
                shown = f'<a href="#flow-{shown}">{shown}</a>'
            cells.append(f"<td{_classes(classes)}>{shown}</td>")
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def _classes(names: Sequence[str]) -> str:
    return f' class="{" ".join(names)}"' if names else ""


def escape(text: str) -> str:
    """``text`` as HTML shows it, between tags and in quoted attributes."""
    return WITH_UNIT.sub("&nbsp;", html.escape(printable(text)))
