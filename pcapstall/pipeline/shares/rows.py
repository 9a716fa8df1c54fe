"""Many rows of a report by several processes: one with its verdict takes as long as following a few hundred packets.

When everything is known, processes are forked that begin with the last rows, each of its own ones, as this one does
with the first of all. It passes by what others have taken, until it has met each of them: however much longer one of
them takes, nobody waits for more than a row. What a row says is not known here.
"""

import gc
import mmap
import os
import pickle
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from pcapstall.flows.flow import Flow
from pcapstall.pipeline.shares.forked import Failure, Forked, end_with, start, warn_redone
from pcapstall.pipeline.shares.paper import Paper
from pcapstall.report.flow_model import FlowReport

BLOCK: Final = 16_384
"""Rows that lie in memory at once; after them the next ones are begun."""
_SLOT_LEN: Final = 8

Make = Callable[[Flow], FlowReport]


def rows_by_several(flows: Sequence[Flow], make: Make, processes: int) -> Iterator[FlowReport]:
    """What ``make`` makes of each of ``flows``, in their order; ``processes`` includes this one, and is at least 2."""
    for at in range(0, len(flows), BLOCK):
        yield from _block(flows[at : at + BLOCK], make, processes - 1)


class _Claims:
    """Which rows are taken: by the first process those below a number, by each other one those from a number on.

    Of ``others`` processes each takes every ``others``-th row. Who takes one says so before he looks whether somebody
    else has: it may be that both let go of it then, or that both make it, but not that one is thought to be made which
    is not.
    """

    def __init__(self, rows: int, others: int) -> None:
        self.rows = rows
        self.others = others
        self._slots = memoryview(mmap.mmap(-1, _SLOT_LEN * (others + 1))).cast("q")
        for number in range(others):
            self._slots[number] = rows

    def of(self, number: int) -> Sequence[int]:
        """The rows that process ``number`` may take, in the order in which it does."""
        return range(number, self.rows, self.others)[::-1]

    def take(self, row: int) -> bool:
        """Whether the first process is to make ``row``."""
        self._slots[self.others] = row + 1
        return row < self._slots[row % self.others]

    def take_there(self, row: int) -> bool:
        """Whether the other process which may take ``row`` is to make it."""
        self._slots[row % self.others] = row
        return row >= self._slots[self.others]


def _block(flows: Sequence[Flow], make: Make, others: int) -> Iterator[FlowReport]:
    if len(flows) == 1:
        yield make(flows[0])
        return
    claims = _Claims(len(flows), min(others, len(flows) - 1))
    forked: list[Forked | Failure] = []
    made: list[_Made] = []
    try:
        forked.extend(_fork(flows, make, claims, number) for number in range(claims.others))
        at = 0
        while at < len(flows) and claims.take(at):
            yield make(flows[at])
            at += 1
        # Here it has met one of them, which need not be the slowest: rows of the others are held until their turn.
        held = {row: make(flows[row]) for row in range(at, len(flows)) if claims.take(row)}
        for number, process in enumerate(forked):
            said = process if isinstance(process, Failure) else process.told()
            if isinstance(said, Failure):
                # Made here, so that whatever is wrong is told as ever.
                warn_redone(said, number + 2, claims.others + 1, "made its rows")
            else:
                made.append(_Made(said, claims.of(number)))
        theirs = {row: rows for rows in made for row in rows.offsets}
        for row in range(at, len(flows)):
            if row in held:
                yield held.pop(row)
            else:
                yield theirs[row].row(row) if row in theirs else make(flows[row])
    finally:
        for rows in made:
            rows.close()
        for process in forked:
            if isinstance(process, Forked):
                process.close()


def _fork(flows: Sequence[Flow], make: Make, claims: _Claims, number: int) -> Forked | Failure:
    parent = os.getpid()

    def work(paper: Paper) -> None:
        gc.disable()  # to look at everything is to copy what the two have in common
        lens = []
        for row in claims.of(number):
            if not claims.take_there(row):
                break
            said = pickle.dumps(make(flows[row]), pickle.HIGHEST_PROTOCOL)
            paper.write(said)
            lens.append(len(said))
            end_with(parent)
        paper.write(struct.pack(f"={len(lens) + 1}q", *lens, len(lens)))

    return start("rows", work)


class _Made:
    """The rows that a process has made, one behind the other, with their lengths behind them all. To be closed."""

    def __init__(self, said: mmap.mmap, rows: Sequence[int]) -> None:
        self._said = said
        (count,) = struct.unpack_from("=q", said, len(said) - _SLOT_LEN)
        lens = struct.unpack_from(f"={count}q", said, len(said) - _SLOT_LEN * (count + 1))
        self.offsets: dict[int, int] = {}
        """Of each row: where it begins."""
        at = 0
        for row, size in zip(rows, lens, strict=False):
            self.offsets[row] = at
            at += size

    def row(self, row: int) -> FlowReport:
        """One of them."""
        self._said.seek(self.offsets[row])
        made: FlowReport = pickle.load(self._said)
        return made

    def close(self) -> None:
        """Give the memory back."""
        self._said.close()
