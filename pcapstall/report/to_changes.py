"""What became of one report in another, as a table for a terminal, as Markdown, Jira markup or JSON.

The answer first: what is new and what is gone. The numbers are `changes`'; how a grid looks is each format's own.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, TextIO

import pcapstall
from pcapstall.core.counts import several
from pcapstall.core.times import format_ms, format_span
from pcapstall.diagnose.verdict import cause_words
from pcapstall.report import to_jira, to_markdown, to_table
from pcapstall.report.changes import GONE, NEW, Changes, IntervalChange, Side, StallChange
from pcapstall.report.flow_grid import LEGENDS
from pcapstall.report.grid import ABSENT, BAD, Grid, GridColumn, decimals, milliseconds, plain
from pcapstall.report.markup import Markup, grid_lines
from pcapstall.report.model import SCHEMA, IntervalSummary
from pcapstall.report.options import RenderOptions
from pcapstall.report.percentiles import RANKS, ranks_of
from pcapstall.report.untrusted import printable

FORMATS: Final = ("table", "markdown", "jira", "json")

_NOT_ENDED: Final = "not ended"
_MARKUPS: Final = {"markdown": to_markdown.MARKUP, "jira": to_jira.MARKUP}


def render_changes(changes: Changes, out: TextIO, wanted: str, options: RenderOptions) -> None:
    """Write ``changes`` in the format ``wanted``, one of `FORMATS`."""
    if wanted == "json":
        json.dump(_object(changes), out, ensure_ascii=True, allow_nan=False, indent=1)
        out.write("\n")
        return
    lines = _markup(changes, _MARKUPS[wanted]) if wanted in _MARKUPS else _table(changes, options)
    for line in lines:
        out.write(line + "\n")


def headline(changes: Changes) -> str:
    """The answer in a sentence or two."""
    new, gone = changes.of_kind(NEW), changes.of_kind(GONE)
    said = (
        f"{several(len(new), 'new stall') if new else 'No new stall'}{_unseen([s.flows_before for s in new], 'before')}"
    )
    said += f", {len(gone) or 'none'} gone{_unseen([s.flows_after for s in gone], 'after')}"
    if new:
        said += f"; new: {_stall_words(new[0], new[0].after, new[0].longest_after_ns)}"
    if gone:
        said += f"; gone: {_stall_words(gone[0], gone[0].before, gone[0].longest_before_ns)}"
    before, after = changes.before.tally, changes.after.tally
    return (
        f"{said}. {before.stalled} of {several(before.flows, 'flow')} stalled before, "
        f"{after.stalled} of {after.flows} after; {before.failed} failed before, {after.failed} after."
    )


def _unseen(flows: Sequence[int], when: str) -> str:
    """Of how many stalls the other side says nothing: no connection was made there."""
    unseen = flows.count(0)
    if not unseen:
        return ""
    if unseen < len(flows):
        return f" ({unseen} of them where no flow was seen {when})"
    return f" (no flow was seen there {when})"


def _stall_words(stall: StallChange, flows: int, longest_ns: int | None) -> str:
    cause = f"{cause_words(stall.cause)}, " if stall.cause else ""
    upto = f", up to {format_span(longest_ns)}" if longest_ns is not None else ""
    return f"{stall.interval} at {plain(stall.where)} ({cause}{several(flows, 'flow')}{upto})"


def stalls_grid(changes: Changes) -> Grid:
    """A row for each kind of stall, the new ones first."""
    columns = [
        GridColumn("stall"),
        GridColumn("at", shrinks_to=15, code=True),
        GridColumn("interval"),
        GridColumn("cause", keep=1),
        GridColumn("before", right=True),
        GridColumn("after", right=True),
        GridColumn("longest before", "the longest of them, in ms", right=True, keep=3),
        GridColumn("longest after", "the longest of them, in ms", right=True, keep=2),
    ]
    lengths = [(stall.longest_before_ns, stall.longest_after_ns) for stall in changes.stalls]
    digits = decimals([ns for pair in lengths for ns in pair if ns is not None])
    rows = [
        [
            stall.kind,
            plain(stall.where),
            stall.interval,
            plain(stall.cause or ABSENT),
            f"{stall.before} of {stall.flows_before}",
            f"{stall.after} of {stall.flows_after}",
            *(milliseconds(ns, digits) for ns in pair),
        ]
        for stall, pair in zip(changes.stalls, lengths, strict=True)
    ]
    marks = {(at, "stall"): BAD for at, stall in enumerate(changes.stalls) if stall.kind == NEW}
    return Grid(columns, rows, marks)


def intervals_grid(changes: Changes) -> Grid:
    """A row for each percentile of each interval that says something on either side."""
    columns = [
        GridColumn("interval"),
        GridColumn("of"),
        GridColumn("before", right=True),
        GridColumn("after", right=True),
        GridColumn("change", right=True, keep=1),
        GridColumn("times", right=True, keep=2),
    ]
    rows: list[list[str]] = []
    for interval in _shown(changes):
        rows.extend(_interval_rows(interval))
    return Grid(columns, rows)


def _shown(changes: Changes) -> list[IntervalChange]:
    """Without the ch_span of hellos in one segment, and without a ch_close that is ch_fin."""
    by_name = {interval.name: interval for interval in changes.intervals}
    fin = by_name.get("ch_fin")

    def says_something(interval: IntervalChange) -> bool:
        sides = (interval.before, interval.after)
        if interval.name == "ch_close" and fin is not None and sides == (fin.before, fin.after):
            return False
        return any(side and side.max for side in sides) or bool(interval.open_before or interval.open_after)

    return [interval for interval in changes.intervals if says_something(interval)]


def _interval_rows(interval: IntervalChange) -> Iterator[list[str]]:
    sides = (interval.before, interval.after)
    counts = [str(side.n if side else 0) for side in sides]
    yield [interval.name, "flows", *counts, ABSENT, ABSENT]
    digits = decimals([getattr(side, rank) for side in sides if side for rank in ("p50", "max")])
    for rank in _ranks(sides):
        earlier, later = (getattr(side, rank) if side and rank in ranks_of(side.n) else None for side in sides)
        change = times = ABSENT
        if earlier is not None and later is not None:
            change = f"{'+' if later > earlier else ''}{format_ms(later - earlier, digits)}"
            times = _times(earlier, later)
        yield ["", rank, milliseconds(earlier, digits), milliseconds(later, digits), change, times]
    if interval.open_before or interval.open_after:
        yield ["", _NOT_ENDED, str(interval.open_before), str(interval.open_after), ABSENT, ABSENT]


def _ranks(sides: Sequence[IntervalSummary | None]) -> list[str]:
    wanted = {rank for side in sides if side for rank in ranks_of(side.n)}
    return [rank for rank in RANKS if rank in wanted]


def _times(earlier: int, later: int) -> str:
    """``3.2x``, ``0.04x``; nothing where there is nothing to divide by."""
    if earlier <= 0:
        return ABSENT
    hundredths = (later * 100 + earlier // 2) // earlier
    if hundredths < 1 and later > 0:
        return "<0.01x"
    digits = 2 if hundredths < 100 else 1 if hundredths < 10_000 else 0
    return f"{hundredths / 100:.{digits}f}x"


def outcomes_grid(changes: Changes) -> Grid:
    """How the flows ended, each counted once, with its share."""
    columns = [GridColumn("outcome"), GridColumn("before", right=True), GridColumn("after", right=True)]
    totals = (changes.before.tally.flows, changes.after.tally.flows)
    rows = [
        [outcome.name, *(_share(count, of) for count, of in zip((outcome.before, outcome.after), totals, strict=True))]
        for outcome in changes.outcomes
    ]
    return Grid(columns, rows)


def _share(count: int, of: int) -> str:
    return f"{count} ({(200 * count + of) // (2 * of)}%)" if of else str(count)


def _grids(changes: Changes) -> list[Grid]:
    grids = (stalls_grid(changes), intervals_grid(changes), outcomes_grid(changes))
    return [grid.without_empty() for grid in grids if grid.rows]


def _legend(changes: Changes) -> str:
    names = [f"{interval.name}: {LEGENDS[interval.name]}" for interval in _shown(changes)]
    said = "before, after: flows that stalled, of all flows there. " if changes.stalls else ""
    said += "Times in ms, nearest-rank percentiles of intervals seen to end"
    unended = any(interval.open_before or interval.open_after for interval in _shown(changes))
    said += f"; {_NOT_ENDED} counts the others." if unended else "."
    return f"{said} {'; '.join(names)}." if names else said


def _read(changes: Changes) -> list[str]:
    """What was read on each side."""
    return [f"{name}: {side.about}" for name, side in _sides(changes)]


def _remarks(changes: Changes) -> list[str]:
    """What is to be mistrusted of each side."""
    return [f"{name}: {remark}" for name, side in _sides(changes) for remark in side.remarks]


def _sides(changes: Changes) -> tuple[tuple[str, Side], ...]:
    return ("Before", changes.before), ("After", changes.after)


def _table(changes: Changes, options: RenderOptions) -> Iterator[str]:
    color = to_table.RED if changes.of_kind(NEW) else to_table.GREEN
    for line in to_table.wrap(printable(headline(changes)), options.width):
        yield to_table.paint(line, color, options)
    yield from to_table.fact_lines(_remarks(changes), options)
    left_out: list[str] = []
    for grid in _grids(changes):
        fitted = to_table.fitted(grid, options)
        left_out += to_table.no_room(fitted)
        yield ""
        yield from to_table.drawn_lines(fitted, options)
    for line in to_table.wrap(" ".join([_legend(changes), *left_out]), options.width or to_table.LEGEND_WIDTH, "  "):
        yield to_table.paint(line, to_table.DIM, options)
    yield ""
    yield from to_table.fact_lines(_read(changes), options)


def _markup(changes: Changes, markup: Markup) -> Iterator[str]:
    facts = [*_read(changes), *_remarks(changes)]
    unit = " ".join([*(fact.rstrip(".") + "." for fact in facts), _legend(changes)])
    return grid_lines(headline(changes), _grids(changes), unit, markup)


def _object(changes: Changes) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": pcapstall.__version__,
        "before": _side(changes.before),
        "after": _side(changes.after),
        "stalls": [
            {
                "change": stall.kind,
                "at": stall.where,
                "interval": stall.interval,
                "cause": stall.cause,
                "before": stall.before,
                "after": stall.after,
                "longest_before_ns": stall.longest_before_ns,
                "longest_after_ns": stall.longest_after_ns,
                "flows_before": stall.flows_before,
                "flows_after": stall.flows_after,
            }
            for stall in changes.stalls
        ],
        "intervals_ns": {
            interval.name: {
                "before": interval.before and interval.before._asdict(),
                "after": interval.after and interval.after._asdict(),
                "open_before": interval.open_before,
                "open_after": interval.open_after,
            }
            for interval in changes.intervals
        },
        "outcomes": {outcome.name: {"before": outcome.before, "after": outcome.after} for outcome in changes.outcomes},
    }


def _side(side: Side) -> dict[str, Any]:
    tally = side.tally
    return {
        "file": side.name,
        "flows": tally.flows,
        "stalled": tally.stalled,
        "failed": tally.failed,
        "thresholds_ns": side.thresholds_ns,
        "warnings": side.remarks,
    }
