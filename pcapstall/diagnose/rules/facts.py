"""Sentences of evidence that several rules cite: the handshake, the capture point, the close.

Each says what is in the frames it names, and nothing that is inferred from them. Compiled.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.counts import several
from pcapstall.diagnose import capture_point
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.rules.base import refs, span
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.verdict import Fact, side_of
from pcapstall.wire.icmp import ICMP_FRAGMENTATION_NEEDED, ICMP_UNREACHABLE, ICMPV6_PACKET_TOO_BIG
from pcapstall.wire.tls_reader import NEVER

_WHERE: Final = {
    capture_point.CLIENT: "The capture was taken at the client",
    capture_point.SERVER: "The capture was taken at the server",
    capture_point.MIDDLE: "The capture was taken between client and server",
    capture_point.LOCAL: "The capture was taken on the host that both ends are on",
}


def handshake(case: Case) -> Fact | None:
    """How the TCP handshake went."""
    flow, intervals = case.flow, case.intervals
    if not (flow.syn_ref and flow.ack_ref and flow.syn_ack_ref):
        return None
    length = span(flow.ack_ns - flow.syn_ns)
    repeated = flow.syn_retries + flow.syn_ack_retries
    what = f"with {several(repeated, 'repeated segment')}" if repeated else "without a repeated segment"
    if intervals.ack_ch == 0:
        return Fact(f"The TCP handshake was over in {length}, {what}.", refs(flow.syn_ref, flow.ack_ref))
    return Fact(f"The TCP handshake was over in {length}, {what}.", refs(flow.syn_ref, flow.syn_ack_ref, flow.ack_ref))


def place(case: Case) -> Fact | None:
    """Where the capture was taken, and what tells it."""
    pair = case.pair
    if case.point == capture_point.UNKNOWN:
        return None
    where = _WHERE[case.point]
    if NEVER in (pair.syn_synack_ns, pair.synack_ack_ns):
        return Fact(where + ".")
    return Fact(
        f"{where}: the fastest answer to a SYN comes {span(pair.syn_synack_ns)} after it there, to a SYN-ACK "
        f"{span(pair.synack_ack_ns)} after it."
    )


def deferred(case: Case) -> Fact | None:
    """A SYN-ACK repeated after the client's bare ACK, while the client is silent."""
    again = [
        seg.ref for seg in case.history.server if seg.is_syn_ack and case.flow.ack_ns < seg.ns and seg.ns < case.end_ns
    ]
    if not again or case.stalled != "ack_ch":
        return None
    return Fact(
        "The server repeated its SYN-ACK after the client's ACK: consistent with TCP_DEFER_ACCEPT, which waits for "
        "data, or with a lost ACK.",
        refs(*again),
    )


def close(case: Case) -> Fact | None:
    """Who ended the connection while it stood still."""
    flow, outcome = case.flow, case.outcome
    if not outcome.closed_by or outcome.close_ns > case.end_ns:
        return None
    half = flow.client() if outcome.closed_by == "client" else flow.server()
    ref = half.fin_ref if outcome.close_kind == "fin" else half.rst_ref
    verb = "sent a FIN" if outcome.close_kind == "fin" else "sent a RST"
    return Fact(f"The {outcome.closed_by} {verb} after {span(outcome.close_ns - case.start_ns)}.", refs(ref))


def too_big(case: Case, from_client: bool) -> Fact | None:
    """ICMP says that packets of one side are too big for a link (RFC 1191, RFC 8201)."""
    for error in case.flow.icmp_errors or ():
        kind = (error.kind, error.code)
        if error.quotes_client != from_client or not (
            error.kind == ICMPV6_PACKET_TOO_BIG if error.v6 else kind == (ICMP_UNREACHABLE, ICMP_FRAGMENTATION_NEEDED)
        ):
            continue
        side = side_of(from_client)
        room = f"; the next link takes {error.mtu} bytes" if error.mtu else ""
        return Fact(f"ICMP says that packets of the {side} are too big{room}.", refs(error.ref))
    return None


def odd_ttl(case: Case, rst: Seg) -> str:
    """How the TTL of a RST differs from that of its side's other segments, for a sentence; empty when it does not."""
    own = {seg.ttl for seg in case.history.of(rst.from_client) if not seg.is_rst and seg.ttl > 0}
    if not own or rst.ttl in own:
        return ""
    return f"its TTL is {rst.ttl}, the {side_of(rst.from_client)}'s is {' or '.join(map(str, sorted(own)))}"


def timer(case: Case, *, silence_is_cause: bool = True) -> str:
    """What the server's close says about its patience, for a sentence; empty when it says nothing."""
    ns: i64 = case.outcome.server_timer_ns
    if ns == ABSENT:
        return ""
    why = " and the silence is the cause" if silence_is_cause else ""
    return f"; the server closed at {span(ns)}, so {span(ns)} is its timer{why}"


def late_hello(case: Case) -> str:
    """What came of a ClientHello that was sent when the connection was closed already; empty without one."""
    flow, outcome = case.flow, case.outcome
    if not outcome.late_hello:
        return ""
    late = span(flow.client_hello_first_ns - outcome.close_ns)
    server = flow.server()
    answered = server.rst_ref and server.rst_ns >= flow.client_hello_last_ns
    tail = " and was answered with RST" if answered else ""
    return f"; the ClientHello came {late} after the {outcome.close_kind.upper()}{tail}"
