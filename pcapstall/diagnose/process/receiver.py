"""The end that owes an answer to a ClientHello: when was the connection accepted, the hello read, the answer written.

The longest of the three is the stage that was late. A late accept is the process's only if nobody waited for it.
"""

from pcapstall.core.times import format_span
from pcapstall.diagnose.process.finding import LATE_ACCEPT, LATE_READ, SLOW_HANDLING, Finding, WrittenEarly
from pcapstall.diagnose.process.scene import ACCEPTS, READS, WRITES, Scene, StraceFact, union_ns
from pcapstall.diagnose.process.sender import not_traced
from pcapstall.strace.model import Thread


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
    write = next((n for n in scene.io(WRITES) if n.ret > 0 and n.start_ns >= from_ns - scene.pad_ns), None)
    if write is None and not scene.case.is_open:
        return not_traced(scene, "the answer left, and no call that wrote it is in the trace")
    if write is not None and scene.end_ns - write.start_ns > max(scene.length_ns // 2, scene.pad_ns):
        fact = scene.fact(f"The process wrote its answer {scene.after(write.start_ns)} into the interval.", write.line)
        return WrittenEarly(
            f"the process had written its answer after {scene.after(write.start_ns)}", int(write.start_ns), [fact]
        )
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
    if longest == inside and inside > max(to_accept, to_read, to_write):
        return "the process was in its read all the while: the hello came late to it"
    facts = _facts(scene, read)
    if write is not None:
        facts.append(scene.fact(f"The answer was written after {scene.after(write.start_ns)}.", int(write.line)))
    done_ns = int(write.start_ns) if write is not None else None
    if longest == to_accept and accepted is not None:
        if _somebody_waited(scene, accepted_ns):
            return "a thread waited for connections meanwhile"
        sentence = f"the connection was accepted {format_span(to_accept)} after it was ready"
        return Finding(LATE_ACCEPT, sentence, to_accept, facts, accepted.thread, done_ns)
    if longest == to_write and read is not None:
        thread = write.thread if write is not None else read.thread
        sentence = f"the process read the ClientHello and took {format_span(to_write)} to answer"
        return Finding(SLOW_HANDLING, sentence, to_write, facts, thread, done_ns)
    reader = read.thread if read is not None else (accepted.thread if accepted is not None else None)
    sentence = f"the ClientHello was there, and the process did not read it for {format_span(to_read)}"
    return Finding(LATE_READ, sentence, to_read, facts, reader, done_ns)


def _read(scene: Scene) -> _Read | None:
    hello = scene.match.hello
    if scene.case.stalled == "ch_sh" and hello is not None and hello.call.start_ns >= 0:
        return _Read(int(hello.call.start_ns), int(hello.last_end_ns), int(hello.call.line), hello.call.thread)
    for note in scene.io(READS):
        if note.ret > 0:
            return _Read(int(note.start_ns), int(note.end_ns), int(note.line), note.thread)
    first = scene.socket.inbound.first
    if scene.case.stalled == "ch_sh" and first is not None and first.start_ns >= 0:
        return _Read(int(first.start_ns), int(first.end_ns), int(first.line), first.thread)
    return None


def _facts(scene: Scene, read: _Read | None) -> list[StraceFact]:
    facts: list[StraceFact] = []
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


def _somebody_waited(scene: Scene, accepted_ns: int) -> bool:
    """Whether a thread was in accept, or waited on the listener, for half of the time in which the connection was
    ready: then it was not the process that was late."""
    listener = scene.socket.listener
    if listener is None:
        return False
    spans = [(int(note.start_ns), int(note.end_ns)) for note in scene.io(ACCEPTS, listener)]
    spans += [(int(wait.start_ns), int(wait.end_ns)) for wait in scene.waits(listener)]
    return union_ns(spans, scene.begin_ns, accepted_ns) * 2 > accepted_ns - scene.begin_ns
