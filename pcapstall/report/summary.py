"""The rows of `groups.rows_of` in every format: outcomes of each group, then the percentiles of its intervals.

The grouping and the numbers are `percentiles`'; how a grid looks is each format's.
"""

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TextIO

from pcapstall.core.counts import several
from pcapstall.report import page, styles, to_jira, to_markdown, to_table
from pcapstall.report.flow_grid import LEGENDS
from pcapstall.report.grid import ABSENT, BAD, WARN, Grid, GridColumn, decimals, milliseconds, plain
from pcapstall.report.groups import SummaryRow
from pcapstall.report.markup import Markup, grid_lines
from pcapstall.report.model import SCHEMA, IntervalSummary
from pcapstall.report.names import INTERVALS
from pcapstall.report.options import RenderOptions
from pcapstall.report.percentiles import FEW, RANKS, outcome_counts, ranks_of
from pcapstall.report.render import parse_page_format
from pcapstall.report.to_csv import cell as csv_cell

_OPEN: Final = "open"
NO_KEY: Final = "(none)"
"""The group of flows without a server name."""
_PLURALS: Final = {"server": "servers", "client": "clients", "sni": "server names"}
_SPREAD_KEEP: Final = {"p50": 0, "p90": 4, "p99": 2, "max": 0}


def render_summary(rows: Sequence[SummaryRow], by: str, out: TextIO, wanted: str, options: RenderOptions) -> None:
    """Write ``rows``, grouped ``by`` server, sni or client, in the format ``wanted``, as `-f` takes it."""
    name, style = parse_page_format(wanted)
    if name in _DATA:
        lines = _DATA[name](rows, by)
    else:
        lines = _PAGES[name](rows, by, options._replace(style=style) if style else options)
    for line in lines:
        out.write(line + "\n")


def headline(rows: Sequence[SummaryRow], by: str) -> str:
    """What the rows come to, in one sentence."""
    total = sum(row.flows for row in rows)
    stalled = sum(row.stalled for row in rows)
    failed = sum(row.failed for row in rows)
    said = f"{several(total, 'flow')} of {len(rows)} {by if len(rows) == 1 else _PLURALS[by]}"
    return f"{said}: {stalled} stalled, {failed} failed."


def groups(rows: Sequence[SummaryRow], by: str) -> Grid:
    """Flows, stalls, failures and outcomes of each group."""
    columns = [
        GridColumn(by, shrinks_to=21, code=True),
        GridColumn("flows", right=True),
        GridColumn("stalled", right=True),
        GridColumn("failed", right=True),
        GridColumn("outcomes", keep=1),
    ]
    cells: list[list[str]] = []
    marks: dict[tuple[int, str], str] = {}
    for at, row in enumerate(rows):
        cells.append([_key(row), str(row.flows), str(row.stalled), str(row.failed), plain(_outcomes(row))])
        if row.stalled:
            marks[at, "stalled"] = BAD
        if row.failed:
            marks[at, "failed"] = WARN
    return Grid(columns, cells, marks)


def spreads(rows: Sequence[SummaryRow], by: str) -> Grid:
    """The percentiles of each interval of each group, a row each, and how many of it were not seen to end."""
    found = [(row, name) for row in rows for name in INTERVALS if _says_something(row, name)]
    closed = [row.intervals.get(name) for row, name in found]
    ranks = [of for of in RANKS if any(_rank(spread, of) is not None for spread in closed)]
    columns = [
        GridColumn(by, shrinks_to=21, code=True),
        GridColumn("interval"),
        GridColumn("n", right=True),
        *(GridColumn(name, right=True, keep=_SPREAD_KEEP[name]) for name in ranks),
        GridColumn(_OPEN, "those that were not seen to end", right=True, keep=1),
        GridColumn("open max", right=True, keep=3),
    ]
    opened = [row.open.get(name) for row, name in found]
    # One number of decimals for all of them: a p99 with fewer than the longest would be rounded above it.
    digits = decimals([ns for spread in closed for of in RANKS if (ns := _rank(spread, of)) is not None])
    open_digits = decimals([spread.max for spread in opened if spread])
    cells = [
        [
            _key(row),
            name,
            str(spread.n if spread else 0),
            *(milliseconds(_rank(spread, of), digits) for of in ranks),
            str(unended.n) if unended else ABSENT,
            milliseconds(unended.max if unended else None, open_digits, unended is not None),
        ]
        for (row, name), spread, unended in zip(found, closed, opened, strict=True)
    ]
    return Grid(columns, cells).without_empty()


