"""A timeline from what a row of the report itself has: its events, and the lines of logs about it.

For flows whose packets are not read once more, and for captures that cannot be: pipes.
"""

from typing import Final

from pcapstall.match.packet_moments import STEPS, merge
from pcapstall.report.flow_model import EventReport, FlowReport
from pcapstall.report.model import Report
from pcapstall.report.names import EVENTS
from pcapstall.report.places import short_names
from pcapstall.report.timeline import Timeline, TimelineRow

_WORDS: Final = {
    **dict(STEPS),
    "client_app_data": "client's first data",
    "server_app_data": "server's first data",
    "client_alert": "Alert",
    "server_alert": "Alert",
    "client_fin": "FIN",
    "server_fin": "FIN",
    "client_rst": "RST",
    "server_rst": "RST",
}
_FROM_SERVER: Final = frozenset(("syn_ack", "client_hello_acked", "hello_retry"))


def sketch_of(report: Report, flow: FlowReport) -> Timeline:
    """The events of ``flow`` and the log lines about it, in one order."""
    logs = flow.logs or []
    zero = flow.first_event
    zero_ns = zero.ns if zero is not None else report.t0_ns
    rows = [*_packets(flow, zero_ns), *_log_lines(report, flow)]
    rows.sort(key=lambda row: row.ns)
    numbered = [row._replace(id=number) for number, row in enumerate(rows, 1)]
    return Timeline(report, flow, zero_ns, numbered, False, [], [line for line in logs if line.ns is None])


def _packets(flow: FlowReport, zero_ns: int) -> list[TimelineRow]:
    found: dict[tuple[int, int], tuple[EventReport, str, list[str]]] = {}
    for name in EVENTS:
        event = flow.events.get(name)
        if event is not None:
            side = "server" if name.startswith("server_") or name in _FROM_SERVER else "client"
            found.setdefault((event.file, event.frame), (event, side, []))[2].append(_WORDS[name])
    cited = {(fact.file, frame) for fact in flow.evidence for frame in fact.frames}
    rows = []
    for place, (event, side, names) in found.items():
        merge(names)
        row = _row(event.ns, event.ns - zero_ns, "packet", side, ", ".join(dict.fromkeys(names)), side)
        lost = int(_was_lost(flow, side, [name for name in EVENTS if flow.events.get(name) == event]))
        rows.append(row._replace(error_ns=0, evidence=place in cited, frames=[event.frame], file=event.file, lost=lost))
    return rows


_LOST: Final = {
    "syn_loss": {"syn"},
    "filtered": {"syn"},
    "prohibited": {"syn"},
    "syn_ack_loss": {"syn_ack"},
    "client_hello_loss": {"client_hello_first", "client_hello_last"},
    "server_hello_loss": {"server_hello_first", "server_hello_last"},
}
"""Which events one packet stands for that was lost, by the verdict's reason; of several packets nobody knows here."""


def _was_lost(flow: FlowReport, side: str, names: list[str]) -> bool:
    """Whether what is an event when it is sent for the first time was lost behind a capture at its sender's."""
    if flow.capture_point != side:
        return False
    lost = _LOST.get(flow.reason or "") or (_LOST["filtered"] if flow.tcp_outcome == "prohibited" else None)
    return lost is not None and lost <= set(names)


def _log_lines(report: Report, flow: FlowReport) -> list[TimelineRow]:
    labels = {log.file: log.label for log in report.logs}
    names = short_names(labels)
    rows = []
    for line in flow.logs or []:
        if line.ns is None or line.since_syn_ns is None:
            continue
        file = line.where.rpartition(":")[0]
        label = labels.get(file)
        side = label if label in ("client", "server") else ""
        row = _row(line.ns, line.since_syn_ns, "log", side, "logs", names.get(file, file))
        rows.append(row._replace(error_ns=line.error_ns, remark=line.text, lines=[line.where]))
    return rows


def _row(ns: int, since_ns: int, source: str, side: str, event: str, actor: str) -> TimelineRow:
    return TimelineRow(
        0, ns, since_ns, None, False, None, 1, source, side, "", 0, event, actor, "", False, [], None, []
    )
