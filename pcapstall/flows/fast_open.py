"""Payload in a SYN (TCP Fast Open, RFC 7413): it waits until the SYN-ACK says whether it was taken.

What is taken is read like any other payload; what is refused comes again after the handshake.
"""

from mypy_extensions import i64

from pcapstall.flows.flow import NEVER, HalfFlow
from pcapstall.flows.head import Arrival, Held, StreamHead
from pcapstall.flows.kept import Limits
from pcapstall.flows.pending import count_unread, release_head, weigh
from pcapstall.wire.segment import Segment


def hold_syn_payload(half: HalfFlow, segment: Segment, limits: Limits) -> None:
    """Let the payload of a SYN wait."""
    if half.head is not None:
        return
    head = StreamHead()
    half.head = head
    start: i64 = segment.payload_offset
    data = segment.buf[start : start + segment.captured_len]
    head.hold(Held(Arrival(0, segment.ts_ns, segment.ref, NEVER), data, segment.payload_len - segment.captured_len))
    if weigh(half, head, limits):
        count_unread(half.flow, limits)
        release_head(half, limits)


def reject_syn_payload(half: HalfFlow, limits: Limits) -> None:
    """The SYN-ACK did not acknowledge it: it was never sent, as far as the stream is concerned."""
    half.flow.rare().syn_data = "rejected"
    release_head(half, limits)
    half.next_offset = 0
    half.payload_bytes = 0
