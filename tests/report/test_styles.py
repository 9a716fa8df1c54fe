"""Names from a capture in tables of every style of tabulate: nothing in them ends a cell, acts, or breaks a line."""

import html
import re

import pytest
import tabulate
from factories import HOSTILE

from pcapstall.report.drawing import draw
from pcapstall.report.styles import ESCAPES
from pcapstall.report.untrusted import printable

NAMES = ["#", "ack_ch", "sni"]
CELLS = [
    HOSTILE,
    "|", "||", "| a || b |", "!!", "-", "--", "|-", "|}", "----", "====", "a\tb", "a\nb", "\x1b]0;t\x07", "\u202ea",
    "_x_", "x_", "*x*", "`x`", "``", "~x~", "+x+", "=x=", "/x/", "^x^", "%x%", "[x](y)", "[[x]]", "{x}", "{{x}}",
    "{{{x}}}", "}}}", "<b>", "&lt;", "\\", "\\\\", "$x$", "\\input{x}", "{toc}", "!x.png!", ".. raw:: html", "1. x",
    "- x", "=1+1", "http://x", "www.x.y", "@x", "#1", "CamelCase", "|x|_", "x::", "<<x>>", "(c)", "...", "->", "+1+cmd",
    "x +", "\u200b",
]  # fmt: skip
ROWS = [[str(number), cell, "x"] for number, cell in enumerate(CELLS, 1)]
TAME = [[str(number), "y", "x"] for number, _ in enumerate(CELLS, 1)]
SIDES = ["right", "left", "left"]

COLUMN_ENDS = {
    "asciidoc": r"\|", "colon_grid": r"(?<!\\)\|", "github": r"(?<!\\)\|", "html": r"</?t[dhr]\b", "jira": r"(?<!\\)\|",
    "latex": r"(?<!\\)&", "latex_booktabs": r"(?<!\\)&", "latex_longtable": r"(?<!\\)&", "latex_raw": r"(?<!\\)&",
    "mediawiki": r"\||!", "moinmoin": r"\|\|", "orgtbl": r"\|", "pipe": r"(?<!\\)\|", "textile": r"\|",
    "tsv": r"\t", "unsafehtml": r"</?t[dhr]\b", "youtrack": r"(?<!\\)\|",
}  # fmt: skip
"""What parts columns."""


@pytest.mark.parametrize("style", tabulate.tabulate_formats)
def test_no_cell_of_a_flow_breaks_the_lines(style: str) -> None:
    """As many lines as with a letter in each, and nothing that a terminal would act on."""
    cells = [[printable(cell) for cell in row] for row in ROWS]
    drawn = draw(NAMES, cells, SIDES, style)
    assert len(drawn.splitlines()) == len(draw(NAMES, TAME, SIDES, style).splitlines())
    assert all(character.isprintable() or character in "\n\t\u200b" for character in drawn)


@pytest.mark.parametrize("style", sorted(COLUMN_ENDS))
def test_no_cell_ends_before_its_end(style: str) -> None:
    parts = re.compile(COLUMN_ENDS[style])
    lines = (draw(NAMES, rows, SIDES, style).splitlines() for rows in (ROWS, TAME))
    for drawn, tame in zip(*lines, strict=True):
        assert len(parts.findall(drawn)) == len(parts.findall(tame)), drawn


@pytest.mark.parametrize("style", ["asciidoc", "mediawiki", "moinmoin", "textile"])
def test_entities_are_shown_as_they_were(style: str) -> None:
    for cell in CELLS:
        escaped = ESCAPES[style](printable(cell))
        assert not re.search(r"[|<>\[\]{}*`~^\\@!]", escaped.replace("!C", "C").replace("!J", "J"))
        assert html.unescape(escaped).replace("!Camel", "Camel") == printable(cell)


@pytest.mark.parametrize("style", sorted(ESCAPES))
def test_no_style_lets_html_through(style: str) -> None:
    drawn = draw(NAMES, [["1", "<script>alert(1)</script>", "x"]], SIDES, style)
    if style not in ("tsv", "jira", "youtrack", "latex", "latex_booktabs", "latex_longtable", "latex_raw"):
        assert "<script>" not in drawn


@pytest.mark.parametrize("style", ["latex", "latex_raw", "latex_booktabs", "latex_longtable"])
def test_latex_runs_nothing(style: str) -> None:
    drawn = draw(NAMES, ROWS, SIDES, style)
    assert r"\input" not in drawn
    assert r"ack\_ch" in drawn


def test_restructured_text_is_read_as_it_was() -> None:
    core = pytest.importorskip("docutils.core", reason="docutils is not installed")
    nodes = pytest.importorskip("docutils.nodes")
    document = core.publish_doctree(
        draw(NAMES, ROWS, SIDES, "rst"), settings_overrides={"report_level": 1, "halt_level": 2, "raw_enabled": False}
    )
    read = [entry.astext() for entry in document.findall(nodes.entry)]
    assert read == [*NAMES, *(" ".join(printable(cell).split()) for row in ROWS for cell in row)]


def test_a_spreadsheet_runs_nothing() -> None:
    cells = [line.split("\t")[1] for line in draw(NAMES, ROWS, SIDES, "tsv").splitlines()[1:]]
    assert not [cell for cell in cells if cell.lstrip().startswith(("=", "@"))]
    assert "'+1+cmd" in [cell.rstrip() for cell in cells]
    assert ESCAPES["tsv"]("-12.5") == "-12.5"
