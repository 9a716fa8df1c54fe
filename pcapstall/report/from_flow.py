"""From a finished flow, its intervals, outcome and verdict to the row of the report.

Names and text only: everything here was measured and judged before. The model says what each field means.
"""

from typing import Final

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
from pcapstall.report.model import EVENTS, AlertReport, Counts, EventReport, Evidence, FlowReport
from pcapstall.wire.tls_ciphers import cipher_name
from pcapstall.wire.tls_names import ALERT_LEVELS, alert_name, version_name

_OF_FLOW: Final = tuple((name, f"{name}_ns", f"{name}_ref") for name in EVENTS[:13])
"""Events that are attributes of the flow, and the attributes that are their stamp and frame; the others are of one of
its halves."""
_OF_CLIENT, _OF_SERVER = (
    tuple((side + name, f"{name}_ns", f"{name}_ref") for name in ("app_data", "alert", "fin", "rst"))
    for side in ("client_", "server_")
)


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
    events: dict[str, EventReport | None] = dict.fromkeys(EVENTS)
    for attributes, owner in ((_OF_FLOW, flow), (_OF_CLIENT, flow.client()), (_OF_SERVER, flow.server())):
        for name, stamp, reference in attributes:
            ref: int = getattr(owner, reference)
            if ref:
                ns: int = getattr(owner, stamp)
                events[name] = EventReport(ns, ns - t0_ns, frame_of(ref), file_of(ref))
    return events


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
