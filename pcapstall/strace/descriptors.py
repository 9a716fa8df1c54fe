"""Descriptor tables: what a number means from when to when, through dup, fork, exec and close.

A file's last descriptor takes its registrations in epoll sets with it, as in the kernel. Which call does what is
`tracker`'s matter.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.model import (
    EPOLL,
    SOCKET,
    DescriptorTable,
    EpollSet,
    Interest,
    Life,
    OpenFile,
    Process,
)

CLOSED: Final = "close"
REPLACED: Final = "replaced"
"""By dup2."""
REUSED: Final = "reused"
"""The number was given out again, so the close was not traced."""
EXEC: Final = "exec"
EXITED: Final = "exit"


def install(process: Process, fd: i64, file: OpenFile, cloexec: bool, line: i64, ns: i64, over: str = REUSED) -> None:
    """From ``line`` on ``fd`` means ``file``. What it meant before ends as ``over``."""
    table = process.table
    if fd < 0:
        return
    old = table.files.get(fd)
    if old is file and over == REUSED:
        return
    if old is not None:
        remove(process, fd, line, ns, over)
    table.files[fd] = file
    if cloexec:
        table.cloexec[fd] = True
    elif fd in table.cloexec:
        del table.cloexec[fd]
    if file.fd < 0:
        file.fd = fd
        file.process = process
    file.refs += 1
    if file.closed_line != 0:
        reopen(file)
    if file.kind == SOCKET or file.kind == EPOLL:
        file.lived(Life(process, fd, line, ns))


def remove(process: Process, fd: i64, line: i64, ns: i64, how: str) -> None:
    """``fd`` means nothing any more; nothing happens when it did not before."""
    table = process.table
    file = table.files.get(fd)
    if file is None:
        return
    del table.files[fd]
    if fd in table.cloexec:
        del table.cloexec[fd]
    _end_life(file, table, fd, line, ns, how)
    release(file, line, ns)


def _end_life(file: OpenFile, table: DescriptorTable, fd: i64, line: i64, ns: i64, how: str) -> None:
    for life in file.lives:
        if not life.end and life.fd == fd and life.process.table is table:
            life.end = how
            life.end_line = line
            life.end_ns = ns


def release(file: OpenFile, line: i64, ns: i64) -> None:
    """One descriptor less; the last one closes the file and ends its registrations."""
    file.refs -= 1
    if file.refs > 0:
        return
    file.refs = 0
    file.closed_line = line
    file.closed_ns = ns
    for interest in file.watches:
        if not interest.removed:
            end_interest(interest, line, ns, "close")
    if isinstance(file, EpollSet):
        for interest in list(file.interests.values()):
            end_interest(interest, line, ns, "close")


def reopen(file: OpenFile) -> None:
    """The last descriptor was not the last: a child that was made before the close had one too."""
    line: i64 = file.closed_line
    file.closed_line = 0
    file.closed_ns = -1
    for interest in file.watches:
        if interest.removed == "close" and interest.removed_line == line and interest.epoll.closed_line == 0:
            interest.removed = ""
            interest.removed_line = 0
            interest.removed_ns = -1
            interest.epoll.interests[(id(file), interest.fd)] = interest


def end_interest(interest: Interest, line: i64, ns: i64, how: str) -> None:
    """A registration ends."""
    interest.removed = how
    interest.removed_line = line
    interest.removed_ns = ns
    interest.epoll.interests.pop((id(interest.target), interest.fd), None)


def remove_range(process: Process, first: i64, last: i64, line: i64, ns: i64) -> None:
    """close_range."""
    for fd in [number for number in process.table.files if first <= number <= last]:
        remove(process, fd, line, ns, CLOSED)


def close_on_exec(process: Process, line: i64, ns: i64) -> None:
    """What execve closes."""
    for fd in list(process.table.cloexec):
        remove(process, fd, line, ns, EXEC)


def close_all(process: Process, line: i64, ns: i64) -> None:
    """What the exit of the last user of a table closes."""
    for fd in list(process.table.files):
        remove(process, fd, line, ns, EXITED)
    process.table.files = {}  # an emptied dict keeps its storage


def snapshot(table: DescriptorTable) -> DescriptorTable:
    """What a child gets that does not share its parent's table. It counts for nothing until `take_over`."""
    copy = DescriptorTable()
    copy.files = dict(table.files)
    copy.cloexec = dict(table.cloexec)
    return copy


def take_over(process: Process, line: i64, ns: i64) -> None:
    """The child has been seen: what is in its copy of the table is open in it too."""
    for fd, file in process.table.files.items():
        file.refs += 1
        if file.closed_line != 0:
            reopen(file)
        if file.kind == SOCKET or file.kind == EPOLL:
            file.lived(Life(process, fd, line, ns))
