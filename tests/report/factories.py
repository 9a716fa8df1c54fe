"""Hand-made flows and reports: one of each kind that a ticket is about.

`flow(...)` has the defaults of an established connection and takes any field; `ticket()` is a report of several.
"""

from collections.abc import Iterable
from typing import Any

from pcapstall.core.times import MS, SECOND, US
from pcapstall.report.end_model import ProcessReport, StraceReport
from pcapstall.report.flow_model import AlertReport, Counts, EventReport, Evidence, FlowReport
from pcapstall.report.groups import SummaryRow, rows_of, tallies_by
from pcapstall.report.model import CaptureReport, Report
from pcapstall.report.names import EVENTS, INTERVALS
from pcapstall.report.percentiles import Tally

T0 = 1_621_450_142_123_456_000
THRESHOLDS = {"default": SECOND, "ch_ack": SECOND // 2}
HEALTHY_NS = {
    "syn_synack": 210 * US,
    "synack_ack": 40 * US,
    "ack_ch": 1_300 * US,
    "ch_span": 0,
    "ch_ack": 230 * US,
    "ch_sh": 2_400 * US,
    "sh_cfin": 1_900 * US,
    "ch_fin": 812 * MS,
    "ch_close": 812 * MS,
}


def event(ns: int, frame: int, file: int = 0) -> EventReport:
    """An event ``ns`` after the first packet."""
    return EventReport(T0 + ns, ns, frame, file)


def flow(
    number: int = 1, *, events: dict[str, EventReport] | None = None, intervals: Any = None, **fields: Any
) -> FlowReport:
    """An established flow from port 34500 + ``number``, but for the fields given."""
    made: dict[str, Any] = {
        "id": number,
        "first_frame": number,
        "client": f"10.40.39.45:{34500 + number}",
        "server": "10.40.42.129:8086",
        "direction_source": "syn",
        "capture_point": "client",
        "capture_point_confidence": "high",
        "sni": None,
        "alpn": [],
        "tls_version": None,
        "cipher": None,
        "ja4": None,
        "resumed": None,
        "preamble": None,
        "preamble_ns": None,
        "tunnel": None,
        "syn_data": None,
        "events": dict.fromkeys(EVENTS) | (events or {}),
        "alerts": [],
        "counts": Counts(packets=12, client_bytes=700, server_bytes=4100),
        "intervals_ns": dict.fromkeys(INTERVALS) | (HEALTHY_NS if intervals is None else intervals),
        "open_ns": {},
        "parts_ns": {},
        "tcp_outcome": "connected",
        "tls_outcome": "established",
        "closed_by": None,
        "close_kind": None,
        "server_timer_ns": None,
        "flags": [],
        "stalled": None,
        "cause": None,
        "side": None,
        "reason": None,
        "activity": None,
        "confidence": None,
        "match": None,
        "verdict": None,
        "evidence": [],
        "would_settle": None,
    }
    assert made.keys() >= fields.keys(), fields.keys() - made.keys()
    return FlowReport(**made | fields)


def silent_client(number: int = 6) -> FlowReport:
    """The client's process sent its ClientHello 52 s late, 42 s after the server had closed."""
    length = 52_091_243_000
    return flow(
        number,
        events={
            "syn": event(0, 1),
            "syn_ack": event(212 * US, 2),
            "ack": event(253 * US, 3),
            "server_fin": event(10_003 * MS, 7),
            "client_hello_first": event(253 * US + length, 9),
            "client_hello_last": event(253 * US + length, 9),
        },
        intervals={
            "syn_synack": 212 * US,
            "synack_ack": 41 * US,
            "ack_ch": length,
            "ch_span": 0,
            "ch_fin": -42_088_496_000,
            "ch_close": -42_088_496_000,
            "ack_close": 10_002_747_000,
        },
        parts_ns={"ack_ch": {"client_process": length}},
        tls_outcome="closed_before_client_hello",
        closed_by="server",
        close_kind="fin",
        server_timer_ns=10_002_747_000,
        flags=["late_hello"],
        stalled="ack_ch",
        cause="client_process",
        side="client",
        reason="epoll_not_waited",
        activity="waiting_elsewhere",
        confidence="high",
        match="client_random",
        verdict="the client was silent for 52.1 s; the server closed at 10.0 s, so 10 s is its timer and the silence is"
        " the cause; the ClientHello came 42.1 s after the FIN and was answered with RST",
        evidence=[
            Evidence("The TCP handshake was over in 253 us, without a repeated segment.", [1, 2, 3], 0, []),
            Evidence(
                "IP IDs of the client run on by 1 from the ACK to the ClientHello: nothing was lost.", [3, 9], 0, []
            ),
            Evidence(
                "Thread 30041 added the socket to epoll descriptor 14, on which no thread waited for 52.1 s.",
                [],
                None,
                ["client.strace:66", "client.strace:3120"],
            ),
        ],
    )


def slow_server(number: int = 7) -> FlowReport:
    """The server's kernel acknowledged the ClientHello at once, its process has not answered in 4.5 s."""
    return flow(
        number,
        sni="metrics.eu-central-1.api.example.com",
        tls_version="TLSv1.3",
        intervals={
            "syn_synack": 18 * MS,
            "synack_ack": 61 * US,
            "ack_ch": 2 * MS,
            "ch_span": 12 * US,
            "ch_ack": 19 * MS,
        },
        open_ns={"ch_sh": 4_500 * MS},
        parts_ns={"ch_sh": {"network": 19 * MS, "unknown": 4_481 * MS}},
        tls_outcome="no_server_hello",
        flags=["near_capture_end"],
        stalled="ch_sh",
        cause="server_process",
        side="server",
        reason="server_slow_hello",
        confidence="medium",
        verdict="the server's kernel has had the whole ClientHello since 19 ms after it was sent, and no ServerHello"
        " came within 4.5 s: consistent with a slow server process",
        evidence=[
            Evidence("The last byte of the ClientHello was acknowledged after 19 ms.", [21, 22], 0, []),
            Evidence("Nothing of the server was seen after that but the ACK.", [22], 0, []),
        ],
        would_settle="a capture at the server: a ServerHello lost four times looks the same from here",
    )


def refused(number: int = 9) -> FlowReport:
    """A port that nobody listens on."""
    return flow(
        number,
        server="[2001:db8:40:42::129]:8087",
        client="[2001:db8:40:39::45]:34509",
        intervals={},
        tcp_outcome="refused",
        tls_outcome=None,
        closed_by="server",
        close_kind="rst",
        cause="unknown",
        reason="refused",
        confidence="medium",
        verdict="the SYN was answered with RST after 200 us",
        evidence=[Evidence("RST, with the TTL of no other segment of that address.", [31], 0, [])],
        would_settle="a capture at the server",
    )


def alerted(number: int = 10) -> FlowReport:
    """No version in common."""
    return flow(
        number,
        sni="old.example.com",
        tls_outcome="alert",
        closed_by="server",
        close_kind="fin",
        intervals=HEALTHY_NS | {"ch_sh": None, "sh_cfin": None, "ch_fin": 3 * MS, "ch_close": 3 * MS},
        alerts=[AlertReport("server", "fatal", "protocol_version", False, 44, 0)],
        cause="unknown",
        reason="alert",
        confidence="medium",
        verdict="the server sent the fatal alert protocol_version 2.4 ms after the ClientHello",
        evidence=[Evidence("Alert protocol_version; the ClientHello offers TLS 1.2 at most.", [42, 44], 0, [])],
        would_settle="the TLS versions that the server is set to accept",
    )


def capture(**fields: Any) -> CaptureReport:
    """A capture that can be trusted, but for the fields given."""
    made = CaptureReport(
        "client.pcap", "pcap-ns", 412, 410, 2, {}, 0, T0, T0 + 62_200 * MS, ["EN10MB"], "trustworthy", []
    )
    return made._replace(**fields)


def strace(**fields: Any) -> StraceReport:
    """The client's strace, matched to flow 6."""
    made = StraceReport(
        "client.strace", None, 3734, 2, [ProcessReport(30033, "client", [6])], 0, 120 * US, ["127.0.0.1:53"]
    )
    return made._replace(**fields)


def healthy(count: int) -> list[FlowReport]:
    """``count`` established flows, each a little slower than the one before."""
    return [
        flow(100 + at, intervals={name: ns * (50 + at) // 50 for name, ns in HEALTHY_NS.items()}) for at in range(count)
    ]


def report(
    shown: Iterable[FlowReport] = (),
    hidden: Iterable[FlowReport] = (),
    listed: Iterable[FlowReport] | None = None,
    **fields: Any,
) -> Report:
    """A report that shows some flows and summarises others; ``listed`` replaces the flows to be read."""
    shown = list(shown)
    everything, unseen = Tally(), Tally()
    for one in shown:
        everything.add(one)
    for one in hidden:
        everything.add(one)
        unseen.add(one)
    made = Report(
        "0.1.0",
        T0,
        THRESHOLDS,
        [capture()],
        [],
        shown if listed is None else listed,
        unseen.healthy(),
        everything.totals(),
        {},
    )
    return made._replace(**fields)


def ticket() -> Report:
    """Two stalled and two failed flows among healthy ones, with a strace."""
    return report([silent_client(), slow_server(), refused(), alerted()], healthy(33), straces=[strace()])


def one_stall() -> Report:
    """One stalled flow among healthy ones."""
    return report([silent_client()], healthy(36), straces=[strace()])


def clean() -> Report:
    """Nothing wrong."""
    return report([], healthy(37))


HOSTILE = (
    "\x1b[2J|`<script>alert(1)</script>` @team #12 {code} =cmd()\u202e\udcff\r\n# !img!"
    " [x](http://evil.example) www.evil.example"
)
"""Text that every format must keep from acting."""


def hostile() -> Report:
    """Everything that may come from outside says `HOSTILE`."""
    one = silent_client()._replace(
        sni=HOSTILE,
        preamble=HOSTILE,
        tunnel=HOSTILE,
        tls_version=HOSTILE,
        verdict=HOSTILE,
        would_settle=HOSTILE,
        reason=HOSTILE,
        evidence=[Evidence(HOSTILE, [1], 0, [HOSTILE])],
    )
    return report(
        [one],
        healthy(1),
        captures=[capture(file=HOSTILE, warnings=[HOSTILE]), capture(file="two.pcap")],
        straces=[strace(file=HOSTILE, label=HOSTILE)],
    )


def summarise(flows: Iterable[FlowReport], by: str) -> list[SummaryRow]:
    """One row for each server, SNI or client."""
    return rows_of(tallies_by(flows, by))
