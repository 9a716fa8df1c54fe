"""The end that owes an answer to a ClientHello: when was the connection accepted, the hello read, the answer written.

The longest of the three is the stage that was late. A late accept is the process's only if nobody waited for it.
"""

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
from pcapstall.strace.waits import EPOLLET
from pcapstall.strace.window import NO


class _Read:
    """When the hello was read."""

    def __init__(self, start_ns: int, end_ns: int, line: int, thread: Thread) -> None:
        self.start_ns = start_ns
        self.end_ns = end_ns if end_ns >= 0 else start_ns
        self.line = line
        self.thread = thread


def judge_receiver(scene: Scene) -> Finding | WrittenEarly | str:
    """What the answering end did in the interval; a string when that explains nothing."""
    begin = scene.begin_ns
    read = _read(scene)
    from_ns = read.end_ns if read is not None else begin
    writes = [note for note in scene.io(WRITES) if note.ret > 0 and note.start_ns >= from_ns]
    write = None
    if writes:
        # After a HelloRetryRequest, which was written just before, the last one is the answer.
        write = writes[0] if scene.case.stalled == "ch_sh" else writes[-1]
    if write is None and not scene.case.is_open:
        return not_traced(scene, "the answer left, and no call that wrote it is in the trace")
    early = written_early(scene, "its answer", int(write.start_ns), int(write.line)) if write is not None else None
    if early is not None:
        return early
    until = int(write.start_ns) if write is not None else scene.end_ns
    accepted = scene.socket.created if scene.socket.listener is not None else None
    accepted_ns = int(accepted.end_ns) if accepted is not None else -1
    if accepted is not None and accepted_ns < 0:
        accepted_ns = int(accepted.start_ns)
    ready = max(begin, accepted_ns)
    read_ns = max(read.start_ns, ready) if read is not None else until
    to_accept = ready - begin
    to_read = max(read_ns - ready, 0)
    inside = max(read.end_ns - read_ns, 0) if read is not None else 0
    to_write = max(until - max(read.end_ns, ready), 0) if read is not None else 0
    longest = max(to_accept, to_read, inside, to_write)
    lengths = [(ACCEPTED, to_accept)] if accepted is not None else []
    lengths += [(READ, to_read + inside), (WRITTEN, to_write)] if read is not None else [(WRITTEN, to_read)]
    stages = add_up(scene, lengths, write is not None)
    if longest == inside and inside > max(to_accept, to_read, to_write):
        return "the process was in its read all the while: the hello came late to it"
    facts = _facts(scene, read)
    if write is not None:
        facts.append(scene.fact(f"The answer was written after {scene.after(write.start_ns)}.", int(write.line)))
    done_ns = int(write.start_ns) if write is not None else None
    limits: Limits = []

    def found(reason: str, sentence: str, late_ns: int, thread: Thread | None) -> Finding:
        tried = [
            tried_in_time(done_ns, scene, False),
            Tried(LATE_ACCEPT, reason == LATE_ACCEPT, f"accepted {format_span(to_accept)} after it was ready"),
            Tried(LATE_READ, reason == LATE_READ, f"the hello was there for {format_span(to_read)} before it was read"),
            Tried(SLOW_HANDLING, reason == SLOW_HANDLING, f"{format_span(to_write)} from the read to the write"),
        ]
        return Finding(reason, sentence, late_ns, facts, thread, done_ns, limits, stages, tried)

    if longest * 2 < until - begin:
        limits.append((MEDIUM, "nothing: several stages were late, this one the most"))
    if longest == to_accept and accepted is not None:
        if _somebody_waited(scene, accepted_ns):
            return "a thread waited for connections meanwhile"
        sentence = f"the connection was accepted {format_span(to_accept)} after it was ready"
        out = not_listening(scene, accepted_ns)
        if out is not None:
            sentence += ", the listener being in no epoll set meanwhile"
            facts.append(out)
        return found(LATE_ACCEPT, sentence, to_accept, accepted.thread)
    if longest == to_write and read is not None:
        thread = write.thread if write is not None else read.thread
        sentence = f"the process read the ClientHello and took {format_span(to_write)} to answer"
        sentence += _passed_on(scene, facts)
        return found(SLOW_HANDLING, sentence, to_write, thread)
    reader = read.thread if read is not None else (accepted.thread if accepted is not None else None)
    sentence = f"the ClientHello was there, and the process did not read it for {format_span(to_read)}"
    return found(LATE_READ, sentence, to_read, reader)


def _read(scene: Scene) -> _Read | None:
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
        facts.append(scene.fact(f"The ClientHello was read after {scene.after(read.end_ns)}.", read.line))
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
    if any(wait.asked >= 0 and wait.asked & EPOLLET for wait in waits):
        # An edge comes once: when it was delivered, waits on the same set are for something else.
        told = (int(wait.end_ns) for wait in waits if wait.delivered != NO and scene.begin_ns <= wait.end_ns)
        told_ns = min(min(told, default=scene.begin_ns), accepted_ns)
    spans = [(int(note.start_ns), int(note.end_ns)) for note in scene.io(ACCEPTS, listener)]
    spans += [(int(wait.start_ns), min(int(wait.end_ns), told_ns)) for wait in waits]
    return union_ns(spans, scene.begin_ns, accepted_ns) * 2 > accepted_ns - scene.begin_ns
