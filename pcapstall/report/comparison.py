"""Puts two readings of one capture side by side: which of tshark's streams is which flow, and where they differ.

A stream belongs to the flow with the same endpoints that began last before it. Nothing is read or drawn here.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from pcapstall.report import known_differences
from pcapstall.report.comparison_model import (
    COMPARED_EVENTS,
    FlowComparison,
    Seen,
    SeenFlow,
    Value,
)
from pcapstall.report.flow_model import AlertReport, EventReport, FlowReport

_OTHER_SIDE = {"client": "server", "server": "client"}


def compare(
    ours: Iterable[FlowReport], theirs: Sequence[SeenFlow], lonely_streams: str | None = None
) -> list[FlowComparison]:
    """Every flow that either reading has, in the order of their first frames.

    ``lonely_streams`` names the known difference that explains why a stream of tshark's is no flow of ours.
    """
    rows = list(ours)
    streams = _assign(rows, theirs)
    found: list[FlowComparison] = []
    for row in rows:
        mine = streams.pop(row.id, [])
        if not mine:
            found.append(FlowComparison(row, None, [Value("flow", f"flow {row.id}", None, False)]))
            continue
        found.append(compare_flow(row, mine[0]))
        found += [_lonely(stream, None) for stream in mine[1:]]
    found += [_lonely(stream, lonely_streams) for rest in streams.values() for stream in rest]
    return sorted(found, key=_first_frame)


def _assign(rows: Sequence[FlowReport], theirs: Sequence[SeenFlow]) -> dict[int, list[SeenFlow]]:
    """The streams of each flow by its id; those of no flow under 0."""
    between: dict[frozenset[str], list[FlowReport]] = defaultdict(list)
    for row in rows:
        between[frozenset((row.client, row.server))].append(row)
    streams: dict[int, list[SeenFlow]] = defaultdict(list)
    for stream in theirs:
        candidates = between.get(frozenset((stream.client, stream.server)), [])
        begun = [row for row in candidates if row.first_frame <= stream.first_frame]
        chosen = begun[-1:] or candidates[:1]
        damaged_only = (
            known_differences.DAMAGED_HEADER in stream.strays and stream.first_frame in stream.strays.values()
        )
        streams[chosen[0].id if chosen and not damaged_only else 0].append(stream)
    return streams


def _lonely(stream: SeenFlow, why: str | None) -> FlowComparison:
    if stream.first_frame == stream.strays.get(known_differences.DAMAGED_HEADER):
        why = known_differences.DAMAGED_HEADER
    return FlowComparison(None, stream, [Value("flow", None, streams_text(stream), False, why)])


def _first_frame(flow: FlowComparison) -> int:
    if flow.ours is not None:
        return flow.ours.first_frame
    return flow.theirs.first_frame if flow.theirs is not None else 0


def compare_flow(ours: FlowReport, theirs: SeenFlow) -> FlowComparison:
    """What both say of one flow. What neither has is no value."""
    mine, other = endpoints_text(ours), endpoints_text(theirs)
    values = [Value("endpoints", mine, other, mine == other)]
    if mine != other:
        theirs = _turned(theirs)
    if len(theirs.streams) > 1:
        values.append(Value("streams", "one flow", streams_text(theirs), False))
    values += _texts("sni", ours.sni, theirs.sni)
    values += _texts("tls_version", ours.tls_version, theirs.version)
    for name in COMPARED_EVENTS:
        values += _events(name, ours.events.get(name), theirs.events.get(name))
    values += _texts("alerts", alerts_text(ours), alerts_text(theirs))
    finished = next((each.at for each in theirs.decrypted if (each.side, each.what) == ("client", "finished")), None)
    if finished is not None:
        values += _events("client_finished", ours.events.get("client_finished"), finished)
    return FlowComparison(ours, theirs, [known_differences.explained(value, ours, theirs) for value in values])


def _texts(name: str, ours: str | None, theirs: str | None) -> list[Value]:
    return [] if ours is None and theirs is None else [Value(name, ours, theirs, ours == theirs)]


def _events(name: str, ours: EventReport | None, theirs: Seen | None) -> list[Value]:
    if ours is None and theirs is None:
        return []
    equal = ours is not None and theirs is not None and (ours.frame, ours.ns) == (theirs.frame, theirs.ns)
    return [Value(name, ours, theirs, equal)]


def _turned(flow: SeenFlow) -> SeenFlow:
    """The same with client and server exchanged, as far as they were told apart by direction alone."""
    events = dict(flow.events)
    for what in ("fin", "rst"):
        events[f"client_{what}"], events[f"server_{what}"] = (
            flow.events[f"server_{what}"],
            flow.events[f"client_{what}"],
        )
    return flow._replace(
        client=flow.server,
        server=flow.client,
        events=events,
        alerts=[alert._replace(side=_OTHER_SIDE[alert.side]) for alert in flow.alerts],
        decrypted=[each._replace(side=_OTHER_SIDE[each.side]) for each in flow.decrypted],
    )


def endpoints_text(flow: FlowReport | SeenFlow) -> str:
    """``10.0.0.1:34506 -> 10.0.0.2:443``."""
    return f"{flow.client} -> {flow.server}"


def streams_text(flow: SeenFlow) -> str:
    """``stream 3``, ``streams 0, 1``: as `tcp.stream` numbers them."""
    numbers = ", ".join(map(str, flow.streams))
    return f"stream {numbers}" if len(flow.streams) == 1 else f"streams {numbers}"


def alerts_text(flow: FlowReport | SeenFlow) -> str | None:
    """``server fatal handshake_failure in frame 6``, the alerts that were sent in the clear; None without any."""
    clear = [alert for alert in flow.alerts if not (isinstance(alert, AlertReport) and alert.inferred)]
    return "; ".join(f"{each.side} {each.level} {each.description} in frame {each.frame}" for each in clear) or None