def _rank(spread: IntervalSummary | None, of: str) -> int | None:
    """One percentile; None where too few lengths have none."""
    if spread is None or of not in ranks_of(spread.n):
        return None
    length: int = getattr(spread, of)
    return length


def _says_something(row: SummaryRow, name: str) -> bool:
    if name in row.open:
        return True
    spread = row.intervals.get(name)
    if spread is None or (name == "ch_close" and spread == row.intervals.get("ch_fin")):
        return False
    return spread.max != 0 or spread.p50 != 0


def _key(row: SummaryRow) -> str:
    return NO_KEY if row.key is None else plain(row.key)


def _outcomes(row: SummaryRow) -> str:
    outcomes = outcome_counts(row.tls_outcomes, row.tcp_outcomes)
    return ", ".join(f"{name} {count}" for name, count in outcomes.items())


def _unit(rows: Sequence[SummaryRow], shown: Grid) -> str:
    """What the numbers of ``shown``, the percentiles of ``rows``, mean."""
    names = [name for name in INTERVALS if any(_says_something(row, name) for row in rows)]
    counted = f"; {_OPEN} counts the others." if any(column.name == _OPEN for column in shown.columns) else "."
    said = f"Times in ms, nearest-rank percentiles of intervals seen to end{_too_few(rows, shown)}{counted}"
    if names:
        said = f"{said} {'; '.join(f'{name}: {LEGENDS[name]}' for name in names)}."
    return f"{said} {left_out}" if (left_out := _untrusted(rows)) else said


def _too_few(rows: Sequence[SummaryRow], shown: Grid) -> str:
    """Why a percentile of ``shown`` is absent; empty where none is."""
    columns = {column.name for column in shown.columns}
    counts = [spread.n for row in rows for name, spread in row.intervals.items() if _says_something(row, name)]
    fewest = min(counts, default=FEW)
    needs = ["p50 needs 2"] if "p50" in columns and fewest < 2 else []
    if high := [of for of in ("p90", "p99") if of in columns and fewest < FEW]:
        needs.append(f"{' and '.join(high)} {'needs' if len(high) == 1 else 'need'} {FEW}")
    return f" (- for too few flows: {', '.join(needs)})" if needs else ""


def _untrusted(rows: Sequence[SummaryRow]) -> str:
    """How many lengths are in no percentile since they cannot be believed, in one sentence; empty for none."""
    counts = {name: sum(row.untrusted.get(name, 0) for row in rows) for name in INTERVALS}
    if not any(_says_something(row, "ch_close") for row in rows) and counts["ch_close"] == counts["ch_fin"]:
        del counts["ch_close"]  # as its percentiles: they say what those of ch_fin do
    found = ", ".join(f"{count} of {name}" for name, count in counts.items() if count)
    return f"Left out, since the capture's clock or what it missed made them: {found}." if found else ""


def _table(rows: Sequence[SummaryRow], by: str, options: RenderOptions) -> Iterator[str]:
    if options.style in styles.ESCAPES:
        yield from to_table.bare_lines([grid for grid in (groups(rows, by), spreads(rows, by)) if grid.rows], options)
        return
    yield from to_table.wrap(headline(rows, by), options.width)
    if not rows:
        return
    yield ""
    grid = to_table.fitted(groups(rows, by), options)
    yield from to_table.drawn_lines(grid, options)
    if grid.left_out:
        for row in rows:
            yield from to_table.wrap(f"{_key(row)}: {_outcomes(row)}", options.width, "  ")
    grid = to_table.fitted(spreads(rows, by), options)
    if grid.rows:
        yield ""
        yield from to_table.drawn_lines(grid, options)
        said = " ".join([_unit(rows, grid), *to_table.no_room(grid)])
        yield from to_table.wrap(said, options.width or to_table.LEGEND_WIDTH, "  ")


