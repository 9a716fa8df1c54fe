"""What every thread of a process did in a stretch of time, one sentence a thread: in which calls, and for how long.

Only told, nothing is concluded. What the thread that matters did is judged in `activity`.
"""

from typing import Final

from pcapstall.core.times import format_span
from pcapstall.diagnose.process.scene import Scene, StraceFact
from pcapstall.strace.model import Thread
from pcapstall.strace.window import Activity, Spent

_TOLD: Final = 8
"""Threads of one process."""
_KINDS: Final = 2
"""Kinds of calls of each."""


def thread_facts(scene: Scene, told: Thread | None) -> list[StraceFact]:
    """A sentence for each thread but ``told``, whose story is known; the rest are counted."""
    everyone = [activity for activity in scene.window.threads.values() if activity.thread is not told]
    everyone.sort(key=lambda activity: (-int(activity.in_calls_ns), int(activity.thread.number)))
    facts = [_fact(scene, activity) for activity in everyone[:_TOLD]]
    if len(everyone) > _TOLD:
        facts.append(scene.fact(f"{len(everyone) - _TOLD} more threads made calls meanwhile."))
    return facts


def _fact(scene: Scene, activity: Activity) -> StraceFact:
    thread = activity.thread
    name = f"Thread {thread.tid}" if thread.tid > 0 else "The thread"
    if thread.comm:
        name += f" ({thread.comm.decode('utf-8', 'backslashreplace')})"
    busiest = activity.busiest()
    shown = [spent for spent in busiest[:_KINDS] if spent is busiest[0] or spent.total_ns * 100 > scene.length_ns]
    parts = [_spent(scene, spent) for spent in shown]
    more = int(activity.calls) - sum(int(spent.count) for spent in shown)
    if more > 0:
        parts.append(f"{more} other calls" if more > 1 else "1 other call")
    idle_ns = scene.length_ns - int(activity.in_calls_ns)
    if scene.index.coverage.has_durations and idle_ns > scene.length_ns // 100:
        parts.append(f"in no call for {format_span(idle_ns)}")
    lines = [line for spent in shown for line in (int(spent.first_line), int(spent.last_line))]
    return scene.fact(f"{name} meanwhile: {', '.join(parts)}.", *sorted(lines))


def _spent(scene: Scene, spent: Spent) -> str:
    """``epoll_wait on epoll set 6 for 52.1 s (54 calls)``."""
    about = "this socket" if spent.file is scene.socket else spent.about()
    text = spent.name + (f" on {about}" if about and about != "unknown" else "")
    count = f" ({spent.count} calls)" if spent.count > 1 else ""
    return f"{text} for {format_span(int(spent.total_ns))}{count}"
