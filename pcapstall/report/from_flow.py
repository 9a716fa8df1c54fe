"""From a finished flow, its intervals, outcome and verdict to the row of the report.

Names and text only: everything here was measured and judged before. The model says what each field means. Compiled.
"""

from mypy_extensions import i64

from pcapstall.core.endpoints import format_endpoints
from pcapstall.core.frames import file_of, frame_of, frames_by_file
from pcapstall.diagnose.endings import is_resumed
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.knowledge import client_key
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.outcome import Outcome
from pcapstall.diagnose.verdict import Fact, Verdict
from pcapstall.flows.flow import Flow
from pcapstall.flows.kept import Alert
from pcapstall.report.flow_model import AlertReport, Counts, EventReport, Evidence, FlowReport
from pcapstall.report.names import EVENTS
from pcapstall.wire.tls_ciphers import cipher_name
from pcapstall.wire.tls_names import ALERT_LEVELS, alert_name, version_name


def flow_report(
    flow: Flow,
    intervals: Intervals,
    outcome: Outcome,
    verdict: Verdict | None,
    capture_point: tuple[str, str | None],
    t0_ns: int,
) -> FlowReport:
    """The row of ``flow``; ``capture_point`` comes with its confidence, ``t0_ns`` is the report's."""
    client_name, server_name = format_endpoints(client_key(flow))
    hello = flow.client_hello
    answer = flow.server_hello
    client, server = flow.client(), flow.server()
    stalled = intervals.stalled_name()
    return FlowReport(
        id=flow.id,
        first_frame=frame_of(flow.first_ref),
        client=client_name,
        server=server_name,
        direction_source=flow.direction_source,
        capture_point=capture_point[0],
        capture_point_confidence=capture_point[1],
        sni=hello.sni if hello else None,
        alpn=list(hello.alpn) if hello else [],
        tls_version=version_name(answer.version) if answer else None,
        cipher=cipher_name(answer.cipher) if answer and answer.cipher >= 0 else None,
        ja4=hello.ja4 or None if hello else None,
        resumed=is_resumed(flow),
        preamble=flow.preamble or None,
        preamble_ns=flow.preamble_ns if flow.preamble and flow.client_hello_first_ref else None,
        tunnel=flow.tunnel or None,
        syn_data=flow.syn_data or None,
        events=_events(flow, t0_ns),
        alerts=[_alert(alert) for alert in flow.alerts or ()],
        counts=Counts(
            packets=client.packets + server.packets,
            client_bytes=client.payload_bytes,
            server_bytes=server.payload_bytes,
            syn_retries=flow.syn_retries,
            syn_ack_retries=flow.syn_ack_retries,
            client_retransmits=client.retransmits,
            server_retransmits=server.retransmits,
            copies=flow.copies,
        ),
        intervals_ns=intervals.closed(),
        open_ns=intervals.open(),
        parts_ns={stalled: dict(verdict.parts)} if stalled and verdict and verdict.parts else {},
        tcp_outcome=outcome.tcp,
        tls_outcome=outcome.tls or None,
        closed_by=outcome.closed_by or None,
        close_kind=outcome.close_kind or None,
        server_timer_ns=None if outcome.server_timer_ns == ABSENT else outcome.server_timer_ns,
        flags=outcome.flags(),
        stalled=stalled,
        cause=verdict.cause if verdict else None,
        side=verdict.side if verdict else None,
        reason=verdict.reason if verdict else None,
        activity=None,
        confidence=verdict.confidence if verdict else None,
        match=None,
        verdict=verdict.sentence if verdict else None,
        evidence=[piece for fact in verdict.evidence for piece in _evidence(fact)] if verdict else [],
        would_settle=verdict.would_settle or None if verdict else None,
        meanwhile=next((fact.in_short for fact in verdict.evidence if fact.in_short), None) if verdict else None,
    )


def _events(flow: Flow, t0_ns: int) -> dict[str, EventReport | None]:
    events = _Events(t0_ns)
    events.put("syn", flow.syn_ref, flow.syn_ns)
    events.put("syn_ack", flow.syn_ack_ref, flow.syn_ack_ns)
    events.put("ack", flow.ack_ref, flow.ack_ns)
    events.put("client_hello_first", flow.client_hello_first_ref, flow.client_hello_first_ns)
    events.put("client_hello_last", flow.client_hello_last_ref, flow.client_hello_last_ns)
    events.put("client_hello_acked", flow.client_hello_acked_ref, flow.client_hello_acked_ns)
    events.put("hello_retry", flow.hello_retry_ref, flow.hello_retry_ns)
    events.put("client_hello2_first", flow.client_hello2_first_ref, flow.client_hello2_first_ns)
    events.put("client_hello2_last", flow.client_hello2_last_ref, flow.client_hello2_last_ns)
    events.put("server_hello_first", flow.server_hello_first_ref, flow.server_hello_first_ns)
    events.put("server_hello_last", flow.server_hello_last_ref, flow.server_hello_last_ns)
    events.put("server_flight_last", flow.server_flight_last_ref, flow.server_flight_last_ns)
    events.put("client_finished", flow.client_finished_ref, flow.client_finished_ns)
    client = flow.client()
    server = flow.server()
    events.put("client_app_data", client.app_data_ref, client.app_data_ns)
    events.put("server_app_data", server.app_data_ref, server.app_data_ns)
    events.put("client_alert", client.alert_ref, client.alert_ns)
    events.put("server_alert", server.alert_ref, server.alert_ns)
    events.put("client_fin", client.fin_ref, client.fin_ns)
    events.put("server_fin", server.fin_ref, server.fin_ns)
    events.put("client_rst", client.rst_ref, client.rst_ns)
    events.put("server_rst", server.rst_ref, server.rst_ns)
    return events.by_name


class _Events:
    """The events of one flow, those that were seen."""

    def __init__(self, t0_ns: i64) -> None:
        self._t0_ns: i64 = t0_ns
        self.by_name: dict[str, EventReport | None] = dict.fromkeys(EVENTS)

    def put(self, name: str, ref: i64, ns: i64) -> None:
        if ref != 0:
            self.by_name[name] = EventReport(ns, ns - self._t0_ns, frame_of(ref), file_of(ref))


def _alert(alert: Alert) -> AlertReport:
    return AlertReport(
        side="client" if alert.from_client else "server",
        level=None if alert.level < 0 else ALERT_LEVELS.get(alert.level, str(alert.level)),
        description=None if alert.description < 0 else alert_name(alert.description),
        inferred=alert.inferred,
        frame=frame_of(alert.ref),
        file=file_of(alert.ref),
    )


def _evidence(fact: Fact) -> list[Evidence]:
    """A fact whose frames are in two files is told once for each."""
    if not fact.refs:
        return [Evidence(fact.text, [], None, [])]
    return [Evidence(fact.text, numbers, file, []) for file, numbers in frames_by_file(fact.refs).items()]
