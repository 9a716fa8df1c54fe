"""The end that owes a ClientHello is in a read of the connection: it waits for the other end to speak first.

Then its silence is no fault of its own by what the strace shows, and whose it is depends on the protocol: a server that
speaks first owes its greeting, one that speaks TLS at once has a client that was told otherwise.
"""

from pcapstall.core.times import format_span
from pcapstall.diagnose.engine import Tried
from pcapstall.diagnose.process.finding import BOTH_SILENT, Finding
from pcapstall.diagnose.process.scene import Scene
from pcapstall.diagnose.process.stages import WRITTEN, add_up
from pcapstall.diagnose.rules.base import capitalised
from pcapstall.diagnose.verdict import MEDIUM, UNKNOWN, side_of
from pcapstall.strace.call_names import READS


def awaited(scene: Scene, until_ns: int) -> Finding | None:
    """The finding where a read of the connection, which brought nothing, lasted for most of the time; else None."""
    reads = [note for note in scene.own() if note.name in READS and note.start_ns < until_ns and note.ret <= 0]
    waited = {id(note): min(int(note.end_ns), until_ns) - max(int(note.start_ns), scene.begin_ns) for note in reads}
    longest = max(reads, key=lambda note: waited[id(note)], default=None)
    if longest is None or waited[id(longest)] * 2 < scene.length_ns or longest.bounded:
        return None
    # Where one thread only reads and another one writes, the read tells nothing of the writer.
    if any(note.thread is not longest.thread for note in scene.own()):
        return None
    how_long = waited[id(longest)]
    end = scene.match.end
    other = side_of(not end.is_client)
    sentence = f"the {end.side} was in {longest.name} of the connection for {format_span(how_long)}"
    sentence += f": it waited for the {other} to speak first"
    facts = [scene.fact(capitalised(sentence) + ".", int(longest.line), int(longest.end_line))]
    settle = f"which end speaks first there: a strace of the {other}, or its configuration"
    found = Finding(BOTH_SILENT, sentence, how_long, facts, longest.thread, None, [(MEDIUM, settle)])
    found.cause = UNKNOWN
    found.stages = add_up(scene, [(WRITTEN, scene.length_ns)], False)
    found.tried = [Tried(BOTH_SILENT, True, f"{longest.name} of the connection for {format_span(how_long)}")]
    return found
