"""What a stalled interval is made of on the process' side, stage by stage, and why each was the late one or not.

Lengths only, from calls that others found. They add up to the interval: what is left over is the way from the write to
the packet, or time in the stage that was not over yet.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from pcapstall.core.times import format_span
from pcapstall.diagnose.engine import Tried
from pcapstall.diagnose.process.finding import (
    EPOLL_NOT_WAITED,
    EVENT_NOT_ACTED_ON,
    NO_EVENT_DELIVERED,
    NOT_WRITTEN,
    WrittenEarly,
)
from pcapstall.diagnose.process.scene import Scene, union_ns
from pcapstall.strace.call_names import POLLS, READS, WRITES
from pcapstall.strace.waits import CTL_ADD
from pcapstall.strace.window import KEPT, UNKNOWN, YES, Note, Wait

REGISTERED: Final = "registered"
WAITED_ON: Final = "waited_on"
DELIVERED: Final = "delivered"
ACTED_ON: Final = "acted_on"
ACCEPTED: Final = "accepted"
READ: Final = "read"
WRITTEN: Final = "written"
LEFT: Final = "left"


def add_up(scene: Scene, lengths: Sequence[tuple[str, int]], written: bool) -> dict[str, int]:
    """``lengths`` in their order, cut to the interval; the rest is `LEFT`.

    Without a write, and where the clocks do not tell so short a time, the rest is the last stage's.
    """
    left = scene.length_ns
    stages: dict[str, int] = {}
    for name, length in lengths:
        stages[name] = min(max(length, 0), left)
        left -= stages[name]
    error_ns = scene.offset.error_ns if scene.offset is not None else None
    if written and error_ns is not None and left > error_ns:
        stages[LEFT] = left
    elif left and stages:
        stages[next((name for name in reversed(stages) if stages[name]), next(reversed(stages)))] += left
    return stages


class EventTimes(NamedTuple):
    """How the time up to a write divides, where readiness was to be waited for."""

    event: Wait | None
    """The wait that returned the socket."""
    before_ns: int
    """Before it was registered."""
    unwaited_ns: int
    """Registered, and nobody waited on its set."""
    waited_ns: int
    """In waits on its set that did not return it."""
    in_vain_after_ns: int
    """The part of those that came after the event."""
    after_ns: int
    """From the event to the write, without those."""
    used: Note | None = None
    """A call on the socket after the event, such as getsockopt or the last read, from which on the process knew all
    that it had to: further waits on its set are for something else."""

    @property
    def longest_ns(self) -> int:
        """The length of the stage that was late."""
        return max(self.after_ns, self.waited_ns, self.unwaited_ns, self.before_ns)


def event_times(scene: Scene, until: int, waits: list[Wait], registered_ns: int) -> EventTimes:
    """The time from the interval's begin to ``until``; ``registered_ns`` is -1 when nothing tells."""
    begin = scene.begin_ns
    event = next((w for w in waits if w.delivered == YES and begin - scene.pad_ns <= w.end_ns <= until), None)
    if event is None:
        event = next(
            (w for w in waits if w.delivered == UNKNOWN and w.ret > 0 and begin - scene.pad_ns <= w.end_ns <= until),
            None,
        )
    in_vain = [(int(w.start_ns), int(w.end_ns)) for w in waits if w is not event and w.delivered != YES]
    in_vain += _between(waits, scene)
    seen_ns = int(event.end_ns) if event is not None else until
    # A wait that ended with the event waited for it.
    spans = [*in_vain, *([(int(event.start_ns), seen_ns)] if event is not None else [])]
    used = _used(scene, event, until)
    vain_until = int(used.start_ns) if used is not None else until
    vain_after = union_ns(in_vain, max(seen_ns, begin), max(vain_until, seen_ns, begin))
    known_from = max(begin, registered_ns) if registered_ns >= 0 else seen_ns
    return EventTimes(
        event,
        max(min(known_from, seen_ns) - begin, 0) - union_ns(spans, begin, min(known_from, seen_ns)),
        max(seen_ns - known_from, 0) - union_ns(spans, known_from, seen_ns),
        union_ns(spans, begin, seen_ns) + vain_after,
        vain_after,
        max(until - max(seen_ns, begin), 0) - vain_after,
        used,
    )


