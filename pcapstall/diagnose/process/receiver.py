"""The end that owes an answer to a ClientHello: when was the connection accepted, the hello read, the answer written.

The longest of the three is the stage that was late. A late accept is the process's only if nobody waited for it.
"""

from typing import Final

from pcapstall.core.times import format_span
from pcapstall.diagnose.engine import Tried
from pcapstall.diagnose.process.elsewhere import not_listening
from pcapstall.diagnose.process.finding import LATE_ACCEPT, LATE_READ, SLOW_HANDLING, Finding, WrittenEarly
from pcapstall.diagnose.process.scene import Scene, union_ns
from pcapstall.diagnose.process.sender import not_traced
from pcapstall.diagnose.process.stages import ACCEPTED, READ, WRITTEN, add_up, tried_in_time, written_early
from pcapstall.diagnose.process.trust import Limits
from pcapstall.diagnose.verdict import MEDIUM, Fact
from pcapstall.strace.call_names import ACCEPTS, POLLS, READS, WRITES
from pcapstall.strace.model import Thread
from pcapstall.strace.waits import EPOLLET, EPOLLEXCLUSIVE, EPOLLONESHOT
from pcapstall.strace.window import NO, Note

_TOLD_ONCE: Final = EPOLLET | EPOLLEXCLUSIVE | EPOLLONESHOT
"""Of a connection that waits to be accepted one thread is told, and once."""


class _Read:
    """When the hello was read."""

    def __init__(self, start_ns: int, end_ns: int, line: int, thread: Thread, peeked: bool = False) -> None:
        self.start_ns = start_ns
        self.end_ns = end_ns if end_ns >= 0 else start_ns
        self.line = line
        self.thread = thread
        self.peeked = peeked
        """With MSG_PEEK, as a proxy does that wants the server's name first."""


class _Steps:
    """How long each step took, from when the interval began."""

    def __init__(self, scene: Scene, read: _Read | None, write: Note | None) -> None:
        self.read = read
        self.write = write
        self.accepted = scene.socket.created if scene.socket.listener is not None else None
        self.accepted_ns = -1
        """When the connection was accepted; -1 when that is not in the trace."""
        if self.accepted is not None:
            self.accepted_ns = int(self.accepted.end_ns if self.accepted.end_ns >= 0 else self.accepted.start_ns)
        until_ns = int(write.start_ns) if write is not None else scene.end_ns
        ready_ns = max(scene.begin_ns, self.accepted_ns)
        read_ns = max(read.start_ns, ready_ns) if read is not None else until_ns
        self.whole = until_ns - scene.begin_ns
        self.to_accept = ready_ns - scene.begin_ns
        self.to_read = max(read_ns - ready_ns, 0)
        self.inside = max(read.end_ns - read_ns, 0) if read is not None else 0
        """In the read itself."""
        self.to_write = max(until_ns - max(read.end_ns, ready_ns), 0) if read is not None else 0
        self.longest = max(self.to_accept, self.to_read, self.inside, self.to_write)

    @property
    def lengths(self) -> list[tuple[str, int]]:
        """By stage."""
        found = [(ACCEPTED, self.to_accept)] if self.accepted is not None else []
        if self.read is None:
            return [*found, (WRITTEN, self.to_read)]
        return [*found, (READ, self.to_read + self.inside), (WRITTEN, self.to_write)]

    @property
    def hello_came_late(self) -> bool:
        """Whether the process was in its read for longer than anything else took."""
        return self.longest == self.inside and self.inside > max(self.to_accept, self.to_read, self.to_write)

    def tried(self, reason: str) -> list[Tried]:
        """Why each of the steps is the late one, which is called ``reason``, or is not."""
        accept, read, write = format_span(self.to_accept), format_span(self.to_read), format_span(self.to_write)
        return [
            Tried(LATE_ACCEPT, reason == LATE_ACCEPT, f"accepted {accept} after it was ready"),
            Tried(LATE_READ, reason == LATE_READ, f"the hello was there for {read} before it was read"),
            Tried(SLOW_HANDLING, reason == SLOW_HANDLING, f"{write} from the read to the write"),
        ]


