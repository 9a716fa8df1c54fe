"""The threads of one strace by their numbers, and whose a line is that names none.

On the terminal strace writes `[pid N]` only while more than one task is traced. Before, the lines belong to the first
task, whose number may become known much later; afterwards to the one that is left.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.model import Thread
from pcapstall.strace.syscalls import Syscall

_SLOTS: Final = 256


class Threads:
    """All threads of a file, or of a family of `-ff` files."""

    def __init__(self) -> None:
        self.by_tid: dict[int, Thread] = {}
        self.all: list[Thread] = []
        self.announced: set[int] = set()
        """Children that a clone returned and that have no line yet."""
        self.live: i64 = 0
        self.groups: dict[int, int] = {}
        """``Process N attached with M threads``: N to M."""
        self._plain: Thread | None = None
        self._nobody: Thread = Thread(-1)
        self._slots: list[Thread] = [self._nobody] * _SLOTS
        """The thread of each of the last numbers, where the number's last bits say."""

    def of(self, tid: i64) -> Thread:
        """The thread with this number."""
        thread = self._slots[tid & (_SLOTS - 1)]
        if thread.tid == tid:
            return thread
        known = self.by_tid.get(tid)
        if known is None:
            known = self._add(tid)
        self._slots[tid & (_SLOTS - 1)] = known
        return known

    def of_bracket(self, tid: i64, resumed: Syscall | None) -> Thread:
        """The thread of a line with ``[pid tid]``; ``resumed`` is the call that the line says it returns from."""
        known = self.by_tid.get(tid)
        if known is not None:
            known.tid_printed = True
            return known
        root = self._plain
        if root is not None and not root.tid_printed and root.alive() and int(tid) not in self.announced:
            # The first task, unnamed so far, or a child that nobody announced. A task inside a call can only return.
            inside = root.half
            if inside is None or inside is resumed:
                self.name(root, tid)
                root.tid_printed = True
                return root
        return self._add(tid)

    def unnamed(self) -> Thread:
        """The thread of a line without a number."""
        plain = self._plain
        if plain is None:
            plain = Thread(0)
            self._list(plain)
            self._plain = plain
        elif not plain.alive() and self.live == 1:
            for thread in self.all:
                if thread.alive():
                    plain = thread
            self._plain = plain
        return plain

    def attached(self, tid: i64) -> Thread:
        """strace says ``Process tid attached``: the first one is whose lines come next, the others are more tasks."""
        known = self.by_tid.get(tid)
        if known is not None:
            return known
        plain = self._plain
        if plain is None:
            plain = self._add(tid)
            self._plain = plain
            return plain
        return self._add(tid)

    def name(self, thread: Thread, tid: i64) -> None:
        """A thread without a number turns out to have this one."""
        if int(tid) in self.by_tid or tid <= 0:
            return
        if thread.tid > 0:
            self.by_tid.pop(thread.tid, None)
        thread.tid = tid
        self.by_tid[tid] = thread
        self.announced.discard(tid)

    def ended(self, thread: Thread, how: bytes, line: i64, ns: i64) -> None:
        """The last line of a thread. A later one with its number is of another thread."""
        if not thread.alive():
            return
        thread.end = how
        thread.ended_line = line
        thread.ended_ns = ns
        self.live -= 1

    def inside_since(self, ns: i64) -> bool:
        """Whether some thread is in a call that it entered by then."""
        for thread in self.all:  # noqa: SIM110 (compiled, this makes no generator)
            if thread.half is not None and thread.alive() and 0 <= thread.half_ns <= ns:
                return True
        return False

    def renew(self, thread: Thread) -> Thread:
        """A line of a thread that has ended: its number was given to a new one."""
        if thread is self._plain:
            # Unnumbered lines after an exit: straces that were put together.
            fresh = Thread(0)
            self._list(fresh)
            self._plain = fresh
            return fresh
        self.by_tid.pop(thread.tid, None)
        self._slots[thread.tid & (_SLOTS - 1)] = self._nobody
        return self.of(thread.tid)

    def _add(self, tid: i64) -> Thread:
        thread = Thread(tid)
        self.by_tid[tid] = thread
        self.announced.discard(tid)
        self._list(thread)
        return thread

    def _list(self, thread: Thread) -> None:
        thread.number = len(self.all)
        self.all.append(thread)
        self.live += 1
