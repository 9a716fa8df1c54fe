"""What else the process had to do with while it waited: the listener taken out of its sets, other connections in use.

Told beside a verdict, for a reader who knows the program; nothing is concluded from it.
"""

from typing import Final

from pcapstall.core.times import format_span
from pcapstall.diagnose.process.scene import Scene
from pcapstall.diagnose.verdict import Fact
from pcapstall.strace.call_names import READS, WRITES
from pcapstall.strace.sockets import Socket
from pcapstall.strace.waits import CTL_ADD, CTL_DEL

_TELLING: Final = READS | WRITES | {"connect"}
_MOST: Final = 2
"""Connections that are told of."""


class _Use:
    """The calls of all threads on one socket."""

    def __init__(self, socket: Socket) -> None:
        self.socket = socket
        self.first_ns = self.last_ns = -1
        self.first_line = self.last_line = 0
        self.names: dict[str, None] = {}


def other_connections(scene: Scene) -> list[Fact]:
    """Connections that were in use from early in the interval to late in it, and that were waited for in between."""
    uses: dict[int, _Use] = {}
    for activity in scene.window.threads.values():
        for spent in activity.kinds.values():
            file = spent.file
            if not isinstance(file, Socket) or file.peer is None or int(file.serial) in scene.window.sockets:
                continue
            use = uses.setdefault(int(file.serial), _Use(file))
            if spent.name in _TELLING:
                use.names[spent.name] = None
            if use.first_ns < 0 or spent.first_ns < use.first_ns:
                use.first_ns, use.first_line = int(spent.first_ns), int(spent.first_line)
            if spent.last_ns > use.last_ns:
                use.last_ns, use.last_line = int(spent.last_ns), int(spent.last_line)
    begun = [use for use in uses.values() if use.socket.connects and use.first_ns >= scene.begin_ns - scene.pad_ns]
    lasting = [use for use in begun if 2 * (use.last_ns - use.first_ns) > scene.length_ns]
    lasting.sort(key=lambda use: use.first_ns - use.last_ns)
    return [
        scene.fact(
            f"From {scene.after(use.first_ns)} to {scene.after(use.last_ns)} into the interval it had to do with "
            f"{use.socket.describe()} ({', '.join(use.names)}).",
            use.first_line,
            use.last_line,
        )
        for use in lasting[:_MOST]
    ]


def not_listening(scene: Scene, until_ns: int) -> Fact | None:
    """Where the listener was in no epoll set for most of the time up to ``until_ns``: the process wanted none then."""
    listener = scene.socket.listener
    if listener is None:
        return None
    sets = {int(item.epoll) for item in scene.window.registrations if item.socket == listener.serial}
    changes = [control for control in scene.window.controls if control.socket == listener.serial]
    if not any(control.operation == CTL_ADD for control in changes):
        return None
    out_ns, since, lines = 0, scene.begin_ns if not sets else -1, []
    for control in sorted(changes, key=lambda control: int(control.note.start_ns)):
        at = min(max(int(control.note.start_ns), scene.begin_ns), until_ns)
        if control.operation == CTL_DEL:
            sets.discard(int(control.epoll))
        elif control.operation == CTL_ADD:
            sets.add(int(control.epoll))
        lines.append(int(control.note.line))
        if not sets and since < 0:
            since = at
        elif sets and since >= 0:
            out_ns, since = out_ns + at - since, -1
    if out_ns * 2 < until_ns - scene.begin_ns:
        return None
    text = f"The listener was in no epoll set for {format_span(out_ns)} of it: the process had taken it out"
    return scene.fact(f"{text}, as at a limit of its connections.", *lines[:4])
