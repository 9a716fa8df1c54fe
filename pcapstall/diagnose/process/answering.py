"""The end that owes an answer before the ClientHello may come: a proxy asked to CONNECT, a server asked to STARTTLS.

Packets say whose turn it was; here it is what that process did from its read of the request to its answer.
"""

from pcapstall.core.times import format_span
from pcapstall.diagnose.engine import Tried
from pcapstall.diagnose.process.finding import AWAIT_SERVER, Finding
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
