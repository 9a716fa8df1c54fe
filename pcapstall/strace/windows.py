"""All windows of one second pass: which of them a call, a gap or an event belongs to, and its entry there.

Windows are kept in the order of their beginnings, so that a line looks only at those it can overlap.
"""

from bisect import bisect_left, bisect_right
from typing import Final

from mypy_extensions import i64

from pcapstall.strace import syscalls as sc
from pcapstall.strace.args import ArgCursor
from pcapstall.strace.calls import Calls
from pcapstall.strace.files import Files
from pcapstall.strace.model import EpollSet, Process, Thread
from pcapstall.strace.readiness import Delivery, Seen, delivery
from pcapstall.strace.waits import ReadySet, read_pollfds
from pcapstall.strace.window import (
    KEPT,
    MAX_KINDS,
    Activity,
    Control,
    Event,
    Note,
    Registration,
    Spent,
    Wait,
    Window,
)

_OTHER: Final = "(other)"


class Windows:
    """The windows of one pass, open for entries."""

    def __init__(self, windows: list[Window], files: Files) -> None:
        self.latest_ns: i64 = -1
        """Where the last of them ends."""
        self._earliest_ns: i64 = 0
        self._longest_ns: i64 = 0
        self._files: Files = files
        self._sorted: list[Window] = sorted(windows, key=_by_start)
        self._starts: list[int] = [window.start_ns for window in self._sorted]
        self._opened: i64 = 0
        self._stopped: dict[int, Event] = {}
        """By the process' number, those that a signal has stopped."""
        for window in windows:
            self.latest_ns = max(self.latest_ns, window.end_ns)
            self._longest_ns = max(self._longest_ns, window.end_ns - window.start_ns)
            files.watched |= window.sockets
        if self._starts:
            self._earliest_ns = self._starts[0]

    def touched(self, start_ns: i64, end_ns: i64) -> bool:
        """Whether some window may overlap this stretch."""
        return end_ns >= self._earliest_ns and start_ns <= self.latest_ns

    def reached(self, now_ns: i64) -> None:
        """The pass has come to this time: windows that begin before it see what is registered."""
        while self._opened < len(self._sorted) and i64(self._starts[self._opened]) <= now_ns:
            window = self._sorted[self._opened]
            self._opened += 1
            for number in sorted(window.processes):
                stop = self._stopped.get(number)
                if stop is not None:
                    window.events.append(stop)
            for serial in sorted(window.sockets):
                target = self._files.found.get(serial)
                if target is None:
                    continue
                for interest in target.watches:
                    if not interest.removed:
                        epoll = interest.epoll
                        line: i64 = interest.line
                        window.registrations.append(
                            Registration(
                                serial, epoll.number, epoll.fd, interest.fd, interest.mask, interest.data, line,
                                interest.changed_line,
                            )
                        )  # fmt: skip

    def spent(self, note: Note, process: Process, seen: Seen | None) -> None:
        """A call: to each window that it overlaps."""
        for window in self._overlapping(note.start_ns, note.end_ns):
            if process.number in window.processes:
                window.calls += 1
                _account(window.activity(note.thread), window, note)
            if note.file is not None and note.file.serial in window.sockets:
                window.io.add(note)
            if seen is not None:
                self._waited(window, note, process, seen)

    def idle(self, thread: Thread, process: Process, start: i64, end: i64, line: i64, end_line: i64) -> None:
        """A stretch in which a thread was in no call."""
        if not self.touched(start, end):
            return
        for window in self._overlapping(start, end):
            if process.number not in window.processes:
                continue
            inside_start: i64 = max(start, window.start_ns)
            inside_end: i64 = min(end, window.end_ns)
            activity = window.activity(thread)
            if inside_end - inside_start > activity.gap_ns:
                activity.gap_ns = inside_end - inside_start
                activity.gap_start_ns = inside_start
                activity.gap_line = line
                activity.gap_end_line = end_line

    def happened(self, event: Event, process: Process) -> None:
        """A signal, exit, clone or execve."""
        if event.text.startswith("stopped by "):
            self._stopped[process.number] = event
        elif event.text.startswith("SIGCONT"):
            self._stopped.pop(process.number, None)
        for window in self._overlapping(event.ns, event.ns):
            if process.number in window.processes and len(window.events) < KEPT:
                window.events.append(event)

    def controlled(self, note: Note, calls: Calls, epoll: EpollSet) -> None:
        """An epoll_ctl that succeeded."""
        target = calls.control_target
        if target is None or not note.returned or note.ret < 0:
            return
        control = calls.control
        end: i64 = note.end_ns if note.end_ns >= 0 else note.start_ns
        for window in self._overlapping(note.start_ns, end):
            if target.serial in window.sockets and len(window.controls) < KEPT:
                window.controls.append(
                    Control(note, target.serial, control.operation, epoll.number, control.mask, control.data)
                )

    def open_wait(self, thread: Thread, process: Process, code: i64) -> Seen:
        """A wait that had not returned when the trace ended."""
        seen = Seen()
        if code == sc.EPOLL_WAIT:
            file = thread.half_file
            if isinstance(file, EpollSet):
                seen.epoll = file
            return seen
        cursor = ArgCursor()
        cursor.open(thread.half_args, 0, len(thread.half_args))
        if code == sc.POLL and cursor.next():
            asked = read_pollfds(cursor.buf, cursor.start, cursor.end)
            kept = ReadySet()
            kept.cut = asked.cut
            for item in asked.items:
                meant = process.table.files.get(item.fd)
                if meant is not None:
                    kept.items.append(item)
                    seen.files.append(meant)
            seen.asked = kept
        return seen

    def _overlapping(self, start: i64, end: i64) -> list[Window]:
        if not self.touched(start, end):
            return []
        low: i64 = bisect_left(self._starts, start - self._longest_ns)
        high: i64 = bisect_right(self._starts, end)
        found: list[Window] = []
        while low < high:
            window = self._sorted[low]
            if window.end_ns >= start:
                found.append(window)
            low += 1
        return found

    def _waited(self, window: Window, note: Note, process: Process, seen: Seen) -> None:
        mine = False
        for serial in window.sockets:
            target = self._files.found.get(serial)
            if target is None:
                continue
            part = delivery(seen, target, note.start_ns, note.end_ns)
            if part.waited:
                mine = True
                wait = _as_wait(note, part, seen, serial)
                window.waits.add(wait)
                window.longest_wait_ns = max(window.longest_wait_ns, _inside(window, note))
        if not mine and process.number in window.processes:
            key: i64 = seen.epoll.number if seen.epoll is not None else -1
            other = window.other_waits.get(key)
            if other is None:
                if len(window.other_waits) >= MAX_KINDS:
                    return
                other = Spent(note.name, note.file, note.fd)
                window.other_waits[key] = other
            other.add(_inside(window, note), note)


