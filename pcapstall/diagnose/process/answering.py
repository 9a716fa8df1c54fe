"""The end that owes bytes in a stage that is the client's by its name: a proxy asked to CONNECT, a server asked to
STARTTLS, one that has sent its ServerHello and not yet its certificate.

Packets say whose turn it was; here it is what that process did until it wrote them.
"""

from pcapstall.core.times import format_span
from pcapstall.diagnose.engine import Tried
from pcapstall.diagnose.process.finding import AWAIT_SERVER, SLOW_HANDLING, Finding
from pcapstall.diagnose.process.scene import Scene
from pcapstall.strace.call_names import READS, WRITES
from pcapstall.strace.window import Note


def judge_answering(scene: Scene) -> Finding | str:
    """What the process did with the request; a string when that explains nothing."""
    asked: Note | None = None
    late: tuple[int, Note, Note | None] | None = None
    for note in scene.own():
        if note.ret <= 0 or note.name not in READS | WRITES:
            continue
        if note.name in READS:
            asked = note
        elif asked is not None:
            late = max(late or (0, asked, None), (_between(scene, asked, note), asked, note), key=lambda item: item[0])
            asked = None
    if asked is not None and scene.case.is_open:
        late = max(late or (0, asked, None), (_between(scene, asked, None), asked, None), key=lambda item: item[0])
    if late is None or late[0] * 2 < scene.length_ns:
        return "the process answered what it had read in time"
    length, request, answer = late
    done = f"took {format_span(length)} to answer" if answer is not None else "never answered"
    sentence = f"the process read what the client sent before its ClientHello and {done}"
    facts = [scene.fact(f"The request was read after {scene.after(request.end_ns)}.", int(request.line))]
    if answer is not None:
        facts.append(scene.fact(f"The answer was written after {scene.after(answer.start_ns)}.", int(answer.line)))
    thread = answer.thread if answer is not None else request.thread
    tried = [Tried(AWAIT_SERVER, True, f"{format_span(length)} from the read of the request to the answer")]
    return Finding(AWAIT_SERVER, sentence, length, facts, thread, tried=tried)


def _between(scene: Scene, asked: Note, answer: Note | None) -> int:
    """From a read to the write that answered it, as far as it lies in the interval."""
    until = int(answer.start_ns) if answer is not None else scene.end_ns
    return min(until, scene.end_ns) - max(int(asked.end_ns), scene.begin_ns)


def judge_rest(scene: Scene) -> Finding | str:
    """What the process did between two writes of its flight; a string when that explains nothing."""
    writes = [note for note in scene.io(WRITES) if note.ret > 0 and note.start_ns < scene.end_ns]
    last_ns, late = scene.begin_ns, 0
    before: Note | None = None
    after: Note | None = None
    previous: Note | None = None
    for note in writes:
        gap = int(note.start_ns) - max(last_ns, scene.begin_ns)
        if gap > late:
            late, before, after = gap, previous, note
        previous = note
        last_ns = int(note.end_ns) if note.end_ns >= 0 else int(note.start_ns)
    if after is None or late * 2 < scene.length_ns:
        return "the process wrote its flight in time"
    sentence = f"the process wrote the rest of its answer {format_span(late)} after the part before"
    facts = [
        scene.fact(
            f"The part before the rest was written by then, the rest {scene.after(after.start_ns)} into the interval.",
            int(before.line) if before is not None else 0,
            int(after.line),
        )
    ]
    tried = [Tried(SLOW_HANDLING, True, f"{format_span(late)} between two writes of its flight")]
    return Finding(SLOW_HANDLING, sentence, late, facts, after.thread, tried=tried)
