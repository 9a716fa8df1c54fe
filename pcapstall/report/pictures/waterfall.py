"""What a waterfall shows of one flow: marks on the lanes of client, network and server, and the interval that stalled.

Made from a timeline; where each thing is put is the drawers' matter, for SVG and for a terminal.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pcapstall.core.times import MS, format_ms, format_span
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.happening import stall_words
from pcapstall.report.places import Places
from pcapstall.report.stories import ends_of
from pcapstall.report.timeline import Timeline, TimelineRow
from pcapstall.report.timeline_cells import UNSURE

CLIENT: Final = "client"
SERVER: Final = "server"
BETWEEN: Final = "network"
"""The lanes."""
ASIDE: Final = "aside"
"""Where lines of a log are told of which nobody said whose it is: on no lane."""

MOST_MARKS: Final = 60
"""What a picture that is still read at a glance holds; those nearest to the ends of the stall are kept."""


class Mark(NamedTuple):
    """One row of the timeline."""

    at_ns: int
    """Since the flow's SYN; so is ``until_ns``."""
    until_ns: int | None
    """When it ended, where it took long enough to be seen; of a packet that was sent again and again, the last time."""
    lane: str
    is_packet: bool
    is_log: bool
    label: str
    place: str
    """``frame 148``, ``outbound.strace:1525``; may be empty."""
    title: str
    """All that is known of it."""
    evidence: bool
    unsure: bool
    lost: bool
    """Of a packet: most likely it did not arrive; so is ``last_lost`` of the last time that it was sent."""
    last_lost: bool
    toward: str
    """The lane that what the network sent went to; else empty."""

    @property
    def time(self) -> str:
        """``52163.018``, ``~0.311`` of one that may belong before or after the one beside it."""
        return f"{UNSURE if self.unsure else ''}{format_ms(self.at_ns)}"


class Stall(NamedTuple):
    """The interval that stalled."""

    start_ns: int
    end_ns: int
    """How far it had got, when it is open."""
    is_open: bool
    interval: str
    cause: str
    lane: str
    """Of whose time it was; the network's where that is not known."""
    words: str
    """``ack_ch 52.2 s``."""
    parts: Sequence[tuple[str, int]]
    """What it is made of, which adds up to it; empty where that is not known."""


class Waterfall(NamedTuple):
    """One flow."""

    title: str
    label: str
    """What is seen, in sentences."""
    names: dict[str, str]
    """What the client's and the server's lane are called."""
    endpoints: dict[str, str]
    seen_at: str
    """The lane at which the capture was taken; empty where that is not known."""
    marks: Sequence[Mark]
    stall: Stall | None
    left_out: int
    zero: str
    """What times count from."""

    def said(self, lane: str) -> str:
        """The client's or the server's lane in words: ``server``, ``server: inbound``."""
        name = self.names[lane]
        return lane if name == lane else f"{lane}: {name}"


def waterfall_of(timeline: Timeline, most: int = MOST_MARKS) -> Waterfall:
    """The picture of ``timeline``, with at most ``most`` marks."""
    flow = timeline.flow
    places = Places(timeline.report)
    stall = _stall(flow, timeline.zero_ns)
    rows = _chosen(timeline.rows, stall, most)
    marks = [_mark(row, places) for row in rows]
    sni = f" ({flow.sni})" if flow.sni else ""
    title = f"Flow {flow.id}: {flow.client} -> {flow.server}{sni}"
    said = f"{title}. {len(marks)} events of client, network and server, one below the other in the order of time."
    if stall is not None:
        end = "and had not ended" if stall.is_open else f"and ended {format_span(stall.end_ns)} after the SYN"
        said += f" The interval {stall.words} ({_words(stall.cause)}) began {format_span(stall.start_ns)}, {end}."
    return Waterfall(
        title,
        said,
        _names(timeline.rows),
        {CLIENT: flow.client, SERVER: flow.server},
        flow.capture_point if flow.capture_point in (CLIENT, SERVER) else "",
        marks,
        stall,
        len(timeline.rows) - len(rows),
        timeline.zero,
    )