def judge_receiver(scene: Scene) -> Finding | WrittenEarly | str:
    """What the answering end did in the interval; a string when that explains nothing."""
    read = _read(scene)
    write = _answer(scene, read)
    if write is None and not scene.case.is_open:
        return not_traced(scene, "the answer left, and no call that wrote it is in the trace")
    early = written_early(scene, "its answer", int(write.start_ns), int(write.line)) if write is not None else None
    if early is not None:
        return early
    steps = _Steps(scene, read, write)
    stages = add_up(scene, steps.lengths, write is not None)
    if steps.hello_came_late:
        return "the process was in its read all the while: the hello came late to it"
    facts = _facts(scene, read)
    if write is not None:
        facts.append(scene.fact(f"The answer was written after {scene.after(write.start_ns)}.", int(write.line)))
    done_ns = int(write.start_ns) if write is not None else None
    limits: Limits = []
    if steps.longest * 2 < steps.whole:
        limits.append((MEDIUM, "nothing: several stages were late, this one the most"))

    def found(reason: str, sentence: str, late_ns: int, thread: Thread | None) -> Finding:
        tried = [tried_in_time(done_ns, scene, False), *steps.tried(reason)]
        return Finding(reason, sentence, late_ns, facts, thread, done_ns, limits, stages, tried)

    accepted = steps.accepted
    if steps.longest == steps.to_accept and accepted is not None:
        if _somebody_waited(scene, steps.accepted_ns):
            return "a thread waited for connections meanwhile"
        sentence = f"the connection was accepted {format_span(steps.to_accept)} after it was ready"
        out = not_listening(scene, steps.accepted_ns)
        if out is not None:
            sentence += ", the listener being in no epoll set meanwhile"
            facts.append(out)
        return found(LATE_ACCEPT, sentence, steps.to_accept, accepted.thread)
    if steps.longest == steps.to_write and read is not None:
        thread = write.thread if write is not None else read.thread
        looked = "looked at the ClientHello (MSG_PEEK)" if read.peeked else "read the ClientHello"
        sentence = f"the process {looked} and took {format_span(steps.to_write)} to answer"
        sentence += _passed_on(scene, facts)
        return found(SLOW_HANDLING, sentence, steps.to_write, thread)
    reader = read.thread if read is not None else (accepted.thread if accepted is not None else None)
    sentence = f"the ClientHello was there, and the process did not read it for {format_span(steps.to_read)}"
    return found(LATE_READ, sentence, steps.to_read, reader)


def _answer(scene: Scene, read: _Read | None) -> Note | None:
    """The write that answered the hello; None when there is none."""
    from_ns = read.end_ns if read is not None else scene.begin_ns
    writes = [note for note in scene.io(WRITES) if note.ret > 0 and note.start_ns >= from_ns]
    if not writes:
        return None
    # After a HelloRetryRequest, which was written just before, the last one is the answer.
    return writes[0] if scene.case.stalled == "ch_sh" else writes[-1]


def _read(scene: Scene) -> _Read | None:
    """Where it had the hello first, be it to look at it only."""
    read = _whole_read(scene)
    peek = scene.socket.inbound.peek
    if scene.case.stalled != "ch_sh" or peek is None or peek.end_ns < scene.begin_ns:
        return read  # what was looked at before was not the whole hello
    if read is not None and read.start_ns <= peek.end_ns:
        return read
    return _Read(int(peek.start_ns), int(peek.end_ns), int(peek.line), peek.thread, True)


def _whole_read(scene: Scene) -> _Read | None:
    hello = scene.match.hello
    if scene.case.stalled == "ch_sh" and hello is not None and hello.call.start_ns >= 0:
        return _Read(int(hello.call.start_ns), int(hello.last.end_ns), int(hello.call.line), hello.call.thread)
    for note in scene.io(READS):
        if note.ret > 0:
            return _Read(int(note.start_ns), int(note.end_ns), int(note.line), note.thread)
    first = scene.socket.inbound.first
    if scene.case.stalled == "ch_sh" and first is not None and first.start_ns >= 0:
        return _Read(int(first.start_ns), int(first.end_ns), int(first.line), first.thread)
    return None


