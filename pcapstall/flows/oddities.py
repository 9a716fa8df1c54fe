"""Segments that a receiver ignores, though they look like an event: a RST outside the window, an ACK of nothing sent.

Asked only when such a segment is there; the ordinary segment never comes here.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.flow import Flow, HalfFlow
from pcapstall.flows.holes import has_hole_before
from pcapstall.wire.segment import Segment

AHEAD_LEN: Final = 1 << 20
"""Bytes beyond all that was seen of a side that may be in flight, or missed by the capture."""
UNSEEN_LEN: Final = 1 << 16
"""Bytes that a side may have sent in one go behind its last captured segment."""
MISSED_LEN: Final = 1 << 24
"""Bytes that a capture may miss of a flow between two segments."""


def known_end(half: HalfFlow) -> i64:
    """One past the last offset that ``half`` is known to have sent, captured or not."""
    if half.acked_offset > half.next_offset:
        return half.acked_offset
    return half.next_offset


def closes(half: HalfFlow, offset: i64) -> bool:
    """Whether a RST of ``half`` at stream offset ``offset`` lies in the receiver's window (RFC 9293 section 3.10.7.4).

    Only where the TCP handshake was seen is it known what the receiver expects. A host that has closed answers what
    still comes with the number that this acknowledges, which its FIN has passed.
    """
    if half.base_seq < 0 or half.flow.ack_ref == 0 or half.fin_ref != 0:
        return True
    return half.acked_offset <= offset <= known_end(half) + AHEAD_LEN


def note_reset(half: HalfFlow, segment: Segment, offset: i64) -> None:
    """Take a RST of ``half``: its first one, or a later one when the one before turned out to be none."""
    if (half.rst_ref != 0 and not _closed_nothing(half)) or not closes(half, offset):
        return
    rare = half.rare()
    rare.rst_ns = segment.ts_ns
    rare.rst_ref = segment.ref
    rare.rst_offset = offset
    if half.next_offset > offset:
        rare.rst_offset = half.next_offset


def is_absurd_ack(peer: HalfFlow, acked: i64) -> bool:
    """Whether ``acked`` lies so far beyond what ``peer`` sent that it acknowledges nothing (RFC 9293 section 3.10.7.4).

    Of a side that was not captured only its acknowledgments tell how far it is.
    """
    return acked - known_end(peer) > MISSED_LEN


def take_back_resets(flow: Flow) -> bool:
    """Forget RSTs that were none: their sender went on, and what it sent was acknowledged. Whether there were any."""
    if flow.opener.rst_ref == 0 and flow.answerer.rst_ref == 0:
        return False
    found = False
    for half in (flow.opener, flow.answerer):
        if half.rst_ref != 0 and _closed_nothing(half):
            half.rare().rst_ns = 0
            half.rare().rst_ref = 0
            found = True
    return found


def _closed_nothing(half: HalfFlow) -> bool:
    """Whether the sender of a RST went on after it, and what it sent was acknowledged."""
    if half.next_offset <= half.rst_offset or half.acked_offset <= half.rst_offset:
        return False
    # Bytes far beyond it are another connection's, whose beginning was not captured.
    return not has_hole_before(half.holes, half.rst_offset + 1)


def is_over(flow: Flow) -> bool:
    """Whether only stragglers can come: a side sent a RST, or both sent a FIN."""
    opener = flow.opener
    answerer = flow.answerer
    return opener.rst_ref != 0 or answerer.rst_ref != 0 or (opener.fin_ref != 0 and answerer.fin_ref != 0)
