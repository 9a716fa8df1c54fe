"""Waits for readiness on sets with one end's socket in them, as moments: what they returned, what they did not.

And the stretches in which nobody waited at all. What other threads did is in `thread_moments`.
"""

from collections.abc import Sequence
from typing import Final

from pcapstall.core.times import format_span
from pcapstall.match.end_trace import LONG_NS, EndTrace, at_most, lines_of, with_length
from pcapstall.match.moments import Moment, fold
from pcapstall.strace.syscalls import EPOLL_WAIT
from pcapstall.strace.waits import CTL_ADD, mask_text
from pcapstall.strace.window import KEPT, NO, YES, Note, Wait

_UNWAITED_NS: Final = 500_000_000
"""A set on which nobody waits for longer is worth a row."""


def wait_moments(trace: EndTrace) -> list[Moment]:
    """All that the waits of one end's life tell."""
    waits = _sorted_waits(trace)
    return [*_waits(trace, waits), *_unwaited(trace, waits)]


def _sorted_waits(trace: EndTrace) -> list[Wait]:
    """Waits on sets with the socket in them, by their ends."""
    serial = trace.match.socket.serial
    return sorted(
        (wait for wait in trace.life.waits.all() if isinstance(wait, Wait) and wait.socket == serial),
        key=lambda wait: int(wait.end_ns),
    )


def _unwaited(trace: EndTrace, waits: Sequence[Wait]) -> list[Moment]:
    """Stretches in which no thread waited on the epoll set that the socket was in."""
    adds = [control for control in trace.life.controls if control.operation == CTL_ADD]
    if not adds or len({int(control.epoll) for control in adds}) > 1:
        return []
    note = adds[0].note
    ends = [int(n.start_ns) for n in trace.calls() if n.name == "close"]
    end_ns = ends[0] if ends else min(int(trace.life.end_ns), int(trace.matching.index.last_ns))
    made: list[Moment] = []
    at = int(note.end_ns if note.end_ns >= 0 else note.start_ns)
    if not _shows_waits(trace, at):
        return []
    # Those on a set or poll that holds the set are among them.
    spans = sorted((int(wait.start_ns), int(wait.end_ns), int(wait.line)) for wait in waits)
    for number, (start, end, line) in enumerate([*spans, (end_ns, end_ns, 0)]):
        # Of very many waits those in the middle are not known one by one.
        known = trace.life.waits.count <= 2 * KEPT or number != KEPT
        if known and min(start, end_ns) - at >= _UNWAITED_NS:
            told = f"for {format_span(min(start, end_ns) - at)}"
            moment = trace.moment(at, None, f"no wait on epoll set {int(note.fd)}", *lines_of(note), line, remark=told)
            moment.until_ns = moment.ns + min(start, end_ns) - at
            made.append(moment)
        at = max(at, end)
    return made


def _shows_waits(trace: EndTrace, at_ns: int) -> bool:
    """Whether the trace would show a wait from ``at_ns`` on: epoll calls are in it, and all threads' ones."""
    index = trace.matching.index
    if not any(syscall.code == EPOLL_WAIT for syscall in index.syscalls):
        return False
    for process in index.processes:
        if process.number not in trace.life.processes:
            continue
        if process.uring_line or process.unfollowed:
            return False
        # A thread that was there before and has no line yet may have been waiting all the while.
        for thread in process.threads:
            if not process.started and not thread.clone_line and thread.first_ns > at_ns:
                return False
    return True


def _waits(trace: EndTrace, waits: Sequence[Wait]) -> list[Moment]:
    """The first that return the socket one by one, those in vain folded."""
    made: list[Moment] = []
    vain: list[Wait] = []
    hello = trace.match.hello
    before_hello = None
    if hello is not None:
        before_hello = next((wait for wait in reversed(waits) if 0 <= wait.end_ns <= hello.call.start_ns), None)
    told = 0
    for wait in waits:
        returned = wait.delivered == YES or (wait.delivered != NO and wait.ret > 0)
        if not returned:
            vain.append(wait)
            continue
        made += _in_vain(trace, vain)
        vain = []
        moment = _returned(trace, wait)
        moment.key = not told or wait is before_hello or wait.end_ns - wait.start_ns >= LONG_NS
        told += 1
        made.append(moment)
    return made + _in_vain(trace, vain)


def _returned(trace: EndTrace, wait: Wait) -> Moment:
    """A wait that returned the socket, at the time when it did."""
    events = mask_text(int(wait.events), "EPOLL" if wait.epoll >= 0 else "POLL") if wait.events >= 0 else ""
    if wait.delivered != YES:
        events = "perhaps; its events are not all printed"
    event = f"{wait.name}{_on(wait)} returns {trace.fd}"
    return trace.moment(int(wait.end_ns), wait.thread, event, *lines_of(wait), remark=with_length(events, wait))


def _on(note: Note) -> str:
    """``on epoll set 5``; nothing for poll and select, whose sets have no name."""
    about = note.about()
    return f" on {about}" if about else ""


def _in_vain(trace: EndTrace, waits: Sequence[Wait]) -> list[Moment]:
    """Waits that did not return the socket, in one row; from when it was there."""
    if not waits:
        return []
    created = trace.match.socket.created
    since = int(created.end_ns) if created is not None and trace.match.socket.listener is not None else 0
    longest = max(int(wait.end_ns - wait.start_ns) for wait in waits)
    total = sum(int(wait.end_ns - wait.start_ns) for wait in waits)
    ends = (waits[0],) if len(waits) == 1 else (waits[0], waits[-1])
    moments = [trace.moment(max(int(wait.start_ns), since), wait.thread, "", *lines_of(wait)) for wait in ends]
    event = f"{waits[0].name}{_on(waits[0])}" + (f" x {len(waits)}" if len(waits) > 1 else "")
    moment = fold(moments, event, f"{at_most(longest, len(waits))}, without {trace.fd}")
    moment.count = len(waits)
    moment.until_ns = moment.ns + int(waits[-1].end_ns) - max(int(waits[0].start_ns), since)
    moment.key = total >= LONG_NS
    trace.by_threads(moment, [wait.thread for wait in waits], waits[0].name)
    return [moment]
