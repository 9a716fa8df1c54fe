"""What a report says of one strace: whose it is, how its clock stands, and what it lacks.

Texts and numbers for the report's model; nothing is read or judged here.
"""

from typing import Final

from pcapstall.core.times import format_span
from pcapstall.diagnose.process.scene import ThreadDoing
from pcapstall.match.matching import Matching
from pcapstall.match.offset import nearest
from pcapstall.report.end_model import ProcessReport, StraceReport, ThreadCallsReport, ThreadReport
from pcapstall.strace.leader import TIME_OF_DAY

ORDER_ONLY: Final = "has no times, so it tells the order of calls and not when they were made (strace -ttt -T does)"


def strace_report(name: str, label: str | None, matching: Matching) -> StraceReport:
    """The entry of one strace."""
    index = matching.index
    offset = matching.offset
    usable = offset if offset is not None and offset.consistent else None
    shown_ns = usable.shown_ns if usable else None
    zone_ns = None
    if shown_ns is not None and index.clock_kind == TIME_OF_DAY:
        zone_ns = -nearest(shown_ns)
        shown_ns += zone_ns
    return StraceReport(
        file=name,
        label=label,
        lines=sum(index.counts.values()),
        unread=index.coverage.unread_lines,
        processes=_processes(matching),
        clock_offset_ns=shown_ns,
        clock_error_ns=usable.error_ns if usable else None,
        unmatched_sockets=matching.unmatched(),
        zone_ns=zone_ns,
        notices=_notices(matching),
    )


def thread_report(thread: ThreadDoing) -> ThreadReport:
    """What one thread did."""
    return ThreadReport(
        pid=thread.pid or None,
        tid=thread.tid or None,
        name=thread.name or None,
        label=thread.role or None,
        calls=[
            ThreadCallsReport(calls.call, calls.n, calls.total_ns, calls.longest_ns, list(calls.lines))
            for calls in thread.calls
        ],
        other_calls=thread.other_calls,
        longest_call=thread.longest or None,
        longest_ns=thread.longest_ns,
        off_syscall_ns=thread.off_syscall_ns,
        strace=list(thread.lines),
    )


def _notices(matching: Matching) -> list[str]:
    """What the strace lacks, as far as conclusions suffer."""
    index = matching.index
    coverage = index.coverage
    offset = matching.offset
    found = []
    if sum(index.counts.values()) and not coverage.has_times:
        found.append(ORDER_ONLY)
    if offset is not None and not offset.consistent:
        apart = format_span(2 * (offset.error_ns or 0))
        found.append(f"its times contradict the capture's by {apart}, so nothing is concluded from it")
    if matching.told_again:
        where = index.where(matching.told_again[0].line)
        found.append(f"lines stand in it twice, so that {len(matching.told_again)} sockets come again from {where} on")
    if coverage.lost_halves:
        where = index.where(coverage.first_lost_line)
        found.append(f"lines of it are lost: {coverage.lost_halves} calls have one half only, the first at {where}")
    if coverage.uring_lines:
        where = index.where(coverage.uring_lines[0])
        found.append(f"io_uring is used in it ({where}), whose reads, writes and connects no strace shows")
    if coverage.only_successful:
        found.append("no call in it failed (-z?): calls may be left out")
    if coverage.trouble:
        found.append(f"it could not be read to its end: {coverage.trouble}")
    return found


def _processes(matching: Matching) -> list[ProcessReport]:
    flows: dict[int, dict[bool, set[int]]] = {}
    for match in matching.matches:
        owners = {int(life.process.number) for life in match.socket.lives}
        if not owners and match.socket.process is not None:
            owners = {int(match.socket.process.number)}
        for owner in owners:
            flows.setdefault(owner, {}).setdefault(match.end.is_client, set()).add(int(match.end.flow.id))
    processes = matching.index.processes
    reports = []
    for process in processes:
        ends = flows.get(int(process.number), {})
        if ends or len(processes) == 1:
            side = ("client" if True in ends else "server") if len(ends) == 1 else None
            reports.append(ProcessReport(int(process.pid), side, sorted(set().union(*ends.values()))))
    return reports