def _passed_on(scene: Scene, facts: list[Fact]) -> str:
    """Of a proxy that passes the hello on: when, and how long the answer of the one behind it took."""
    relayed = scene.match.relayed
    if relayed is None or relayed.written.call.start_ns < 0:
        return ""
    written = relayed.written.call
    where = relayed.socket.describe().removeprefix("socket to ")
    facts.append(
        scene.fact(f"It passed the ClientHello on to {where} after {scene.after(written.start_ns)}.", int(written.line))
    )
    waited = int(written.start_ns) - scene.begin_ns
    answer = relayed.socket.inbound.first
    took = (int(answer.end_ns) if answer is not None and answer.end_ns >= 0 else scene.end_ns) - int(written.start_ns)
    if answer is not None:
        facts.append(scene.fact(f"The answer from there came {format_span(took)} later.", int(answer.end_line)))
    if waited > took:
        return f": it passed it on to {where} after {format_span(waited)} only"
    if answer is None:
        return f": it passed it on to {where}, and had no answer from there"
    return f": it passed it on to {where}, where the answer took {format_span(took)}"


def _facts(scene: Scene, read: _Read | None) -> list[Fact]:
    facts: list[Fact] = []
    accepted = scene.socket.created if scene.socket.listener is not None else None
    if accepted is not None and accepted.end_ns >= 0:
        when = scene.after(accepted.end_ns) + " after" if accepted.end_ns > scene.begin_ns else "before"
        facts.append(
            scene.fact(
                f"The connection was accepted as descriptor {scene.socket.fd} {when} the interval began.",
                int(accepted.line),
                int(accepted.end_line),
            )
        )
    if read is not None:
        looked = "looked at (MSG_PEEK)" if read.peeked else "read"
        facts.append(scene.fact(f"The ClientHello was {looked} after {scene.after(read.end_ns)}.", read.line))
    return facts


def listened(scene: Scene, at_ns: int, what: str) -> Fact | None:
    """Whether a thread was in accept, or waited on the listener, as ``what`` came: its queue was empty then."""
    listener = scene.socket.listener
    if listener is None:
        return None
    for note in [*scene.io(ACCEPTS, listener), *scene.waits(listener)]:
        if note.start_ns <= at_ns <= note.end_ns:
            text = f"A thread was in {note.name} for the listener when {what} came: no connection was waiting there."
            return scene.fact(text, int(note.line), int(note.end_line))
    # Registered before the trace began: the set that the accepting thread waited on, and on no other.
    accepted = scene.socket.created
    activity = scene.activity(int(accepted.thread.number)) if accepted is not None else None
    wait = activity.at_start if activity is not None else None
    if activity is None or accepted is None or wait is None or wait.name not in POLLS or wait.file is None:
        return None
    sets = {int(spent.file.serial) for spent in activity.kinds.values() if spent.name in POLLS and spent.file}
    if sets != {int(wait.file.serial)} or not wait.start_ns <= at_ns <= wait.end_ns:
        return None
    text = f"The thread that accepted it later was in {wait.name} on {wait.about()} when {what} came."
    return scene.fact(text, int(wait.line), int(wait.end_line), int(accepted.line))


def _somebody_waited(scene: Scene, accepted_ns: int) -> bool:
    """Whether a thread was in accept, or waited on the listener, for half of the time in which the connection was
    ready: then it was not the process that was late."""
    listener = scene.socket.listener
    if listener is None:
        return False
    waits = scene.waits(listener)
    told_ns = accepted_ns
    if any(wait.asked >= 0 and wait.asked & _TOLD_ONCE for wait in waits):
        # When it was delivered, further waits on that set are for something else, and those on others are not woken.
        told = (int(wait.end_ns) for wait in waits if wait.delivered != NO and scene.begin_ns <= wait.end_ns)
        told_ns = min(min(told, default=scene.begin_ns), accepted_ns)
    spans = [(int(note.start_ns), int(note.end_ns)) for note in scene.io(ACCEPTS, listener)]
    spans += [(int(wait.start_ns), min(int(wait.end_ns), told_ns)) for wait in waits]
    return union_ns(spans, scene.begin_ns, accepted_ns) * 2 > accepted_ns - scene.begin_ns
