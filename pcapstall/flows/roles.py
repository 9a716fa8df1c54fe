"""Questions that the state of a flow answers: who speaks which part in TLS, since when, and whether it was slow.

Plain functions of a `Flow`; nothing here changes one.
"""

from mypy_extensions import i64

from pcapstall.flows.flow import NOWHERE, SEEKING, Flow, HalfFlow
from pcapstall.wire.segment import V6_ENDPOINT
from pcapstall.wire.tls_names import is_tls13


def is_v4(flow: Flow) -> bool:
    """Whether it is between two IPv4 endpoints, which its numbers tell then."""
    return NOWHERE < flow.source < V6_ENDPOINT


def client_and_server(flow: Flow) -> tuple[i64, i64]:
    """Their endpoints as numbers (wire.segment)."""
    if flow.opener_is_client:
        return flow.source, flow.destination
    return flow.destination, flow.source


def hello_sender(flow: Flow) -> HalfFlow:
    """The TLS client."""
    if flow.client_hello_first_ref == 0 and flow.server_hello_first_ref == 0:
        return flow.client()
    if flow.tls_client_is_opener:
        return flow.opener
    return flow.answerer


def hello_receiver(flow: Flow) -> HalfFlow:
    """The TLS server."""
    if flow.client_hello_first_ref == 0 and flow.server_hello_first_ref == 0:
        return flow.server()
    if flow.tls_client_is_opener:
        return flow.answerer
    return flow.opener


def talk_began_ns(flow: Flow, latest_ns: i64) -> i64:
    """When the first byte came of what either side says before TLS; not later than ``latest_ns``."""
    ns: i64 = latest_ns
    for half in (flow.opener, flow.answerer):
        head = half.head
        # The marks of a side that speaks TLS, or seems to, go with what they are about.
        if head is not None and half.phase == SEEKING and len(head.marks) > 0 and head.marks[0].ns < ns:
            ns = head.marks[0].ns
    return ns


def is_hello_due(half: HalfFlow) -> bool:
    """Whether ``half`` may still say a hello that is asked for; data that came before it do not change that."""
    flow = half.flow
    return flow.client_hello_first_ref == 0 or (flow.server_hello_first_ref == 0 and half is hello_receiver(flow))


def data_tells_nothing(half: HalfFlow) -> bool:
    """Whether records of application data from ``half`` are no event, as long as they are too long for an alert.

    They go on with data that has begun, or with the server's flight of TLS 1.3.
    """
    if half.alert_candidate:
        return False
    flow = half.flow
    if flow.client_finished_ref != 0:
        return half.app_data_ref != 0 and flow.settled
    hello = flow.server_hello
    return hello is not None and is_tls13(hello.version) and half is hello_receiver(flow)


def is_slow(flow: Flow, slow_ns: i64) -> bool:
    """Whether any interval of the handshake is long enough to be asked about."""
    if flow.syn_ref != 0 and flow.ack_ref != 0 and flow.ack_ns - flow.syn_ns >= slow_ns:
        return True
    begin: i64 = flow.client_hello_first_ns
    end: i64 = flow.client_finished_ns
    if flow.client_finished_ref == 0:
        end = flow.last_ns
    if flow.client_hello_first_ref == 0:
        return flow.ack_ref != 0 and end - flow.ack_ns >= slow_ns
    if flow.ack_ref != 0 and begin - flow.ack_ns >= slow_ns:
        return True
    # Any interval after the hello's first byte is at most as long as all of them together.
    return end - begin >= slow_ns


def is_flight(half: HalfFlow) -> bool:
    """Whether an encrypted record of ``half`` belongs to a server's flight of which the ServerHello is missing.

    No server sends application data before its client has finished, which nothing but encrypted records can tell here.
    """
    flow = half.flow
    if flow.server_hello_first_ref != 0 or flow.client_hello_first_ref == 0 or half is not hello_receiver(flow):
        return False
    client = half.peer
    return client.app_data_ref == 0 and not client.ccs
