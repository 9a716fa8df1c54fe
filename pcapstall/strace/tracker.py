"""From lines to the model: each line changes what is known of threads, processes, descriptors and sockets.

One pass, in the order of the lines; memory grows with descriptors, sockets and threads, not with lines. `index` runs
it over whole files; `window` derives from it to see what happened meanwhile.
"""

from mypy_extensions import i64

from pcapstall.strace import syscalls as sc
from pcapstall.strace.body import CALL, EXIT, RESUMED, SIGNAL, UNFINISHED
from pcapstall.strace.calls import Calls
from pcapstall.strace.descriptors import snapshot, take_over
from pcapstall.strace.files import ANYTHING
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.model import OpenFile, Process, Thread
from pcapstall.strace.network import pending_connect
from pcapstall.strace.process import Processes
from pcapstall.strace.syscalls import Syscalls
from pcapstall.strace.tasks import Threads


class Tracker:
    """Everything that one strace told so far."""

    def __init__(self) -> None:
        self.threads: Threads = Threads()
        self.syscalls: Syscalls = Syscalls()
        self.processes: Processes = Processes(self.threads)
        self.calls: Calls = Calls()
        self.restarts: i64 = 0
        """restart_syscall calls: waits that were interrupted, by the tracer's attaching for one."""
        self.first_restart_line: i64 = 0
        self.watching: bool = False
        """`observe` and `entered` want to see every call (`window`)."""

    def feed(self, reader: StraceReader) -> None:
        """Take in the line that ``reader`` is at."""
        kind: i64 = reader.kind
        if kind > EXIT:
            return
        thread = reader.thread
        process = thread.process
        if process is None:
            if thread.first_line != 0:
                return  # gone with another thread's execve
            process = self.processes.adopt(thread, reader)
        if kind == CALL or kind == RESUMED:
            self._returned(reader, thread, process)
        elif kind == UNFINISHED:
            thread.half_file = None
            if reader.syscall.fd_first:
                self.calls.enter(reader, process)
            elif reader.syscall.code == sc.CLONE:
                self.processes.entered_clone(thread, reader)
            if self.watching:
                self.entered(reader, process)
        elif kind == EXIT:
            if not thread.alive():
                self.processes.ended(thread, reader.ref, reader.time_ns)
            if self.watching:
                self.happened(reader)
        elif kind == SIGNAL and self.watching:
            self.happened(reader)

    def finish(self) -> None:
        """After the last line: calls that never returned are told to the sockets they are about."""
        self.processes.finish()
        for thread in self.threads.all:
            process = thread.process
            if thread.half is not None and thread.half.code == sc.CONNECT and process is not None:
                pending_connect(thread, process)

    def observe(self, reader: StraceReader, process: Process, file: OpenFile | None) -> None:
        """For `window`: a call returned; ``file`` is what it is about."""

    def entered(self, reader: StraceReader, process: Process) -> None:
        """For `window`: the first half of a call."""

    def happened(self, reader: StraceReader) -> None:
        """For `window`: a signal or an exit."""

    def _returned(self, reader: StraceReader, thread: Thread, process: Process) -> None:
        syscall = reader.syscall
        syscall.calls += 1
        if syscall.first_line == 0:
            syscall.first_line = reader.ref
        if reader.body.ret < 0:
            syscall.failed += 1
        thread.calls += 1
        file: OpenFile | None = None
        code: i64 = syscall.code
        if code == 0:
            if self.watching and syscall.fd_first:
                files = self.calls.files
                files.glancing = True
                file = files.first(process, reader, ANYTHING)
                files.glancing = False
        elif code < sc.CLONE:
            file = self.calls.act(reader, process, code)
        else:
            file = self._tasks(reader, thread, process, code)
        if self.watching:
            self.observe(reader, process, file)

    def _tasks(self, reader: StraceReader, thread: Thread, process: Process, code: i64) -> OpenFile | None:
        """Calls about threads and processes."""
        succeeded = reader.body.returned and reader.body.ret >= 0
        if code == sc.CLONE:
            self.processes.cloned(thread, reader)
        elif code == sc.EXEC:
            if succeeded:
                self.processes.executed(thread, reader)
        elif code == sc.OWN_TID:
            if thread.tid == 0 and succeeded:
                self.threads.name(thread, reader.body.ret)
                if process.pid == 0 and process.started:
                    process.pid = reader.body.ret
                    process.pid_known = True
        elif code == sc.OWN_PID:
            if succeeded:
                self.processes.told_pid(thread, reader.body.ret)
        elif code == sc.RESTART:
            self.restarts += 1
            if self.first_restart_line == 0:
                self.first_restart_line = reader.ref
        elif code == sc.IO_URING:
            if process.uring_line == 0:
                process.uring_line = reader.ref
            return self.calls.act(reader, process, code)
        elif code == sc.UNSHARE:
            if succeeded and b"CLONE_FILES" in reader.args[reader.args_start : reader.args_end]:
                _unshare(process, reader)
        return None


def _unshare(process: Process, reader: StraceReader) -> None:
    """unshare(CLONE_FILES): a table of its own."""
    if process.table.users > 1:
        process.table.users -= 1
        process.table = snapshot(process.table)
        take_over(process, reader.ref, reader.time_ns)
