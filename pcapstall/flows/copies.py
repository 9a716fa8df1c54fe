"""Tells copies of a packet (``-i any``, mirror ports), and measures them at one place: that nearest the client.

It is the interface, else the TTL, that tells it. The client's packets pass there first and the server's last, so what
the first copy of a server's packet was stamped with moves on to the copy at the interface that had the SYN first.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.flow import HalfFlow
from pcapstall.flows.rarities import NO_COPIES
from pcapstall.wire.segment import ACK, FIN, SYN, Segment

NONE: Final = -1
"""`Flow.near_interface` of a flow that begins with no SYN: what is nearest its client is not known."""
COPY_WINDOW_NS: Final = 50_000_000
"""A copy of a packet (mirror port, ``-i any``) comes within this time."""
COPY_WINDOW_WITHOUT_ID_NS: Final = 1_000_000
"""The same where no IP ID tells a copy from a packet sent again."""


def is_last_again(half: HalfFlow, segment: Segment) -> bool:
    """Whether this is the half's last packet, captured at another interface or by a mirror as well.

    Without an IP ID nothing tells a repeated ACK or RST from a copy: these are never called one.
    """
    if (segment.seq << 32) | segment.ack != half.last_numbers:
        return False
    if (segment.payload_len << 25) | (segment.flags << 17) | (segment.ip_id + 1) != half.last_form:
        return False
    gap: i64 = segment.ts_ns - half.last_ns
    if gap < 0:
        gap = -gap
    if segment.ip_id > 0:
        return gap <= COPY_WINDOW_NS
    return gap <= COPY_WINDOW_WITHOUT_ID_NS and (segment.payload_len > 0 or segment.flags & (SYN | FIN) != 0)


def is_passed(half: HalfFlow, segment: Segment) -> bool:
    """Whether the sender's count of IP IDs has passed this one's: a copy that came between others.

    A retransmission gets a new ID (RFC 6864 section 4).
    """
    gap: i64 = segment.ts_ns - half.last_ns
    last_ip_id: i64 = half.last_ip_id
    if gap > COPY_WINDOW_NS or gap < -COPY_WINDOW_NS or segment.ip_id <= 0 or last_ip_id <= 0:
        return False
    return 0 < (last_ip_id - segment.ip_id) & 0xFFFF < 64


def take_copy(half: HalfFlow, segment: Segment) -> None:
    """``segment`` is a copy of one that ``half`` has sent."""
    flow = half.flow
    book = flow.book
    rare = flow.rare()
    rare.copies += 1
    if rare.near_interface == NO_COPIES:
        rare.near_interface = NONE
        if book is not None:
            first = book.note(0)
            if first.flags & (SYN | ACK) == SYN:
                rare.near_interface = first.interface
    if half is flow.client() or segment.interface != flow.near_interface:
        return
    if segment.flags & SYN == 0 and not flow.copies_come_later:
        # The SYN-ACK did not pass there: that place does not have both directions.
        return
    number: i64 = -1
    if book is not None:
        number = book.original(segment.ref)
    if book is not None and number >= 0:
        # That of the copy that is measured so far.
        note = book.note(number)
        if note.interface == segment.interface and segment.ttl >= note.ttl:
            return
        rare.copies_come_later = True
        _restamp(half, note.ns, note.ref, segment)
        book.swap(number)
    elif flow.copies_come_later and segment.seq == half.last_seq and segment.ip_id == half.last_ip_id:
        _restamp(half, half.last_ns, 0, segment)
        half.last_ns = segment.ts_ns


def _restamp(half: HalfFlow, old_ns: i64, old_ref: i64, segment: Segment) -> None:
    """What the segment of ``old_ns`` (and ``old_ref``, unless that is 0) was to the flow, this copy of it is."""
    flow = half.flow
    ns: i64 = segment.ts_ns
    ref: i64 = segment.ref
    if _is_it(flow.syn_ack_ns, flow.syn_ack_ref, old_ns, old_ref):
        flow.syn_ack_ns, flow.syn_ack_ref = ns, ref
    if _is_it(flow.client_hello_acked_ns, flow.client_hello_acked_ref, old_ns, old_ref):
        flow.client_hello_acked_ns, flow.client_hello_acked_ref = ns, ref
    if _is_it(flow.hello_retry_ns, flow.hello_retry_ref, old_ns, old_ref):
        rare = flow.rare()
        rare.hello_retry_ns, rare.hello_retry_ref = ns, ref
    if _is_it(flow.server_hello_first_ns, flow.server_hello_first_ref, old_ns, old_ref):
        flow.server_hello_first_ns, flow.server_hello_first_ref = ns, ref
    if _is_it(flow.server_hello_last_ns, flow.server_hello_last_ref, old_ns, old_ref):
        flow.server_hello_last_ns, flow.server_hello_last_ref = ns, ref
    if _is_it(flow.server_flight_last_ns, flow.server_flight_last_ref, old_ns, old_ref):
        flow.server_flight_last_ns, flow.server_flight_last_ref = ns, ref
    if _is_it(half.app_data_ns, half.app_data_ref, old_ns, old_ref):
        half.app_data_ns, half.app_data_ref = ns, ref
    if _is_it(half.candidate_ns, half.candidate_ref, old_ns, old_ref):
        half.rare().candidate_ns, half.rare().candidate_ref = ns, ref
    if _is_it(half.fin_ns, half.fin_ref, old_ns, old_ref):
        half.fin_ns, half.fin_ref = ns, ref
    if _is_it(half.rst_ns, half.rst_ref, old_ns, old_ref):
        half.rare().rst_ns, half.rare().rst_ref = ns, ref
    alerts = flow.alerts
    if alerts is not None and _is_it(half.alert_ns, half.alert_ref, old_ns, old_ref):
        half.rare().alert_ns, half.rare().alert_ref = ns, ref
        for alert in alerts:
            if not alert.from_client and alert.ns == old_ns:
                alert.ns, alert.ref = ns, ref
    head = half.head
    if head is not None:
        for mark in head.marks:
            if _is_it(mark.ns, mark.ref, old_ns, old_ref):
                mark.ns, mark.ref = ns, ref
        for held in head.held:
            if _is_it(held.arrival.ns, held.arrival.ref, old_ns, old_ref):
                held.arrival.ns, held.arrival.ref = ns, ref


def _is_it(ns: i64, ref: i64, old_ns: i64, old_ref: i64) -> bool:
    """Whether an event was stamped with that segment."""
    return ref != 0 and ns == old_ns and (old_ref == 0 or ref == old_ref)