def _markup(rows: Sequence[SummaryRow], by: str, markup: Markup) -> Iterator[str]:
    return grid_lines(headline(rows, by), _grids(rows, by), _unit(rows, spreads(rows, by)), markup)


def _html(rows: Sequence[SummaryRow], by: str, options: RenderOptions) -> Iterator[str]:
    yield from page.page_start("TLS handshakes in percentiles")
    yield f"<h1>{page.escape(headline(rows, by))}</h1>"
    for grid in _grids(rows, by):
        yield from page.table_lines(grid, set(), sortable=True)
    yield f'<p class="dim">{page.escape(_unit(rows, spreads(rows, by)))}</p>'
    yield from page.page_end()


def _grids(rows: Sequence[SummaryRow], by: str) -> list[Grid]:
    return [grid for grid in (groups(rows, by), spreads(rows, by)) if grid.rows]


def _json(rows: Sequence[SummaryRow], by: str) -> Iterator[str]:
    yield json.dumps({"schema": SCHEMA, "by": by, "groups": [_object(row) for row in rows]}, indent=1)


def _json_lines(rows: Sequence[SummaryRow], by: str) -> Iterator[str]:
    yield json.dumps({"schema": SCHEMA, "by": by})
    for row in rows:
        yield json.dumps(_object(row))


def _object(row: SummaryRow) -> dict[str, Any]:
    return {
        "key": row.key,
        "flows": row.flows,
        "stalled": row.stalled,
        "failed": row.failed,
        "tls_outcomes": row.tls_outcomes,
        "tcp_outcomes": row.tcp_outcomes,
        "intervals_ns": {name: spread._asdict() for name, spread in row.intervals.items()},
        "open_ns": {name: spread._asdict() for name, spread in row.open.items()},
        "untrusted": row.untrusted,
    }


def _csv(rows: Sequence[SummaryRow], by: str) -> Iterator[str]:
    spread_columns = [f"{of}_ns" for of in RANKS]
    yield _csv_line(
        [by, "flows", "stalled", "failed", "interval", "n", *spread_columns, "open", "longest_open_ns", "untrusted"]
    )
    for row in rows:
        group: list[str | int | None] = [csv_cell(row.key), row.flows, row.stalled, row.failed]
        names = [name for name in INTERVALS if name in row.intervals or name in row.open or name in row.untrusted]
        for name in names:
            closed, unended = row.intervals.get(name), row.open.get(name)
            spread = [getattr(closed, of) if closed else None for of in ("n", *RANKS)]
            opened = [unended.n, unended.max] if unended else [0, None]
            yield _csv_line([*group, name, *spread, *opened, row.untrusted.get(name, 0)])
        if not names:
            yield _csv_line([*group, *[None] * 9])


def _csv_line(cells: Sequence[str | int | None]) -> str:
    line = _Line()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.text


class _Line:
    """Takes what a csv.writer writes."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text


_DATA: Final[dict[str, Callable[[Sequence[SummaryRow], str], Iterator[str]]]] = {
    "json": _json,
    "jsonl": _json_lines,
    "csv": _csv,
}
_PAGES: Final[dict[str, Callable[[Sequence[SummaryRow], str, RenderOptions], Iterator[str]]]] = {
    "table": _table,
    "markdown": lambda rows, by, _: _markup(rows, by, to_markdown.MARKUP),
    "jira": lambda rows, by, _: _markup(rows, by, to_jira.MARKUP),
    "html": _html,
}
