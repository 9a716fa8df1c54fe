"""Epoll sets: what is registered in them, with which mask and which data, from ADD over MOD to DEL or close.

The data an event carries belongs to the registration whose last ADD or MOD gave it; nested sets are registrations like
any other. What a wait returned in a window is `window`'s matter.
"""

from mypy_extensions import i64

from pcapstall.strace.args import ArgCursor, read_flags
from pcapstall.strace.descriptors import end_interest
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.model import EpollSet, Interest, OpenFile
from pcapstall.strace.transfer import make_call
from pcapstall.strace.waits import CONTROLS, CTL_ADD, CTL_DEL, CTL_MOD, UNKNOWN_DATA, read_event


class Control:
    """The arguments of one epoll_ctl."""

    def __init__(self) -> None:
        self.operation: i64 = -1
        """CTL_ADD, CTL_MOD, CTL_DEL of `waits`; -1 when it was not printed."""
        self.fd_start: i64 = 0
        self.fd_end: i64 = 0
        """Extent of the descriptor it is about."""
        self.mask: i64 = -1
        self.data: int = UNKNOWN_DATA


def read_control(reader: StraceReader, control: Control, with_event: bool) -> bool:
    """``epoll_ctl(3, EPOLL_CTL_ADD, 6, {events=EPOLLIN, data={u32=8, u64=8}})``; False when arguments are missing."""
    cursor = ArgCursor()
    cursor.open(reader.args, reader.args_rest, reader.args_end)
    if not cursor.skip(1):
        return False
    if with_event:
        control.operation = read_flags(cursor.buf, cursor.start, cursor.end, CONTROLS)
    if not cursor.next():
        return False
    control.fd_start = cursor.start
    control.fd_end = cursor.end
    control.mask = -1
    control.data = UNKNOWN_DATA
    if with_event and control.operation != CTL_DEL and cursor.next():
        event = read_event(cursor.buf, cursor.start, cursor.end)
        if event is not None:
            control.mask = event.mask
            control.data = event.data
    return True


def apply_control(reader: StraceReader, epoll: EpollSet, target: OpenFile, fd: i64, control: Control) -> None:
    """A control call that succeeded, or was told that the registration is (not) there."""
    key = (id(target), int(fd))
    interest = epoll.interests.get(key)
    line: i64 = reader.ref
    if reader.half_ref != 0:
        line = reader.half_ref
    operation: i64 = control.operation
    if operation == CTL_DEL:
        if interest is not None:
            end_interest(interest, line, reader.start_ns, "DEL")
        return
    if operation != CTL_ADD and operation != CTL_MOD:
        return
    if interest is None or operation == CTL_ADD:
        if interest is not None:
            end_interest(interest, line, reader.start_ns, "close")
        interest = Interest(epoll, target, fd, control.mask, control.data)
        interest.process = epoll.process
        interest.ns = reader.start_ns
        interest.done_ns = reader.end_ns
        if operation == CTL_ADD:
            interest.line = line
        epoll.interests[key] = interest
        target.watched(interest)
    if operation == CTL_MOD:
        interest.mask = control.mask
        interest.data = control.data
        interest.changes += 1
        interest.changed_line = line


def waited(reader: StraceReader, epoll: EpollSet) -> None:
    """A wait on the set returned."""
    epoll.waits += 1
    if epoll.first_wait is None:
        epoll.first_wait = make_call(reader)
