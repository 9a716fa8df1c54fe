"""A flow as one row: every scalar of the JSON flow, events and intervals in columns of their own, each of one kind.

Times stay nanoseconds, what is absent is None. How a row is written is `to_csv`'s and `to_parquet`'s.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from pcapstall.report.flow_model import Counts, FlowReport
from pcapstall.report.names import EVENTS, INTERVALS, PARTS
from pcapstall.report.places import Places

Value = str | int | bool | Sequence[str] | None

INT: Final = "int"
TEXT: Final = "text"
TRUTH: Final = "truth"
TEXTS: Final = "texts"

_IDENTITY: Final = {
    "id": INT,
    "first_frame": INT,
    "client": TEXT,
    "server": TEXT,
    "direction_source": TEXT,
    "capture_point": TEXT,
    "capture_point_confidence": TEXT,
    "sni": TEXT,
    "alpn": TEXTS,
    "tls_version": TEXT,
    "cipher": TEXT,
    "ja4": TEXT,
    "resumed": TRUTH,
    "preamble": TEXT,
    "preamble_ns": INT,
    "tunnel": TEXT,
    "syn_data": TEXT,
}
_VERDICT: Final = {
    "tcp_outcome": TEXT,
    "tls_outcome": TEXT,
    "closed_by": TEXT,
    "close_kind": TEXT,
    "server_timer_ns": INT,
    "flags": TEXTS,
    "stalled": TEXT,
    "cause": TEXT,
    "side": TEXT,
    "reason": TEXT,
    "activity": TEXT,
    "confidence": TEXT,
    "match": TEXT,
    "verdict": TEXT,
    "would_settle": TEXT,
}
COLUMNS: Final[dict[str, str]] = {
    **_IDENTITY,
    **{f"{event}_{what}": INT for event in EVENTS for what in ("rel_ns", "frame", "file")},
    "alerts": TEXTS,
    **dict.fromkeys(Counts._fields, INT),
    **{f"{interval}_ns": INT for interval in INTERVALS},
    **{f"{interval}_open_ns": INT for interval in INTERVALS},
    "failed": TRUTH,
    "stalled_ns": INT,
    **{f"stalled_{part}_ns": INT for part in PARTS},
    **_VERDICT,
    "evidence": TEXTS,
}
"""Names with the kinds of their values; ``stalled_network_ns`` and its like are parts of the interval that stalled."""

_identity: Final = attrgetter(*_IDENTITY)
_counts: Final = attrgetter(*Counts._fields)
_verdict: Final = attrgetter(*_VERDICT)


def row_of(flow: FlowReport, places: Places) -> list[Value]:
    """The values of ``flow`` in the order of `COLUMNS`."""
    row: list[Value] = [*_identity(flow)]
    for name in EVENTS:
        event = flow.events.get(name)
        row += (None, None, None) if event is None else (event.rel_ns, event.frame, event.file)
    row.append([f"{alert.side}:{alert.description or 'encrypted'}" for alert in flow.alerts])
    row += _counts(flow.counts)
    row += map(flow.intervals_ns.get, INTERVALS)
    row += map(flow.open_ns.get, INTERVALS)
    row += (flow.failed, flow.stalled_ns)
    row += map(flow.parts_ns.get(flow.stalled or "", {}).get, PARTS)
    row += _verdict(flow)
    row.append([f"{text} [{place}]" if place else text for text, place in places.told(flow)])
    return row