def _names(rows: Sequence[TimelineRow]) -> dict[str, str]:
    """What the user calls the ends, as their packets are told."""
    names = {CLIENT: CLIENT, SERVER: SERVER}
    for row in rows:
        if row.source == "packet" and row.side in names:
            names[row.side] = row.actor
    return names


def _words(name: str) -> str:
    return name.replace("_", " ")


def _stall(flow: FlowReport, zero_ns: int) -> Stall | None:
    length = flow.stalled_ns
    start = ends_of(flow)[0]
    if flow.stalled is None or length is None:
        return None
    cause = flow.cause or "unknown"
    lane = cause.partition("_")[0]
    if cause == "await_server":
        lane = SERVER
    # A ClientHello whose first byte is not here opens ch_span at another one, of which the row does not tell.
    latest_ns = max((event.ns for event in flow.events.values() if event is not None), default=zero_ns)
    start_ns = (start.ns if start is not None else max(latest_ns - length, zero_ns)) - zero_ns
    parts = sorted(
        ((name, ns) for name, ns in flow.parts_ns.get(flow.stalled, {}).items() if ns > 0), key=lambda part: -part[1]
    )
    return Stall(
        start_ns,
        start_ns + length,
        flow.stall_is_open,
        flow.stalled,
        cause,
        lane if lane in (CLIENT, SERVER) else BETWEEN,
        stall_words(flow, length),
        parts,
    )


def _chosen(rows: Sequence[TimelineRow], stall: Stall | None, most: int) -> Sequence[TimelineRow]:
    """The rows that the verdict rests on, and of the others those nearest to an end of the stall."""
    if len(rows) <= most:
        return rows
    ends = [stall.start_ns, stall.end_ns] if stall is not None else [0]

    def rank(row: TimelineRow) -> tuple[bool, int]:
        return not row.evidence, min(abs(row.since_syn_ns - end) for end in ends)

    kept = {row.id for row in sorted(rows, key=rank)[:most]}
    return [row for row in rows if row.id in kept]


def _mark(row: TimelineRow, places: Places) -> Mark:
    where = places.of_row(row.frames, row.file, row.lines)
    is_packet = row.source == "packet"
    is_log = row.source == "log"
    lane = row.side if row.side in (CLIENT, SERVER) else ASIDE if is_log else BETWEEN
    said = row.remark.replace("{...}", "") if is_log else row.event
    who = row.actor.rpartition(" ")[2] if row.source == "call" else ""
    label = f"{who} {said}" if who.isdecimal() else said
    if lane == ASIDE:
        label = f"{row.actor}: {said}"
    elif is_packet:
        label = label.replace(f"{lane}'s ", "")  # the arrow says whose
    about = ", ".join(filter(None, (row.actor, row.event, row.remark)))
    around = "" if not row.error_ns else f" (give or take {format_span(row.error_ns)})"
    title = f"{format_ms(row.since_syn_ns)} ms{around}: {about}" + (f" [{where}]" if where else "")
    # Of a packet: when it was sent for the last time.
    until = None if row.until_ns is None else row.until_ns - row.ns + row.since_syn_ns
    if until is not None and until - row.since_syn_ns < MS:
        until = None
    if is_packet and len(row.frames) > 2:
        where = f"frames {row.frames[0]} to {row.frames[-1]}"
    return Mark(
        row.since_syn_ns, until, lane, is_packet, is_log, label, where, title, row.evidence, row.unsure,
        row.lost > 0, row.lost >= row.count, row.toward,
    )  # fmt: skip


def notes_of(fall: Waterfall) -> list[str]:
    """What is to be known of its drawing, a sentence or two a line."""
    notes = [f"Milliseconds since {fall.zero}, not to scale: long silences are drawn short."]
    if any(mark.evidence for mark in fall.marks):
        notes.append("Bold: the verdict rests on it.")
    if any(mark.unsure for mark in fall.marks):
        notes[-1] += " ~: the clocks do not tell whether it was before or after what is beside it."
    if any(mark.is_packet and mark.until_ns is not None for mark in fall.marks):
        notes.append("Dashed: the same once more, the last time.")
    if any(mark.lost for mark in fall.marks):
        notes.append("A cross: lost, most likely on its way, or dropped where it went to.")
    if fall.left_out:
        notes.append(f"{fall.left_out} more events are left out.")
    return notes
