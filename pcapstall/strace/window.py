"""What happened in given windows of time: who did what, which sets were waited on and what they delivered.

Windows are known only after sockets were matched with flows, so this is what a second pass (`recorder`) fills in. Lists
are bounded: the first and the last calls are kept, and counts of all. What it means for a stall is not judged here.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.model import OpenFile, Thread
from pcapstall.strace.sockets import Socket

KEPT: Final = 64
"""Of a list of calls the first so many and the last so many are kept."""
MAX_ARGS: Final = 120
"""Bytes of a call's arguments that are kept."""
MAX_KINDS: Final = 256
"""Different (call, file) pairs that are told apart in one thread."""

NO: Final = 0
YES: Final = 1
UNKNOWN: Final = -1


class Note:
    """One call, as a window keeps it."""

    def __init__(self, name: str, thread: Thread) -> None:
        self.name: str = name
        self.thread: Thread = thread
        self.line: i64 = 0
        """Reference of the line on which it was entered."""
        self.end_line: i64 = 0
        self.start_ns: i64 = -1
        self.end_ns: i64 = -1
        self.bounded: bool = False
        """Its end is not known; it is at most `end_ns`, where the thread's next line is (no -T)."""
        self.open: bool = False
        """It had not returned when the trace ended."""
        self.ret: i64 = 0
        self.returned: bool = False
        self.errno: str = ""
        self.args: bytes = b""
        """The beginning of its arguments, as printed."""
        self.fd: i64 = -1
        """Its first argument, when that is a descriptor."""
        self.file: OpenFile | None = None
        """What that descriptor meant."""
        self.continues: str = ""
        """Of restart_syscall: the call that it goes on with, when that is in the trace."""
        self.waker: Wake | None = None
        """Of a futex wait: who woke it."""

    def about(self) -> str:
        """What the descriptor meant, for a sentence: ``socket to 10.0.0.2:443``; empty for none."""
        return self.file.describe() if self.file is not None else ""


class Wake:
    """A futex wake: what ended another thread's wait."""

    def __init__(self, thread: Thread, line: i64, start_ns: i64) -> None:
        self.thread: Thread = thread
        self.line: i64 = line
        self.start_ns: i64 = start_ns


class Wait(Note):
    """A wait for readiness on a set with one of the window's sockets in it."""

    def __init__(self, name: str, thread: Thread) -> None:
        super().__init__(name, thread)
        self.socket: i64 = 0
        """The serial of the socket that this is about."""
        self.epoll: i64 = -1
        """The set's `number`; -1 for poll and select."""
        self.nested: bool = False
        """The set holds a set that holds the socket."""
        self.delivered: i64 = UNKNOWN
        """YES, NO: the socket was (not) among what it returned. UNKNOWN: its events were not all printed, or the data
        they carry is that of several registrations."""
        self.events: i64 = -1
        """The event mask that was delivered."""
        self.asked: i64 = -1
        """The mask that was asked for: of the registration, or of the poll set."""


class Control:
    """An epoll_ctl about one of the window's sockets."""

    def __init__(self, note: Note, socket: i64, operation: i64, epoll: i64, mask: i64, data: int) -> None:
        self.note: Note = note
        self.socket: i64 = socket
        """The serial of the socket that this is about."""
        self.operation: i64 = operation
        """CTL_ADD, CTL_MOD, CTL_DEL of `waits`."""
        self.epoll: i64 = epoll
        self.mask: i64 = mask
        self.data: int = data


class Registration:
    """A registration of one of the window's sockets as the window began."""

    def __init__(
        self, socket: i64, epoll: i64, epoll_fd: i64, fd: i64, mask: i64, data: int, line: i64, changed_line: i64
    ) -> None:
        self.socket: i64 = socket
        """The serial of the socket that this is about."""
        self.epoll: i64 = epoll
        self.epoll_fd: i64 = epoll_fd
        self.fd: i64 = fd
        self.mask: i64 = mask
        self.data: int = data
        self.line: i64 = line
        """The ADD; 0 when it is not in the trace."""
        self.changed_line: i64 = changed_line
        """The last MOD; 0 for none."""


class Event:
    """A signal, an exit, a clone or an execve."""

    def __init__(self, kind: str, thread: Thread, text: str, line: i64, ns: i64) -> None:
        self.kind: str = kind
        """signal, exit, clone, exec."""
        self.thread: Thread = thread
        self.text: str = text
        """``SIGSTOP {si_signo=...``, ``exited with 0``; the child's number; the program."""
        self.line: i64 = line
        self.ns: i64 = ns


