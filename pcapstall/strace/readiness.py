"""Whether a wait was one for a given socket, and whether it returned that socket.

An epoll event carries data, not a descriptor: it is of the registration whose last ADD or MOD gave that data, and of
none for sure when several did. Sets may hold sets, five deep (the kernel's limit).
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace import syscalls as sc
from pcapstall.strace.args import ArgCursor
from pcapstall.strace.files import ANYTHING, Files
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.model import EpollSet, Interest, OpenFile, Process
from pcapstall.strace.waits import (
    EPOLLIN,
    EPOLLOUT,
    EPOLLPRI,
    UNKNOWN_DATA,
    ReadySet,
    read_events,
    read_fd_set,
    read_poll_result,
    read_pollfds,
    read_select_result,
)
from pcapstall.strace.window import NO, UNKNOWN, YES

_DEEPEST: Final = 5


class Seen:
    """What a readiness call was asked for and what it returned."""

    def __init__(self) -> None:
        self.epoll: EpollSet | None = None
        self.files: list[OpenFile] = []
        """Of poll and select: what was asked for, one for each of `asked`."""
        self.asked: ReadySet = ReadySet()
        self.ready: ReadySet = ReadySet()
        self.ret: i64 = 0


class Delivery:
    """One socket's part in a wait."""

    def __init__(self) -> None:
        self.waited: bool = False
        self.nested: bool = False
        self.delivered: i64 = UNKNOWN
        self.events: i64 = -1
        self.asked: i64 = -1


def read_wait(reader: StraceReader, process: Process, files: Files, file: OpenFile | None, code: i64) -> Seen:
    """The wait on the reader's line: an epoll, poll or select call that returned."""
    seen = Seen()
    seen.ret = reader.body.ret if reader.body.returned else -1
    cursor = ArgCursor()
    cursor.open(reader.args, reader.args_start, reader.args_end)
    if code == sc.EPOLL_WAIT:
        if isinstance(file, EpollSet):
            seen.epoll = file
        if seen.ret > 0 and cursor.skip(1):
            seen.ready = read_events(cursor.buf, cursor.start, cursor.end)
        return seen
    if code == sc.POLL:
        if cursor.next():
            seen.asked = read_pollfds(cursor.buf, cursor.start, cursor.end)
        if seen.ret > 0:
            seen.ready = read_poll_result(reader.buf, reader.body.result_start, reader.body.result_end)
    else:
        if cursor.next():
            for mask in (EPOLLIN, EPOLLOUT, EPOLLPRI):
                if cursor.next():
                    read_fd_set(cursor.buf, cursor.start, cursor.end, mask, seen.asked)
        if seen.ret > 0:
            seen.ready = read_select_result(reader.buf, reader.body.result_start, reader.body.result_end)
    kept = ReadySet()
    files.glancing = True
    for item in seen.asked.items:
        text = b"%d" % item.fd
        meant = files.at(process, reader, text, 0, len(text), ANYTHING)
        if meant is not None:
            kept.items.append(item)
            seen.files.append(meant)
    files.glancing = False
    kept.cut = seen.asked.cut
    seen.asked = kept
    return seen


def registration_in(target: OpenFile, epoll: EpollSet, start_ns: i64, end_ns: i64) -> Interest | None:
    """The registration of ``target`` in ``epoll`` at some time between the two; the last one of several."""
    found: Interest | None = None
    for interest in target.watches:
        if interest.epoll is not epoll or (end_ns >= 0 and interest.ns > end_ns):
            continue
        if not interest.removed or interest.removed_ns >= start_ns:
            found = interest
    return found


def holds(epoll: EpollSet, target: OpenFile, start_ns: i64, end_ns: i64, depth: i64 = 0) -> bool:
    """Whether ``epoll`` holds ``target``, or a set that does."""
    if registration_in(target, epoll, start_ns, end_ns) is not None:
        return True
    if depth >= _DEEPEST:
        return False
    for interest in target.watches:
        if interest.epoll is not epoll and holds(epoll, interest.epoll, start_ns, end_ns, depth + 1):
            return True
    return False


def delivery(seen: Seen, target: OpenFile, start_ns: i64, end_ns: i64) -> Delivery:
    """The part that ``target`` has in a wait."""
    part = Delivery()
    epoll = seen.epoll
    if epoll is not None:
        interest = registration_in(target, epoll, start_ns, end_ns)
        if interest is not None:
            part.waited = True
            part.asked = interest.mask
            _from_epoll(part, seen, epoll, interest)
        elif holds(epoll, target, start_ns, end_ns):
            part.waited = True
            part.nested = True
            part.delivered = NO if seen.ret <= 0 else UNKNOWN
        return part
    for item, file in zip(seen.asked.items, seen.files, strict=True):
        if file is target:
            part.waited = True
            part.asked = item.mask if part.asked < 0 else part.asked | item.mask
            _from_poll(part, seen, item.fd)
        elif isinstance(file, EpollSet) and not part.waited and holds(file, target, start_ns, end_ns):
            part.waited = True
            part.nested = True
            part.delivered = NO if seen.ret <= 0 else UNKNOWN
    return part


def _from_epoll(part: Delivery, seen: Seen, epoll: EpollSet, interest: Interest) -> None:
    if seen.ret <= 0:
        part.delivered = NO
        return
    if interest.data == UNKNOWN_DATA or (not seen.ready.items and seen.ready.cut):
        if len(epoll.interests) == 1:
            part.delivered = YES
        return
    twins = sum(1 for other in epoll.interests.values() if other is not interest and other.data == interest.data)
    for event in seen.ready.items:
        if event.data == interest.data:
            part.events = event.mask
            part.delivered = UNKNOWN if twins else YES
            return
    part.delivered = UNKNOWN if seen.ready.cut else NO


def _from_poll(part: Delivery, seen: Seen, fd: i64) -> None:
    if seen.ret <= 0:
        part.delivered = NO
        return
    for event in seen.ready.items:
        if event.fd == fd:
            part.events = event.mask if part.events < 0 else part.events | event.mask
            part.delivered = YES
    if part.delivered != YES:
        part.delivered = UNKNOWN if seen.ready.cut else NO
