"""A table before it is drawn: columns with their importance, cells as text, and how it is made to fit a width.

Cells hold no markup and no control characters, so that every renderer and every tabulate style may draw them as they
are; those of a `free` column are escaped by markup. What the flows' columns are is in `flow_grid`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from pcapstall.core.times import MS, format_ms
from pcapstall.report.untrusted import ELLIPSIS, shorten, widest

ABSENT: Final = "-"
_NOTHING: Final = (ABSENT, "0.0")
"""What a column must not consist of; a length of zero is that of a hello in one segment."""

_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:[]+->%, " + ELLIPSIS)

BAD: Final = "bad"
"""The cell of an interval that stalled."""
WARN: Final = "warn"
"""The outcome of a failed flow."""


IMPORTANT: Final = 3
"""A column that is kept this long is missed when it goes: see `Grid.narrow`."""


class GridColumn(NamedTuple):
    """One column of a table."""

    name: str
    legend: str = ""
    """What it means, in a few words; empty when its name says it."""
    right: bool = False
    """Numbers are aligned right; all of a column have as many decimals."""
    keep: int = 0
    """On a narrow terminal the column with the highest number goes first; 0 always stays."""
    shrinks_to: int = 0
    """How narrow its text may be made by leaving out its middle; 0 for never."""
    code: bool = False
    """Names of machines, which markup shows in a fixed-width font."""
    free: bool = False
    """Its cells are printable text of any kind, which markup has to escape."""


class Grid:
    """Columns and rows."""

    def __init__(
        self,
        columns: Sequence[GridColumn],
        rows: Sequence[Sequence[str]],
        marks: Mapping[tuple[int, str], str] | None = None,
        left_out: Sequence[str] = (),
        remark: str = "",
    ) -> None:
        self.columns = columns
        self.rows = rows
        self.marks = marks or {}
        """The cells that stand out, by row and column name."""
        self.left_out = left_out
        """The names of the columns that did not fit."""
        self.remark = remark
        """What is to be known of its cells, in a sentence; may be empty."""
        self.whole_width = 0
        """Where columns did not fit: how wide the table is with them."""
        self.narrow: Callable[[], Grid] | None = None
        """The same rows in other columns, for a width at which an important one would have to go."""

    def without_empty(self) -> "Grid":
        """The grid without the columns that say nothing in any row."""
        kept = [
            index
            for index, column in enumerate(self.columns)
            if column.keep == 0 or any(row[index] not in _NOTHING for row in self.rows)
        ]
        return self._only(kept, self.left_out)

    def without(self, names: Sequence[str]) -> "Grid":
        """The grid without the columns called ``names``."""
        return self._only([at for at, each in enumerate(self.columns) if each.name not in names], self.left_out)

    def fitted(self, width: int | None, overhead: Callable[[int], int]) -> "Grid":
        """The grid made to fit ``width``; ``overhead`` is what a table of so many columns takes besides its cells.

        Columns go, the least important first, until the others fit with their texts as short as they may be; what
        room is then left is given to columns that fit after all, the most important first, and then to the texts.
        Where an important one would have to go, the `narrow` grid takes the place of this one.
        """
        if width is None or not self.rows:
            return self
        fitted, fits = self._fitted(width, overhead)
        if self.narrow is not None:
            important = {column.name for column in self.columns if column.keep <= IMPORTANT}
            if not fits or important.intersection(fitted.left_out):
                fitted, _ = self.narrow()._fitted(width, overhead)
        if fitted.left_out:
            fitted.whole_width = overhead(len(self.columns)) + sum(map(self._width, range(len(self.columns))))
        return fitted

    def _fitted(self, width: int, overhead: Callable[[int], int]) -> "tuple[Grid, bool]":
        """The grid without the columns that go, and whether the others fit."""
        natural = [self._width(index) for index in range(len(self.columns))]
        limits = [self._least(index, wide) for index, wide in enumerate(natural)]

        def spare(kept: Sequence[int]) -> int:
            return width - overhead(len(kept)) - sum(limits[index] for index in kept)

        kept = list(range(len(self.columns)))
        while spare(kept) < 0 and (droppable := self._droppable(kept)) is not None:
            kept.remove(droppable)
        left_out = [index for index in range(len(self.columns)) if index not in kept]
        for index in sorted(left_out, key=lambda index: self.columns[index].keep):
            if spare([*kept, index]) >= 0:
                kept = sorted([*kept, index])
                left_out.remove(index)
        room = spare(kept)
        fits = room >= 0
        for index in kept:
            more = max(min(natural[index] - limits[index], room), 0)
            limits[index] += more
            room -= more
        rows = [[self._shown(cell, index, limits[index]) for index, cell in enumerate(row)] for row in self.rows]
        grid = Grid(self.columns, rows, self.marks, remark=self.remark)
        return grid._only(kept, [self.columns[index].name for index in left_out]), fits

    def _shown(self, cell: str, index: int, limit: int) -> str:
        return shorten(cell, limit) if self.columns[index].shrinks_to else cell

    def _droppable(self, kept: Sequence[int]) -> int | None:
        candidates = [index for index in kept if self.columns[index].keep > 0]
        return max(candidates, key=lambda index: self.columns[index].keep) if candidates else None

    def _width(self, index: int) -> int:
        return widest([self.columns[index].name, *(row[index] for row in self.rows)])

    def _least(self, index: int, natural: int) -> int:
        column = self.columns[index]
        return min(natural, max(column.shrinks_to, len(column.name))) if column.shrinks_to else natural

    def with_after(self, names: Sequence[str], column: str) -> "Grid":
        """The grid with the columns called ``names`` moved behind ``column``, or to the front without it."""
        order = [at for at, each in enumerate(self.columns) if each.name not in names]
        moved = [at for at, each in enumerate(self.columns) if each.name in names]
        behind = next((n + 1 for n, at in enumerate(order) if self.columns[at].name == column), 0)
        return self._only([*order[:behind], *moved, *order[behind:]], self.left_out)

    def _only(self, kept: Sequence[int], left_out: Sequence[str]) -> "Grid":
        made = Grid(
            [self.columns[index] for index in kept],
            [[row[index] for index in kept] for row in self.rows],
            self.marks,
            left_out,
            self.remark,
        )
        made.narrow = self.narrow
        return made


def plain(text: str) -> str:
    r"""``text`` as a cell: whatever could be markup, a formula or a control character anywhere becomes ``\x7c``."""
    if _PLAIN.issuperset(text):
        return text
    return "".join(
        character if character in _PLAIN else "".join(f"\\x{byte:02x}" for byte in _bytes(character))
        for character in text
    )


def _bytes(character: str) -> bytes:
    return character.encode("utf-8", "surrogatepass")


def decimals(lengths_ns: Sequence[int]) -> int:
    """How many decimals of a millisecond a column of lengths needs: 3 when one is under a millisecond, else 1."""
    return 3 if any(0 < abs(ns) < MS for ns in lengths_ns) else 1


def milliseconds(ns: int | None, digits: int, is_open: bool = False) -> str:
    """A length as a cell; an open one as ``>4500.0``."""
    if ns is None:
        return ABSENT
    return f"{'>' if is_open else ''}{format_ms(ns, digits)}"
