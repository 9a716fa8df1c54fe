"""The second pass: reads a strace again and fills in the windows of `window`.

It is a `tracker` that also looks at every call's time, so descriptors mean what they meant then. A call belongs to
every window that it overlaps, also when it was entered before and returned after; without -T it ends at the latest
where its thread's next line is.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace import syscalls as sc
from pcapstall.strace.args import ArgCursor, read_fd
from pcapstall.strace.body import EXIT
from pcapstall.strace.family import SETTLED_NS, Lines, Strace
from pcapstall.strace.keeper import Keeper
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.model import EpollSet, OpenFile, Process, Thread
from pcapstall.strace.readiness import Seen, read_wait
from pcapstall.strace.sockets import Socket
from pcapstall.strace.tracker import Tracker
from pcapstall.strace.window import MAX_ARGS, Event, Note, Wake, Window
from pcapstall.strace.windows import Windows

_MAX_WAKES: Final = 4096
_FUTEX_MASK: Final = 0x7F
_WAKING: Final = frozenset((1, 3, 4, 5, 7, 10, 12))
"""FUTEX_WAKE, REQUEUE, CMP_REQUEUE, WAKE_OP, UNLOCK_PI, WAKE_BITSET, CMP_REQUEUE_PI of the kernel's uapi/linux/futex.h;
printed by name unless -X raw."""
_RESTARTS: Final = "ERESTART_RESTARTBLOCK"
_LOOK_EVERY: Final = 4096


class _Tail:
    """Where a thread's last call ended."""

    def __init__(self) -> None:
        self.end_ns: i64 = -1
        self.line: i64 = 0
        self.held: Note | None = None
        """A call whose end is not known before the thread's next line."""
        self.held_seen: Seen | None = None
        self.held_process: Process | None = None
        self.interrupted: str = ""
        """The call that a restart_syscall will go on with."""
        self.interrupted_seen: Seen | None = None


class _KeepsNone(Keeper):
    """Windows have the files that they ask for (`Files.found`); no list of all sockets is read after this pass."""

    def keeps(self, socket: Socket) -> bool:
        """Whether ``socket``, which was closed a while ago, will be asked for."""
        return False


