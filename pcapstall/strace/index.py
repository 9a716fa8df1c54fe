"""The first pass: a whole strace to its threads, processes, sockets and epoll sets, and what it cannot tell.

Numbers of sockets and epoll sets are the same in every pass over the same files, so that `window` finds them again.
"""

from typing import Final, NamedTuple

from mypy_extensions import i64

from pcapstall.core.frames import file_of, frame_of, frame_ref
from pcapstall.strace.body import KIND_NAMES, UNREAD
from pcapstall.strace.family import Lines, Strace
from pcapstall.strace.keeper import Keeper
from pcapstall.strace.model import EpollSet, Process, Thread
from pcapstall.strace.sockets import Socket
from pcapstall.strace.syscalls import Syscall
from pcapstall.strace.tracker import Tracker

_ENOUGH_CALLS: Final = 200
"""Among so many calls some fail, unless the tracer left the failed ones out."""


class Coverage(NamedTuple):
    """What is in a strace and what is not, as far as claims rest on it."""

    has_times: bool
    has_durations: bool
    """-T."""
    ordered: bool
    """The lines of all files could be put in one order."""
    attached_late: bool
    """Some process was running when tracing began."""
    unseen_descriptors: int
    """Descriptors used whose beginning is not in the trace."""
    first_unseen_line: int
    families_seen: frozenset[str]
    """Of `syscalls.FAMILIES`; a family that is missing was left out by the tracer's filter, or never called."""
    uring_lines: tuple[int, ...]
    """Where processes set up io_uring; their reads, writes and connects may not be in the trace."""
    restarts: int
    """restart_syscall calls: waits whose name and arguments are unknown."""
    detached_line: int
    unfollowed: int
    """Children and threads that were made and have no line: no -f, or the trace ends first."""
    assumed_processes: int
    """Processes whose threads were put together for want of anything better."""
    only_successful: bool
    """Not one call failed, among many: -z."""
    steps_back: int
    """Times that the clock was set back by more than a second."""
    odd_stamps: int
    """Lines with a stamp of another kind than the file's first; they have no time."""
    unread_lines: int
    lost_halves: int
    """Halves of calls without their other half: lines were lost."""
    first_lost_line: int
    trouble: str
    """Why reading a file ended early; empty when it did not."""


class Index:
    """One strace, read once."""

    def __init__(self, strace: Strace, tracker: Tracker, lines: Lines) -> None:
        self.strace: Strace = strace
        self.tracker: Tracker = tracker
        first = lines.readers[0].clock
        for reader in lines.readers:
            if reader.clock.kind != 0:
                first = reader.clock
                break
        self.clock_kind: int = first.kind
        """NO_STAMP, EPOCH, TIME_OF_DAY, RELATIVE, ELAPSED of `leader`."""
        self.resolution_ns: int = first.resolution_ns
        self.first_ns: int = -1
        self.last_ns: int = -1
        """First and last time of the trace, by its own clock; -1 when there are none."""
        self.counts: dict[str, int] = dict.fromkeys(KIND_NAMES[1:], 0)
        """Lines of each kind; together all lines."""
        self.first_unread: tuple[int, bytes] | None = None
        """Reference and beginning of the first unread line."""
        for reader in lines.readers:
            for kind, count in enumerate(reader.counts):
                if kind:
                    self.counts[KIND_NAMES[kind]] += count
            if self.first_unread is None and reader.first_unread_line:
                ref = frame_ref(reader.file_index, reader.first_unread_line)
                self.first_unread = (ref, reader.first_unread)
        self.coverage: Coverage = _coverage(tracker, lines, self.counts)

    @property
    def threads(self) -> list[Thread]:
        """In the order of their first lines."""
        return self.tracker.threads.all

    @property
    def processes(self) -> list[Process]:
        """In the order of their first lines."""
        return self.tracker.processes.all

    @property
    def sockets(self) -> list[Socket]:
        """By their `number`; those that `Keeper` did not want are missing."""
        return list(self.tracker.calls.files.sockets.kept.values())

    @property
    def epolls(self) -> list[EpollSet]:
        """By their `number`."""
        return self.tracker.calls.files.epolls

    @property
    def syscalls(self) -> list[Syscall]:
        """Those that were called, the busiest first."""
        return self.tracker.syscalls.seen()

    def where(self, ref: int) -> str:
        """``client.strace:123`` for a line reference; empty for 0."""
        if ref == 0:
            return ""
        for member in self.strace.members:
            if member.index == file_of(ref):
                return f"{member.source.path}:{frame_of(ref)}"
        return f"?:{frame_of(ref)}"

    def find(self, where: str) -> int:
        """The reference of a line that `where` named; 0 when it is of another file."""
        path, _, number = where.rpartition(":")
        for member in self.strace.members:
            if member.source.path == path and number.isdecimal():
                return int(frame_ref(member.index, int(number)))
        return 0


def index_strace(strace: Strace, keeper: Keeper | None = None) -> Index:
    """Read ``strace`` once. With a ``keeper`` only what sockets are matched by is kept, and only of those it wants."""
    tracker = Tracker()
    if keeper is not None:
        tracker.calls.files.sparse = True
        tracker.calls.files.sockets.keeper = keeper
    lines = Lines(strace, tracker.threads, tracker.syscalls)
    for reader in lines.readers:
        reader.skims = keeper is not None
    first: i64 = -1
    last: i64 = -1
    try:
        while lines.next():
            reader = lines.reader
            tracker.feed(reader)
            if reader.kind <= 5 and reader.time_ns >= 0:
                if first < 0:
                    first = reader.time_ns
                last = reader.time_ns
    finally:  # Ctrl-C
        lines.close()
    tracker.finish()
    index = Index(strace, tracker, lines)
    index.first_ns = first
    index.last_ns = last
    return index


def _coverage(tracker: Tracker, lines: Lines, counts: dict[str, int]) -> Coverage:
    calls = failed = 0
    for syscall in tracker.syscalls.seen():
        calls += syscall.calls
        failed += syscall.failed
    detached = [reader.detached_ref for reader in lines.readers if reader.detached_ref]
    trouble = [feed.trouble for feed in lines.feeds if feed.trouble]
    files = tracker.calls.files
    return Coverage(
        has_times=any(reader.clock.kind != 0 for reader in lines.readers),
        has_durations=any(reader.has_durations for reader in lines.readers),
        ordered=lines.ordered,
        attached_late=tracker.processes.attached_late,
        unseen_descriptors=files.unseen,
        first_unseen_line=files.first_unseen_line,
        families_seen=frozenset(tracker.syscalls.families_seen()),
        uring_lines=tuple(process.uring_line for process in tracker.processes.all if process.uring_line),
        restarts=tracker.restarts,
        detached_line=detached[0] if detached else 0,
        unfollowed=sum(process.unfollowed for process in tracker.processes.all),
        assumed_processes=sum(1 for process in tracker.processes.all if process.assumed),
        only_successful=calls >= _ENOUGH_CALLS and not failed,
        steps_back=sum(reader.clock.steps_back for reader in lines.readers),
        odd_stamps=sum(reader.clock.other_kinds for reader in lines.readers),
        unread_lines=counts[KIND_NAMES[UNREAD]],
        lost_halves=sum(reader.lost_halves for reader in lines.readers),
        first_lost_line=next((reader.first_lost_ref for reader in lines.readers if reader.first_lost_ref), 0),
        trouble=trouble[0] if trouble else "",
    )
