"""The timeline of one flow: its packets, the calls of both ends and the logs' lines, put together in one order.

Called while the straces of an analysis are still open. What is told of each is made in `match`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pcapstall.capture.interrupting import ending
from pcapstall.capture.source import Stop
from pcapstall.core.frames import file_of, frame_of
from pcapstall.flows.flow import Flow
from pcapstall.match.call_moments import call_moments
from pcapstall.match.end_trace import EndTrace
from pcapstall.match.ends import End
from pcapstall.match.log_moments import log_moments
from pcapstall.match.losses import lost_refs
from pcapstall.match.matching import Matching
from pcapstall.match.moments import CALL, Moment, join
from pcapstall.match.outline import Outline
from pcapstall.match.packet_moments import Packet, packet_moments
from pcapstall.match.thread_moments import thread_moments
from pcapstall.pipeline.analysis import Analysis
from pcapstall.pipeline.ends.straces import Straces
from pcapstall.pipeline.findings import Findings
from pcapstall.pipeline.timeline.packets import packets_of
from pcapstall.pipeline.timeline.strace_lines import moments_of_lines
from pcapstall.report.end_model import LogLineReport
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.places import short_names
from pcapstall.report.timeline import Timeline, TimelineRow
from pcapstall.strace.leader import EPOCH
from pcapstall.strace.window import Window, window_of

_BEFORE_NS: Final = 100_000_000
"""So long before the first packet a socket may have been made, and read after the last one."""
_AFTER_NS: Final = 2_000_000_000
MAX_ROWS: Final = 400
"""Rows without ``--all``: the first ones."""


@dataclass(slots=True)
class _Made:
    """What was found so far."""

    stop: Stop
    """Ends what is read for it."""
    moments: list[Moment] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    names: dict[bool, str] = field(default_factory=lambda: {True: "client", False: "server"})
    """What the ends are called, by whether it is the client's."""
    ends: list[EndTrace] = field(default_factory=list)
    """Those of which there is a strace."""


def timeline_of(
    analysis: Analysis, row: FlowReport, captures: Sequence[str], everything: bool, stop: Stop | None = None
) -> Timeline:
    """The timeline of the flow in ``row``; ``everything`` also holds what is not key to it."""
    return timelines_of(analysis, [row], captures, everything, stop)[0]


def timelines_of(
    analysis: Analysis, rows: Sequence[FlowReport], captures: Sequence[str], everything: bool, stop: Stop | None = None
) -> list[Timeline]:
    """The timelines of several flows; the captures and the straces are read once more for all, logs for each."""
    findings = analysis.findings
    stop = stop or Stop()
    made = [_Made(stop) for _ in rows]
    if findings.straces is not None:
        for each, row in zip(made, rows, strict=True):
            _find_ends(each, findings, findings.straces, findings.flow_of(row.id))
        ends = [end for each in made for end in each.ends]
        windows = [(end.matching, window) for end in ends for window in (end.life, end.stall) if window is not None]
        findings.straces.record(stop, {row.id for row in rows}, windows)
        if findings.straces.ended:
            for each in made:  # of what was begun nobody knows what is missing
                each.notices.append("Reading was stopped: the calls of the straces are not told.")
                each.ends.clear()
        rows = [findings.row(row.id, analysis.report.t0_ns) for row in rows]
    packets = packets_of([findings.flow_of(row.id) for row in rows], captures, stop)
    return [
        _timeline(analysis, row, each, known, everything) for row, each, known in zip(rows, made, packets, strict=True)
    ]


def _timeline(
    analysis: Analysis, row: FlowReport, made: _Made, known: tuple[Sequence[Packet], str], everything: bool
) -> Timeline:
    findings = analysis.findings
    flow = findings.flow_of(row.id)
    names = made.names
    for trace in made.ends:
        _add_calls(made, trace, row, everything)
    packets, missing = known
    made.notices += [missing] if missing else []
    lost = lost_refs(packets, flow.opener_is_client, row.capture_point, row.reason, bool(flow.icmp_errors))
    made.moments += packet_moments(flow, packets, names[True], names[False], lost)
    untimed = _add_logs(made, findings, flow, row, everything)
    ordered = join(moment for moment in made.moments if moment.key or everything)
    if len(ordered) > MAX_ROWS and not everything:
        made.notices.append(f"{len(ordered) - MAX_ROWS} more rows are left out: --all has them, -o FILE takes them.")
        ordered = ordered[:MAX_ROWS]
    zero_ns = int(flow.syn_ns if flow.syn_ref else flow.first_ns)
    rests_on = _Evidence(row)
    return Timeline(
        analysis.report,
        row,
        zero_ns,
        [_row(number, moment, zero_ns, rests_on) for number, moment in enumerate(ordered, 1)],
        everything,
        made.notices,
        untimed,
    )


