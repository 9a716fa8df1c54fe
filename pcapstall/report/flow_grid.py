"""The columns of the table of flows: which there are, in which order, and which go first when it is too wide.

Laid out in `grid`, drawn by the renderers.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pcapstall.core.times import MS
from pcapstall.report.grid import ABSENT, BAD, WARN, Grid, GridColumn, decimals, milliseconds, plain
from pcapstall.report.model import INTERVALS, FlowReport

_ENDPOINT_LEAST: Final = 21
"""The longest IPv4 endpoint: only IPv6 ones are ever shortened."""


def outcome_of(flow: FlowReport) -> str:
    """What became of the flow: the TLS outcome where TCP connected, else TCP's."""
    if flow.tls_outcome is None or flow.tcp_outcome not in ("connected", "seen_midway"):
        return flow.tcp_outcome
    return flow.tls_outcome


_Text = Callable[[FlowReport], str | None]

_BEFORE: Final[tuple[tuple[GridColumn, _Text], ...]] = (
    (GridColumn("#", right=True), lambda flow: str(flow.id)),
    (GridColumn("client", shrinks_to=_ENDPOINT_LEAST, code=True), lambda flow: flow.client),
    (GridColumn("server", keep=1, shrinks_to=_ENDPOINT_LEAST, code=True), lambda flow: flow.server),
    (GridColumn("stalled", keep=3), lambda flow: flow.stalled),
    (GridColumn("cause", keep=2), lambda flow: flow.cause),
    (GridColumn("confidence", keep=8), lambda flow: flow.confidence),
)
_AFTER: Final[tuple[tuple[GridColumn, _Text], ...]] = (
    (GridColumn("outcome", keep=6), outcome_of),
    (GridColumn("reason", keep=9), lambda flow: flow.reason),
    (GridColumn("sni", keep=10, shrinks_to=16, code=True), lambda flow: flow.sni),
    (GridColumn("preamble", keep=15, legend="what came before the ClientHello"), lambda flow: flow.preamble),
)

LEGENDS: Final = {
    "syn_synack": "SYN to SYN-ACK",
    "synack_ack": "SYN-ACK to ACK",
    "ack_ch": "TCP handshake to ClientHello",
    "ch_span": "first to last byte of the ClientHello",
    "ch_ack": "ClientHello to its ACK",
    "ch_sh": "ClientHello to ServerHello",
    "hrr_ch2": "HelloRetryRequest to the second ClientHello",
    "ch2_sh": "second ClientHello to ServerHello",
    "sh_cfin": "ServerHello to the client's Finished",
    "ch_fin": "ClientHello to FIN",
    "ch_close": "ClientHello to FIN or RST",
    "ack_close": "TCP handshake to FIN or RST without a ClientHello before it",
}
"""What each interval is, in a few words."""

_KEEP: Final = {
    "syn_synack": 12,
    "synack_ack": 16,
    "ack_ch": 5,
    "ch_span": 17,
    "ch_ack": 11,
    "ch_sh": 7,
    "hrr_ch2": 18,
    "ch2_sh": 19,
    "sh_cfin": 14,
    "ch_fin": 21,
    "ch_close": 20,
    "ack_close": 4,
}
"""How soon an interval's column goes, unless a shown flow stalled there: then it stays."""


def flow_grid(flows: Sequence[FlowReport]) -> Grid:
    """The table of ``flows``, in their order, without the columns that say nothing."""
    stalls = {flow.stalled for flow in flows if flow.stalled is not None}
    columns = [column for column, _ in _BEFORE]
    cells = [[_cell(text(flow)) for flow in flows] for _, text in _BEFORE]
    one_close = _one_close(flows)
    for name in INTERVALS:
        if one_close and name in _CLOSES and name != one_close:
            continue
        keep = 0 if name in stalls else _KEEP[name]
        columns.append(GridColumn(name, LEGENDS[name], right=True, keep=keep))
        cells.append(_lengths(flows, name))
    for column, text in _AFTER:
        columns.append(column)
        cells.append([_cell(text(flow)) for flow in flows])
    marks: dict[tuple[int, str], str] = {}
    for row, flow in enumerate(flows):
        if flow.stalled is not None:
            marks[row, flow.stalled] = BAD
        if flow.failed:
            marks[row, "outcome"] = WARN
    rows = [list(row) for row in zip(*cells, strict=True)]
    return Grid(columns, rows, marks).without_empty()


_CLOSES: Final = ("ch_fin", "ch_close")


def _one_close(flows: Sequence[FlowReport]) -> str:
    """Which of ch_fin and ch_close says all that both say; empty when a RST came well before a FIN."""
    one = "ch_fin"
    for flow in flows:
        fin, close = (_closed(flow, name) for name in _CLOSES)
        if close is None:
            continue
        if fin is None:
            one = "ch_close"
        elif fin - close > max(MS, fin // 100):
            return ""
    return one


def _closed(flow: FlowReport, name: str) -> int | None:
    """The length of an interval; None for a close before the ClientHello, which ack_close and the verdict tell."""
    length = flow.intervals_ns.get(name)
    return None if length is not None and length < 0 and name in _CLOSES else length


def _lengths(flows: Sequence[FlowReport], name: str) -> list[str]:
    values = [(_closed(flow, name), flow.open_ns.get(name)) for flow in flows]
    digits = decimals([ns for pair in values for ns in pair if ns is not None])
    return [
        milliseconds(reached if closed is None else closed, digits, closed is None and reached is not None)
        for closed, reached in values
    ]


def _cell(text: str | None) -> str:
    return plain(text) if text else ABSENT
