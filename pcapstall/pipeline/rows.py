"""Many rows of a report by several processes: one with its verdict takes as long as following a few hundred packets.

When everything is known a process is forked for a part of the flows, and hands their rows over as they are. What a row
says is not known here.
"""

import gc
import mmap
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from pcapstall.flows.flow import Flow
from pcapstall.pipeline.forked import Failure, Forked, Paper, end_with, start, warn_redone
from pcapstall.report.model import FlowReport

BLOCK: Final = 16_384
"""Rows that lie in memory at once; after them the next ones are begun."""
_OWN_PART: Final = 0.8
"""What the first process makes of the rows beside what each other one makes: it takes theirs, and writes all."""

Make = Callable[[Flow], FlowReport]


def rows_by_several(flows: Sequence[Flow], make: Make, processes: int) -> Iterator[FlowReport]:
    """What ``make`` makes of each of ``flows``, in their order; ``processes`` includes this one, and is at least 2."""
    for at in range(0, len(flows), BLOCK):
        yield from _block(flows[at : at + BLOCK], make, processes - 1)


def _block(flows: Sequence[Flow], make: Make, others: int) -> Iterator[FlowReport]:
    others = min(others, len(flows) - 1)
    each = int(len(flows) / (others + _OWN_PART))
    own = len(flows) - each * others
    begins = [own + each * number for number in range(others)]
    helpers: list[Forked | Failure] = []
    try:
        helpers.extend(_fork(flows[begin : begin + each], make) for begin in begins)
        yield from map(make, flows[:own])
        for number, (begin, helper) in enumerate(zip(begins, helpers, strict=True), 2):
            part = flows[begin : begin + each]
            said = helper if isinstance(helper, Failure) else helper.told()
            if isinstance(said, Failure):
                # Made here, so that whatever is wrong is told as ever.
                warn_redone(said, number, others + 1, "made its rows")
                yield from map(make, part)
            else:
                yield from _taken(said, len(part))
    finally:
        for helper in helpers:
            if isinstance(helper, Forked):
                helper.close()


def _fork(flows: Sequence[Flow], make: Make) -> Forked | Failure:
    parent = os.getpid()

    def work(paper: Paper) -> None:
        gc.disable()  # to look at everything is to copy what the two have in common
        for flow in flows:
            pickle.dump(make(flow), paper, pickle.HIGHEST_PROTOCOL)
            end_with(parent)

    return start("rows", work)


def _taken(said: mmap.mmap, count: int) -> Iterator[FlowReport]:
    """The rows that a process has made."""
    with said:
        for _ in range(count):
            row: FlowReport = pickle.load(said)
            yield row
