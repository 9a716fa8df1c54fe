"""Cells into lines: the usual style is drawn here, others by tabulate, which is imported only where one is asked for.

Colours and styles are as told; what is in the cells, and which columns there are, is decided in `grid` and above.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from types import MappingProxyType
from typing import Final

from pcapstall.report.untrusted import display_width, widest

_USUAL: Final = "simple"
"""The style of a table when none is asked for: a gap between columns, a line of dashes below their names."""
_GAP: Final = "  "

Colors = Mapping[tuple[int, int], str]
"""SGR parameters of cells, by row and column."""
_NO_COLORS: Final[Colors] = MappingProxyType({})

Rows = Sequence[Sequence[str]]


def is_markup(style: str) -> bool:
    """Whether a style is a page's, not a terminal's."""
    if style == _USUAL:
        return False
    from pcapstall.report.styles import ESCAPES  # few tables have another style

    return style in ESCAPES


def draw(headers: Sequence[str], rows: Rows, alignments: Sequence[str], style: str, colors: Colors = _NO_COLORS) -> str:
    """A table, without spaces at the ends of its lines.

    To import tabulate takes as long as to follow a thousand flows, and it looks at each cell a dozen times. Where there
    is no wcwidth it takes wide letters for narrow ones.
    """
    if style == _USUAL:
        return "\n".join(line.rstrip() for line in _usual_lines(headers, rows, alignments, colors))
    if colors:
        rows = [
            [_painted(cell.strip(), colors.get((at, column))) for column, cell in enumerate(row)]
            for at, row in enumerate(rows)
        ]
    return _drawn(headers, rows, alignments, style)


def _usual_lines(headers: Sequence[str], rows: Rows, alignments: Sequence[str], colors: Colors) -> Iterator[str]:
    """As tabulate has them, of cells of one or more lines."""
    cells = [[cell.strip().split("\n") for cell in row] for row in rows]
    names = [[header] for header in headers]
    widths = [widest(line for cell in column for line in cell) for column in zip(names, *cells, strict=True)]
    rights = [alignment == "right" for alignment in alignments]
    yield _GAP.join(map(_padded, headers, widths, rights))
    yield _GAP.join("-" * width for width in widths)
    for at, row in enumerate(cells):
        paints = [colors.get((at, column)) for column in range(len(row))] if colors else [None] * len(row)
        for line in zip_longest(*row, fillvalue=""):
            yield _GAP.join(map(_padded, line, widths, rights, paints))


def _padded(text: str, width: int, right: bool, color: str | None = None) -> str:
    room = " " * (width - (len(text) if text.isascii() else display_width(text)))
    if color:
        text = _painted(text, color)
    return room + text if right else text + room


def _painted(text: str, color: str | None) -> str:
    return colored(text, color) if text and color else text


def colored(text: str, color: str) -> str:
    """``text`` in a colour (SGR parameters)."""
    return f"\x1b[{color}m{text}\x1b[0m"


def drawn_width(style: str, columns: int) -> int:
    """What a table of ``columns`` columns in this style takes besides the cells."""
    drawn = draw(["x"] * columns, [["x"] * columns], ["left"] * columns, style)
    return max(map(display_width, drawn.splitlines())) - columns


def _drawn(headers: Sequence[str], rows: Sequence[Sequence[str]], alignments: Sequence[str], style: str) -> str:
    """A table by tabulate."""
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
