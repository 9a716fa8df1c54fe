"""The columns of the table of flows: which there are, in which order, and which go first when it is too wide.

Laid out in `grid`, drawn by the renderers. Compiled: a capture of an outage has tens of thousands of rows.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from mypy_extensions import i64

from pcapstall.core.times import MS, SECOND
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.grid import ABSENT, BAD, WARN, Grid, GridColumn, decimals, milliseconds, plain
from pcapstall.report.names import INTERVALS

_ENDPOINT_LEAST: Final = 21
"""The longest IPv4 endpoint: only IPv6 ones are ever shortened."""
_ENDPOINT_NARROW: Final = 18
"""Where there is little room: no shorter than most IPv4 endpoints."""


def outcome_of(flow: FlowReport) -> str:
    """What became of the flow: the TLS outcome where TCP connected, else TCP's."""
    if flow.tls_outcome is None or flow.tcp_outcome not in ("connected", "seen_midway"):
        return flow.tcp_outcome
    return flow.tls_outcome


_Text = Callable[[FlowReport], str | None]

_BEFORE: Final[tuple[tuple[GridColumn, _Text], ...]] = (
    (GridColumn("#", right=True), lambda flow: str(flow.id)),
    (GridColumn("client", shrinks_to=_ENDPOINT_LEAST, code=True), lambda flow: flow.client),
    (GridColumn("server", keep=2, shrinks_to=_ENDPOINT_LEAST, code=True), lambda flow: flow.server),
    (GridColumn("stalled", keep=3), lambda flow: flow.stalled),
    (GridColumn("cause", keep=1), lambda flow: flow.cause),
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
    stalls = [name for name in INTERVALS if any(flow.stalled == name for flow in flows)]
    grid = _grid(flows, stalls)
    if stalls:
        grid.narrow = partial(_grid, flows, stalls, merged=True)
    return grid


_ANSWERS: Final = ("stalled", "length", "cause", "outcome", "reason", "confidence")


def page_grid(flows: Sequence[FlowReport]) -> Grid:
    """The table for where what is wide is scrolled: what became of a flow, and how long it took, before the steps.

    A window shows the beginning of the rows.
    """
    grid = flow_grid(flows)
    if any(flow.stalled for flow in flows):
        digits = _digits_of_stalls(flows)
        lengths = [_length_of_stall(flow, digits) if flow.stalled else ABSENT for flow in flows]
        at = [column.name for column in grid.columns].index("stalled") + 1
        told = _told_by_length(flows)
        legend = "; ".join(["how long the step that stalled took", *(f"{name}: {LEGENDS[name]}" for name in told)])
        column = GridColumn("length", legend, right=True)
        rows = [[*row[:at], length, *row[at:]] for row, length in zip(grid.rows, lengths, strict=True)]
        marks = {(row, "length"): BAD for row, flow in enumerate(flows) if flow.stalled}
        grid = Grid([*grid.columns[:at], column, *grid.columns[at:]], rows, {**grid.marks, **marks}, remark=grid.remark)
        grid = grid.without(told)
    return grid.with_after(_ANSWERS, "server")


def _told_by_length(flows: Sequence[FlowReport]) -> list[str]:
    """The steps that only flows which stalled in them have: their columns would repeat the lengths of the stalls."""
    stalls = [name for name in INTERVALS if any(flow.stalled == name for flow in flows)]
    return [name for name in stalls if all(flow.stalled == name for flow in flows if _reached(flow, name) is not None)]


def _reached(flow: FlowReport, name: str) -> int | None:
    """The length of an interval, closed or open."""
    closed = _closed(flow, name)
    return flow.open_ns.get(name) if closed is None else closed


def _digits_of_stalls(flows: Sequence[FlowReport]) -> int:
    return decimals([ns for flow in flows if (ns := flow.stalled_ns) is not None])


def _grid(flows: Sequence[FlowReport], stalls: Sequence[str], merged: bool = False) -> Grid:
    """One table; ``merged``: the interval that stalled and its length are in one column."""
    columns = [column for column, _ in _BEFORE]
    cells = [[_cell(text(flow)) for flow in flows] for _, text in _BEFORE]
    if merged:
        columns = [column._replace(shrinks_to=column.shrinks_to and _ENDPOINT_NARROW) for column in columns]
        at = [column.name for column in columns].index("stalled")
        columns[at] = GridColumn("stalled", _merged_legend(stalls))
        cells[at] = _stalls(flows)
        at = [column.name for column in columns].index("cause")
        columns[at] = columns[at]._replace(keep=0)
    one_close = _one_close(flows)
    for name in INTERVALS:
        if one_close and name in _CLOSES and name != one_close:
            continue
        keep = 0 if name in stalls and not merged else _KEEP[name]
        lengths = _lengths(flows, name)
        if lengths is None:
            if keep:
                continue
            lengths = [ABSENT] * len(flows)
        columns.append(GridColumn(name, LEGENDS[name], right=True, keep=keep))
        cells.append(lengths)
    for column, text in _AFTER:
        columns.append(column)
        cells.append([_cell(text(flow)) for flow in flows])
    marks: dict[tuple[int, str], str] = {}
    for row, flow in enumerate(flows):
        if flow.stalled is not None:
            marks[row, "stalled" if merged else flow.stalled] = BAD
        if flow.failed:
            marks[row, "outcome"] = WARN
    rows = [list(row) for row in zip(*cells, strict=True)]
    remark = _CLOCK_REMARK if any(CLOCK_SET in "\n".join(column) for column in cells) else ""
    return Grid(columns, rows, marks, remark=remark).without_empty()


def _stalls(flows: Sequence[FlowReport]) -> list[str]:
    """``ch_sh   5026.3``: the interval that stalled and its length, each below the others."""
    digits = _digits_of_stalls(flows)
    found = [(flow.stalled or "", _length_of_stall(flow, digits)) for flow in flows]
    names = max(len(name) for name, _ in found)
    lengths = max(len(length) for name, length in found if name)
    return [f"{name:{names}}  {length:>{lengths}}" if name else ABSENT for name, length in found]


def _merged_legend(stalls: Sequence[str]) -> str:
    return "which step, and how long it took: " + ", ".join(f"{name} is {LEGENDS[name]}" for name in stalls)


_CLOSES: Final = ("ch_fin", "ch_close")


def _one_close(flows: Sequence[FlowReport]) -> str:
    """Which of ch_fin and ch_close says all that both say; empty when a RST came well before a FIN."""
    one = "ch_fin"
    for flow in flows:
        fin = _closed(flow, "ch_fin")
        close = _closed(flow, "ch_close")
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


def _lengths(flows: Sequence[FlowReport], name: str) -> list[str] | None:
    """The cells of an interval; None where no flow has it, as most have not most."""
    closed = [_closed(flow, name) for flow in flows]
    opened = [flow.open_ns.get(name) for flow in flows]
    known = [ns for ns in (*closed, *opened) if ns is not None]
    if not known:
        return None
    digits = decimals(known)
    return [
        ABSENT if length is None and reached is None else _length(flow, name, length, reached, digits)
        for flow, length, reached in zip(flows, closed, opened, strict=True)
    ]


CLOCK_SET: Final = "clock set"
"""Instead of a length in which the capture's clock was set: the number would be read as one."""
_CLOCK_REMARK: Final = f"{CLOCK_SET}: the capture's clock was set meanwhile, so how long it took is not known."


def _length(flow: FlowReport, name: str, closed: int | None, reached: int | None, digits: i64) -> str:
    length = reached if closed is None else closed
    if length is not None and _is_of_the_clock(flow, name, length):
        return CLOCK_SET
    return milliseconds(length, digits, closed is None and reached is not None)


def _length_of_stall(flow: FlowReport, digits: i64) -> str:
    name = flow.stalled or ""
    return _length(flow, name, _closed(flow, name), flow.open_ns.get(name), digits)


def _is_of_the_clock(flow: FlowReport, name: str, length: int) -> bool:
    """Whether the clock was set within this interval: forward, by which the flow stalled, or back, so that it ended
    long before it began, as no order of packets makes it."""
    return flow.holds_clock_step(name, length) or (length < -SECOND and name not in _CLOSES)


def _cell(text: str | None) -> str:
    return plain(text) if text else ABSENT