class Recorder(Tracker):
    """A tracker that fills in windows."""

    def __init__(self, windows: list[Window]) -> None:
        super().__init__()
        self.watching = True
        self.calls.files.sockets.keeper = _KeepsNone()
        self.windows: Windows = Windows(windows, self.calls.files)
        self._tails: dict[int, _Tail] = {}
        self._wakes: dict[tuple[int, bytes], Wake] = {}
        self._cursor: ArgCursor = ArgCursor()

    def observe(self, reader: StraceReader, process: Process, file: OpenFile | None) -> None:
        """A call returned."""
        windows = self.windows
        thread = reader.thread
        code: i64 = reader.syscall.code
        if reader.time_ns >= 0:
            windows.reached(reader.time_ns)
        tail = self._tail(thread)
        start: i64 = reader.start_ns
        end: i64 = reader.end_ns
        if start < 0:
            start = end
        if start < 0:
            return
        self._flush(tail, start)
        waker: Wake | None = None
        if code != sc.SIGRETURN:
            # After it a thread goes on with what it was in: a time without a call is one however many signals came.
            self._gap(tail, thread, process, start, reader)
            if code == sc.FUTEX:
                waker = self._futex(reader, process, True)
            tail.end_ns = end if end >= 0 else start
            tail.line = reader.ref
        if end >= 0 and not windows.touched(start, end):
            return
        if end < 0 and start > windows.latest_ns:
            return
        note = self._note(reader, file)
        note.waker = waker
        seen: Seen | None = None
        if code == sc.EPOLL_WAIT or code == sc.POLL or code == sc.SELECT:
            seen = read_wait(reader, process, self.calls.files, file, code)
        elif code == sc.RESTART and tail.interrupted:
            note.continues = tail.interrupted
            seen = tail.interrupted_seen
            if seen is not None:
                seen.ret = note.ret
                seen.ready.cut = True
        elif code == sc.EPOLL_CTL:
            if isinstance(file, EpollSet):
                windows.controlled(note, self.calls, file)
        elif code == sc.CLONE or code == sc.EXEC:
            self._event(reader, process, code)
        if note.errno == _RESTARTS:
            if code != sc.RESTART:
                tail.interrupted = note.name
                tail.interrupted_seen = seen
        else:
            tail.interrupted = ""
        if end < 0:
            tail.held = note
            tail.held_seen = seen
            tail.held_process = process
        else:
            windows.spent(note, process, seen)

    def entered(self, reader: StraceReader, process: Process) -> None:
        """The first half of a call."""
        start: i64 = reader.start_ns
        if start < 0:
            return
        self.windows.reached(start)
        tail = self._tail(reader.thread)
        self._flush(tail, start)
        if reader.syscall.code == sc.SIGRETURN:
            return
        self._gap(tail, reader.thread, process, start, reader)
        tail.end_ns = start
        tail.line = reader.ref
        if reader.syscall.code == sc.FUTEX:
            self._futex(reader, process, False)

    def happened(self, reader: StraceReader) -> None:
        """A signal or an exit."""
        process = reader.thread.process
        now: i64 = reader.time_ns
        if process is None or now < 0:
            return
        self.windows.reached(now)
        tail = self._tail(reader.thread)
        self._flush(tail, now)
        text = reader.buf[reader.body.args_start : reader.body.args_end][:120].decode("utf-8", "backslashreplace")
        kind = "exit" if reader.kind == EXIT else "signal"
        if reader.kind == EXIT:
            if reader.thread.half is not None and reader.thread.half_ns >= 0:
                self._unreturned(reader.thread, process, now)  # killed in it
            else:
                self._gap(tail, reader.thread, process, now, reader)
            tail.end_ns = now
            tail.line = reader.ref
        self.windows.happened(Event(kind, reader.thread, text, reader.ref, now), process)

    def close(self, last_ns: i64) -> None:
        """After the last line: calls that did not return, and threads that called nothing any more."""
        self.finish()
        self.windows.reached(last_ns)
        for thread in self.threads.all:
            process = thread.process
            if process is None:
                continue
            tail = self._tail(thread)
            self._flush(tail, last_ns)
            left = thread.end == b"detached"
            if thread.half is not None and thread.half_ns >= 0 and (thread.alive() or left):
                self._unreturned(thread, process, last_ns)
            elif thread.alive() and tail.end_ns >= 0:
                self.windows.idle(thread, process, tail.end_ns, last_ns, tail.line, 0)

    def _unreturned(self, thread: Thread, process: Process, until_ns: i64) -> None:
        """A call that its thread was in until the trace, or the thread, ended."""
        half = thread.half
        if half is None:
            return
        note = Note(half.name.decode("ascii", "replace"), thread)
        note.line = thread.half_line
        note.start_ns = thread.half_ns
        note.end_ns = max(until_ns, thread.half_ns)
        note.open = True
        note.args = thread.half_args[:MAX_ARGS]
        file = thread.half_file
        if file is not None:
            note.file = file
            note.fd = read_fd(thread.half_args, 0, len(thread.half_args))
        seen: Seen | None = None
        if half.code == sc.EPOLL_WAIT or half.code == sc.POLL or half.code == sc.SELECT:
            seen = self.windows.open_wait(thread, process, half.code)
        self.windows.spent(note, process, seen)

    def settled(self, now_ns: i64) -> bool:
        """Whether nothing that is still to come can belong to a window."""
        latest: i64 = self.windows.latest_ns
        return now_ns > latest + SETTLED_NS and not self.threads.inside_since(latest)

    def _tail(self, thread: Thread) -> _Tail:
        tail = self._tails.get(thread.number)
        if tail is None:
            tail = _Tail()
            self._tails[thread.number] = tail
        return tail

    def _flush(self, tail: _Tail, now: i64) -> None:
        """The thread's next line is here: a call whose end was not known ended before."""
        held = tail.held
        process = tail.held_process
        if held is None or process is None:
            return
        held.end_ns = now if now >= held.start_ns else held.start_ns
        held.bounded = True
        tail.end_ns = held.end_ns
        tail.held = None
        self.windows.spent(held, process, tail.held_seen)
        tail.held_seen = None

    def _gap(self, tail: _Tail, thread: Thread, process: Process, start: i64, reader: StraceReader) -> None:
        """The time since the thread's last call, in which it called nothing."""
        if reader.half_ref == 0 and tail.end_ns >= 0 and start > tail.end_ns:
            self.windows.idle(thread, process, tail.end_ns, start, tail.line, reader.ref)

    def _note(self, reader: StraceReader, file: OpenFile | None) -> Note:
        note = Note(reader.syscall.name.decode("ascii", "replace"), reader.thread)
        note.line = reader.ref if reader.half_ref == 0 else reader.half_ref
        note.end_line = reader.ref
        note.start_ns = reader.start_ns if reader.start_ns >= 0 else reader.end_ns
        note.end_ns = reader.end_ns
        note.args = reader.args[reader.args_start : min(reader.args_end, reader.args_start + MAX_ARGS)]
        note.ret = reader.body.ret
        note.returned = reader.body.returned
        if note.ret < 0 or not note.returned:
            note.errno = reader.body.errno(reader.buf).decode("ascii", "replace")
        if file is not None:
            note.file = file
            if reader.syscall.fd_first:
                note.fd = read_fd(reader.args, reader.args_start, reader.args_end)
        return note

    def _futex(self, reader: StraceReader, process: Process, returned: bool) -> Wake | None:
        """A wake is remembered by its address; of a wait that returned, the wake that ended it is looked up."""
        cursor = self._cursor
        cursor.open(reader.args, reader.args_start, reader.args_end)
        if not cursor.next():
            return None
        address = cursor.buf[cursor.start : cursor.end]
        if len(address) > 24 or not cursor.next():
            return None
        operation = cursor.buf[cursor.start : cursor.end]
        waking = b"WAKE" in operation or b"REQUEUE" in operation or b"UNLOCK" in operation
        if operation[:1].isdigit():
            waking = read_fd(operation, 0, len(operation)) & _FUTEX_MASK in _WAKING
        key = (int(process.number), address)
        if waking and b"WAIT" not in operation:
            if not returned or reader.half_ref == 0:
                if len(self._wakes) >= _MAX_WAKES:
                    self._wakes.clear()
                self._wakes[key] = Wake(reader.thread, reader.ref, reader.start_ns)
            return None
        if not returned or reader.body.ret != 0:
            return None
        wake = self._wakes.get(key)
        if wake is None or wake.start_ns < reader.start_ns:
            return None
        return wake

    def _event(self, reader: StraceReader, process: Process, code: i64) -> None:
        if not reader.body.returned or reader.body.ret < 0:
            return
        kind = "clone"
        text = str(reader.body.ret)
        if code == sc.EXEC:
            kind = "exec"
            text = process.exe.decode("utf-8", "backslashreplace")
        self.windows.happened(Event(kind, reader.thread, text, reader.ref, reader.start_ns), process)


def record(strace: Strace, windows: list[Window]) -> None:
    """Fill in ``windows``, in one pass over ``strace``."""
    recorder = Recorder(windows)
    lines = Lines(strace, recorder.threads, recorder.syscalls)
    last: i64 = -1
    count: i64 = 0
    try:
        while lines.next():
            reader = lines.reader
            recorder.feed(reader)
            if reader.kind <= EXIT and reader.time_ns >= 0:
                last = reader.time_ns
            count += 1
            if count % _LOOK_EVERY == 0 and len(strace.members) == 1 and recorder.settled(last):
                break
    finally:  # Ctrl-C
        lines.close()
    recorder.close(last)
