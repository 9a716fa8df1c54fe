"""Who belongs together: threads, processes, and the descriptor tables they share, from clone to exit.

A child often has lines before the clone that made it returns, and in a PID namespace the two numbers differ; what has
to be assumed is marked so. Which call does what is `tracker`'s matter.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.args import ArgCursor, read_flags, read_string
from pcapstall.strace.descriptors import close_all, close_on_exec, snapshot, take_over
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.model import DescriptorTable, Process, Thread
from pcapstall.strace.numbers import read_number
from pcapstall.strace.tasks import Threads
from pcapstall.strace.walk import starts, text_at

CLONE_FILES: Final = 0x400
CLONE_THREAD: Final = 0x1_0000
_CLONE_BITS: Final[dict[bytes, int]] = {b"CLONE_FILES": CLONE_FILES, b"CLONE_THREAD": CLONE_THREAD}
_MAX_EXPECTED: Final = 256
"""Children that were made and have no line. Without -f there are only such."""
_MAX_PATH: Final = 256


class _Child:
    """What a child will be when it has a line."""

    def __init__(self, parent: Process, flags: i64, line: i64) -> None:
        self.parent: Process = parent
        self.flags: i64 = flags
        self.line: i64 = line
        self.table: DescriptorTable = parent.table
        if flags & CLONE_FILES == 0:
            self.table = snapshot(parent.table)


class Processes:
    """All processes of one strace."""

    def __init__(self, threads: Threads) -> None:
        self.threads: Threads = threads
        self.all: list[Process] = []
        self.attached_late: bool = False
        """The trace begins in the middle of some process."""
        self._attached: list[Process] = []
        self._expected: dict[int, _Child] = {}
        self._cloning: list[Thread] = []
        self._pending: dict[int, _Child] = {}

    def adopt(self, thread: Thread, reader: StraceReader) -> Process:
        """The first line of a thread: where it comes from."""
        line: i64 = reader.half_ref if reader.half_ref != 0 else reader.ref
        thread.first_line = line
        thread.first_ns = reader.time_ns
        child = self._expected.pop(thread.tid, None)
        if child is None and self._cloning:
            child = self._early(thread)
        if child is None and len(self._expected) == 1:
            # In a PID namespace the clone returned a small number of its own.
            number = next(iter(self._expected))
            if 0 < number < thread.tid:
                child = self._expected.pop(number)
                child.parent.assumed = True
        if child is not None:
            return self._born(thread, child)
        return self._found(thread, reader)

    def entered_clone(self, thread: Thread, reader: StraceReader) -> None:
        """A clone whose first half is all there is so far: the child may come before the second."""
        process = thread.process
        if process is None or thread.cloning:
            return
        thread.cloning = True
        thread.early_child = None
        self._cloning.append(thread)
        flags: i64 = clone_flags(reader.args, reader.args_start, reader.args_end, reader.syscall.name)
        self._pending[id(thread)] = _Child(process, flags, reader.ref)

    def cloned(self, thread: Thread, reader: StraceReader) -> None:
        """A clone returned."""
        pending = self._pending.pop(id(thread), None)
        if thread.cloning:
            thread.cloning = False
            self._cloning.remove(thread)
        early = thread.early_child
        thread.early_child = None
        if early is not None or not reader.body.returned or reader.body.ret <= 0:
            return
        tid: i64 = strace_number(reader)
        process = thread.process
        if process is None:
            return
        known = self.threads.by_tid.get(tid)
        if known is not None and known.alive() and known.first_line != 0:
            return  # it was there before: files that were put together, or a clone of another name space
        if pending is None:
            flags: i64 = clone_flags(reader.args, reader.args_start, reader.args_end, reader.syscall.name)
            pending = _Child(process, flags, reader.ref)
        if len(self._expected) >= _MAX_EXPECTED:
            oldest = next(iter(self._expected))
            self._expected.pop(oldest).parent.unfollowed += 1
        self._expected[tid] = pending
        self.threads.announced.add(tid)

    def executed(self, thread: Thread, reader: StraceReader) -> None:
        """execve succeeded: another program, without the other threads and the descriptors marked so."""
        process = thread.process
        if process is None:
            return
        cursor = ArgCursor()
        cursor.open(reader.args, reader.args_start, reader.args_end)
        if cursor.next():
            path, _ = read_string(cursor.buf, cursor.start, cursor.end, _MAX_PATH)
            if path:
                process.exe = path
        line: i64 = reader.ref
        if process.table.users > 1:
            process.table.users -= 1
            process.table = snapshot(process.table)
            take_over(process, line, reader.time_ns)
        for other in process.threads:
            if other is not thread and other.alive():
                self.threads.ended(other, b"gone with execve", line, reader.time_ns)
                other.process = None
        process.threads = [thread]
        process.live_threads = 1
        close_on_exec(process, line, reader.time_ns)

    def ended(self, thread: Thread, line: i64, ns: i64) -> None:
        """A thread's last line: the last thread takes the process with it, the last process the descriptors."""
        process = thread.process
        if process is None:
            return
        thread.cloning = False
        if thread in self._cloning:
            self._cloning.remove(thread)
            self._pending.pop(id(thread), None)
        process.live_threads -= 1
        if process.live_threads > 0 or process.ended_line != 0:
            return
        process.ended_line = line
        process.ended_ns = ns
        process.table.users -= 1
        if process.table.users <= 0:
            close_all(process, line, ns)

    def told_pid(self, thread: Thread, pid: i64) -> None:
        """getpid returned ``pid``."""
        process = thread.process
        if process is None or pid <= 0:
            return
        if process.pid == pid:
            process.pid_known = True
            return
        if process.assumed and thread.clone_line == 0 and len(process.threads) > 1:
            # It was put where it does not belong.
            for other in self.all:
                if other.pid == pid and other is not process:
                    self._move(thread, other)
                    return
            if pid == thread.tid:
                self._move(thread, self._new(pid, DescriptorTable()))
                return
        if not process.pid_known:
            process.pid = pid
            process.pid_known = True

    def finish(self) -> None:
        """Count the children that never had a line."""
        for child in self._expected.values():
            child.parent.unfollowed += 1
        self._expected.clear()

    def _early(self, thread: Thread) -> _Child | None:
        """The child of a clone that has not returned; of several the one that waits longest."""
        for parent in self._cloning:
            if parent.early_child is None and parent is not thread:
                parent.early_child = thread
                return self._pending.get(id(parent))
        return None

    def _born(self, thread: Thread, child: _Child) -> Process:
        thread.clone_line = child.line
        if child.flags & CLONE_THREAD != 0:
            process = child.parent
        else:
            process = self._new(thread.tid, child.table)
            process.parent = child.parent
            process.started = True
            process.pid_known = True
            process.exe = child.parent.exe
            if child.flags & CLONE_FILES != 0:
                child.table.users += 1
            else:
                take_over(process, child.line, thread.first_ns)
        self._join(thread, process)
        return process

    def _found(self, thread: Thread, reader: StraceReader) -> Process:
        """A thread whose making is not in the trace."""
        started = reader.syscall.name == b"execve" and reader.kind <= 3 and not self.all
        groups = self.threads.groups
        process: Process | None = None
        if not started:
            self.attached_late = True
            if int(thread.tid) not in groups:
                process = self._attached_to(thread)
        if process is None:
            process = self._new(thread.tid, DescriptorTable())
            process.started = started
            if not started:
                self._attached.append(process)
            process.pid_known = started and thread.tid > 0
        told = groups.get(thread.tid)
        if told is not None:
            process.attached_threads = told
            process.pid = thread.tid
            process.pid_known = True
        self._join(thread, process)
        return process

    def _attached_to(self, thread: Thread) -> Process | None:
        """The process that was attached to first and still runs: a thread from nowhere is taken to be one of its."""
        self._attached = [process for process in self._attached if process.ended_line == 0]
        if thread.tid <= 0 or not self._attached:
            return None
        process = self._attached[0]
        process.assumed = True
        if not process.pid_known and thread.tid < process.pid:
            process.pid = thread.tid
        return process

    def _new(self, pid: i64, table: DescriptorTable) -> Process:
        process = Process(pid, table)
        process.number = len(self.all)
        self.all.append(process)
        return process

    def _join(self, thread: Thread, process: Process) -> None:
        thread.process = process
        process.threads.append(thread)
        process.live_threads += 1

    def _move(self, thread: Thread, process: Process) -> None:
        old = thread.process
        if old is not None:
            old.threads.remove(thread)
            old.live_threads -= 1
        self._join(thread, process)


def clone_flags(buf: bytes, at: i64, end: i64, name: bytes) -> i64:
    """The CLONE_ flags of ``clone(child_stack=NULL, flags=...|SIGCHLD``, ``clone3({flags=...``, ``clone(0x1200011``."""
    if name in (b"fork", b"vfork"):
        return 0
    found: i64 = text_at(buf, at, end, b"flags=")
    if found >= 0:
        at = found + 6
    value: i64 = read_flags(buf, at, end, _CLONE_BITS)
    if value < 0 or (found < 0 and name == b"clone3"):
        # Not printed. Threads are what clone3 is used for most.
        return CLONE_FILES | CLONE_THREAD if name == b"clone3" else 0
    return value


def strace_number(reader: StraceReader) -> i64:
    """The number a clone returned as the tracer sees it: ``3 /* 32085 in strace's PID NS */`` is 32085."""
    buf = reader.buf
    end: i64 = reader.body.result_end
    at: i64 = text_at(buf, reader.body.result_start, end, b"/* ")
    if at >= 0:
        number, after = read_number(buf, at + 3, end)
        if after > at + 3 and starts(buf, after, end, b" in strace"):
            return number
    return reader.body.ret
