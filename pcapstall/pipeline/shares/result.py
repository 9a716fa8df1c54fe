"""What came of one share of a capture: in few pieces, for whoever puts the shares together.

Made where the share was followed, in another process or on another host. Nothing is judged here.
"""

import copyreg
import sys
from array import array
from collections.abc import Callable, Sequence
from pickle import PickleBuffer
from typing import NamedTuple

from pcapstall.capture.captures import Captures
from pcapstall.core.lengths import Lengths, unpacked
from pcapstall.core.packed import Packed
from pcapstall.diagnose.knowledge import Knowledge
from pcapstall.diagnose.pairs import PackedPairs
from pcapstall.flows.flow import Flow
from pcapstall.flows.packing import make_packable
from pcapstall.flows.share import Share
from pcapstall.flows.table import FlowTable
from pcapstall.pipeline.scan import ordinary
from pcapstall.pipeline.scan.loop import Scan
from pcapstall.pipeline.scan.ordinary import OrdinaryLengths, PackedOrdinary
from pcapstall.pipeline.scan.tally import LengthTally
from pcapstall.pipeline.shares.collect import ShareCollector


def _reduce_lengths(lengths: Lengths) -> tuple[Callable[..., Lengths], tuple[PickleBuffer, str]]:
    return unpacked, (PickleBuffer(lengths.packed()), sys.byteorder)


def _reduce_ordinary(lengths: OrdinaryLengths) -> tuple[Callable[..., OrdinaryLengths], tuple[PackedOrdinary]]:
    return ordinary.unpacked, (ordinary.packed(lengths),)


make_packable(LengthTally)
copyreg.pickle(Lengths, _reduce_lengths)
copyreg.pickle(OrdinaryLengths, _reduce_ordinary)

Reading = tuple[str, int, int | None, int | None, int]
"""Of a file: path, packets, first and last stamp, how many warnings."""


class ShareLog(NamedTuple):
    """What a share noted of itself (flows.share)."""

    opened: "array[int]"
    live: "array[int]"
    opened_by: "array[int]"
    buried: "array[int]"
    sweeps: Sequence[tuple[int, int, int]]
    consulted: dict[int, int]


class PackedKnowledge(NamedTuple):
    """A `Knowledge` in few pieces."""

    pairs: PackedPairs
    connections: Sequence[Packed]
    lives: Sequence[Packed]


class ShareResult(NamedTuple):
    """Everything."""

    number: int
    """Of the share, from 0."""
    kept: Sequence[tuple[tuple[int, int], Flow]]
    """Flows that are, or may be, shown, each with its moment."""
    counted: LengthTally
    beyond: LengthTally
    knowledge: "Knowledge | PackedKnowledge"
    """What the flows counted say together; packed for another process."""
    missed_bytes: dict[int, int]
    files: dict[int, tuple[int, int, dict[str, int]]]
    """By file index: segments, other records, malformed ones by reason."""
    readings: Sequence[Reading]
    watched_until: Sequence[int]
    log: ShareLog
    closed_early: int
    left_unread: int
    crowded: bool
    """Whether something was left out to stay within bounds that all flows have in common."""


def result_of(captures: Captures, scan: Scan, table: FlowTable, collector: ShareCollector) -> ShareResult:
    """What came of the share that ``table`` has followed to its end."""
    limits, share = table.limits, table.share
    for tally in (collector.counted, collector.beyond):
        tally.flush_outcomes()
    return ShareResult(
        number=int(share.index),
        kept=list(zip(collector.moments, collector.kept, strict=True)),
        counted=collector.counted,
        beyond=collector.beyond,
        knowledge=collector.knowledge,
        missed_bytes=dict(collector.missed_bytes),
        files={
            index: (int(counts.tcp), int(counts.other), dict(counts.malformed)) for index, counts in scan.files.items()
        },
        readings=readings_of(captures),
        watched_until=list(scan.watched_until),
        log=_log_of(share),
        closed_early=int(limits.closed_early),
        left_unread=int(limits.left_unread),
        crowded=table.is_crowded(),
    )


def packed(result: ShareResult) -> ShareResult:
    """``result`` as it is told to another process."""
    knowledge = result.knowledge
    if isinstance(knowledge, PackedKnowledge):
        return result
    told = PackedKnowledge(knowledge.pairs.packed(), knowledge.connections.pieces(), knowledge.lives.pieces())
    return result._replace(knowledge=told)


def readings_of(captures: Captures) -> list[Reading]:
    """How far each file was read."""
    return [(info.path, info.packets, info.first_ns, info.last_ns, len(info.warnings)) for info in captures.infos()]


def _log_of(share: Share) -> ShareLog:
    return ShareLog(
        share.opened,
        share.live,
        share.opened_by,
        share.buried,
        list(share.sweeps),
        dict(share.consulted),
    )
