"""The report as Markdown for an issue on GitHub or GitLab: the same as on a terminal, evidence folded under each flow.

Names from captures go into code spans and sentences are escaped, so that nothing in them becomes a link, a mention,
a reference to an issue or HTML.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, TextIO

from pcapstall.report import stories
from pcapstall.report.grid import ABSENT, BAD, Grid, GridColumn
from pcapstall.report.markup import Markup, report_lines
from pcapstall.report.model import Report
from pcapstall.report.options import RenderOptions
from pcapstall.report.to_table import legend
from pcapstall.report.untrusted import display_width, padded, printable

_SPECIAL: Final = re.compile(r"[\\`*\[\]|~<>&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_ENTITIES: Final = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_BLOCK: Final = re.compile(r"^(\s*)([#+=-]|\d+[.)])(?=\s|$|[#=-])")
"""What would begin a heading, a list or a rule at the start of a line."""
_BREAKS: Final = re.compile(r"(@|#(?=\d)|!(?=\d)|://|\bwww(?=\.))")
"""What would become a mention, a reference or a link; an empty comment behind it keeps it text."""


def render(report: Report, out: TextIO, options: RenderOptions) -> None:
    """Write the report."""
    for line in report_lines(report, options, MARKUP):
        out.write(line + "\n")


def _story_lines(story: stories.Story) -> Iterator[str]:
    about = f" ({code(story.about)})" if story.about else ""
    yield f"### {story.title}: {code(story.endpoints)}{about}"
    yield ""
    yield escape(story.verdict)
    yield ""
    yield escape(story.finding)
    if story.parts:
        yield ""
        yield escape(story.parts)
    if story.stages:
        yield ""
        yield escape(story.stages)
    if story.threads is not None:
        yield ""
        yield escape(story.threads_title)
        yield ""
        yield from table_lines(story.threads)
        yield ""
        yield escape(legend(story.threads))
    if story.evidence:
        yield ""
        yield "<details><summary>Evidence</summary>"
        yield ""
        for text, where in story.evidence:
            yield f"- {escape(text)}" + (f" ({code(where)})" if where else "")
        yield ""
        yield "</details>"
    if story.would_settle:
        yield ""
        yield f"Would settle: {escape(story.would_settle)}"


def table_lines(grid: Grid) -> Iterator[str]:
    """The grid as a table of GitHub flavoured Markdown, readable as it stands too."""
    names = [column.name for column in grid.columns]
    shown = [
        [_cell(cell, column, grid.marks.get((at, column.name))) for column, cell in zip(grid.columns, row, strict=True)]
        for at, row in enumerate(grid.rows)
    ]
    widths = [max(3, len(name), *(display_width(row[at]) for row in shown)) for at, name in enumerate(names)]
    rights = [column.right for column in grid.columns]
    yield _row(names, widths, rights)
    rules = ["-" * (wide - 1) + (":" if right else "-") for wide, right in zip(widths, rights, strict=True)]
    yield _row(rules, widths, rights)
    for row in shown:
        yield _row(row, widths, rights)


def _row(cells: Sequence[str], widths: Sequence[int], rights: Sequence[bool]) -> str:
    return f"| {' | '.join(map(padded, cells, widths, rights))} |"


def _cell(cell: str, column: GridColumn, mark: str | None) -> str:
    # The characters that a grid leaves in its cells are no markup there.
    if cell == ABSENT:
        return cell
    if column.code:
        return code(cell)
    if column.free:
        cell = escape(cell)
    return f"**{cell}**" if mark == BAD else cell


def escape(text: str) -> str:
    """A sentence that Markdown shows as it is: no markup, link, mention or reference."""
    text = _SPECIAL.sub(lambda match: _ENTITIES.get(match[0], "\\" + match[0]), printable(text))
    text = _BLOCK.sub(lambda match: f"{match[1]}{match[2][:-1]}\\{match[2][-1]}", text)
    return _BREAKS.sub(lambda match: _split(match[0]), text)


def _split(piece: str) -> str:
    return ":<!-- -->//" if piece == "://" else f"{piece}<!-- -->"


def code(text: str) -> str:
    """``text`` as a code span; a backtick in it becomes an apostrophe."""
    shown = printable(text).replace("`", "'")
    return f"`{shown}`"


MARKUP: Final = Markup("**", "-", escape, table_lines, _story_lines)
"""Markdown, for whatever is made of the same parts."""