def _find_ends(made: _Made, findings: Findings, straces: Straces, flow: Flow) -> None:
    """The ends of ``flow`` of which there is a strace, and what is to be looked at there."""
    for is_client in (True, False):
        found = straces.end_of(flow, is_client)
        if found is None:
            continue
        match, matching = found
        made.names[is_client] = straces.label_of(matching) or made.names[is_client]
        path, offset = matching.index.strace.name, matching.offset
        if not _has_time(matching):
            made.notices.append(f"The calls of {path} cannot be placed: nothing ties its clock to the capture's.")
            continue
        if offset is None:
            made.notices.append(f"Nothing shows whether the clocks of {path} and the capture agree; they are taken to.")
        offset_ns = offset.ns if offset is not None else 0
        sockets = [match.socket, *([match.socket.listener] if match.socket.listener is not None else [])]
        life = window_of(
            sockets, int(flow.first_ns) - offset_ns - _BEFORE_NS, int(flow.last_ns) - offset_ns + _AFTER_NS
        )
        stall = _stall(findings, flow, life, offset_ns)
        made.ends.append(EndTrace(made.names[is_client], match, matching, life, stall))


def _add_calls(made: _Made, trace: EndTrace, row: FlowReport, everything: bool) -> None:
    """The calls of one end, which have been looked at."""
    own = [*call_moments(trace), *thread_moments(trace)]
    lines, missing = moments_of_lines(trace, own, row, everything, made.stop)
    own += lines
    made.notices += missing
    for moment in own:
        moment.side = "client" if trace.match.end.is_client else "server"
    made.moments += own


def _has_time(matching: Matching) -> bool:
    """Whether the calls of a strace have times by the capture's clock."""
    if matching.offset is None:
        return matching.index.clock_kind == EPOCH
    return matching.offset.consistent and matching.index.coverage.has_times


def _stall(findings: Findings, flow: Flow, life: Window, offset_ns: int) -> Window | None:
    """A window over the interval that stalled."""
    case = findings.case(flow)
    if case.stalled is None:
        return None
    return Window(case.start_ns - offset_ns, case.end_ns - offset_ns, set(life.sockets), set(life.processes))


def _add_logs(made: _Made, findings: Findings, flow: Flow, row: FlowReport, everything: bool) -> list[LogLineReport]:
    """The lines about the flow; with ``everything`` also what the logs hold of its time. Those without a time."""
    logs = findings.logs
    if logs is None:
        return []
    names = short_names(file.path for file, _ in logs.read)
    end = End(Outline(flow), True)
    about = logs.of_flow(int(flow.id))
    told = log_moments(about, names, [end.local, end.peer], True)
    if everything:
        others: list[list[Moment]] = []

        def read_others() -> None:
            placed = logs.within(int(flow.first_ns) - _BEFORE_NS, int(flow.last_ns) + _AFTER_NS, about)
            others.append(log_moments(placed, names, [end.local, end.peer], False))

        ending(made.stop, read_others)
        told += [moment for moments in others for moment in moments]
        if not others:
            made.notices.append("Reading was stopped: of the logs only the lines about the flow are told.")
    for moment in told:
        moment.side = logs.side_of(moment.lines[0].rpartition(":")[0], made.names)
    made.moments += told
    return [line for line in row.logs or () if line.ns is None]


class _Evidence:
    """What the verdict on a flow rests on."""

    def __init__(self, row: FlowReport) -> None:
        self._frames = {(fact.file, frame) for fact in row.evidence for frame in fact.frames}
        self._lines = {line for fact in row.evidence for line in fact.strace}

    def has(self, moment: Moment) -> bool:
        """Whether ``moment`` is among it."""
        if moment.source == CALL:
            return moment.evidence or not self._lines.isdisjoint(moment.lines)
        return any((int(file_of(ref)), int(frame_of(ref))) in self._frames for ref in moment.frames)


def _row(number: int, moment: Moment, zero_ns: int, rests_on: _Evidence) -> TimelineRow:
    file = int(file_of(moment.frames[0])) if moment.frames else None
    return TimelineRow(
        id=number,
        ns=moment.ns,
        since_syn_ns=moment.ns - zero_ns,
        error_ns=moment.error_ns,
        unsure=moment.unsure,
        until_ns=moment.until_ns,
        count=moment.count,
        source=moment.source,
        side=moment.side,
        toward=moment.toward,
        lost=moment.lost,
        event=moment.event,
        actor=moment.actor,
        remark=moment.remark,
        evidence=rests_on.has(moment),
        frames=[int(frame_of(ref)) for ref in moment.frames if int(file_of(ref)) == file],
        file=file,
        lines=moment.lines,
    )
