"""Two captures as text for a terminal, as Markdown or Jira markup, or as JSON; what is told is in `two_ends_text`.

Text from captures is made safe here for what it is written into.
"""

import json
from collections.abc import Iterator
from typing import Any, Final, TextIO

from pcapstall.core.errors import UsageError
from pcapstall.report import to_jira, to_markdown, to_table, two_ends_grid, two_ends_text
from pcapstall.report.markup import Markup
from pcapstall.report.options import RenderOptions
from pcapstall.report.stories import Story, untold_words
from pcapstall.report.to_json import capture_object
from pcapstall.report.to_table import legend
from pcapstall.report.two_ends_model import SCHEMA, Crossed, LoneReport, PairReport, TwoEnds
from pcapstall.report.untrusted import printable

FORMATS: Final = ("table", "markdown", "jira", "json")


def check_format(wanted: str) -> None:
    """UsageError when `compare` has no such format."""
    if wanted not in FORMATS:
        raise UsageError(f"-f {wanted}: compare has {', '.join(FORMATS)}")


def render(report: TwoEnds, out: TextIO, wanted: str, options: RenderOptions) -> None:
    """Write ``report`` in the format ``wanted``, one of `FORMATS`."""
    check_format(wanted)
    if wanted == "json":
        json.dump(as_object(report), out, ensure_ascii=True, allow_nan=False, indent=1)
        out.write("\n")
        return
    if wanted == "table":
        lines = _table(report, options)
    else:
        lines = _markup(report, options, to_markdown.MARKUP if wanted == "markdown" else to_jira.MARKUP)
    for line in lines:
        out.write(line + "\n")


def _table(report: TwoEnds, options: RenderOptions) -> Iterator[str]:
    worry = any(lone.stalled or lone.failed for lone in report.lone) or report.failed
    color = to_table.RED if report.stalled else to_table.YELLOW if worry else to_table.GREEN
    for line in to_table.wrap(printable(two_ends_text.headline(report)), options.width):
        yield to_table.paint(line, color, options)
    yield from to_table.fact_lines(two_ends_text.read_before(report), options)
    if report.pairs:
        yield ""
        grid = two_ends_grid.pair_grid(two_ends_text.worst_first(report.pairs))
        yield from to_table.table_lines(grid, options)
    for text in (two_ends_text.healthy_line(report), *two_ends_text.lone_lines(report, options.all_flows)):
        if text:
            yield ""
            yield from to_table.wrap(printable(text), options.width, "  ")
    told, untold = _stories(report, options)
    for story in told:
        yield ""
        yield from to_table.story_lines(story, options)
    if untold:
        yield ""
        yield from to_table.wrap(untold, options.width)
    yield ""
    yield from to_table.fact_lines(two_ends_text.read_after(report), options)


def _markup(report: TwoEnds, options: RenderOptions, markup: Markup) -> Iterator[str]:
    escape = markup.escape
    yield f"{markup.strong}{escape(two_ends_text.headline(report))}{markup.strong}"
    yield ""
    for fact in two_ends_text.read_before(report):
        yield f"{markup.bullet} {escape(fact)}"
    if report.pairs:
        grid = two_ends_grid.pair_grid(two_ends_text.worst_first(report.pairs))
        yield ""
        yield from markup.table_lines(grid)
        yield ""
        yield escape(legend(grid))
    told, untold = _stories(report, options)
    for text in (two_ends_text.healthy_line(report), *two_ends_text.lone_lines(report, options.all_flows), untold):
        if text:
            yield ""
            yield escape(text)
    for story in told:
        yield ""
        yield from markup.story_lines(story)
    yield ""
    for fact in two_ends_text.read_after(report):
        yield f"{markup.bullet} {escape(fact)}"


def _stories(report: TwoEnds, options: RenderOptions) -> tuple[list[Story], str]:
    """What is told at length, and how much is not."""
    pairs = [pair for pair in two_ends_text.worst_first(report.pairs) if pair.verdict]
    stories = [two_ends_text.pair_story(pair, report) for pair in pairs]
    stories += [two_ends_text.lone_story(lone, report) for lone in report.lone if two_ends_text.is_told(lone)]
    told = stories if options.all_flows else stories[: options.stories]
    return told, untold_words(len(stories) - len(told))


def as_object(report: TwoEnds) -> dict[str, Any]:
    """The report for JSON; epoch nanoseconds and the offset of the clocks exceed 2^53, so they are strings."""
    found: dict[str, Any] = {"schema": SCHEMA, **report._asdict()}
    found["client_captures"] = [capture_object(capture) for capture in report.client_captures]
    found["server_captures"] = [capture_object(capture) for capture in report.server_captures]
    found["delays"] = {name: summary._asdict() for name, summary in report.delays.items()}
    if report.clock is not None:
        found["clock"] = report.clock._asdict() | {"offset_ns": str(report.clock.offset_ns)}
    found["pairs"] = [
        _row_object(pair) | {"to_server": _counts(pair.to_server), "to_client": _counts(pair.to_client)}
        for pair in report.pairs
    ]
    found["lone"] = [_row_object(lone) for lone in report.lone]
    return found


def _counts(crossed: Crossed | None) -> dict[str, int] | None:
    return None if crossed is None else crossed._asdict()


def _row_object(row: PairReport | LoneReport) -> dict[str, Any]:
    evidence = [
        {
            "text": each.text,
            "client": [{"file": file, "frames": frames} for file, frames in each.client.items()],
            "server": [{"file": file, "frames": frames} for file, frames in each.server.items()],
        }
        for each in row.evidence
    ]
    return row._asdict() | {"evidence": evidence}