def _by_start(window: Window) -> int:
    return window.start_ns


def _inside(window: Window, note: Note) -> i64:
    """How much of a call lies in a window."""
    inside: i64 = min(note.end_ns, window.end_ns) - max(note.start_ns, window.start_ns)
    return max(inside, 0)  # the traced machine's clock may have been set back meanwhile


def _as_wait(note: Note, part: Delivery, seen: Seen, serial: i64) -> Wait:
    wait = Wait(note.name, note.thread)
    wait.line = note.line
    wait.end_line = note.end_line
    wait.start_ns = note.start_ns
    wait.end_ns = note.end_ns
    wait.bounded = note.bounded
    wait.open = note.open
    wait.continues = note.continues
    wait.ret = note.ret
    wait.returned = note.returned
    wait.errno = note.errno
    wait.args = note.args
    wait.fd = note.fd
    wait.file = note.file
    wait.socket = serial
    if seen.epoll is not None:
        wait.epoll = seen.epoll.number
    wait.nested = part.nested
    wait.delivered = part.delivered
    wait.events = part.events
    wait.asked = part.asked
    return wait


def _account(activity: Activity, window: Window, note: Note) -> None:
    """Enter a call into what its thread did."""
    inside: i64 = _inside(window, note)
    activity.calls += 1
    activity.in_calls_ns += inside
    key = (note.name, int(note.file.serial) if note.file is not None else 0)
    spent = activity.kinds.get(key)
    if spent is None:
        if len(activity.kinds) >= MAX_KINDS:
            key = (_OTHER, 0)
            spent = activity.kinds.get(key)
        if spent is None:
            spent = Spent(key[0], note.file if key[0] != _OTHER else None, note.fd)
            activity.kinds[key] = spent
    spent.add(inside, note)
    if inside > activity.longest_ns:
        activity.longest_ns = inside
        activity.longest = note
    if note.start_ns < window.start_ns:
        activity.at_start = note
    if note.end_ns > window.end_ns or (note.open and note.end_ns >= window.end_ns):
        activity.at_end = note
