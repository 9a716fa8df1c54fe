"""The pull cursor of a strace: `next()`, then look at the attributes, which describe the line it moved to.

Only the attributes are here; `lines` fills them in. They are valid until the next `next`.
"""

from mypy_extensions import i64

from pcapstall.strace.body import Body
from pcapstall.strace.clock import Clock
from pcapstall.strace.model import Thread
from pcapstall.strace.syscalls import Syscall


class LineCursor:
    """One line of a strace, and what was noticed of its file so far."""

    def __init__(self, nothing: Syscall) -> None:
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
        self.body: Body = Body()
        self.clock: Clock = Clock()
        self.first_unread: bytes = b""
        self.first_unread_line: i64 = 0
        self.has_durations: bool = False
        """Some line had what -T prints."""
        self.has_brackets: bool = False
        self.detached_ref: i64 = 0
        """The first line that says the tracer let go."""
