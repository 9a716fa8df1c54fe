"""What a strace is made of: calls, threads, processes, descriptors, epoll sets; sockets are in `sockets`.

Plain records, filled by `tracker` and what it calls and read by whoever asks `index`. A line is named by a reference
(`core.frames`: file and line number, 0 is unseen); a time is nanoseconds of the strace's own clock, -1 when unknown.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.syscalls import Syscall

# Kinds of open files.
UNKNOWN: Final = 0
SOCKET: Final = 1
EPOLL: Final = 2
FILE: Final = 3
PIPE: Final = 4
SPECIAL: Final = 5
"""eventfd, timerfd, inotify and the like; the label says which."""


MAX_LIVES: Final = 16
MAX_WATCHES: Final = 64


_MAX_SHARED: Final = 1024
_shared: Final[dict[bytes, bytes]] = {}


def shared(text: bytes) -> bytes:
    """One object for all equal texts of the kind that repeats: errors, protocols, how threads end."""
    known = _shared.get(text)
    if known is not None:
        return known
    if len(_shared) >= _MAX_SHARED:
        _shared.clear()
    _shared[text] = text
    return text


class Call:
    """One call that is worth remembering: who, when, and on which lines."""

    def __init__(self, syscall: Syscall, thread: "Thread") -> None:
        self.syscall: Syscall = syscall
        self.thread: Thread = thread
        self.line: i64 = 0
        """Reference of the line on which it was entered."""
        self.end_line: i64 = 0
        """Reference of the line on which it returned; the same for most, 0 while it has not."""
        self.start_ns: i64 = -1
        self.end_ns: i64 = -1
        """-1 when neither -T nor a resumed line tells."""
        self.next_ns: i64 = -1
        """The stamp of its thread's next line: by then it had returned. -1 when there is none.

        strace stamps a call as it is entered, prints its arguments, and only then begins what -T counts: with -yy on a
        busy machine that takes as long as the call."""
        self.ret: i64 = 0
        self.returned: bool = False
        """A number was returned; `ret` means nothing before."""
        self.errno: bytes = b""
        """``EINPROGRESS``; empty on success."""

    def name(self) -> str:
        """The call's name as text."""
        return self.syscall.name.decode("ascii", "replace")


class Life:
    """The time for which one number in one descriptor table meant one open file."""

    def __init__(self, process: "Process", fd: i64, line: i64, ns: i64) -> None:
        self.process: Process = process
        self.fd: i64 = fd
        self.line: i64 = line
        self.start_ns: i64 = ns
        self.end_line: i64 = 0
        self.end_ns: i64 = -1
        self.end: str = ""
        """close, exec, exit, replaced, reused (the close was not traced); empty while it lasts."""


_NO_LIVES: Final[list[Life]] = []
"""What most files have, one list for all of them; never added to."""


class OpenFile:
    """An open file description, whichever descriptors lead to it."""

    def __init__(self, kind: i64, label: bytes) -> None:
        self.kind: i64 = kind
        self.serial: i64 = 0
        """Its place among all open files, from 1: the same in every pass over the same lines."""
        self.label: bytes = label
        """A path, or what made it: ``eventfd2``."""
        self.process: Process | None = None
        """In which it was opened, or first seen."""
        self.fd: i64 = -1
        """Its first number there."""
        self.line: i64 = 0
        """Where it was opened; 0: before the trace began, or unseen."""
        self.ns: i64 = -1
        self.first_line: i64 = 0
        """Where it was first seen."""
        self.refs: i64 = 0
        """Descriptors that lead to it now."""
        self.closed_line: i64 = 0
        """Where the last of them went."""
        self.closed_ns: i64 = -1
        self.lives: list[Life] = _NO_LIVES
        """Of sockets and epoll sets; the first `MAX_LIVES`. `lived` adds to it."""
        self.decoration: bytes = b""
        """The last one that -y printed for it."""
        self.watches: list[Interest] = _NO_WATCHES
        """Its registrations in epoll sets, past and present, the last `MAX_WATCHES`. `watched` adds to it."""

    def lived(self, life: Life) -> None:
        """Another descriptor leads to it."""
        if self.lives is _NO_LIVES:
            self.lives = [life]
        elif len(self.lives) < MAX_LIVES:
            self.lives.append(life)

    def watched(self, interest: "Interest") -> None:
        """It was added to an epoll set."""
        if self.watches is _NO_WATCHES:
            self.watches = [interest]
            return
        self.watches.append(interest)
        if len(self.watches) > MAX_WATCHES:
            for old in self.watches:
                if old.removed:
                    self.watches.remove(old)
                    break

    def describe(self) -> str:
        """For a sentence: ``/etc/hosts``, ``eventfd2``, ``a pipe``."""
        text = self.label.decode("utf-8", "backslashreplace")
        return text or ("a pipe" if self.kind == PIPE else "unknown")


