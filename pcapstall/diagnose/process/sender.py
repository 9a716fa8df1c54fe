"""The end that owes bytes of a ClientHello: was its socket waited on, was the event acted on, when were they written.

Divides the time up to the write into what nobody waited on, what was waited without an event, and what came after the
event; the longest is the stage that was late.
"""

from pcapstall.core.times import format_span
from pcapstall.diagnose.engine import Tried
from pcapstall.diagnose.process.awaiting import awaited
from pcapstall.diagnose.process.finding import (
    EPOLL_NOT_WAITED,
    EVENT_NOT_ACTED_ON,
    NO_EVENT_DELIVERED,
    NOT_TRACED,
    NOT_WRITTEN,
    Finding,
    WrittenEarly,
)
from pcapstall.diagnose.process.scene import Scene
from pcapstall.diagnose.process.stages import (
    WRITTEN,
    EventTimes,
    add_up,
    by_events,
    event_times,
    tried_events,
    tried_in_time,
    written_early,
)
from pcapstall.diagnose.process.trust import POLL_CALLS, Limits, set_limits, uses_uring
from pcapstall.diagnose.rules import base
from pcapstall.diagnose.verdict import MEDIUM, Fact
from pcapstall.strace.call_names import WRITES
from pcapstall.strace.model import Thread
from pcapstall.strace.syscalls import EPOLL, POLLING
from pcapstall.strace.waits import CTL_ADD, EPOLLET, EPOLLIN, EPOLLONESHOT, EPOLLOUT, mask_text
from pcapstall.strace.window import UNKNOWN as UNCLEAR
from pcapstall.strace.window import YES, Note, Wait


class Write:
    """The call that wrote what was owed."""

    def __init__(self, start_ns: int, line: int, thread: Thread) -> None:
        self.start_ns = start_ns
        self.line = line
        self.thread = thread


def judge_sender(scene: Scene) -> Finding | WrittenEarly | str:
    """What the sending end did in the interval; a string when that explains nothing."""
    write = _write(scene)
    if write is None and scene.case.stalled != "ack_ch" and scene.io(WRITES):
        return "what was written in it is not what was owed"
    if write is None and not scene.case.is_open:
        return not_traced(scene, "the bytes left, and no call that wrote them is in the trace")
    early: Finding | WrittenEarly | None = None
    if write is not None:
        early = written_early(scene, "the bytes", write.start_ns, write.line)
    if early is None and scene.case.stalled == "ack_ch":
        early = awaited(scene, write.start_ns if write is not None else scene.end_ns)
    return early or _stages(scene, write)


def not_traced(scene: Scene, why: str) -> Finding:
    """The trace does not hold what would tell."""
    facts = []
    for process in scene.index.processes:
        if process.uring_line and process.number in scene.window.processes:
            facts.append(scene.fact("The process uses io_uring, whose work strace does not show.", process.uring_line))
            why += "; it uses io_uring"
    threads = sorted(scene.window.threads.values(), key=lambda activity: -int(activity.longest_ns))
    thread = threads[0].thread if len(threads) == 1 else None
    limits = [(MEDIUM, "a trace of all calls of all threads from before the connection (strace -f, no filter)")]
    tried = [Tried(NOT_TRACED, True, why)]
    return Finding(NOT_TRACED, why, scene.length_ns, facts, thread, None, limits, {}, tried)


def _write(scene: Scene) -> Write | None:
    """The write that ended the interval, or the first one of the connection where a ClientHello is owed."""
    hello = scene.match.hello
    first = scene.case.stalled == "ack_ch"
    if first and hello is not None and hello.call.start_ns >= 0:
        return Write(int(hello.call.start_ns), int(hello.call.line), hello.call.thread)
    moved = [note for note in scene.io(WRITES) if note.ret > 0]
    if first:
        moved = [note for note in moved if note.start_ns >= scene.begin_ns - scene.pad_ns]
    elif scene.case.is_open:
        return None
    if not moved:
        return None
    # Of a hello in pieces, of a second one, of a Finished the last bytes were owed.
    note = moved[0] if first else moved[-1]
    return Write(int(note.start_ns), int(note.line), note.thread)


def _stages(scene: Scene, write: Write | None) -> Finding:
    until = write.start_ns if write is not None else scene.end_ns
    begin = scene.begin_ns
    waits = [wait for wait in scene.waits() if wait.start_ns < until]
    adds = [control for control in scene.window.controls if control.operation == CTL_ADD]
    registered_ns = begin if scene.window.registrations else min((int(c.note.start_ns) for c in adds), default=-1)
    finding: Finding
    if registered_ns < 0 and not waits:
        finding = _not_written(scene, write, until)
        finding.stages = add_up(scene, [(WRITTEN, until - begin)], write is not None)
        finding.tried = tried_events(None, finding.reason, finding.late_ns)
    else:
        times = event_times(scene, until, waits, registered_ns)
        finding = _by_events(scene, write, until, times, waits)
        finding.stages = by_events(scene, times, write is not None)
        finding.tried = tried_events(times, finding.reason, finding.late_ns)
    finding.tried.insert(0, tried_in_time(write.start_ns if write is not None else None, scene, False))
    if write is not None:
        finding.facts.append(
            scene.fact(f"The bytes were written {scene.after(write.start_ns)} into the interval.", write.line)
        )
        finding.done_ns = write.start_ns
    return finding


