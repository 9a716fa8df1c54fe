"""What each thread did in the interval that stalled, as a table: the thread that had to act first, the alike folded.

Cells and headings only; how the table is drawn is each renderer's matter.
"""

import re
from collections.abc import Sequence
from typing import Final

from pcapstall.core.times import format_span
from pcapstall.report.end_model import ThreadCallsReport, ThreadReport
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.grid import ABSENT, BAD, Grid, GridColumn, decimals, milliseconds
from pcapstall.report.places import Places
from pcapstall.report.untrusted import printable

_MOST: Final = 8
"""Threads that have rows; more than these are folded where they did the same."""
_KINDS: Final = 2
"""Kinds of calls of one thread that have a row."""

_COLUMNS: Final = (
    GridColumn("thread", free=True),
    GridColumn("role", keep=2),
    GridColumn("call", shrinks_to=20, free=True),
    GridColumn("count", "how often", right=True, keep=4),
    GridColumn("total", right=True),
    GridColumn("longest", right=True, keep=5),
    GridColumn("others", "its other calls", right=True, keep=6),
    GridColumn("no_call", "in no call (running, throttled, frozen or faulting)", right=True, keep=1),
    GridColumn("lines", "", keep=3, free=True),
)


def thread_grid(flow: FlowReport, places: Places) -> Grid | None:
    """The table; None where the verdict has said all that there is, of a single thread."""
    threads = flow.threads or []
    if not threads or (len(threads) == 1 and flow.activity not in (None, "unknown")):
        return None
    length_ns = flow.stalled_ns or 0
    shown = [(group[0], len(group) - 1) for group in _groups(threads, length_ns)]
    kinds = [(thread, _shown(thread, length_ns)) for thread, _ in shown[:_MOST]]
    digits = [
        decimals([calls.total_ns for _, found in kinds for calls in found]),
        decimals([calls.longest_ns for _, found in kinds for calls in found]),
        decimals([thread.off_syscall_ns or 0 for thread, _ in kinds]),
    ]
    lines = {id(calls): places.of_row([], None, calls.strace) for _, found in kinds for calls in found}
    file = _one_file([*lines.values(), *(places.of_row([], None, thread.strace) for thread, _ in kinds)])
    rows: list[list[str]] = []
    for (thread, found), (_, alike) in zip(kinds, shown, strict=False):
        head = [_name(thread), thread.label or ""]
        others = thread.other_calls + sum(calls.n for calls in thread.calls[len(found) :])
        tail = [str(others or ""), milliseconds(thread.off_syscall_ns, digits[2])]
        if not found:
            place = places.of_row([], None, thread.strace).removeprefix(file)
            rows.append([*head, "no call", "", "", "", *tail, place])
        for calls in found:
            told = [
                printable(calls.call),
                str(calls.n),
                milliseconds(calls.total_ns, digits[0]),
                milliseconds(calls.longest_ns, digits[1]),
            ]
            rows.append([*head, *told, *tail, lines[id(calls)].removeprefix(file)])
            head, tail = ["", ""], ["", ""]
        if alike:
            rows.append(["", "", f"and {alike} more alike", *[""] * 6])
    more = sum(1 + alike for _, alike in shown[_MOST:]) + flow.more_threads
    if more:
        rows.append(["", "", f"and {more} more", *[""] * 6])
    columns = list(_COLUMNS)
    if file:
        columns[-1] = columns[-1]._replace(legend=f"of {file.removesuffix(':')}, the first and the last of the calls")
    marks = {(0, "thread"): BAD} if threads[0].label else {}
    return Grid(columns, rows, marks).without_empty()


def thread_title(flow: FlowReport) -> str:
    """What the table is: ``What the threads of process 12166 did in these 52.2 s:``."""
    pids = {thread.pid for thread in flow.threads or () if thread.pid}
    whose = f"process {pids.pop()}" if len(pids) == 1 else f"{len(pids)} processes" if pids else "the process"
    return f"What the threads of {whose} did in these {format_span(flow.stalled_ns or 0)}:"


def _name(thread: ThreadReport) -> str:
    return " ".join(filter(None, (str(thread.tid) if thread.tid else "", printable(thread.name or "")))) or ABSENT


def _shown(thread: ThreadReport, length_ns: int) -> list[ThreadCallsReport]:
    """The kinds of calls that took the most of the time; of those behind the first only what took a hundredth of it."""
    return [calls for at, calls in enumerate(thread.calls[:_KINDS]) if at == 0 or calls.total_ns * 100 > length_ns]


def _groups(threads: Sequence[ThreadReport], length_ns: int) -> list[list[ThreadReport]]:
    """Each thread for itself; of many those together that spent their time in the same way."""
    if len(threads) <= _MOST:
        return [[thread] for thread in threads]
    groups: dict[object, list[ThreadReport]] = {}
    for thread in threads:
        kinds = tuple(re.sub(r"\d+", "", calls.call) for calls in _shown(thread, length_ns))
        off = None if thread.off_syscall_ns is None else 4 * thread.off_syscall_ns // max(length_ns, 1)
        groups.setdefault((thread.label, re.sub(r"\d+", "", thread.name or ""), kinds, off), []).append(thread)
    return list(groups.values())


def _one_file(places: Sequence[str]) -> str:
    """``client.strace:`` when all lines are of this one file; else empty."""
    files = {place.rpartition(":")[0] for place in places if place}
    return f"{files.pop()}:" if len(files) == 1 and not any("; " in place for place in places) else ""
