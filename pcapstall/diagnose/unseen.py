"""What a capture shows it missed by the order of what it holds: bytes acknowledged, or left behind, before they came.

The copy that it has of them is not the first that was sent, so its stamp is nobody's. Nothing is concluded here.
"""

from typing import Final

from pcapstall.diagnose.segments import History, Seg

SLACK_NS: Final = 5_000_000
"""Queues and interfaces of one capture are out of order by less than this."""


def acknowledged_before(history: History, seg: Seg) -> Seg | None:
    """The segment of the other side that acknowledges the first byte of ``seg`` before it comes; None without one."""
    for other in history.segs:
        if other is seg:
            return None
        if other.from_client == seg.from_client or other.ack is None or other.is_rst:
            continue
        if other.ack > seg.offset if seg.has_data else seg.is_syn_ack:
            return other if abs(seg.ns - other.ns) > SLACK_NS else None
    return None


def misses_first_copies(history: History) -> bool:
    """Whether bytes were acknowledged, or sent on from, before their first copy that the capture has."""
    highest = {True: 0, False: 0}
    early: list[Seg] = []
    for seg in history.segs:
        if seg.is_rst:
            continue
        # A FIN counts as a byte.
        if seg.ack is not None and seg.ack > highest[not seg.from_client] + 1:
            early.append(seg)
        if not seg.has_data and seg.offset > highest[seg.from_client] + 1:
            early.append(seg)
        if seg.has_data and seg.offset <= highest[seg.from_client] < seg.end:
            highest[seg.from_client] = seg.end
            if any(_spans(other, seg) for other in early):
                return True
    return False


def _spans(early: Seg, late: Seg) -> bool:
    """Whether ``early`` knew of a byte of ``late``, which came later."""
    known = early.offset if early.from_client == late.from_client else early.ack
    return known is not None and known > late.offset + 1 and late.ns - early.ns > SLACK_NS


def goes_back(history: History) -> bool:
    """Whether the stamps of a connection go back from one segment to the next, by more than queues do."""
    latest = None
    for seg in history.segs:
        if latest is not None and latest - seg.ns > SLACK_NS:
            return True
        latest = seg.ns
    return False
