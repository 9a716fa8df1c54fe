"""The pull cursor of a strace: `next()`, then look at the attributes, which describe the line it moved to.

The attributes are here, which `lines` fills in and which are valid until the next `next`, and how the two halves of a
call are put together.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.body import DETACHED, PID_CHANGED, Body
from pcapstall.strace.clock import Clock
from pcapstall.strace.model import Thread
from pcapstall.strace.syscalls import NONE, Syscall
from pcapstall.strace.tasks import Threads

_MAX_HALF: Final = 64 * 1024


class LineCursor:
    """One line of a strace, and what was noticed of its file so far."""

    def __init__(self, nothing: Syscall, threads: Threads) -> None:
        self.threads: Threads = threads
        self.kind: i64 = 0
        """CALL, UNFINISHED and so on, of `body`."""
        self.line: i64 = 0
        """Number of the line, the first is 1."""
        self.ref: i64 = 0
        """The line and its file in one number (`core.frames`)."""
        self.thread: Thread = Thread(0)
        self.syscall: Syscall = nothing
        self.time_ns: i64 = -1
        """The stamp of the line; -1 when it has none. See `clock` for what it counts from."""
        self.start_ns: i64 = -1
        """When the call was entered."""
        self.end_ns: i64 = -1
        """When it returned; -1 when neither -T nor a second half tells."""
        self.duration_ns: i64 = -1
        self.half_ref: i64 = 0
        """The line of the first half, for a resumed call whose first half was seen."""
        self.args_lost: bool = False
        """A second half whose first half is not in the trace: some arguments are missing."""
        self.buf: bytes = b""
        """Holds the text of the line: name, arguments, result, at the extents in `body`."""
        self.args: bytes = b""
        """Holds the arguments at `args_start`; for a resumed call they are put together."""
        self.args_start: i64 = 0
        self.args_end: i64 = 0
        self.args_rest: i64 = 0
        """`args_start`, or the end of the first argument when it has been read: whoever needs only those behind it
        starts here, and takes what comes first for the first."""
        self.body: Body = Body()
        self.clock: Clock = Clock()
        self.first_unread: bytes = b""
        self.first_unread_line: i64 = 0
        self.has_durations: bool = False
        """Some line had what -T prints."""
        self.lost_halves: i64 = 0
        """Halves of calls whose other half is not there, though the thread's lines around it are: lines were lost."""
        self.first_lost_ref: i64 = 0
        self.skims: bool = False
        """Nobody asks for the arguments of waits and of calls that are only counted: their halves are not joined."""
        self.has_brackets: bool = False
        self.detached_ref: i64 = 0
        """The first line that says the tracer let go."""

    def lost_half(self) -> None:
        """The other half of a call should have stood before this line."""
        self.lost_halves += 1
        if self.first_lost_ref == 0:
            self.first_lost_ref = self.ref

    def _joins(self, syscall: Syscall) -> bool:
        """Whether the arguments of such a call are kept until it returns."""
        if self.skims:
            return syscall.code != NONE and not syscall.waits
        return syscall.code != NONE or syscall.fd_first

    def suspend(self, thread: Thread, syscall: Syscall, now: i64) -> None:
        """Keep the first half with its thread."""
        body = self.body
        if body.half_end == DETACHED:
            self.threads.ended(thread, b"detached", self.ref, now)
            if self.detached_ref == 0:
                self.detached_ref = self.ref
        if body.half_end == PID_CHANGED and body.changed_pid > 0:
            # A thread that executes a program takes the number of its process: the second half comes under that.
            thread = self.threads.of(body.changed_pid)
        if not body.again or thread.half is not syscall:
            thread.half_args = b""
            if self._joins(syscall):
                end: i64 = body.args_end
                if end > body.args_start + _MAX_HALF:
                    end = body.args_start + _MAX_HALF
                thread.half_args = self.buf[body.args_start : end]
            thread.half_ns = now
            thread.half_line = self.ref
        thread.half = syscall

    def resume(self, thread: Thread, syscall: Syscall, now: i64) -> None:
        """Join the second half to the first."""
        body = self.body
        self.args = self.buf
        self.args_start = body.args_start
        self.args_rest = body.args_start
        self.args_end = body.args_end
        self.end_ns = now
        self.start_ns = -1
        duration: i64 = body.duration_ns
        self.half_ref = 0
        self.args_lost = True
        if thread.half is not syscall and thread.calls > 0:
            self.lost_half()
        if thread.half is syscall:
            self.args_lost = False
            self.half_ref = thread.half_line
            self.start_ns = thread.half_ns
            if self._joins(syscall):
                self.args = thread.half_args + self.buf[body.args_start : body.args_end]
                self.args_start = 0
                self.args_rest = 0
                self.args_end = len(self.args)
                thread.half_args = b""
        thread.half = None
        if duration >= 0:
            self.has_durations = True
            if self.start_ns < 0 and now >= duration:
                self.start_ns = now - duration
        elif self.start_ns >= 0 and now >= self.start_ns:
            duration = now - self.start_ns
        self.duration_ns = duration