def _by_events(scene: Scene, write: Write | None, until: int, times: EventTimes, waits: list[Wait]) -> Finding:
    longest, event = times.longest_ns, times.event
    if longest == times.unwaited_ns and longest:
        found = _not_waited(scene, write, waits, longest)
    elif longest == times.after_ns and event is not None:
        found = _not_acted_on(scene, event, times.used, longest, until)
    elif longest == times.waited_ns and waits:
        found = _no_event(scene, waits, event, longest)
    else:
        return _not_written(scene, write, until)
    if longest * 2 < until - scene.begin_ns:
        found.limits.append((MEDIUM, "nothing: several stages were late, this one the most"))
    return found


def _registration(scene: Scene) -> tuple[str, list[Fact]]:
    """Where the socket was added to which set, and the set's name."""
    for item in scene.window.registrations:
        text = f"Descriptor {item.fd} was in epoll set {item.epoll_fd} ({mask_text(item.mask)}) when it began"
        return f"epoll set {item.epoll_fd}", [scene.fact(text + ".", int(item.line), int(item.changed_line))]
    for control in scene.window.controls:
        if control.operation == CTL_ADD:
            name = f"epoll set {control.note.fd}"
            text = (
                f"Descriptor {scene.socket.fd} was added to {name} ({mask_text(control.mask)}) "
                f"{scene.after(control.note.start_ns)} into the interval."
            )
            return name, [scene.fact(text, int(control.note.line))]
    return "its epoll set", []


def _not_waited(scene: Scene, write: Write | None, waits: list[Wait], unwaited: int) -> Finding:
    name, facts = _registration(scene)
    how_long = format_span(unwaited)
    first = next((wait for wait in waits if wait.end_ns > scene.begin_ns + unwaited // 2), None)
    sentence = (
        f"descriptor {scene.socket.fd} was registered with {name}, and no thread waited on that set for {how_long}"
    )
    if first is not None:
        text = f"The first wait on {name} after that began {scene.after(first.start_ns)} into the interval"
        text += ", and returned this descriptor." if first.delivered == YES else "."
        facts.append(scene.fact(text, int(first.line), int(first.end_line)))
    elif write is None:
        facts.append(scene.fact(f"No wait on {name} is in the rest of the trace's interval."))
    if scene.window.other_waits:
        facts.append(_other_waits(scene))
        sentence += ", while others were waited on"
    thread = first.thread if first is not None else (write.thread if write is not None else None)
    return Finding(EPOLL_NOT_WAITED, sentence, unwaited, facts, thread, None, set_limits(scene))


def _other_waits(scene: Scene) -> Fact:
    """How often and how long other sets were waited on; who waited on which is told thread by thread."""
    waited = scene.window.other_waits.values()
    long = [spent for spent in waited if int(spent.total_ns) * 100 > scene.length_ns]
    others = sorted(long or waited, key=lambda spent: -int(spent.longest_ns))
    what = others[0].about() or "a set of other descriptors"
    if len(others) > 1:
        what = f"{len(others)} other sets"
    return scene.fact(
        f"Meanwhile {what} {'were' if len(others) > 1 else 'was'} waited on "
        f"{base.times(sum(int(spent.count) for spent in others))}, "
        f"the longest for {format_span(int(others[0].longest_ns))}.",
        min(int(spent.first_line) for spent in others),
        int(others[0].longest_line),
        max(int(spent.last_line) for spent in others),
    )


def _not_acted_on(scene: Scene, event: Wait, used: Note | None, after: int, until: int) -> Finding:
    _, facts = _registration(scene)
    text = (
        f"{event.name} returned descriptor {scene.socket.fd}"
        + (f" ({mask_text(int(event.events), 'POLL' if event.epoll < 0 else 'EPOLL')})" if event.events >= 0 else "")
        + f" {scene.after(event.end_ns)} into the interval."
    )
    facts.append(scene.fact(text, int(event.line), int(event.end_line)))
    done, thread = "nothing was done with it for ", event.thread
    if used is not None:
        # Threads hand work on: whose call on it was the last one before the silence had it then.
        calls = [note for note in scene.own() if event.end_ns <= note.start_ns < until] or [used]
        ends = [*(int(note.start_ns) for note in calls[1:]), until]
        last = max(zip(calls, ends, strict=True), key=lambda pair: pair[1] - int(pair[0].start_ns))[0]
        done, thread = "nothing was written to it for ", last.thread
        text = f"The process took it up: {used.name} {scene.after(used.start_ns)} into the interval."
        facts.append(scene.fact(text, int(used.line), int(last.line)))
    sentence = f"{event.name} returned descriptor {scene.socket.fd} in time, and {done}"
    limits = [] if event.delivered == YES else [(MEDIUM, "strace -v, which prints all events")]
    return Finding(EVENT_NOT_ACTED_ON, sentence + format_span(after), after, facts, thread, None, limits)


def _no_event(scene: Scene, waits: list[Wait], event: Wait | None, waited: int) -> Finding:
    name, facts = _registration(scene)
    asked = [int(wait.asked) for wait in waits if wait.asked >= 0]
    lasting = max(waits, key=lambda wait: int(wait.end_ns - wait.start_ns))
    why = ""
    mask = int(lasting.asked)
    if mask >= 0 and not mask & EPOLLOUT:
        why = "it was registered without EPOLLOUT" if lasting.epoll >= 0 else "POLLOUT was not asked for"
    elif event is not None and mask & EPOLLONESHOT:
        why = "EPOLLONESHOT had delivered one event, and it was not armed again"
    elif event is not None and mask & EPOLLET:
        why = "its edge had been delivered before, and EPOLLET tells of no other"
    elif mask >= 0 and not mask & (EPOLLIN | EPOLLOUT):
        why = "neither EPOLLIN nor EPOLLOUT was asked for"
    text = f"The waits on {name if lasting.epoll >= 0 else 'descriptors with it'} lasted {format_span(waited)} "
    text += f"and did not return it ({mask_text(mask, 'EPOLL' if lasting.epoll >= 0 else 'POLL')} was asked for)."
    in_short = f"no event of its socket came: {why}" if why else ""
    facts.append(scene.fact(text, int(lasting.line), int(lasting.end_line))._replace(in_short=in_short))
    if event is not None:
        facts.append(scene.fact("An event of it was delivered before.", int(event.line), int(event.end_line)))
    for control in scene.window.controls[:4]:
        if control.operation != CTL_ADD:
            changed = f"epoll_ctl changed it to {mask_text(control.mask)} {scene.after(control.note.start_ns)} in."
            facts.append(scene.fact(changed, int(control.note.line)))
    sentence = f"descriptor {scene.socket.fd} was waited on, and no event of it came for {format_span(waited)}"
    sentence += f": {why}" if why else ""
    sure = bool(asked) and all(wait.delivered != UNCLEAR for wait in waits)
    limits = [] if sure else [(MEDIUM, "strace -v, which prints all events")]
    return Finding(NO_EVENT_DELIVERED, sentence, waited, facts, lasting.thread, None, limits)


def _not_written(scene: Scene, write: Write | None, until: int) -> Finding:
    late = until - scene.begin_ns
    facts: list[Fact] = []
    last: Note | None = None
    for note in scene.own():
        if note.start_ns < until:
            last = note
    if scene.socket.connects:
        call = scene.socket.connects[0].call
        outcome = f", which returned {call.errno.decode()}" if call.errno else ""
        facts.append(
            scene.fact(f"Descriptor {scene.socket.fd} was connected{outcome}.", int(call.line), int(call.end_line))
        )
    thread = write.thread if write is not None else None
    if thread is None and last is not None:
        thread = last.thread
    if thread is None and scene.socket.connects:
        thread = scene.socket.connects[0].call.thread
    sentence = f"nothing was written to descriptor {scene.socket.fd} for {format_span(late)}"
    limits: Limits = []
    at_once = bool(scene.socket.connects) and scene.socket.connects[0].call.returned
    at_once = at_once and not scene.socket.connects[0].call.errno
    if not {EPOLL, POLLING} & scene.index.coverage.families_seen and scene.socket.nonblocking != 0 and not at_once:
        limits.append((MEDIUM, POLL_CALLS))
    elif _was_told_unseen(scene) and not uses_uring(scene):
        limits.append((MEDIUM, "the wait in which it was told that the connection was there, which the strace lacks"))
    elif scene.socket.created is None:
        limits.append((MEDIUM, "a strace that begins before the connection"))
    else:
        sentence += ", and nobody waited to"
    return Finding(NOT_WRITTEN, sentence, late, facts, thread, None, limits)


def _was_told_unseen(scene: Scene) -> bool:
    """Whether the connect was left to be asked about, by a wait that is not in the trace: lines are missing."""
    connects = scene.socket.connects
    return bool(connects) and connects[0].call.errno == b"EINPROGRESS"
