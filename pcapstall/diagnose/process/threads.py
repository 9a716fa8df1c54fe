"""What every thread of a process did in a stretch of time: in which calls, for how long, and how long in none.

Only told, nothing is concluded. What the thread that matters did is judged in `activity`.
"""

from typing import Final

from pcapstall.diagnose.process.scene import Scene, ThreadCalls, ThreadDoing
from pcapstall.strace.filtering import leaves_calls_out
from pcapstall.strace.model import Thread
from pcapstall.strace.window import Activity, Spent

HAD_TO_ACT: Final = "had to act"
WOKE_IT: Final = "woke it"

MOST_THREADS: Final = 64
"""Threads that are told of, the responsible one first, then those with the most time in calls."""
_KINDS: Final = 4
"""Kinds of calls of each."""


def threads_of(scene: Scene, responsible: Thread | None) -> tuple[list[ThreadDoing], int]:
    """What the threads did, the ``responsible`` one first, and how many more there are."""
    own = scene.activity(int(responsible.number)) if responsible is not None else None
    roles: dict[int, str] = {}
    if own is not None:
        waker = own.longest.waker if own.longest is not None else None
        if waker is not None:
            roles[int(waker.thread.number)] = WOKE_IT
        roles[int(own.thread.number)] = HAD_TO_ACT

    def rank(activity: Activity) -> tuple[bool, bool, int, int]:
        role = roles.get(int(activity.thread.number))
        return (role != HAD_TO_ACT, role is None, -int(activity.in_calls_ns), int(activity.thread.number))

    everyone = sorted(scene.window.threads.values(), key=rank)
    told = [_doing(scene, activity, roles.get(int(activity.thread.number), "")) for activity in everyone[:MOST_THREADS]]
    return told, len(everyone) - len(told)


def _doing(scene: Scene, activity: Activity, role: str) -> ThreadDoing:
    thread = activity.thread
    shown = activity.busiest()[:_KINDS]
    longest = max(shown, key=lambda spent: int(spent.longest_ns), default=None)
    off_ns = _off_ns(scene, activity)
    lines = _lines(scene, activity, shown[0]) if shown else ()
    if not shown or (off_ns is not None and 2 * off_ns > scene.length_ns):
        lines = scene.where((int(activity.gap_line), int(activity.gap_end_line)))
    return ThreadDoing(
        pid=int(thread.process.pid) if thread.process is not None else 0,
        tid=int(thread.tid),
        name=thread.comm.decode("utf-8", "backslashreplace"),
        role=role,
        calls=[_calls(scene, activity, spent) for spent in shown],
        other_calls=int(activity.calls) - sum(int(spent.count) for spent in shown),
        longest=_call(scene, activity, longest) if longest is not None else "",
        longest_ns=_inside(scene, int(longest.longest_ns)) if longest is not None else 0,
        off_syscall_ns=off_ns,
        lines=lines,
    )


def _calls(scene: Scene, activity: Activity, spent: Spent) -> ThreadCalls:
    return ThreadCalls(
        _call(scene, activity, spent),
        int(spent.count),
        _inside(scene, int(spent.total_ns)),
        _inside(scene, int(spent.longest_ns)),
        _lines(scene, activity, spent),
    )


def _lines(scene: Scene, activity: Activity, spent: Spent) -> tuple[str, ...]:
    """Of the first and the last call; of a single one those on which it was entered and returned."""
    lines = [int(spent.first_line), int(spent.last_line)]
    longest = activity.longest
    if spent.count == 1 and longest is not None and longest.line == spent.first_line:
        lines.append(int(longest.end_line))
    return scene.where(lines)


def _call(scene: Scene, activity: Activity, spent: Spent) -> str:
    """``epoll_wait on set 6``."""
    name = spent.name
    longest = activity.longest
    if longest is not None and longest.continues and longest.line in (spent.first_line, spent.longest_line):
        name = longest.continues
    about = "this socket" if scene.is_ours(spent.file) else spent.about().removeprefix("epoll ")
    return name + (f" on {about}" if about and about != "unknown" else "")


def _off_ns(scene: Scene, activity: Activity) -> int | None:
    """Time in the interval, since the thread was there, in no call."""
    coverage = scene.index.coverage
    if not coverage.has_durations or leaves_calls_out(scene.index):
        return None
    thread = activity.thread
    begin = max(int(scene.window.start_ns), int(thread.first_ns))
    end = int(scene.window.end_ns)
    if not thread.alive() and thread.ended_ns >= 0:
        end = min(end, int(thread.ended_ns))
    return _inside(scene, end - begin - int(activity.in_calls_ns))


def _inside(scene: Scene, ns: int) -> int:
    """The window is a little longer than the interval, for what the clocks leave open."""
    return min(max(ns, 0), scene.length_ns)
