"""A connection that the process at the server never accepted: it waited in the kernel's queue of the listener.

Nothing of it is in the strace but the listener; that it is not there is what is said. Never surer than medium, since
another process may have the listener, too.
"""

from pcapstall.core.times import format_span
from pcapstall.diagnose.engine import Tried
from pcapstall.diagnose.process.finding import LATE_ACCEPT, Finding
from pcapstall.diagnose.process.scene import Scene
from pcapstall.diagnose.process.stages import ACCEPTED, add_up
from pcapstall.diagnose.verdict import MEDIUM
from pcapstall.strace.call_names import ACCEPTS
from pcapstall.strace.model import Thread
from pcapstall.strace.window import NO


def judge_unaccepted(scene: Scene) -> Finding | str:
    """Why nobody accepted the connection; a string when that explains nothing."""
    listener = scene.socket
    accepts = [note for note in scene.io(ACCEPTS) if note.end_ns > scene.begin_ns]
    if any(note.ret >= 0 and note.returned for note in accepts):
        return "connections were accepted on that listener meanwhile, and this is none of them"
    told = [wait for wait in scene.waits() if wait.delivered != NO and not wait.open and wait.end_ns < scene.end_ns]
    waiting = [note for note in (*accepts, *scene.waits()) if note.open or note.end_ns >= scene.end_ns]
    if waiting and not told:
        return "a thread waited for connections all the time, so none was there"
    name = f"the listener (descriptor {listener.fd})"
    sentence = f"the connection waited at {name}, and nobody accepted it for {format_span(scene.length_ns)}"
    facts = [scene.fact(f"No accept on {name} returned this connection.", int(listener.first_line))]
    if told:
        text = f"{told[0].name} returned {name} {scene.after(told[0].end_ns)} into the interval."
        facts.append(scene.fact(text, int(told[0].line), int(told[0].end_line)))
    limits = [(MEDIUM, "a strace of every process that listens there")]
    stages = add_up(scene, [(ACCEPTED, scene.length_ns)], False)
    tried = [Tried(LATE_ACCEPT, True, f"not accepted for {format_span(scene.length_ns)}")]
    return Finding(LATE_ACCEPT, sentence, scene.length_ns, facts, _thread(scene), None, limits, stages, tried)


def _thread(scene: Scene) -> Thread | None:
    """The one that had to accept it: the only one there is, or the only one that was not idle."""
    activities = list(scene.window.threads.values())
    if len(activities) > 1:
        activities = [activity for activity in activities if activity.gap_ns * 2 > scene.length_ns]
    return activities[0].thread if len(activities) == 1 else None
