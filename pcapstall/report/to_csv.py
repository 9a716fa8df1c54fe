"""The flows as CSV (RFC 4180): the rows of `flat` under their names.

What is absent is an empty cell. Text that a spreadsheet would run as a formula is quoted with an apostrophe.
"""

import csv
from typing import Final, TextIO

from pcapstall.report import flat
from pcapstall.report.model import Report
from pcapstall.report.options import RenderOptions
from pcapstall.report.places import Places
from pcapstall.report.untrusted import printable

Cell = str | int | None

_FORMULA: Final = ("=", "+", "-", "@")


def render(report: Report, out: TextIO, options: RenderOptions) -> None:
    """Write a header and a row for each flow."""
    places = Places(report)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(flat.COLUMNS)
    writer.writerows(map(cell, flat.row_of(flow, places)) for flow in report.flows)


def cell(value: object) -> Cell:
    """``value`` as a spreadsheet takes it for text or a number, never for a formula; a list's items in one cell."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        value = " ".join(map(str, value))
    if not isinstance(value, str):
        return value if isinstance(value, int) else None
    shown = printable(value)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown
