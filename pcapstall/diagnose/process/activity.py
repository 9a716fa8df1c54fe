"""What one thread did in a stretch of time: blocked in a call, busy, waiting on other sets, in no call, or stopped.

From counts and times of its calls only. Which thread is the one that matters is decided by the stages.
"""

from typing import Final, NamedTuple

from pcapstall.core.times import format_span
from pcapstall.diagnose.process.scene import Scene
from pcapstall.diagnose.rules.base import capitalised
from pcapstall.diagnose.verdict import Fact
from pcapstall.strace.call_names import IDLE, POLLS, READS
from pcapstall.strace.filtering import leaves_calls_out
from pcapstall.strace.model import Thread
from pcapstall.strace.window import Activity, Event, Note, Spent, Wake

BLOCKED: Final = "blocked_in_syscall"
BUSY: Final = "busy_elsewhere"
OFF: Final = "off_syscall"
STOPPED: Final = "stopped_by_signal"
WAITING: Final = "waiting_elsewhere"
UNKNOWN: Final = "unknown"

_MANY: Final = 20
"""Calls of a thread that is busy."""
_COMPUTED_NS: Final = 1_000_000
"""So much time a call outside of calls is none that the tracer took, or the way from one to the next."""


class Doing(NamedTuple):
    """What a thread did."""

    name: str
    phrase: str
    """For a sentence: ``it was in futex for 3.0 s``; empty when unknown."""
    facts: tuple[Fact, ...] = ()


def doing(scene: Scene, thread: Thread | None, length_ns: int, *, for_event: bool = False) -> Doing:
    """What ``thread`` did for most of ``length_ns`` in the scene's window, and who woke it from a futex.

    With ``for_event`` an event of this socket is what it waited for in vain; otherwise waits are for something else.
    """
    if thread is None:
        return Doing(UNKNOWN, "")
    activity = scene.activity(int(thread.number))
    stopped = _stopped(scene, thread, length_ns)
    if stopped is not None:
        return stopped
    if activity is None:
        return Doing(UNKNOWN, "")
    half = length_ns // 2
    note = activity.longest
    if note is not None and int(activity.longest_ns) >= half:
        return _in_call(scene, thread, note, int(activity.longest_ns), for_event)
    if int(activity.gap_ns) >= half:
        return _in_no_call(scene, thread, activity)
    waits = [spent for spent in activity.busiest() if spent.name in IDLE]
    if sum(int(spent.total_ns) for spent in waits) >= half:
        return _in_waits(scene, thread, waits, for_event)
    if activity.calls >= _MANY or int(activity.in_calls_ns) >= half:
        return _busy(scene, thread, activity)
    return Doing(UNKNOWN, "")


def _told(name: str, phrase: str, fact: Fact) -> Doing:
    return Doing(name, phrase, (fact._replace(in_short=phrase),))


def _name(thread: Thread) -> str:
    return f"thread {thread.tid}" if thread.tid > 0 else "the thread"


def _stopped(scene: Scene, thread: Thread, length_ns: int) -> Doing | None:
    """SIGSTOP and the like, until SIGCONT or the end."""
    process = thread.process
    began: Event | None = None
    stretches: list[tuple[Event, Event | None]] = []
    for event in sorted(scene.window.events, key=lambda event: int(event.ns)):
        other = event.thread.process
        if event.kind != "signal" or process is None or other is None or other.number != process.number:
            continue
        if event.text.startswith("stopped by") or event.text.split(" ")[0] in (
            "SIGSTOP",
            "SIGTSTP",
            "SIGTTIN",
            "SIGTTOU",
        ):
            if event.text.startswith("stopped by"):
                began = event
        elif event.text.startswith("SIGCONT") and began is not None:
            stretches.append((began, event))
            began = None
    if began is not None:
        stretches.append((began, None))
    for start, end in stretches:
        until = int(end.ns) if end is not None else scene.end_ns
        if until - int(start.ns) >= length_ns // 2:
            how_long = format_span(until - int(start.ns))
            signal = start.text.split(" ")[-1]
            fact = scene.fact(
                f"The process was stopped by {signal} for {how_long}.", int(start.line), int(end.line) if end else 0
            )
            fact = fact._replace(in_short=f"it was stopped by {signal} for {how_long}")
            return Doing(STOPPED, f"the process was stopped by {signal} for {how_long}", (fact,))
    return None


def _in_call(scene: Scene, thread: Thread, note: Note, inside_ns: int, for_event: bool) -> Doing:
    name = note.continues or note.name
    about = note.about() if not scene.is_ours(note.file) else "this socket"
    what = f"{name}" + (f" on {about} (descriptor {note.fd})" if about and note.fd >= 0 else "")
    until = "had not returned when the trace ended" if note.open else "returned"
    if note.bounded:
        # Without -T: it may have returned at once, and the thread run on without a call.
        text = f"{_name(thread)} was in {what}, or in no call after it, for {format_span(inside_ns)}"
        return Doing(UNKNOWN, text, (scene.fact(capitalised(text) + ".", int(note.line)),))
    text = f"{capitalised(_name(thread))} was in {what} for {format_span(inside_ns)} of it"
    if note.open:
        text += f"; the call {until}"
    facts = [scene.fact(text + ".", int(note.line), int(note.end_line))]
    phrase = f"{_name(thread)} was in {what} for {format_span(inside_ns)}"
    on = f" on {about}" if about else ""
    facts[0] = facts[0]._replace(in_short=f"{_name(thread)} was in {name}{on} for {format_span(inside_ns)}")
    if note.waker is not None:
        woken, fact = _waker(scene, note.waker)
        phrase += woken
        facts.append(fact)
    own = for_event and any(wait.line == note.line for wait in scene.window.waits.all())
    if name in POLLS and not own:
        return Doing(WAITING, phrase, tuple(facts))
    return Doing(BLOCKED, phrase, tuple(facts))


def _waker(scene: Scene, waker: Wake) -> tuple[str, Fact]:
    """Who woke a futex wait, and what that thread read last before, or was in for long."""
    text = f"{_name(waker.thread)} woke it"
    lines = [int(waker.line)]
    other = scene.activity(int(waker.thread.number))
    if other is not None:
        reads = [spent for spent in other.kinds.values() if spent.name in READS and 0 < spent.last_line < waker.line]
        last = max(reads, key=lambda spent: int(spent.last_line), default=None)
        held = other.longest
        if last is not None and last.about():
            text += f" after {last.name} on {last.about()}"
            lines.insert(0, int(last.last_line))
        elif held is not None and held.end_ns <= waker.start_ns and 2 * other.longest_ns > scene.length_ns:
            text += f" after {format_span(int(other.longest_ns))} in {held.continues or held.name}"
            lines[:0] = [int(held.line), int(held.end_line)]
    return f"; {text}", scene.fact(capitalised(text) + ".", *lines)


def _in_no_call(scene: Scene, thread: Thread, activity: Activity) -> Doing:
    how_long = format_span(int(activity.gap_ns))
    if leaves_calls_out(scene.index):
        text = (
            f"No traced call of {_name(thread)} for {how_long}; kinds of calls that block are missing from the trace."
        )
        return Doing(UNKNOWN, "", (scene.fact(text, int(activity.gap_line), int(activity.gap_end_line)),))
    fact = scene.fact(
        f"{capitalised(_name(thread))} was in no call for {how_long}: running, throttled, frozen or "
        "faulting; strace cannot tell which.",
        int(activity.gap_line),
        int(activity.gap_end_line),
    )
    return _told(OFF, f"{_name(thread)} was in no call for {how_long}", fact)


def _in_waits(scene: Scene, thread: Thread, waits: list[Spent], for_event: bool) -> Doing:
    """Waits one after the other: for events, and of a runtime that waits by turns also in futexes and short sleeps."""
    shown = [spent for spent in waits if int(spent.total_ns) * 100 > scene.length_ns] or waits[:1]
    count = sum(int(spent.count) for spent in shown)
    longest = max(shown, key=lambda spent: int(spent.longest_ns))
    about = shown[0].about() or "descriptors without this one"
    if any(spent.name not in POLLS for spent in shown):
        about = " and ".join(f"in {s.name}" + (f" on {s.about()}" if s.about() else "") for s in shown[:3])
        about += " by turns" if len(shown) > 1 else ""
    else:
        about = f"on {about}" + (" and others" if len({spent.about() for spent in shown}) > 1 else "")
    text = f"{_name(thread)} waited {count} times {about}, at most {format_span(int(longest.longest_ns))} each"
    lines = (int(waits[0].first_line), int(longest.longest_line), int(waits[0].last_line))
    own_ns = sum(int(wait.end_ns - wait.start_ns) for wait in scene.waits() if wait.thread.number == thread.number)
    name = BLOCKED if for_event and own_ns * 2 > sum(int(spent.total_ns) for spent in waits) else WAITING
    return Doing(name, text, (scene.fact(capitalised(text) + ".", *lines),))


def _busy(scene: Scene, thread: Thread, activity: Activity) -> Doing:
    busiest = activity.busiest()[:3]
    names = ", ".join(
        f"{spent.count} {spent.name}" + (f" on {spent.about()}" if spent.about() else "") for spent in busiest
    )
    text = f"{_name(thread)} made {activity.calls} calls meanwhile, most time in: {names}"
    phrase = f"{_name(thread)} made {activity.calls} other calls"
    outside = scene.length_ns - int(activity.in_calls_ns) if scene.index.coverage.has_durations else 0
    if outside * 2 > scene.length_ns and outside > int(activity.calls) * _COMPUTED_NS:
        # Running, most likely, with a call now and then: which calls those are is not what took the time.
        phrase += f", and was in none for {format_span(outside)} of it"
    lines = [line for spent in busiest for line in (int(spent.first_line), int(spent.last_line))]
    return _told(BUSY, phrase, scene.fact(capitalised(text) + ".", *lines))
