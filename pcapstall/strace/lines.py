"""The reader of a strace: line by line to calls, halves of calls, signals, exits, remarks, continuations, unread lines.

A pull cursor: `next()`, then look at the attributes. Nothing is allocated for a line but its name's lookup, and the
memory it takes is a chunk and one half call a thread, whatever the file's size. What calls mean is `tracker`'s matter.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.frames import frame_ref
from pcapstall.strace.body import (
    CALL,
    CONTINUATION,
    EXIT,
    NOTHING,
    OPEN,
    RESUMED,
    RESUMED_START,
    UNFINISHED,
    UNREAD,
    strip_interrupt,
)
from pcapstall.strace.cursor import LineCursor
from pcapstall.strace.feed import LineFeed
from pcapstall.strace.leader import EPOCH, NO_STAMP, Leader
from pcapstall.strace.model import shared
from pcapstall.strace.remarks import Remarks, begins_line, cut_remark
from pcapstall.strace.syscalls import Syscall, Syscalls
from pcapstall.strace.tasks import Threads
from pcapstall.strace.walk import LESS, OPEN_PAREN, SPACE

_MAX_JOINED: Final = 64 * 1024
_MAX_JOINED_LINES: Final = 40
_CARET: Final = 94


class StraceReader(LineCursor):
    """One file, line by line."""

    def __init__(
        self,
        feed: LineFeed,
        threads: Threads,
        syscalls: Syscalls,
        file_index: i64 = 0,
        tid: i64 = -1,
    ) -> None:
        super().__init__(syscalls.other, threads)
        self.syscalls: Syscalls = syscalls
        self.file_index: i64 = file_index
        self._calls: i64 = 0
        self._unfinished: i64 = 0
        self._resumed: i64 = 0
        self._others: list[int] = [0] * OPEN
        self._tid: i64 = tid
        self._feed: LineFeed = feed
        self._leader: Leader = Leader()
        self._peeked: Leader = Leader()
        self._remarks: Remarks = Remarks()
        self._ahead: Syscall = syscalls.other
        self._saw_stamp: bool = False
        self._saw_tid: bool = False

    def next(self) -> bool:
        """Move to the next line, or to the next call when one was broken over several. False at the end."""
        feed = self._feed
        if not feed.next():
            return False
        if feed.soft_breaks > 0:
            self._others[CONTINUATION] += feed.soft_breaks
        self.line = feed.first_number
        self.ref = frame_ref(self.file_index, self.line)
        tail = False
        buf = feed.text
        start: i64 = 0
        end: i64 = feed.end
        if end > 0 and buf[0] == _CARET:
            start = strip_interrupt(buf, 0, end)
        at: i64 = self._leader.read(buf, start, end)
        kind: i64 = self._classify(buf, start, at, end)
        if kind == OPEN:
            kind = self._join(feed.line())
        elif kind == UNREAD:
            if self.kind == UNFINISHED and self.body.read_tail(buf, start, end) == RESUMED:
                kind = RESUMED
                tail = True
            else:
                self._note_unread(feed.line())
        self.kind = kind
        if kind == CALL:
            self._calls += 1
        elif kind == UNFINISHED:
            self._unfinished += 1
        elif kind == RESUMED:
            self._resumed += 1
        else:
            self._others[kind] += 1
        if tail:
            self.time_ns = -1
            self.resume(self.thread, self.syscall, -1)
        elif kind <= EXIT:
            self._place(kind)
        return True

    @property
    def counts(self) -> list[int]:
        """Lines of each kind so far; together they are all lines that were read."""
        counts = list(self._others)
        counts[CALL] = self._calls
        counts[UNFINISHED] = self._unfinished
        counts[RESUMED] = self._resumed
        return counts

    @property
    def names_tids(self) -> bool:
        """Some line so far said whose it is."""
        return self._saw_tid

    def _classify(self, buf: bytes, start: i64, at: i64, end: i64) -> i64:
        """The kind of a line whose leader has been read up to ``at``."""
        self.buf = buf
        # Trailing blanks: padded terminal lines, and "resumed> ) = 0 " of old ones.
        while end > at and buf[end - 1] == SPACE:
            end -= 1
        if at < end and buf[at] == _CARET:
            at = strip_interrupt(buf, at, end)
        if end - at > 2:
            name: i64 = at
            mark: i64 = OPEN_PAREN
            if buf[at] == LESS:
                name = at + len(RESUMED_START)
                mark = SPACE
            syscall = self.syscalls.ahead(buf, name, end, mark)
            self._ahead = syscall
            name_end: i64 = 0
            if syscall is not self.syscalls.other:
                name_end = name + len(syscall.name)
            kind: i64 = self.body.read(buf, at, end, name_end)
            if kind != NOTHING:
                return kind
        return self._remarks.kind(buf, start, end, self.threads, self.ref)

    def _join(self, held: bytes) -> i64:
        """A call without an end: read on until it ends, or a line begins that cannot be its rest."""
        feed = self._feed
        taken: i64 = 0
        kind: i64 = OPEN
        over = False
        held = cut_remark(held, self.threads)
        while taken < _MAX_JOINED_LINES:
            if not feed.next():
                over = True
                break
            piece = feed.line()
            if self._begins(piece) or len(held) > _MAX_JOINED:
                feed.back()
                break
            taken += 1 + feed.soft_breaks
            held = cut_remark(held + piece, self.threads)
            kind = self._reread(held)
            if kind != OPEN:
                break
        if over and kind == OPEN:
            # The file ends inside the line: a call that was entered, as far as anybody knows.
            held += b" <unfinished ...>"
            kind = self._reread(held)
        if kind == OPEN or kind == NOTHING:
            kind = UNREAD
        if kind == UNREAD:
            self._others[UNREAD] += taken
            self._note_unread(held)
        else:
            self._others[CONTINUATION] += taken
        return kind

    def _reread(self, held: bytes) -> i64:
        """The kind of a line that was put together."""
        end: i64 = len(held)
        start: i64 = strip_interrupt(held, 0, end)
        return self._classify(held, start, self._leader.read(held, start, end), end)

    def _begins(self, text: bytes) -> bool:
        return begins_line(text, self._peeked, self._saw_stamp, self._saw_tid and not self.has_brackets)

    def _place(self, kind: i64) -> None:
        """Who and when: sets what the line alone does not tell."""
        leader = self._leader
        body = self.body
        buf = self.buf
        syscall = self.syscall
        if kind <= RESUMED:
            syscall = self._ahead
            if syscall is self.syscalls.other:
                syscall = self.syscalls.at(buf, body.name_start, body.name_end)
            self.syscall = syscall
        threads = self.threads
        tid: i64 = leader.tid
        if tid < 0:
            tid = self._tid
        else:
            self._saw_tid = True
        if leader.bracketed:
            self.has_brackets = True
            thread = threads.of_bracket(tid, syscall if kind == RESUMED else None)
        elif tid >= 0:
            thread = threads.of(tid)
        else:
            thread = threads.unnamed()
        if len(thread.end) > 0 and kind <= UNFINISHED:
            thread = threads.renew(thread)
        self.thread = thread
        if leader.comm_end > 0:
            comm = buf[leader.comm_start : leader.comm_end]
            if comm != thread.comm:
                thread.comm = comm
        now: i64 = -1
        if leader.stamp_kind != NO_STAMP:
            self._saw_stamp = True
            now = self.clock.place(leader.stamp_kind, leader.stamp_ns, leader.digits, leader.delta_ns)
        elif self._feed.stamp_ns >= 0 and not self._saw_stamp:
            now = self.clock.place(EPOCH, self._feed.stamp_ns, 9, -1)
        self.time_ns = now
        if now >= 0:
            thread.last_ns = now
            if thread.kept is not None:
                thread.kept.next_ns = now
                thread.kept = None
        self.args = buf
        self.args_start = body.args_start
        self.args_rest = body.args_start
        self.args_end = body.args_end
        self.start_ns = now
        self.end_ns = -1
        self.duration_ns = -1
        self.half_ref = 0
        self.args_lost = False
        if kind == CALL:
            duration: i64 = body.duration_ns
            if duration >= 0:
                self.has_durations = True
                self.duration_ns = duration
                if now >= 0:
                    self.end_ns = now + duration
            if thread.half is not None:
                self.lost_half()
                thread.half = None
        elif kind == RESUMED:
            self.resume(thread, syscall, now)
        elif kind == UNFINISHED:
            self.suspend(thread, syscall, now)
        elif kind == EXIT:
            end = buf[body.args_start : body.args_end]
            if not end.startswith(b"superseded"):
                threads.ended(thread, shared(end), self.ref, now)

    def _note_unread(self, text: bytes) -> None:
        if self.first_unread_line == 0:
            self.first_unread_line = self.line
            self.first_unread = text[:200]
