"""Which flows come first: the worst, and of many only those whole whose story is told.

The order is the same in every format. What is told of a flow is in `happening` and `stories`.
"""

from bisect import insort
from collections.abc import Iterable
from operator import itemgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pcapstall.report.flow_model import FlowReport

_Rank = tuple[int, bool, int, int]
_RANK: Final = itemgetter(0)


def worst_first(flows: "Iterable[FlowReport]", whole: int | None = None) -> "list[FlowReport]":
    """Stalled flows, the longest stall first, then failed ones, then the others, each by id.

    A length that the capture's own clock or gaps made comes after those that were measured. The first ``whole`` are
    kept whole (all of them without it), the others without what a row of a table does not show: a tenth of the memory.
    """
    if whole is None:
        return sorted(flows, key=_rank)
    first: list[tuple[_Rank, FlowReport]] = []
    others: list[tuple[_Rank, FlowReport]] = []
    for flow in flows:
        rank = _rank(flow)
        if first and len(first) == whole and first[-1][0] < rank:
            others.append((rank, _row_of(flow)))
            continue
        insort(first, (rank, flow), key=_RANK)
        if len(first) > whole:
            last_rank, last = first.pop()
            others.append((last_rank, _row_of(last)))
    others.sort(key=_RANK)
    return [flow for _, flow in (*first, *others)]


def _row_of(flow: "FlowReport") -> "FlowReport":
    """``flow`` without its events, its evidence and the like."""
    from pcapstall.report.flow_model import NO_COUNTS  # loaded with the first row

    return flow._replace(
        alpn=[],
        cipher=None,
        ja4=None,
        events={},
        alerts=[],
        counts=NO_COUNTS,
        parts_ns={},
        evidence=[],
        logs=None,
        threads=None,
        stages_ns=None,
    )


def _rank(flow: "FlowReport") -> _Rank:
    if flow.stalled is not None:
        return (0, flow.cause == "capture", -(flow.stalled_ns or 0), flow.id)
    return (1 if flow.failed else 2, False, 0, flow.id)
