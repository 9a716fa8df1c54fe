"""What the capture lacks of a flow: a whole direction, acknowledged bytes, the beginning of a hello.

Such gaps are the capture's, never the network's: an interval whose end may lie in one is not open. And an alert ends
what would be open otherwise.
"""

from mypy_extensions import i64

from pcapstall.flows.flow import FLAG_SNAPLEN_CUT, FLAG_TLS_DUE, Flow, HalfFlow
from pcapstall.flows.holes import has_hole_before
from pcapstall.wire.tls_names import FATAL


def is_one_sided(flow: Flow) -> bool:
    """Whether only one direction was captured of a connection whose other side was there: it was acknowledged."""
    if flow.opener.packets == 0:
        return flow.opener.base_seq >= 0
    if flow.answerer.packets == 0:
        return flow.answerer.base_seq >= 0
    return False


def misses_bytes(half: HalfFlow) -> bool:
    """Whether the peer acknowledged bytes of ``half`` that the capture does not hold."""
    acked: i64 = half.acked_offset
    if half.fin_ref != 0:
        # The FIN takes one number after the payload.
        acked -= 1
    return acked > half.payload_bytes or has_hole_before(half.holes, acked)


def lacks_answer(flow: Flow) -> bool:
    """Whether the ServerHello may be among bytes that the capture lacks: acknowledged ones, or a whole direction."""
    if flow.server_hello_first_ref != 0:
        return False
    return is_one_sided(flow) or misses_bytes(tls_server(flow))


def answers_otherwise(flow: Flow, server: HalfFlow) -> bool:
    """Whether the server answered the ClientHello with bytes, and no ServerHello can be seen in them: they are no TLS,
    or were cut off by the snap length."""
    if server.payload_bytes <= flow.server_tls_offset or server.alert_ref != 0:
        return False
    # Behind a hole lies the rest of a flight whose beginning is still to come.
    return not has_hole_before(server.holes, server.next_offset)


def lacks_rest(flow: Flow, half: HalfFlow) -> bool:
    """Whether a capture that does not hold the TCP handshake lacks what came after the last bytes of ``half``, too.

    They were neither acknowledged nor sent again, as they must have been: only some of the packets were kept.
    """
    if flow.syn_ref != 0 or flow.syn_ack_ref != 0:
        return False
    return half.retransmits == 0 and half.acked_offset < half.next_offset


def may_be_cut_off(flow: Flow, half: HalfFlow, since_ns: i64) -> bool:
    """Whether what ``half`` owes may be among the bytes that the snap length cut off, for it sent some since then."""
    return flow.flags & FLAG_SNAPLEN_CUT != 0 and half.payload_bytes > 0 and half.last_payload_ns >= since_ns


def speaks_otherwise(flow: Flow) -> bool:
    """Whether both sides spoke, and no hello was among what they said: a protocol that turns to TLS only if asked, and
    was not."""
    return flow.opener.payload_bytes > 0 and flow.answerer.payload_bytes > 0 and flow.flags & FLAG_TLS_DUE == 0


def partial_has_first(flow: Flow) -> bool:
    """Whether the first byte of a ClientHello that never was complete is in the capture."""
    client = flow.client()
    return flow.partial_hello_ref != 0 and not has_hole_before(client.holes, 1)


def until_alert(flow: Flow, end_ns: i64) -> i64:
    """``end_ns``, or the first fatal alert before it: nobody waits for a handshake that was refused."""
    alerts = flow.alerts
    if alerts is None:
        return end_ns
    for alert in alerts:
        if (alert.level == FATAL or alert.inferred) and alert.ns < end_ns:
            return alert.ns
    return end_ns


def tls_server(flow: Flow) -> HalfFlow:
    """Who answers the ClientHello."""
    if flow.client_hello_first_ref != 0:
        if flow.tls_client_is_opener:
            return flow.answerer
        return flow.opener
    return flow.server()
