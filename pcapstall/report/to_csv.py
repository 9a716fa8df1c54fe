"""The flows as CSV (RFC 4180), a row each: every scalar of the JSON flow, events and intervals as columns of their own.

Times stay nanoseconds; what is absent is an empty cell. Text that a spreadsheet would run as a formula is quoted with
an apostrophe.
"""

import csv
from operator import attrgetter
from typing import Final, TextIO

from pcapstall.report.model import EVENTS, INTERVALS, PARTS, Counts, FlowReport, Report
from pcapstall.report.options import RenderOptions
from pcapstall.report.places import Places
from pcapstall.report.untrusted import printable

Cell = str | int | None

_IDENTITY: Final = (
    "id",
    "first_frame",
    "client",
    "server",
    "direction_source",
    "capture_point",
    "capture_point_confidence",
    "sni",
    "alpn",
    "tls_version",
    "cipher",
    "ja4",
    "resumed",
    "preamble",
    "preamble_ns",
    "tunnel",
    "syn_data",
)
_VERDICT: Final = (
    "tcp_outcome",
    "tls_outcome",
    "closed_by",
    "close_kind",
    "server_timer_ns",
    "flags",
    "stalled",
    "cause",
    "side",
    "reason",
    "activity",
    "confidence",
    "match",
    "verdict",
    "would_settle",
)
COLUMNS: Final = (
    *_IDENTITY,
    *(f"{event}_{what}" for event in EVENTS for what in ("rel_ns", "frame", "file")),
    "alerts",
    *Counts._fields,
    *(f"{interval}_ns" for interval in INTERVALS),
    *(f"{interval}_open_ns" for interval in INTERVALS),
    "failed",
    "stalled_ns",
    *(f"stalled_{part}_ns" for part in PARTS),
    *_VERDICT,
    "evidence",
)
"""The header; ``stalled_network_ns`` and its like are the parts of the interval that stalled."""

_FORMULA: Final = ("=", "+", "-", "@")


_identity: Final = attrgetter(*_IDENTITY)
_counts: Final = attrgetter(*Counts._fields)
_verdict: Final = attrgetter(*_VERDICT)


def render(report: Report, out: TextIO, options: RenderOptions) -> None:
    """Write a header and a row for each flow."""
    places = Places(report)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_row(flow, places) for flow in report.flows)


def _row(flow: FlowReport, places: Places) -> list[Cell]:
    row = [cell(value) for value in _identity(flow)]
    for name in EVENTS:
        event = flow.events.get(name)
        row += (None, None, None) if event is None else (event.rel_ns, event.frame, event.file)
    row.append(cell(" ".join(f"{alert.side}:{alert.description or 'encrypted'}" for alert in flow.alerts)))
    row += _counts(flow.counts)
    row += map(flow.intervals_ns.get, INTERVALS)
    row += map(flow.open_ns.get, INTERVALS)
    row.append(cell(flow.failed))
    row.append(flow.stalled_ns)
    row += map(flow.parts_ns.get(flow.stalled or "", {}).get, PARTS)
    row += map(cell, _verdict(flow))
    row.append(cell(" ".join(f"{text} [{place}]" if place else text for text, place in places.told(flow))))
    return row


def cell(value: object) -> Cell:
    """``value`` as a spreadsheet takes it for text or a number, never for a formula; a list's items in one cell."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        value = " ".join(map(str, value))
    if not isinstance(value, str):
        return value if isinstance(value, int) else None
    shown = printable(value)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown
