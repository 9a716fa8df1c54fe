"""The columns that filters and conditions speak of: name, kind, and how to read one from a flow.

A column is data. What an operator does with its kind is in `filter`; how a table shows it is the renderers' matter.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from pcapstall.core.digits import is_decimal
from pcapstall.report.flow_model import AlertReport, Counts, FlowReport
from pcapstall.report.names import INTERVALS, STALL_INTERVALS

FlowT = TypeVar("FlowT")

DURATION: Final = "duration"
COUNT: Final = "number"
TEXT: Final = "text"
ENDPOINT: Final = "endpoint"
TRUTH: Final = "true or false"
TEXTS: Final = "list of words"

TCP_OUTCOMES: Final = (
    "connected",
    "refused",
    "filtered",
    "prohibited",
    "raced",
    "reset_during_handshake",
    "handshake_incomplete",
    "seen_midway",
)
TLS_OUTCOMES: Final = (
    "established",
    "alert",
    "no_client_hello",
    "closed_before_client_hello",
    "partial_client_hello",
    "no_server_hello",
    "reset_by_server",
    "closed_by_server",
    "client_gave_up",
    "client_rejected_likely",
    "probe",
    "not_tls",
    "unreadable",
    "incomplete",
)
CAUSES: Final = (
    "network",
    "client_process",
    "server_process",
    "client_kernel",
    "server_kernel",
    "capture",
    "unknown",
)
CAPTURE_POINTS: Final = ("client", "server", "middle", "local", "unknown")
CONFIDENCES: Final = ("high", "medium", "low")


class AtLeast(NamedTuple):
    """The length of an open interval: it lasted at least so many nanoseconds."""

    ns: int


Value = str | int | bool | AtLeast | Sequence[str] | None


class Column(NamedTuple, Generic[FlowT]):
    """One column: its kind decides which operators and values go with it."""

    kind: str
    get: Callable[[FlowT], Value]
    """The value of a flow; None when absent."""
    choices: tuple[str, ...] = ()
    """All words that it can be, when they are few and fixed."""
    bare: bool = False
    """Whether its name alone is a condition: true, or present."""


def interval(flow: FlowReport, name: str) -> int | AtLeast | None:
    """The length of an interval: its nanoseconds, `AtLeast` them when it is open, None when it is absent."""
    length = flow.intervals_ns.get(name)
    if length is not None:
        return length
    reached = flow.open_ns.get(name)
    return None if reached is None else AtLeast(reached)


def _interval_column(name: str) -> Column[FlowReport]:
    return Column(DURATION, lambda flow: interval(flow, name))


def _count_column(name: str) -> Column[FlowReport]:
    return Column(COUNT, lambda flow: _count(flow.counts, name))


def _count(counts: Counts, name: str) -> int:
    count: int = getattr(counts, name)
    return count


def _alert_words(alerts: Sequence[AlertReport]) -> list[str]:
    return [alert.description or "encrypted" for alert in alerts]


def port_of(endpoint: str) -> int | None:
    """The port of ``10.0.0.1:443``; None when there is none to read."""
    port = endpoint.rpartition(":")[2]
    return int(port) if is_decimal(port) else None


FLOW_COLUMNS: Final[Mapping[str, Column[FlowReport]]] = {
    "id": Column(COUNT, lambda flow: flow.id),
    "first_frame": Column(COUNT, lambda flow: flow.first_frame),
    "client": Column(ENDPOINT, lambda flow: flow.client),
    "client_port": Column(COUNT, lambda flow: port_of(flow.client)),
    "server": Column(ENDPOINT, lambda flow: flow.server),
    "server_port": Column(COUNT, lambda flow: port_of(flow.server)),
    "direction_source": Column(TEXT, lambda flow: flow.direction_source),
    "capture_point": Column(TEXT, lambda flow: flow.capture_point, CAPTURE_POINTS),
    "capture_point_confidence": Column(TEXT, lambda flow: flow.capture_point_confidence, CONFIDENCES),
    "sni": Column(TEXT, lambda flow: flow.sni),
    "alpn": Column(TEXTS, lambda flow: flow.alpn),
    "tls_version": Column(TEXT, lambda flow: flow.tls_version),
    "cipher": Column(TEXT, lambda flow: flow.cipher),
    "ja4": Column(TEXT, lambda flow: flow.ja4),
    "resumed": Column(TRUTH, lambda flow: flow.resumed, bare=True),
    "preamble": Column(TEXT, lambda flow: flow.preamble),
    "preamble_ns": Column(DURATION, lambda flow: flow.preamble_ns),
    "tunnel": Column(TEXT, lambda flow: flow.tunnel),
    "syn_data": Column(TEXT, lambda flow: flow.syn_data),
    "alerts": Column(TEXTS, lambda flow: _alert_words(flow.alerts)),
    **{name: _count_column(name) for name in Counts._fields},
    **{name: _interval_column(name) for name in INTERVALS},
    "open": Column(TEXTS, lambda flow: list(flow.open_ns)),
    "tcp_outcome": Column(TEXT, lambda flow: flow.tcp_outcome, TCP_OUTCOMES),
    "tls_outcome": Column(TEXT, lambda flow: flow.tls_outcome, TLS_OUTCOMES),
    "closed_by": Column(TEXT, lambda flow: flow.closed_by, ("client", "server")),
    "close_kind": Column(TEXT, lambda flow: flow.close_kind, ("fin", "rst")),
    "server_timer_ns": Column(DURATION, lambda flow: flow.server_timer_ns),
    "flags": Column(TEXTS, lambda flow: flow.flags),
    "stalled": Column(TEXT, lambda flow: flow.stalled, STALL_INTERVALS, bare=True),
    "stalled_ns": Column(DURATION, lambda flow: flow.stalled_ns),
    "failed": Column(TRUTH, lambda flow: flow.failed, bare=True),
    "cause": Column(TEXT, lambda flow: flow.cause, CAUSES),
    "side": Column(TEXT, lambda flow: flow.side, ("client", "server", "network")),
    "reason": Column(TEXT, lambda flow: flow.reason),
    "activity": Column(TEXT, lambda flow: flow.activity),
    "confidence": Column(TEXT, lambda flow: flow.confidence, CONFIDENCES),
    "match": Column(TEXT, lambda flow: flow.match),
    "verdict": Column(TEXT, lambda flow: flow.verdict),
}
"""Every column of a flow, under its JSON name where it has one."""
