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
            apart_ns: int = seg.ns - other.ns
            return other if abs(apart_ns) > SLACK_NS else None
    return None


def misses_first_copies(history: History) -> bool:
    """Whether bytes were acknowledged, or sent on from, before their first copy that the capture has; acknowledged ones
    need not be there at all."""
    reached, seen = {True: 0, False: 0}, {True: 0, False: 0}
    early: list[tuple[bool, int, int]] = []
    acked: list[tuple[bool, int, int]] = []
    for seg in history.segs:
        if seg.is_rst:
            continue
        peer = not seg.from_client
        # A FIN counts as a byte.
        if seg.ack is not None and seg.ack > reached[peer] + 1:
            early.append((peer, seg.ack, seg.ns))
        if seg.ack is not None and seg.ack > seen[peer] + 1:
            acked.append((peer, seg.ack, seg.ns))
        if not seg.has_data and seg.offset > reached[seg.from_client] + 1:
            early.append((seg.from_client, seg.offset, seg.ns))
        if seg.has_data and seg.offset <= reached[seg.from_client] < seg.end:
            if any(_knew(one, seg, seg.offset) and seg.ns - one[2] > SLACK_NS for one in early):
                return True
            reached[seg.from_client] = seg.end
        seen[seg.from_client] = max(seen[seg.from_client], seg.end)
        acked = [one for one in acked if not (_knew(one, seg, seg.offset) and seg.end + 1 >= one[1])]
    # What was not noted may be what was acknowledged.
    return not history.is_cut and bool(acked)


def _knew(one: tuple[bool, int, int], seg: Seg, offset: int) -> bool:
    """Whether what is known of a side concerns a segment of it, and bytes beyond ``offset``."""
    return one[0] == seg.from_client and one[1] > offset + 1


def goes_back(history: History) -> bool:
    """Whether the stamps of a connection go back from one segment to the next, by more than queues do."""
    latest = None
    for seg in history.segs:
        if latest is not None and latest - seg.ns > SLACK_NS:
            return True
        latest = seg.ns
    return False
