"""The report as JSON, schema 1, and as JSON lines: a header, then a flow a line.

Keys stand in the contract's order and flows are written as they come, so that any number of them passes through.
Epoch nanoseconds exceed 2**53 and are strings; differences are integers.
"""

import json
from collections.abc import Iterable
from typing import Any, Final, TextIO

from pcapstall.report.end_model import LogLineReport, LogReport, StraceReport, ThreadReport
from pcapstall.report.flow_model import Counts, EventReport, FlowReport
from pcapstall.report.model import CaptureReport, Report
from pcapstall.report.names import EVENTS
from pcapstall.report.options import RenderOptions

_encode: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False).encode
_COUNTS: Final = Counts._fields


def render(report: Report, out: TextIO, options: RenderOptions) -> None:
    """Write one JSON object, a flow a line."""
    head = header(report)
    lists = {name: head.pop(name) for name in ("captures", "straces", "logs") if name in head}
    out.write(_encode(head)[:-1])
    for name, items in lists.items():
        _write_list(out, name, map(_encode, items))
    _write_list(out, "flows", (_encode(flow_object(flow)) for flow in report.flows))
    out.write("}\n")


def render_lines(report: Report, out: TextIO, options: RenderOptions) -> None:
    """Write the header on one line, then each flow on its own."""
    out.write(_encode(header(report)) + "\n")
    for flow in report.flows:
        out.write(_encode(flow_object(flow)) + "\n")


def _write_list(out: TextIO, name: str, items: Iterable[str]) -> None:
    out.write(f',\n "{name}": [')
    separator = "\n  "
    for item in items:
        out.write(separator + item)
        separator = ",\n  "
    out.write("]" if separator == "\n  " else "\n ]")


def header(report: Report) -> dict[str, Any]:
    """Everything but the flows."""
    head: dict[str, Any] = {
        "schema": report.schema,
        "version": report.version,
        "t0_ns": str(report.t0_ns),
        "thresholds_ns": dict(report.thresholds_ns),
        "captures": [capture_object(capture) for capture in report.captures],
        "straces": [_strace(strace) for strace in report.straces],
        **({"warnings": list(report.warnings)} if report.warnings else {}),
    }
    if report.logs:
        head["logs"] = [_log(log) for log in report.logs]
    return head


def flow_object(flow: FlowReport) -> dict[str, Any]:
    """One flow, as JSON has it."""
    events = flow.events
    counts = flow.counts
    written = {
        "id": flow.id,
        "first_frame": flow.first_frame,
        "client": flow.client,
        "server": flow.server,
        "direction_source": flow.direction_source,
        "capture_point": flow.capture_point,
        "capture_point_confidence": flow.capture_point_confidence,
        "sni": flow.sni,
        "alpn": flow.alpn,
        "tls_version": flow.tls_version,
        "cipher": flow.cipher,
        "ja4": flow.ja4,
        "resumed": flow.resumed,
        "preamble": flow.preamble,
        "preamble_ns": flow.preamble_ns,
        "tunnel": flow.tunnel,
        "syn_data": flow.syn_data,
        "events": {name: _event(events.get(name)) for name in EVENTS},
        "alerts": [alert._asdict() for alert in flow.alerts],
        "counts": {name: getattr(counts, name) for name in _COUNTS},
        "intervals_ns": flow.intervals_ns,
        "open_ns": flow.open_ns,
        "parts_ns": flow.parts_ns,
        "tcp_outcome": flow.tcp_outcome,
        "tls_outcome": flow.tls_outcome,
        "closed_by": flow.closed_by,
        "close_kind": flow.close_kind,
        "server_timer_ns": flow.server_timer_ns,
        "flags": flow.flags,
        "stalled": flow.stalled,
        "cause": flow.cause,
        "side": flow.side,
        "reason": flow.reason,
        "activity": flow.activity,
        "confidence": flow.confidence,
        "match": flow.match,
        "verdict": flow.verdict,
        "evidence": [evidence._asdict() for evidence in flow.evidence],
        "would_settle": flow.would_settle,
    }
    if flow.threads is not None:
        written |= {
            "stages_ns": flow.stages_ns or {},
            "threads": [_thread(thread) for thread in flow.threads],
            "more_threads": flow.more_threads,
        }
    if flow.logs is not None:
        written |= {"logs": [_log_line(line) for line in flow.logs], "more_logs": flow.more_logs}
    return written


def _event(event: EventReport | None) -> dict[str, Any] | None:
    if event is None:
        return None
    return {"ns": str(event.ns), "rel_ns": event.rel_ns, "frame": event.frame, "file": event.file}


def capture_object(capture: CaptureReport) -> dict[str, Any]:
    """One capture, as every JSON has it."""
    return capture._asdict() | {"first_ns": _epoch(capture.first_ns), "last_ns": _epoch(capture.last_ns)}


def _strace(strace: StraceReport) -> dict[str, Any]:
    said = {"zone_ns": strace.zone_ns, "notices": list(strace.notices)}
    return {
        "file": strace.file,
        "label": strace.label,
        "lines": strace.lines,
        "unread": strace.unread,
        "processes": [process._asdict() for process in strace.processes],
        "clock_offset_ns": strace.clock_offset_ns,
        "clock_error_ns": strace.clock_error_ns,
        **{name: value for name, value in said.items() if value or value == 0},
        "unmatched_sockets": strace.unmatched_sockets,
    }


def _log(log: LogReport) -> dict[str, Any]:
    return log._asdict() | {"start_ns": _epoch(log.start_ns)}


def _thread(thread: ThreadReport) -> dict[str, Any]:
    return thread._asdict() | {"calls": [calls._asdict() for calls in thread.calls]}


def _log_line(line: LogLineReport) -> dict[str, Any]:
    return line._asdict() | {"ns": _epoch(line.ns)}


def _epoch(ns: int | None) -> str | None:
    return None if ns is None else str(ns)
