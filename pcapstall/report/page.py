"""The frame of every HTML page: its head, its style and script, tables, pictures, and how text is escaped.

One file that fetches nothing: a content security policy allows the style and the script of this package by their
hashes and forbids whatever else would slip through. What a page tells is its renderer's matter.
"""

import base64
import hashlib
import html
import os
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

import pcapstall
from pcapstall.report.grid import ABSENT, BAD, WARN, Grid, GridColumn
from pcapstall.report.pictures import palette
from pcapstall.report.pictures.svg import Picture
from pcapstall.report.to_table import unbroken
from pcapstall.report.untrusted import printable

_TALL: Final = 25
"""A table with more rows is scrolled under its heads."""
_MARKS: Final = {BAD: "bad", WARN: "warn"}


def escape(text: str) -> str:
    """``text`` as HTML shows it, between tags and in quoted attributes."""
    return unbroken(html.escape(printable(text)), "&nbsp;")


@cache
def _packaged(name: str) -> str:
    """A file beside this module."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as file:
        return file.read()


@cache
def _style() -> str:
    return _packaged("page.css") + palette.style()


def _hashed(text: str) -> str:
    """As a policy names what it allows (CSP level 3, section 2.3.1)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page_start(title: str) -> Iterator[str]:
    """The page up to its body's contents."""
    policy = f"default-src 'none'; style-src {_hashed(_style())}; script-src {_hashed(_packaged('page.js'))}"
    yield "<!DOCTYPE html>"
    yield '<html lang="en">'
    yield '<head><meta charset="utf-8">'
    yield f"<meta http-equiv=\"Content-Security-Policy\" content=\"{policy}; base-uri 'none'; form-action 'none'\">"
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title>"
    yield f"<style>{_style()}</style></head>"
    yield "<body>"


def page_end() -> Iterator[str]:
    """What is under the contents; the script comes last, since it only improves what is there."""
    yield f'<p class="dim">pcapstall {escape(pcapstall.__version__)}</p>'
    yield f"<script>{_packaged('page.js')}</script>"
    yield "</body></html>"


def picture_lines(picture: Picture, caption: str = "", fits: bool = False) -> Iterator[str]:
    """A picture, which is scrolled where it is wider than the page; one that ``fits`` takes the page's width."""
    classes = "scroll fits" if fits else "scroll"
    yield '<figure class="picture">'
    label = escape(picture.label.partition(". ")[0])
    yield f'<div class="{classes}" tabindex="0" role="group" aria-label="{label}">{picture.element()}</div>'
    if caption:
        yield f"<figcaption>{escape(caption)}</figcaption>"
    yield "</figure>"


def table_lines(grid: Grid, linked: set[str], sortable: bool = False) -> Iterator[str]:
    """The grid as a table; the ids in ``linked`` lead to their stories."""
    tall = " tall" if len(grid.rows) > _TALL else ""
    yield f'<div class="wide{tall}" tabindex="0"><table{_classes(["sortable"] if sortable else [])}>'
    yield f"<thead><tr>{''.join(map(_head, grid.columns))}</tr></thead>"
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


def _head(column: GridColumn) -> str:
    classes = _classes(["right"] if column.right else [])
    title = f' title="{escape(column.legend)}"' if column.legend else ""
    return f"<th{classes}{title}>{escape(column.name)}</th>"


def _classes(names: Sequence[str]) -> str:
    return f' class="{" ".join(names)}"' if names else ""
