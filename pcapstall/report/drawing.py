"""Cells into lines: a table as tabulate draws it, which is imported only where it has to be asked.

Colours and styles are as told; what is in the cells, and which columns there are, is decided in `grid` and above.
"""

from collections.abc import Mapping, Sequence
from operator import add
from types import MappingProxyType
from typing import Final

from pcapstall.report.untrusted import ELLIPSIS, display_width

_LINE_STYLES: Final = frozenset(("plain", "simple", "presto", "psql", "outline"))
"""Styles of tabulate in which a row is a line, and nothing in a cell is escaped."""
_USUAL: Final = "simple"
"""The style of a table when none is asked for: a gap between columns, a line of dashes below their names."""
_GAP: Final = "  "
_SAMPLE: Final = 0xE000
"""The first of Unicode's private characters: a column of a sample is made of one of them."""

Colors = Mapping[tuple[int, int], str]
"""SGR parameters of cells, by row and column."""
_NO_COLORS: Final[Colors] = MappingProxyType({})

Rows = Sequence[Sequence[str]]


def is_markup(style: str) -> bool:
    """Whether a style is a page's, not a terminal's."""
    if style in _LINE_STYLES:
        return False
    from pcapstall.report.styles import ESCAPES  # few tables have another style

    return style in ESCAPES


def draw(headers: Sequence[str], rows: Rows, alignments: Sequence[str], style: str, colors: Colors = _NO_COLORS) -> str:
    """A table by tabulate, without spaces at the ends of its lines.

    It looks at each cell a dozen times, half a millisecond for a row of ours. So where a style only puts cells between
    strings, it draws a sample of the row, and the rows are filled in: none may hold what is not as wide as it is long.
    What it makes of the usual style is known: to import it takes as long as to follow a thousand flows.
    """
    cells = [[cell.strip() for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headers, *cells, strict=True)]
    plain = all(_is_as_wide_as_long(cell) for row in (headers, *rows) for cell in row)
    if style not in _LINE_STYLES or not plain or not all(widths) or not (rows and any(cells[-1])):
        return _drawn(headers, _colored(cells, cells, colors) if colors else rows, alignments, style)
    rights = [alignment == "right" for alignment in alignments]
    frame = _usual_frame(headers, widths, rights) if style == _USUAL else _frame(headers, widths, alignments, style)
    padded = [list(map(_padded, row, widths, rights)) for row in cells]
    filled = ["".join(map(add, frame.between, row)) + frame.after for row in _colored(padded, cells, colors)]
    return "\n".join(line.rstrip() for line in [*frame.above, *filled, *frame.below])


class _Frame:
    """What is drawn around cells."""

    def __init__(self, above: list[str], between: list[str], after: str, below: list[str]) -> None:
        self.above = above
        """The lines before the rows: names, rules."""
        self.between = between
        """What comes before each cell of a row."""
        self.after = after
        self.below = below
        """The lines behind the rows."""


def _usual_frame(headers: Sequence[str], widths: Sequence[int], rights: Sequence[bool]) -> _Frame:
    names = _GAP.join(map(_padded, headers, widths, rights))
    return _Frame([names, _GAP.join("-" * width for width in widths)], ["", *[_GAP] * (len(widths) - 1)], "", [])


def _frame(headers: Sequence[str], widths: Sequence[int], alignments: Sequence[str], style: str) -> _Frame:
    """By the sample of a row that tabulate draws."""
    sample = [chr(_SAMPLE + at) * width for at, width in enumerate(widths)]
    lines = _drawn(headers, [sample], alignments, style).splitlines()
    at = next(at for at, line in enumerate(lines) if sample[0] in line)
    between: list[str] = []
    rest = lines[at]
    for cell in sample:
        before, _, rest = rest.partition(cell)
        between.append(before)
    return _Frame(lines[:at], between, rest, lines[at + 1 :])


def _is_as_wide_as_long(text: str) -> bool:
    return text.isprintable() and (text.isascii() or text.replace(ELLIPSIS, "").isascii())


def _padded(cell: str, width: int, right: bool) -> str:
    return cell.rjust(width) if right else cell.ljust(width)


def _colored(rows: list[list[str]], cells: list[list[str]], colors: Colors) -> list[list[str]]:
    """``rows``, each of their cells in its colour but for the spaces around it."""
    for (row, column), color in colors.items():
        if cell := cells[row][column]:
            rows[row][column] = rows[row][column].replace(cell, colored(cell, color), 1)
    return rows


def colored(text: str, color: str) -> str:
    """``text`` in a colour (SGR parameters)."""
    return f"\x1b[{color}m{text}\x1b[0m"


def drawn_width(style: str, columns: int) -> int:
    """What a table of ``columns`` columns in this style takes besides the cells."""
    drawn = draw(["x"] * columns, [["x"] * columns], ["left"] * columns, style)
    return max(map(display_width, drawn.splitlines())) - columns


def _drawn(headers: Sequence[str], rows: Sequence[Sequence[str]], alignments: Sequence[str], style: str) -> str:
    """The same by tabulate alone."""
    import tabulate

    from pcapstall.report import styles

    if style in styles.ESCAPES:
        headers = [styles.escaped(style, header) for header in headers]
        rows = [[styles.escaped(style, cell) for cell in row] for row in rows]
        style = styles.DRAWN_AS.get(style, style)
    padding = tabulate.MIN_PADDING
    tabulate.MIN_PADDING = 0  # otherwise each column is two wider than its header
    try:
        drawn = tabulate.tabulate(rows, headers, tablefmt=style, disable_numparse=True, colalign=alignments)
    finally:
        tabulate.MIN_PADDING = padding
    return "\n".join(line.rstrip() for line in str(drawn).splitlines())
