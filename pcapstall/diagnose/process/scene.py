"""One stalled flow and what the strace of the process at that end shows of the time: clocks brought together.

Facts only. Which stage was late is asked of it by the modules beside.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from pcapstall.core.times import format_span
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.engine import Tried
from pcapstall.diagnose.verdict import Fact
from pcapstall.match.matching import Match, Matching
from pcapstall.strace.index import Index
from pcapstall.strace.model import OpenFile
from pcapstall.strace.sockets import Socket
from pcapstall.strace.window import Activity, Note, Wait, Window, window_of

HELLO_STAGES: Final = ("ack_ch", "ch_span", "hrr_ch2", "sh_cfin")
"""Stages in which the end that sends the ClientHello owes bytes."""
ANSWER_STAGES: Final = ("ch_sh", "ch2_sh")
"""Stages in which the other end does."""


_MAX_PAD_NS: Final = 50_000_000


class ThreadCalls(NamedTuple):
    """Calls of one kind of one thread, as far as they lie in the interval."""

    call: str
    """``epoll_wait on set 6``."""
    n: int
    """How many."""
    total_ns: int
    longest_ns: int
    lines: tuple[str, ...]
    """The first and the last of them."""


class ThreadDoing(NamedTuple):
    """What one thread did in the interval."""

    pid: int
    """0 when the trace never names it; so is `tid`."""
    tid: int
    name: str
    """The command's name; empty when the trace does not print it."""
    role: str
    """had to act, woke it; empty for the others."""
    calls: list[ThreadCalls]
    """The kinds that took the most time."""
    other_calls: int
    """How many it made besides."""
    longest: str
    """The call with the largest part in it; empty for none."""
    longest_ns: int
    off_syscall_ns: int | None
    """In no call; None when the trace does not tell (no -T, calls left out)."""
    lines: tuple[str, ...]


class Traced(NamedTuple):
    """What a strace shows that had a part in a verdict."""

    activity: str | None
    match: str
    stages: Mapping[str, int]
    """What the interval is made of by the process, in the order of `stages`; adds up to it."""
    threads: Sequence[ThreadDoing] = ()
    """The one that had to act first; empty where the process is not what the verdict is about."""
    more_threads: int = 0
    """How many more there are."""
    tried: Sequence[Tried] = ()
    """Which stages were looked at, and why each was the late one or not."""


class Scene:
    """A case, the socket that is its end, and the window of the strace."""

    def __init__(self, case: Case, match: Match, matching: Matching) -> None:
        self.case = case
        self.match = match
        self.index: Index = matching.index
        self.socket: Socket = match.socket
        self.offset = matching.offset
        self.offset_ns = matching.offset.ns if matching.offset is not None else 0
        pad = matching.offset.slack_ns if matching.offset is not None else _MAX_PAD_NS
        self.pad_ns = min(pad, _MAX_PAD_NS, case.length_ns // 20) + 1_000_000
        self.begin_ns = case.start_ns - self.offset_ns
        """The interval by the strace's clock."""
        self.end_ns = case.end_ns - self.offset_ns
        sockets = [self.socket]
        if self.socket.listener is not None:
            sockets.append(self.socket.listener)
        self.window: Window = window_of(sockets, self.begin_ns - self.pad_ns, self.end_ns + self.pad_ns)

    @property
    def length_ns(self) -> int:
        """Of the interval."""
        return self.case.length_ns

    def where(self, refs: Iterable[int]) -> tuple[str, ...]:
        """The lines, for evidence; unseen ones left out."""
        return tuple(dict.fromkeys(self.index.where(ref) for ref in refs if ref))

    def fact(self, text: str, *refs: int) -> Fact:
        """A sentence and the lines that it rests on."""
        return Fact(text, (), self.where(int(ref) for ref in refs))

    def after(self, ns: int) -> str:
        """How long after the interval's begin, for a sentence; before it is at once."""
        return format_span(max(int(ns) - self.begin_ns, 0))

    def io(self, names: frozenset[str], socket: Socket | None = None) -> list[Note]:
        """Calls of these names on the socket in the window, in the order in which they were entered."""
        serial = (socket or self.socket).serial
        found = [note for note in self.window.io.all() if note.name in names and note.file is not None]
        return sorted((n for n in found if n.file is not None and n.file.serial == serial), key=_start)

    def own(self) -> list[Note]:
        """All calls on the socket in the window, in the order in which they were entered."""
        return sorted((note for note in self.window.io.all() if self.is_ours(note.file)), key=_start)

    def waits(self, socket: Socket | None = None) -> list[Wait]:
        """Waits on sets with the socket in them."""
        serial = (socket or self.socket).serial
        found = [wait for wait in self.window.waits.all() if isinstance(wait, Wait) and wait.socket == serial]
        return sorted(found, key=_start)

    def is_ours(self, file: OpenFile | None) -> bool:
        """Whether this is the socket: the second pass, which made the window, has objects of its own."""
        return file is not None and file.serial == self.socket.serial

    def activity(self, thread_number: int) -> Activity | None:
        """What a thread did in the window."""
        return self.window.threads.get(thread_number)


def _start(note: Note) -> int:
    return int(note.start_ns)


def union_ns(spans: Iterable[tuple[int, int]], begin_ns: int, end_ns: int) -> int:
    """How much of begin..end is covered by any of the spans."""
    covered = 0
    at = begin_ns
    for start, end in sorted(spans):
        start, end = max(start, at), min(end, end_ns)
        if end > start:
            covered += end - start
            at = end
    return covered
