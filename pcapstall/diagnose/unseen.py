"""What a capture shows it missed by the order of what it holds: bytes acknowledged, or left behind, before they came.

The copy that it has of them is not the first that was sent, so its stamp is nobody's. Nothing is concluded here.
Compiled, for it is looked at for every verdict.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.segments import History, Seg

SLACK_NS: Final = 5_000_000
"""Queues and interfaces of one capture are out of order by less than this."""


def acknowledged_before(history: History, seg: Seg) -> Seg | None:
    """The segment of the other side that acknowledges the first byte of ``seg`` before it comes; None without one."""
    for other in history.segs:
        if other is seg:
            return None
        ack = other.ack
        if other.from_client == seg.from_client or ack is None or other.is_rst:
            continue
        if ack > seg.offset if seg.has_data else seg.is_syn_ack:
            apart_ns: i64 = seg.ns - other.ns
            if apart_ns > SLACK_NS or apart_ns < -SLACK_NS:
                return other
            return None
    return None


def misses_first_copies(history: History) -> bool:
    """Whether bytes were acknowledged, or sent on from, before their first copy that the capture has; acknowledged ones
    need not be there at all."""
    client = _Reach()
    server = _Reach()
    early: list[_Known] = []
    acked: list[_Known] = []
    for seg in history.segs:
        if seg.is_rst:
            continue
        own = server
        peer = client
        if seg.from_client:
            own = client
            peer = server
        ack = seg.ack
        if ack is not None:
            # A FIN counts as a byte.
            if ack > peer.whole + 1:
                early.append(_Known(peer, ack, seg.ns))
            if ack > peer.seen + 1:
                acked.append(_Known(peer, ack, seg.ns))
        if seg.has_data:
            if seg.offset <= own.whole < seg.end:
                for one in early:
                    if one.side is own and one.until > seg.offset + 1 and seg.ns - one.ns > SLACK_NS:
                        return True
                own.whole = seg.end
        elif seg.offset > own.whole + 1:
            early.append(_Known(own, seg.offset, seg.ns))
        if seg.end > own.seen:
            own.seen = seg.end
        if acked:
            acked = [one for one in acked if not one.is_held_by(own, seg)]
    # What was not noted may be what was acknowledged.
    return not history.is_cut and len(acked) > 0


class _Reach:
    """How far the bytes of one side go that the capture has."""

    def __init__(self) -> None:
        self.whole: i64 = 0
        """Up to there none is missing."""
        self.seen: i64 = 0


class _Known:
    """What a segment says of bytes that one side must have sent by then."""

    def __init__(self, side: _Reach, until: i64, ns: i64) -> None:
        self.side: _Reach = side
        self.until: i64 = until
        self.ns: i64 = ns

    def is_held_by(self, side: _Reach, seg: Seg) -> bool:
        """Whether a segment of ``side`` holds the last of these bytes."""
        return self.side is side and self.until > seg.offset + 1 and seg.end + 1 >= self.until


def goes_back(history: History) -> bool:
    """Whether the stamps of a connection go back from one segment to the next, by more than queues do."""
    latest: Seg | None = None
    for seg in history.segs:
        if latest is not None and latest.ns - seg.ns > SLACK_NS:
            return True
        latest = seg
    return False