class Spent:
    """Calls of one kind on one file."""

    def __init__(self, name: str, file: OpenFile | None, fd: i64) -> None:
        self.name: str = name
        self.file: OpenFile | None = file
        self.fd: i64 = fd
        self.count: i64 = 0
        self.total_ns: i64 = 0
        """Inside the window."""
        self.longest_ns: i64 = 0
        """The part of the longest that is inside the window."""
        self.longest_line: i64 = 0
        self.first_line: i64 = 0
        self.last_line: i64 = 0
        self.first_ns: i64 = -1
        """When the first was entered."""
        self.last_ns: i64 = -1
        """When the last returned."""

    def about(self) -> str:
        """What the descriptor meant; empty for none."""
        return self.file.describe() if self.file is not None else ""

    def add(self, inside_ns: i64, note: Note) -> None:
        """One more call, of which so much lies inside the window."""
        line: i64 = note.line
        if self.count == 0:
            self.first_ns = note.start_ns
        self.last_ns = note.end_ns
        self.count += 1
        self.total_ns += inside_ns
        if inside_ns >= self.longest_ns:
            self.longest_ns = inside_ns
            self.longest_line = line
        if self.first_line == 0:
            self.first_line = line
        self.last_line = line


class Activity:
    """What one thread did in a window."""

    def __init__(self, thread: Thread) -> None:
        self.thread: Thread = thread
        self.calls: i64 = 0
        self.in_calls_ns: i64 = 0
        """Time inside calls and inside the window."""
        self.kinds: dict[tuple[str, int], Spent] = {}
        """By call and file serial."""
        self.longest: Note | None = None
        """The call with the largest part in the window."""
        self.longest_ns: i64 = -1
        self.at_start: Note | None = None
        """The call it was in as the window began."""
        self.at_end: Note | None = None
        self.gap_ns: i64 = 0
        """The longest time in the window without being in a call."""
        self.gap_start_ns: i64 = -1
        self.gap_line: i64 = 0
        """The line before it; 0 when there is none."""
        self.gap_end_line: i64 = 0
        """The line after it; 0 when there is none."""

    def busiest(self) -> list[Spent]:
        """The kinds of calls by the time they took, then by number."""
        return sorted(self.kinds.values(), key=_by_time)


class NoteList:
    """The first `KEPT` and the last `KEPT` of any number of notes."""

    def __init__(self) -> None:
        self.count: i64 = 0
        self.first: list[Note] = []
        self.last: list[Note] = []

    def add(self, note: Note) -> None:
        """One more."""
        self.count += 1
        if len(self.first) < KEPT:
            self.first.append(note)
            return
        self.last.append(note)
        if len(self.last) > KEPT:
            self.last.pop(0)

    def all(self) -> list[Note]:
        """The ones that were kept."""
        return self.first + self.last


class Window:
    """A stretch of time, the sockets and processes it is about, and what a second pass found there."""

    def __init__(self, start_ns: i64, end_ns: i64, sockets: set[int], processes: set[int]) -> None:
        self.start_ns: i64 = start_ns
        self.end_ns: i64 = end_ns
        """By the strace's own clock."""
        self.sockets: set[int] = sockets
        """Serials of the sockets."""
        self.processes: set[int] = processes
        """Numbers of the processes whose threads are looked at."""
        self.registrations: list[Registration] = []
        """As the window began."""
        self.waits: NoteList = NoteList()
        """Waits (`Wait`) on sets with one of the sockets in them."""
        self.longest_wait_ns: i64 = 0
        self.other_waits: dict[int, Spent] = {}
        """Waits on other sets, by the epoll set's number; -1 for poll and select."""
        self.controls: list[Control] = []
        """The first `KEPT`."""
        self.io: NoteList = NoteList()
        """Calls on the sockets."""
        self.threads: dict[int, Activity] = {}
        """By `Thread.number`."""
        self.events: list[Event] = []
        """The first `KEPT`."""
        self.calls: i64 = 0
        """Calls of the processes, also those that are only counted: what the tracer had to stop for."""

    def activity(self, thread: Thread) -> Activity:
        """The record of a thread."""
        found = self.threads.get(thread.number)
        if found is None:
            found = Activity(thread)
            self.threads[thread.number] = found
        return found


def window_of(sockets: list[Socket], start_ns: i64, end_ns: i64) -> Window:
    """A window about these sockets and the processes that had them open in it."""
    processes: set[int] = set()
    for socket in sockets:
        for life in socket.lives:
            if (life.start_ns < 0 or life.start_ns <= end_ns) and (not life.end or life.end_ns >= start_ns):
                processes.add(life.process.number)
        if not socket.lives and socket.process is not None:
            processes.add(socket.process.number)
    return Window(start_ns, end_ns, {int(socket.serial) for socket in sockets}, processes)


def _by_time(spent: Spent) -> tuple[int, int, str]:
    return (-int(spent.total_ns), -int(spent.count), spent.name)
