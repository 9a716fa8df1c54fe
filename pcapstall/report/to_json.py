"""The report as JSON, schema 1, and as JSON lines: a header, then a flow a line.

Keys stand in the contract's order and flows are written as they come, so that any number of them passes through.
Epoch nanoseconds exceed 2**53 and are strings; differences are integers.
"""

import json
from collections.abc import Iterable
from typing import Any, Final, TextIO

from pcapstall.report.model import (
    EVENTS,
    AlertReport,
    CaptureReport,
    Counts,
    EventReport,
    Evidence,
    FlowReport,
    LogLineReport,
    LogReport,
    ProcessReport,
    Report,
    StraceReport,
    ThreadReport,
)
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
        "alerts": [_alert(alert) for alert in flow.alerts],
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
        "evidence": [_evidence(evidence) for evidence in flow.evidence],
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


def _alert(alert: AlertReport) -> dict[str, Any]:
    return {
        "side": alert.side,
        "level": alert.level,
        "description": alert.description,
        "inferred": alert.inferred,
        "frame": alert.frame,
        "file": alert.file,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {"text": evidence.text, "frames": evidence.frames, "file": evidence.file, "strace": evidence.strace}


def capture_object(capture: CaptureReport) -> dict[str, Any]:
    """One capture, as every JSON has it."""
    return {
        "file": capture.file,
        "format": capture.format,
        "packets": capture.packets,
        "tcp_packets": capture.tcp_packets,
        "other_packets": capture.other_packets,
        "malformed": capture.malformed,
        "dropped": capture.dropped,
        "first_ns": _epoch(capture.first_ns),
        "last_ns": _epoch(capture.last_ns),
        "linktypes": capture.linktypes,
        "trust": capture.trust,
        "warnings": capture.warnings,
    }


def _strace(strace: StraceReport) -> dict[str, Any]:
    said = {"zone_ns": strace.zone_ns, "notices": list(strace.notices)}
    return {
        "file": strace.file,
        "label": strace.label,
        "lines": strace.lines,
        "unread": strace.unread,
        "processes": [_process(process) for process in strace.processes],
        "clock_offset_ns": strace.clock_offset_ns,
        "clock_error_ns": strace.clock_error_ns,
        **{name: value for name, value in said.items() if value or value == 0},
        "unmatched_sockets": strace.unmatched_sockets,
    }


def _log(log: LogReport) -> dict[str, Any]:
    return {
        "file": log.file,
        "label": log.label,
        "lines": log.lines,
        "unread": log.unread,
        "first_unread": log.first_unread,
        "first_unread_text": log.first_unread_text,
        "formats": log.formats,
        "stamps": log.stamps,
        "about_flows": log.about_flows,
        "left_out": log.left_out,
        "clock_source": log.clock_source,
        "clock_offset_ns": log.clock_offset_ns,
        "clock_error_ns": log.clock_error_ns,
        "zone_ns": log.zone_ns,
        "start_ns": _epoch(log.start_ns),
        "matched_lines": log.matched_lines,
        "trouble": log.trouble,
    }


def _thread(thread: ThreadReport) -> dict[str, Any]:
    return thread._asdict() | {"calls": [calls._asdict() for calls in thread.calls]}


def _log_line(line: LogLineReport) -> dict[str, Any]:
    return {
        "where": line.where,
        "ns": _epoch(line.ns),
        "since_syn_ns": line.since_syn_ns,
        "error_ns": line.error_ns,
        "text": line.text,
        "more_lines": line.more_lines,
    }


def _process(process: ProcessReport) -> dict[str, Any]:
    return {"pid": process.pid, "side": process.side, "flows": process.flows}


def _epoch(ns: int | None) -> str | None:
    return None if ns is None else str(ns)