class EpollSet(OpenFile):
    """An epoll instance: what is registered now, and how often it was waited on."""

    def __init__(self) -> None:
        super().__init__(EPOLL, b"epoll")
        self.number: i64 = -1
        """Its place in `Index.epolls`, the same in every pass."""
        self.interests: dict[tuple[int, int], Interest] = {}
        """Live registrations, by the target's identity and the number it was registered under."""
        self.waits: i64 = 0
        """Completed waits, of all threads."""
        self.first_wait: Call | None = None

    def describe(self) -> str:
        """For a sentence: ``epoll set 5``."""
        return f"epoll set {self.fd}"


class Interest:
    """One registration in an epoll set, from ADD to DEL or the last close."""

    def __init__(self, epoll: EpollSet, target: OpenFile, fd: i64, mask: i64, data: int) -> None:
        self.epoll: EpollSet = epoll
        self.target: OpenFile = target
        self.fd: i64 = fd
        self.mask: i64 = mask
        """EPOLLIN and so on, of the last ADD or MOD; -1 when it was not printed."""
        self.data: int = data
        """The u64 that events of it carry, of the last ADD or MOD; -1 when it was not printed."""
        self.process: Process | None = None
        self.line: i64 = 0
        self.ns: i64 = -1
        """When ADD was called."""
        self.done_ns: i64 = -1
        """When it returned; -1 when that is unknown."""
        self.changes: i64 = 0
        self.changed_line: i64 = 0
        """The last MOD; 0 for none."""
        self.removed_line: i64 = 0
        self.removed_ns: i64 = -1
        self.removed: str = ""
        """DEL, close; empty while it lasts."""


_NO_WATCHES: Final[list[Interest]] = []


class DescriptorTable:
    """Numbers to open files: of one process, or of several that share it (CLONE_FILES)."""

    def __init__(self) -> None:
        self.files: dict[int, OpenFile] = {}
        self.cloexec: dict[int, bool] = {}
        """The numbers that execve closes; an empty dict is a third of an empty set, and there is one a process."""
        self.users: i64 = 1


class Process:
    """A thread group. When the trace does not say who belongs together, `assumed` does."""

    def __init__(self, pid: i64, table: DescriptorTable) -> None:
        self.pid: i64 = pid
        """0 when the trace never names it."""
        self.number: i64 = -1
        """Its place in `Index.processes`."""
        self.parent: Process | None = None
        self.table: DescriptorTable = table
        self.threads: list[Thread] = []
        self.live_threads: i64 = 0
        self.exe: bytes = b""
        """What it last executed."""
        self.started: bool = False
        """Its beginning is in the trace: execve as the first line, or clone. Otherwise the tracer attached."""
        self.assumed: bool = False
        """Some thread was put into it because it was there and nothing said otherwise."""
        self.pid_known: bool = False
        """Its number was printed, or is that of its first thread."""
        self.attached_threads: i64 = -1
        """``attached with 3 threads``; -1 when the trace does not say."""
        self.unfollowed: i64 = 0
        """Threads and children that were made and never have a line (no -f, or cut short)."""
        self.uring_line: i64 = 0
        """Where io_uring was set up: from there on calls may not be in the trace."""
        self.ended_line: i64 = 0
        self.ended_ns: i64 = -1


class Thread:
    """One traced task."""

    def __init__(self, tid: i64) -> None:
        self.tid: i64 = tid
        """0 when the trace does not name it."""
        self.tid_printed: bool = tid > 0
        """The number stands before its lines; otherwise it comes from what a call returned."""
        self.number: i64 = -1
        """Its place in `Index.threads`."""
        self.process: Process | None = None
        self.comm: bytes = b""
        """The last command name that -Y printed."""
        self.clone_line: i64 = 0
        """Where it was made; 0 when it was there before, or nobody saw it."""
        self.first_line: i64 = 0
        self.first_ns: i64 = -1
        self.last_ns: i64 = -1
        self.calls: i64 = 0
        self.ended_line: i64 = 0
        self.ended_ns: i64 = -1
        self.end: bytes = b""
        """``exited with 0``, ``killed by SIGKILL``, ``detached``; empty while it lives."""
        self.half: Syscall | None = None
        """The call it is inside of."""
        self.half_args: bytes = b""
        self.half_file: OpenFile | None = None
        """What its first argument meant when it was entered; another thread may close it meanwhile."""
        self.half_line: i64 = 0
        self.half_ns: i64 = -1
        self.kept: Call | None = None
        """Its last call, where that is remembered somewhere and the next line is to tell it when that came."""
        self.cloning: bool = False
        """It is inside a clone whose child has no line yet."""
        self.early_child: Thread | None = None
        """The child that had a line before that clone returned."""

    def alive(self) -> bool:
        """Whether its end has not been seen."""
        return len(self.end) == 0
