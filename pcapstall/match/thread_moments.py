"""What the threads of a process did while a flow stood still, as moments: who was in which call, and for how long.

Threads that did the same are told in one row. From a window that `strace.recorder` filled in over the stall.
"""

from collections.abc import Sequence
from typing import Final

from pcapstall.core.times import format_span
from pcapstall.match.end_trace import EndTrace, at_most
from pcapstall.match.moments import Moment
from pcapstall.strace.call_names import POLLS
from pcapstall.strace.filtering import leaves_calls_out
from pcapstall.strace.model import EpollSet, OpenFile
from pcapstall.strace.sockets import Socket
from pcapstall.strace.window import Activity, Event, Spent, Window

_WORTH: Final = 20
"""A kind of call is told that took a twentieth of the stall."""
_KINDS: Final = 3
"""Kinds of calls that are told of one thread."""
_SETS: Final = 8
_SIGNALS: Final = 6
_TELLING: Final = (
    "killed by",
    "stopped by",
    *"SIGSTOP SIGCONT SIGTSTP SIGTTIN SIGTTOU SIGKILL SIGTERM SIGSEGV SIGABRT SIGINT".split(),
)
"""How the events begin that matter to a flow: the process stops, goes on or ends."""


def thread_moments(trace: EndTrace) -> list[Moment]:
    """The rows of all threads; none without a stall."""
    window = trace.stall
    if window is None or window.end_ns <= window.start_ns:
        return []
    length = int(window.end_ns - window.start_ns)
    waits = trace.life.waits.all()
    told_lines = {int(wait.line) for wait in waits}
    told = {(int(wait.thread.number), wait.name, _serial(wait.file)) for wait in waits if wait.file is not None}
    stopped = any(event.text.startswith("stopped by") for event in window.events)
    made: list[Moment] = []
    groups: dict[tuple[str, str], list[tuple[Activity, Spent]]] = {}
    for activity in window.threads.values():
        single = activity.longest
        number = int(activity.thread.number)
        if single is not None and int(activity.longest_ns) * 2 >= length:
            if int(single.line) not in told_lines:
                made += _single(trace, activity)
            continue
        if int(activity.gap_ns) * 2 >= length and not stopped:
            made.append(_gap(trace, activity))
        for spent in activity.busiest()[:_KINDS]:
            # Waits on the socket itself are told with its own life.
            if int(spent.total_ns) * _WORTH >= length and (number, spent.name, _serial(spent.file)) not in told:
                groups.setdefault((spent.name, _object(spent)), []).append((activity, spent))
    made += [_group(trace, window, found) for found in groups.values()]
    return made + _signals(trace, window)


def _serial(file: OpenFile | None) -> int:
    return int(file.serial) if file is not None else 0


def _object(spent: Spent) -> str:
    """What threads that did the same called it on: any epoll set, and any socket, is like another."""
    if isinstance(spent.file, EpollSet):
        return "epoll"
    if isinstance(spent.file, Socket):
        return "socket"
    return "" if spent.name in POLLS else spent.about()


def _single(trace: EndTrace, activity: Activity) -> list[Moment]:
    """A thread that was in one call for most of the time, and who woke it."""
    note = activity.longest
    assert note is not None
    name = note.continues or note.name
    own = note.file is not None and note.file.serial == trace.match.socket.serial
    about = "this socket" if own else note.about()
    length = int(note.end_ns - note.start_ns)
    event = f"{name}" + (f" on {about}" if about else "")
    told = "does not return" if note.open else f"lasts {format_span(length)}"
    if note.bounded:
        told = f"or no call after it: {format_span(length)}"
    moment = trace.moment(int(note.start_ns), note.thread, event, int(note.line), int(note.end_line), remark=told)
    moment.until_ns = moment.ns + length
    made = [moment]
    waker = note.waker
    if waker is not None:
        woken = f"{name} wakes {note.thread.tid}" if note.thread.tid > 0 else f"{name} wakes it"
        made.append(trace.moment(int(waker.start_ns), waker.thread, woken, int(waker.line)))
    return made


def _gap(trace: EndTrace, activity: Activity) -> Moment:
    lines = int(activity.gap_line), int(activity.gap_end_line)
    told = f"for {format_span(int(activity.gap_ns))}: running, or not let run"
    if leaves_calls_out(trace.matching.index):
        told = f"traced for {format_span(int(activity.gap_ns))}; the trace leaves kinds of calls out that may block"
    moment = trace.moment(int(activity.gap_start_ns), activity.thread, "in no call", *lines, remark=told)
    moment.until_ns = moment.ns + int(activity.gap_ns)
    return moment


def _group(trace: EndTrace, window: Window, found: Sequence[tuple[Activity, Spent]]) -> Moment:
    """One kind of call of several threads."""
    first = found[0][1]
    count = sum(int(spent.count) for _, spent in found)
    longest = max(int(spent.longest_ns) for _, spent in found)
    event = first.name + _objects([spent for _, spent in found])
    if count > 1:
        event += f" x {count}"
    lines = [int(line) for _, spent in found for line in (spent.first_line, spent.last_line)]
    remark = at_most(longest, count)
    moment = trace.moment(int(window.start_ns), found[0][0].thread, event, min(lines), max(lines), remark=remark)
    trace.by_threads(moment, [activity.thread for activity, _ in found], first.name)
    moment.count = count
    moment.until_ns = moment.ns + int(window.end_ns - window.start_ns)
    return moment


def _objects(found: Sequence[Spent]) -> str:
    sets = sorted({int(spent.file.fd) for spent in found if isinstance(spent.file, EpollSet)})
    if sets:
        names = ", ".join(map(str, sets[:_SETS])) + (f" and {len(sets) - _SETS} more" if len(sets) > _SETS else "")
        return f" on epoll set{'s' if len(sets) > 1 else ''} {names}"
    about = {spent.about() for spent in found} - {""}
    if len(about) == 1:
        return f" on {about.pop()}"
    return f" on {len(about)} sockets" if about and isinstance(found[0].file, Socket) else ""


def _signals(trace: EndTrace, window: Window) -> list[Moment]:
    """Signals that stop and go on, and ends; the first few."""
    told = [event for event in window.events if event.kind in ("signal", "exit") and _matters(event)]
    made = []
    for event in told[:_SIGNALS]:
        text = event.text.split(" {")[0]
        made.append(trace.moment(int(event.ns), event.thread, text, int(event.line)))
    return made


def _matters(event: Event) -> bool:
    return event.text.startswith(_TELLING)
