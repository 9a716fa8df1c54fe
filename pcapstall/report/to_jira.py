"""The report in Jira's wiki markup: ``||head||`` and ``|cell|``, as its text editor takes it.

Sentences are escaped, so that nothing from a capture becomes a macro, a mention, a link, an image or a smiley.
"""

import re
from collections.abc import Iterator
from typing import Final, TextIO

from pcapstall.report import stories
from pcapstall.report.grid import BAD, Grid
from pcapstall.report.markup import Markup, report_lines
from pcapstall.report.model import Report
from pcapstall.report.options import RenderOptions
from pcapstall.report.to_table import legend
from pcapstall.report.untrusted import printable

_SPECIAL: Final = re.compile(
    r"""
      [\\{}\[\]|!*^~]               # macros, links, cells, images, bold, superscript
    | \?\?                          # citation
    | (?<![A-Za-z0-9])[_+-](?=[^\s>])  # emphasis, insertion and deletion begin before a word
    | (?<=\S)[_+-](?![A-Za-z0-9>])  # and end after one
    | \((?=[a-z/!?+*-]\)|on\)|off\))   # icons: (x) (i) (/) (!)
    | (?<=[:;])[()DP]               # smileys
    | (?<=:)(?=//)                  # links
    """,
    re.VERBOSE,
)
_ENTITIES: Final = {"\\": "&#92;", "": "&#8203;"}
_BLOCK: Final = re.compile(r"^(?=[#*|-]|h[1-6]\.|bq\.)")


def render(report: Report, out: TextIO, options: RenderOptions) -> None:
    """Write the report."""
    for line in report_lines(report, options, MARKUP):
        out.write(line + "\n")


def _story_lines(story: stories.Story) -> Iterator[str]:
    about = f" ({escape(story.about)})" if story.about else ""
    yield f"h3. {story.title}: {escape(story.endpoints)}{about}"
    yield escape(story.verdict)
    yield escape(story.finding)
    for text in filter(None, (story.parts, story.stages)):
        yield escape(text)
    if story.threads is not None:
        yield ""
        yield escape(story.threads_title)
        yield from table_lines(story.threads)
        yield escape(legend(story.threads))
        yield ""
    for text, where in story.evidence:
        yield f"* {escape(text)}" + (f" ({escape(where)})" if where else "")
    if story.would_settle:
        yield ""
        yield f"Would settle: {escape(story.would_settle)}"


def table_lines(grid: Grid) -> Iterator[str]:
    """The grid as a table; the interval that stalled is bold."""
    names = [column.name for column in grid.columns]
    yield f"||{'||'.join(names)}||"
    for at, row in enumerate(grid.rows):
        shown = [escape(cell) if column.free else _cell(cell) for column, cell in zip(grid.columns, row, strict=True)]
        cells = (
            f"*{cell}*" if grid.marks.get((at, name)) == BAD else cell or " "
            for name, cell in zip(names, shown, strict=True)
        )
        yield f"|{'|'.join(cells)}|"


def _cell(cell: str) -> str:
    # A grid leaves no more than these of what Jira takes for markup; a number may begin with a minus.
    return cell.replace("[", "\\[").replace("]", "\\]").replace("(", "\\(")


def escape(text: str) -> str:
    """A sentence that Jira shows as it is."""
    return _BLOCK.sub("&#8203;", _SPECIAL.sub(_escaped, printable(text)))


def _escaped(match: re.Match[str]) -> str:
    piece = match[0]
    return _ENTITIES.get(piece) or "".join("\\" + character for character in piece)


MARKUP: Final = Markup("*", "*", escape, table_lines, _story_lines)
"""Jira's wiki markup, for whatever is made of the same parts."""
