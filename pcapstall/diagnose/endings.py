"""What the last events of a flow mean: whether its handshake was over, which alert ended it, what ICMP said.

Questions about one flow, answered from its events alone. The outcome is put together from them in `outcome`.
"""

from mypy_extensions import i64

from pcapstall.diagnose.sight import misses_bytes, tls_server
from pcapstall.flows.flow import FLAG_CERTIFICATE, Flow, HalfFlow
from pcapstall.flows.kept import IcmpError
from pcapstall.wire.icmp import ICMP_FRAGMENTATION_NEEDED, ICMP_UNREACHABLE, ICMPV6_UNREACHABLE
from pcapstall.wire.tls_hello import resumed
from pcapstall.wire.tls_names import CLOSE_NOTIFY, FATAL, is_tls13
from pcapstall.wire.tls_reader import NEVER


def is_resumed(flow: Flow) -> bool | None:
    """Whether an earlier session was taken up; None when the hellos do not tell."""
    hello = flow.client_hello
    answer = flow.server_hello
    if hello is None or answer is None:
        return None
    return resumed(hello, answer, flow.flags & FLAG_CERTIFICATE != 0)


def is_established(flow: Flow, client: HalfFlow, server: HalfFlow, alert_ns: i64) -> bool:
    """client_finished and a later byte, or application data both ways, before anything went wrong."""
    if client.app_data_ref != 0 and server.app_data_ref != 0:
        return True
    if flow.client_finished_ref == 0:
        return False
    if server.app_data_ref != 0:
        return True
    answered: bool = tls_server(flow).last_payload_ns > flow.client_finished_ns and tls_server(flow).rst_ref == 0
    if alert_ns == NEVER:
        return answered or client.app_data_ref != 0
    return _is_farewell(flow, answered)


def leaves_at_once(flow: Flow, client: HalfFlow, server: HalfFlow, close_ns: i64) -> bool:
    """Whether a TLS 1.3 client closed right after its Finished: no data, no alert, and before a byte of the server's.

    Some clients check the certificate that late, and say nothing when they do not like it.
    """
    # Nearly every client sends data. The ServerHello was used last long ago: who asks for it waits for the memory.
    if client.app_data_ref != 0 or flow.client_finished_ref == 0 or flow.alerts is not None:
        return False
    if close_ns < flow.client_finished_ns:
        return False
    answer = flow.server_hello
    if answer is None or not is_tls13(answer.version):
        return False
    if misses_bytes(client) or misses_bytes(server):
        # What was taken for its Finished may be its first data.
        return False
    return server.app_data_ref == 0 or server.app_data_ns > close_ns


def _is_farewell(flow: Flow, answered: bool) -> bool:
    """Whether the first alert, after client_finished and without any application data, is a close_notify for all that
    can be told: it is encrypted, and its sender had finished the handshake before it."""
    alerts = flow.alerts
    answer = flow.server_hello
    if alerts is None or answer is None:
        return False
    alert = alerts[0]
    if alert.level >= 0 or alert.ns < flow.client_finished_ns:
        return False
    if is_tls13(answer.version):
        # The client finishes last; the server may still refuse its certificate.
        return alert.from_client
    # In a resumed handshake the client finishes last, too (RFC 5246 section 7.3).
    return answered or not alert.from_client or is_resumed(flow) is True


def first_fatal_alert(flow: Flow) -> i64:
    """When the first alert that ends a handshake came; `NEVER` without one."""
    alerts = flow.alerts
    if alerts is None:
        return NEVER
    for alert in alerts:
        if alert.inferred or alert.level == FATAL:
            return alert.ns
        answer = flow.server_hello
        if answer is not None and is_tls13(answer.version) and alert.description != CLOSE_NOTIFY:
            # In TLS 1.3 the level says nothing (RFC 8446 section 6).
            return alert.ns
    return NEVER


def has_clear_alert(flow: Flow) -> bool:
    """Whether the first alert can be read."""
    alerts = flow.alerts
    return alerts is not None and alerts[0].level >= 0


def is_prohibited(flow: Flow) -> bool:
    """Whether an ICMP error answered the SYN."""
    return prohibited_ns(flow) != NEVER


def prohibited_ns(flow: Flow) -> i64:
    """When an ICMP error answered the SYN; `NEVER` when none did."""
    errors = flow.icmp_errors
    if errors is not None:
        for error in errors:
            if error.quotes_client and is_unreachable(error):
                return error.ns
    return NEVER


def is_unreachable(error: IcmpError) -> bool:
    """Destination unreachable of any kind but "fragmentation needed" (RFC 792, RFC 4443 section 3.1)."""
    if error.v6:
        return error.kind == ICMPV6_UNREACHABLE
    return error.kind == ICMP_UNREACHABLE and error.code != ICMP_FRAGMENTATION_NEEDED
