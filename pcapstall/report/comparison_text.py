"""What is told of a comparison, in pieces that both renderers lay out: sentences, and tables not yet drawn.

Per file: the count, what only one reading has, what nobody can explain, the known differences by their kind, and what
decryption added. Nothing here knows about terminals or markup.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pcapstall.core.times import SECOND
from pcapstall.report.comparison import endpoints_text
from pcapstall.report.comparison_model import Decrypted, FileComparison, FlowComparison, Seen, SeenFlow, Value
from pcapstall.report.flow_grid import LEGENDS
from pcapstall.report.flow_model import EventReport, FlowReport
from pcapstall.report.grid import ABSENT, BAD, WARN, Grid, GridColumn, decimals, milliseconds, plain
from pcapstall.report.known_differences import KNOWN

SHOWN: Final = 25
"""Rows of a table, and flows told of one by one, without `--all`."""
OURS: Final = "pcapstall"
THEIRS: Final = "tshark"

_FAR_NS: Final = 10 * 365 * 86_400 * SECOND
"""A stamp further than this from the first packet is told as what it is."""
_KEEP: Final = {"syn_synack": 5, "synack_ack": 8, "ack_ch": 1, "ch_span": 7, "ch_sh": 2, "ch_fin": 3}
"""The intervals of a flow that only tshark has, and how soon each goes on a narrow terminal."""
_INTERVALS: Final = (
    ("syn_synack", "syn", "syn_ack"),
    ("synack_ack", "syn_ack", "ack"),
    ("ack_ch", "ack", "client_hello_first"),
    ("ch_span", "client_hello_first", "client_hello_last"),
    ("ch_sh", "client_hello_last", "server_hello_first"),
)


@dataclass(slots=True)
class Section:
    """A title, sentences, a table: each may be missing."""

    title: str = ""
    lines: list[str] = field(default_factory=list)
    grid: Grid | None = None
    mark: str = ""
    """`BAD` where something is unexplained, `WARN` where all is explained."""


def sections(file: FileComparison, everything: bool) -> Iterator[Section]:
    """What is told of ``file``: only differences, or ``everything``."""
    told: set[str] = set()
    yield _head(file)
    both = [flow for flow in file.flows if flow.ours is not None and flow.theirs is not None]
    if everything:
        yield from (_whole_flow(flow, file.t0_ns) for flow in both)
    else:
        yield from _unexplained(both, file.t0_ns)
    yield from _only_ours(file)
    yield from _only_theirs(file, told, everything)
    yield from _known(both, file.t0_ns, told, everything)
    yield from _decrypted(both, file.t0_ns, everything)


def counts(file: FileComparison) -> tuple[int, int, int]:
    """Values compared, those that differ, and those of them that nobody can explain."""
    values = [value for flow in file.flows for value in flow.values]
    different = [value for value in values if not value.equal]
    return len(values), len(different), sum(1 for value in different if value.why is None)


def _head(file: FileComparison) -> Section:
    total, different, unexplained = counts(file)
    if not different:
        verdict, mark = "no difference" if total else "nothing to compare", ""
    elif not unexplained:
        verdict, mark = f"{_differ(different)}, for known reasons", WARN
    elif unexplained == different:
        verdict, mark = f"{_differ(different)}, unexplained", BAD
    else:
        verdict, mark = f"{_differ(different)}, {unexplained} of them unexplained", BAD
    text = f"{file.file}: {_count(len(file.flows), 'flow')}, {_count(total, 'value')}, {verdict}"
    return Section(text, [f"Note: {warning}." for warning in file.warnings], mark=mark)


def _differ(count: int) -> str:
    return f"{count} differs" if count == 1 else f"{count} differ"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def _title(flow: FlowReport) -> str:
    return f"Flow {flow.id}: {endpoints_text(flow)}" + (f" ({flow.sni})" if flow.sni else "")


def _whole_flow(flow: FlowComparison, t0_ns: int) -> Section:
    assert flow.ours is not None
    columns = [GridColumn("value"), GridColumn(OURS), GridColumn(THEIRS), GridColumn("known as", keep=1)]
    rows: list[list[str]] = []
    marks: dict[tuple[int, str], str] = {}
    for value in flow.values:
        if value.name == "endpoints" and value.equal:
            continue  # they are in the title
        theirs = "same" if value.equal else _theirs(value, t0_ns)
        if not value.equal:
            marks[len(rows), THEIRS] = WARN if value.why else BAD
        rows.append([value.name, _cell(value.ours, t0_ns), theirs, value.why or ABSENT])
    return Section(_title(flow.ours), grid=Grid(columns, rows, marks).without_empty())


def _unexplained(flows: Sequence[FlowComparison], t0_ns: int) -> Iterator[Section]:
    found = [flow for flow in flows if any(value.why is None for value in flow.differences)]
    columns = [GridColumn("value"), GridColumn(OURS), GridColumn(THEIRS)]
    for flow in found[:SHOWN]:
        assert flow.ours is not None
        rows = [
            [value.name, _cell(value.ours, t0_ns), _theirs(value, t0_ns)]
            for value in flow.differences
            if value.why is None
        ]
        yield Section(_title(flow.ours), grid=Grid(columns, rows, {}), mark=BAD)
    yield from _more(len(found) - SHOWN, "flow with unexplained differences", "flows with unexplained differences")


def _only_ours(file: FileComparison) -> Iterator[Section]:
    found = [flow.ours for flow in file.flows if flow.ours is not None and flow.theirs is None]
    if found:
        columns = [
            GridColumn("#", right=True),
            GridColumn("flow", shrinks_to=43),
            GridColumn("first frame", right=True),
        ]
        rows = [[str(flow.id), plain(endpoints_text(flow)), str(flow.first_frame)] for flow in found[:SHOWN]]
        yield Section("Only pcapstall has:", grid=Grid(columns, rows), mark=BAD)
        yield from _more(len(found) - SHOWN, "flow that only pcapstall has", "flows that only pcapstall has")


def _only_theirs(file: FileComparison, told: set[str], everything: bool) -> Iterator[Section]:
    kinds: dict[str | None, list[SeenFlow]] = {}
    for flow in file.flows:
        if flow.ours is None and flow.theirs is not None:
            kinds.setdefault(flow.values[0].why, []).append(flow.theirs)
    for why, flows in kinds.items():
        shown = flows if everything else flows[:SHOWN]
        title = f"Only tshark has {_count(len(flows), 'flow')}: {why or ''}".rstrip(" ")
        yield Section(title, _reason(why, told), _stream_grid(shown), WARN if why else BAD)
        yield from _more(len(flows) - len(shown), "flow that only tshark has", "flows that only tshark has")


def _reason(why: str | None, told: set[str]) -> list[str]:
    """Why a known difference is one, the first time it comes up in a file."""
    if why is None or why in told:
        return []
    told.add(why)
    return [KNOWN[why].reason]


def _stream_grid(flows: Sequence[SeenFlow]) -> Grid:
    """Streams of which there is no other reading, measured by what tshark says."""
    columns = [
        GridColumn("stream", right=True),
        GridColumn("client", shrinks_to=21, code=True),
        GridColumn("server", shrinks_to=21, code=True),
        GridColumn("first frame", right=True, keep=9),
    ]
    cells = [
        [", ".join(map(str, flow.streams)) for flow in flows],
        [plain(flow.client) for flow in flows],
        [plain(flow.server) for flow in flows],
        [str(flow.first_frame) for flow in flows],
    ]
    measured = [intervals_ns(flow) for flow in flows]
    for name, keep in _KEEP.items():
        lengths = [each[name] for each in measured]
        digits = decimals([ns for ns in lengths if ns is not None])
        columns.append(GridColumn(name, LEGENDS[name], right=True, keep=keep))
        cells.append([milliseconds(ns, digits) for ns in lengths])
    columns.append(GridColumn("sni", keep=4, shrinks_to=16, code=True))
    cells.append([plain(flow.sni) if flow.sni else ABSENT for flow in flows])
    return Grid(columns, [list(row) for row in zip(*cells, strict=True)]).without_empty()


def intervals_ns(flow: SeenFlow) -> dict[str, int | None]:
    """The lengths of the common intervals, by name, from what tshark saw."""
    events = flow.events
    found = {name: _between(events.get(start), events.get(end)) for name, start, end in _INTERVALS}
    fins = [fin for name in ("client_fin", "server_fin") if (fin := events.get(name)) is not None]
    found["ch_fin"] = _between(events.get("client_hello_last"), min(fins, key=lambda fin: fin.ns, default=None))
    return found


def _between(start: Seen | None, end: Seen | None) -> int | None:
    return None if start is None or end is None else end.ns - start.ns


def _known(flows: Sequence[FlowComparison], t0_ns: int, told: set[str], everything: bool) -> Iterator[Section]:
    """A section a kind; under `--all`, where the values were shown with their flows, only the reason."""
    kinds: dict[str, list[tuple[FlowReport, Value]]] = {}
    for flow in flows:
        for value in flow.differences:
            if value.why is not None and flow.ours is not None:
                kinds.setdefault(value.why, []).append((flow.ours, value))
    for why, found in kinds.items():
        section = Section(f"{why}, {_count(len(found), 'value')}:", _reason(why, told), mark=WARN)
        if not everything:
            section.grid = _known_grid(found[:SHOWN], t0_ns)
        yield section
        if not everything:
            yield from _more(len(found) - SHOWN, f"value that differs by {why}", f"values that differ by {why}")


def _known_grid(found: Sequence[tuple[FlowReport, Value]], t0_ns: int) -> Grid:
    columns = [
        GridColumn("#", right=True),
        GridColumn("flow", shrinks_to=30, keep=1),
        GridColumn("value"),
        GridColumn(OURS, shrinks_to=21),
        GridColumn(THEIRS),
    ]
    rows = [
        [str(flow.id), plain(endpoints_text(flow)), value.name, _cell(value.ours, t0_ns), _theirs(value, t0_ns)]
        for flow, value in found
    ]
    if all(value.name == "endpoints" for _, value in found):
        # The endpoints are the value, and tshark's are these turned around.
        columns, rows = (
            [columns[0], GridColumn(OURS, shrinks_to=43), columns[4]],
            [[row[0], row[1], row[4]] for row in rows],
        )
    return Grid(columns, rows)


def _decrypted(flows: Sequence[FlowComparison], t0_ns: int, everything: bool) -> Iterator[Section]:
    rows = [
        [str(flow.ours.id), each.side, each.what, event_text(each.at, t0_ns), _said(flow.ours, each)]
        for flow in flows
        if flow.ours is not None and flow.theirs is not None
        for each in flow.theirs.decrypted
    ]
    if rows:
        shown = rows if everything else rows[:SHOWN]
        columns = [GridColumn("#", right=True), *map(GridColumn, ("side", "decrypted", THEIRS, OURS))]
        yield Section("Decrypted by tshark:", grid=Grid(columns, shown))
        yield from _more(len(rows) - len(shown), "decrypted message", "decrypted messages")


def _said(ours: FlowReport, decrypted: Decrypted) -> str:
    """What pcapstall says of the same record without having decrypted it."""
    frame = decrypted.at.frame
    for alert in ours.alerts:
        if alert.inferred and alert.side == decrypted.side and alert.frame == frame:
            return "inferred an alert" if decrypted.what.startswith("alert") else "took it for an alert"
    names = ("client_finished", "client_app_data") if decrypted.side == "client" else ("server_app_data",)
    said = [name for name in names if (event := ours.events.get(name)) is not None and event.frame == frame]
    return ", ".join(said) or ABSENT


def _more(count: int, one: str, many: str) -> Iterator[Section]:
    if count > 0:
        yield Section(lines=[f"And {count:,} more {one if count == 1 else many}; --all shows everything."])


def _cell(value: EventReport | Seen | str | None, t0_ns: int) -> str:
    if value is None:
        return ABSENT
    return plain(value) if isinstance(value, str) else event_text(value, t0_ns)


def _theirs(value: Value, t0_ns: int) -> str:
    """tshark's value. Endpoints that only change places need not be written twice."""
    if value.name == "endpoints" and isinstance(value.ours, str) and isinstance(value.theirs, str):
        client, _, server = value.ours.partition(" -> ")
        if value.theirs == f"{server} -> {client}":
            return "the other way round"
    return _cell(value.theirs, t0_ns)


def event_text(event: EventReport | Seen, t0_ns: int) -> str:
    """``frame 4, 0.003114 s``: seconds since the file's first packet, as Wireshark counts them."""
    since = event.ns - t0_ns
    if abs(since) > _FAR_NS:
        return f"frame {event.frame}, epoch {seconds_text(event.ns)} s"
    return f"frame {event.frame}, {seconds_text(since)} s"


def seconds_text(ns: int) -> str:
    """With six decimals, or nine where the stamps are that fine."""
    whole, rest = divmod(abs(ns), SECOND)
    fraction = f"{rest:09d}" if rest % 1000 else f"{rest // 1000:06d}"
    return f"{'-' if ns < 0 else ''}{whole}.{fraction}"