def _used(scene: Scene, event: Wait | None, until: int) -> Note | None:
    """After the event of a connection its first use; where bytes had come, the last read of them."""
    if event is None:
        return None
    after = [note for note in scene.own() if event.end_ns <= note.start_ns < until]
    if scene.case.stalled != "ack_ch":
        return next((note for note in reversed(after) if note.name in READS and note.ret > 0), None)
    changes = [control.note for control in scene.window.controls if control.operation != CTL_ADD]
    after += [note for note in changes if event.end_ns <= note.start_ns < until]
    uses = (note for note in after if note.name not in POLLS | READS | WRITES)
    return min(uses, key=lambda note: int(note.start_ns), default=None)


def _between(waits: list[Wait], scene: Scene) -> list[tuple[int, int]]:
    """The stretch from which no waits were kept, when there were more than can be: it was waited through."""
    if scene.window.waits.count <= 2 * KEPT or len(waits) <= KEPT:
        return []
    return [(int(waits[KEPT - 1].end_ns), int(waits[KEPT].start_ns))]


def by_events(scene: Scene, times: EventTimes, written: bool) -> dict[str, int]:
    """The stages of an end that waits for readiness before it writes."""
    event = times.event
    lengths = [
        (REGISTERED, times.before_ns),
        (WAITED_ON, times.unwaited_ns),
        (DELIVERED, times.waited_ns),
    ]
    if event is not None:
        seen_ns = max(int(event.end_ns), scene.begin_ns)
        # Of the calls on it after the event the first; without one the write is.
        after = (int(note.start_ns) - seen_ns for note in scene.own() if note.start_ns >= seen_ns)
        acted = min(next(after, times.after_ns), times.after_ns) if not times.in_vain_after_ns else times.after_ns
        lengths += [(ACTED_ON, acted), (WRITTEN, times.after_ns - acted)]
    else:
        lengths.append((WRITTEN, times.after_ns))
    return add_up(scene, lengths, written)


IN_TIME: Final = "written_in_time"
"""Tried before the stages: then none of them was late."""


def tried_in_time(written_ns: int | None, scene: Scene, held: bool) -> Tried:
    """Whether the process did its part in the interval's first half."""
    if written_ns is None:
        return Tried(IN_TIME, held, "no call that wrote what was owed is in it")
    return Tried(IN_TIME, held, f"what was owed was written {scene.after(written_ns)} into the interval")


def written_early(scene: Scene, what: str, start_ns: int, line: int) -> WrittenEarly | None:
    """The process wrote what it owed at ``start_ns``: None when that is not in the interval's first half."""
    if scene.end_ns - start_ns <= max(scene.length_ns // 2, scene.pad_ns):
        return None
    return WrittenEarly(
        f"the process had written {what} after {scene.after(start_ns)}",
        start_ns,
        [scene.fact(f"The process wrote {what} {scene.after(start_ns)} into the interval.", line)],
        add_up(scene, [(WRITTEN, start_ns - scene.begin_ns)], True),
        [tried_in_time(start_ns, scene, True)],
    )


def tried_events(times: EventTimes | None, held: str, late_ns: int) -> list[Tried]:
    """The stages of an end that owes a hello, in their order; ``times`` is None where nothing was waited for."""
    if times is None:
        none = "the descriptor is in no set that was waited on"
        why = {EPOLL_NOT_WAITED: none, EVENT_NOT_ACTED_ON: none, NO_EVENT_DELIVERED: none}
        why[NOT_WRITTEN] = f"nothing was written for {format_span(late_ns)}"
    else:
        acted = f"{format_span(times.after_ns)} from the event to the write"
        why = {
            EPOLL_NOT_WAITED: f"no thread waited on its set for {format_span(times.unwaited_ns)}",
            EVENT_NOT_ACTED_ON: acted if times.event is not None else "no wait returned the descriptor",
            NO_EVENT_DELIVERED: f"waits on its set took {format_span(times.waited_ns)}"
            + (" without an event" if times.event is None else ""),
            NOT_WRITTEN: f"it was in no set for {format_span(times.before_ns)}"
            if times.before_ns
            else "it was in a set all the time",
        }
    return [Tried(name, name == held, text) for name, text in why.items()]
