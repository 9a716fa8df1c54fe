"""The flows as CSV (RFC 4180), a row each: every scalar of the JSON flow, events and intervals as columns of their own.

Times stay nanoseconds; what is absent is an empty cell. Text that a spreadsheet would run as a formula is quoted with
an apostrophe.
"""

import csv
from collections.abc import Iterator
from typing import Final, TextIO

from pcapstall.report.model import EVENTS, INTERVALS, PARTS, Counts, FlowReport, Report
from pcapstall.report.options import RenderOptions
from pcapstall.report.stories import where
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
    *Counts.__slots__,
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


def render(report: Report, out: TextIO, options: RenderOptions) -> None:
    """Write a header and a row for each flow."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for flow in report.flows:
        writer.writerow([cell(value) for value in _row(flow, report)])


def _row(flow: FlowReport, report: Report) -> Iterator[Cell]:
    for name in _IDENTITY:
        yield _scalar(getattr(flow, name))
    for name in EVENTS:
        event = flow.events.get(name)
        yield from (None, None, None) if event is None else (event.rel_ns, event.frame, event.file)
    yield " ".join(f"{alert.side}:{alert.description or 'encrypted'}" for alert in flow.alerts)
    for name in Counts.__slots__:
        yield getattr(flow.counts, name)
    for name in INTERVALS:
        yield flow.intervals_ns.get(name)
    for name in INTERVALS:
        yield flow.open_ns.get(name)
    yield _scalar(flow.failed)
    yield flow.stalled_ns
    parts = flow.parts_ns.get(flow.stalled or "", {})
    for name in PARTS:
        yield parts.get(name)
    for name in _VERDICT:
        yield _scalar(getattr(flow, name))
    told = ((evidence.text, where(evidence, report.captures)) for evidence in flow.evidence)
    yield " ".join(f"{text} [{place}]" if place else text for text, place in told)


def _scalar(value: object) -> Cell:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return value if isinstance(value, (str, int)) else None


def cell(value: str | int | None) -> str | int | None:
    """``value`` as a spreadsheet takes it for text or a number, never for a formula."""
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown
