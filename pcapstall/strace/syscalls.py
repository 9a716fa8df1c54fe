"""The table of system calls: which ones are looked into, which family they belong to, which take a descriptor first.

A call that is not in the table is counted under its name and nothing else. The families are what a tracer's filter
(`-e trace=`) leaves in or out, and what the analysis must know of it.
"""

from typing import Final

from librt.strings import read_i64_le
from mypy_extensions import i64

# What a call does, as far as the model has to know. 0: nothing.
NONE: Final = 0
READ: Final = 1
"""Bytes of argument 1 came in."""
WRITE: Final = 2
READV: Final = 3
WRITEV: Final = 4
RECVFROM: Final = 5
SENDTO: Final = 6
RECVMSG: Final = 7
SENDMSG: Final = 8
RECVMMSG: Final = 9
SENDMMSG: Final = 10
SENDFILE: Final = 11
SPLICE: Final = 12
EPOLL_WAIT: Final = 13
EPOLL_CTL: Final = 14
POLL: Final = 15
SELECT: Final = 16
CLOSE: Final = 17
FUTEX: Final = 18
SLEEP: Final = 19
SOCKET: Final = 20
CONNECT: Final = 21
ACCEPT: Final = 22
BIND: Final = 23
LISTEN: Final = 24
GETSOCKNAME: Final = 25
GETPEERNAME: Final = 26
GETSOCKOPT: Final = 27
SHUTDOWN: Final = 28
SOCKETPAIR: Final = 29
OPEN: Final = 30
EPOLL_CREATE: Final = 31
MAKES_FD: Final = 32
"""The result is a new descriptor of the kind that the name tells."""
PIPE: Final = 33
DUP: Final = 34
DUP_TO: Final = 35
FCNTL: Final = 36
IOCTL: Final = 37
CLOSE_RANGE: Final = 38
CLONE: Final = 39
EXEC: Final = 40
EXIT: Final = 41
WAIT_CHILD: Final = 42
OWN_TID: Final = 43
OWN_PID: Final = 44
RESTART: Final = 45
IO_URING: Final = 46
UNSHARE: Final = 47
SIGRETURN: Final = 48
"""How a signal handler ends: what it interrupted goes on."""

NETWORK: Final = "network"
EPOLL: Final = "epoll"
POLLING: Final = "poll"
TRANSFER: Final = "read/write"
DESCRIPTORS: Final = "descriptors"
FILES: Final = "files"
PROCESS: Final = "process"
FUTEXES: Final = "futex"
SLEEPING: Final = "sleep"
URING: Final = "io_uring"
FAMILIES: Final = (NETWORK, EPOLL, POLLING, TRANSFER, DESCRIPTORS, FILES, PROCESS, FUTEXES, SLEEPING, URING)
"""In the order in which they are reported as seen or never seen."""

_TABLE: Final[tuple[tuple[int, str, str], ...]] = (
    (READ, TRANSFER, "read recv"),
    (WRITE, TRANSFER, "write send"),
    (READV, TRANSFER, "readv preadv preadv2"),
    (WRITEV, TRANSFER, "writev pwritev pwritev2"),
    (RECVFROM, NETWORK, "recvfrom"),
    (SENDTO, NETWORK, "sendto"),
    (RECVMSG, NETWORK, "recvmsg"),
    (SENDMSG, NETWORK, "sendmsg"),
    (RECVMMSG, NETWORK, "recvmmsg recvmmsg_time64"),
    (SENDMMSG, NETWORK, "sendmmsg"),
    (SENDFILE, TRANSFER, "sendfile sendfile64"),
    (SPLICE, TRANSFER, "splice tee"),
    (EPOLL_WAIT, EPOLL, "epoll_wait epoll_pwait epoll_pwait2 epoll_wait_old"),
    (EPOLL_CTL, EPOLL, "epoll_ctl epoll_ctl_old"),
    (EPOLL_CREATE, EPOLL, "epoll_create epoll_create1"),
    (POLL, POLLING, "poll ppoll ppoll_time64"),
    (SELECT, POLLING, "select _newselect pselect6 pselect6_time64 old_select"),
    (CLOSE, DESCRIPTORS, "close"),
    (DUP, DESCRIPTORS, "dup"),
    (DUP_TO, DESCRIPTORS, "dup2 dup3"),
    (FCNTL, DESCRIPTORS, "fcntl fcntl64"),
    (IOCTL, DESCRIPTORS, "ioctl"),
    (CLOSE_RANGE, DESCRIPTORS, "close_range"),
    (PIPE, DESCRIPTORS, "pipe pipe2"),
    (
        MAKES_FD,
        DESCRIPTORS,
        (
            "eventfd eventfd2 timerfd_create signalfd signalfd4 inotify_init inotify_init1 memfd_create pidfd_open"
            " fanotify_init userfaultfd perf_event_open pidfd_getfd open_tree fsopen memfd_secret"
        ),
    ),
    (FUTEX, FUTEXES, "futex futex_time64"),
    (SLEEP, SLEEPING, "nanosleep clock_nanosleep clock_nanosleep_time64 pause rt_sigsuspend sigsuspend"),
    (SOCKET, NETWORK, "socket"),
    (CONNECT, NETWORK, "connect"),
    (ACCEPT, NETWORK, "accept accept4"),
    (BIND, NETWORK, "bind"),
    (LISTEN, NETWORK, "listen"),
    (GETSOCKNAME, NETWORK, "getsockname"),
    (GETPEERNAME, NETWORK, "getpeername"),
    (GETSOCKOPT, NETWORK, "getsockopt"),
    (SHUTDOWN, NETWORK, "shutdown"),
    (SOCKETPAIR, NETWORK, "socketpair"),
    (NONE, NETWORK, "setsockopt"),
    (OPEN, FILES, "open openat openat2 creat open_by_handle_at"),
    (CLONE, PROCESS, "clone clone2 clone3 fork vfork"),
    (EXEC, PROCESS, "execve execveat"),
    (EXIT, PROCESS, "exit exit_group _exit"),
    (WAIT_CHILD, PROCESS, "wait4 waitpid waitid wait"),
    (UNSHARE, PROCESS, "unshare"),
    (OWN_TID, "", "gettid set_tid_address"),
    (OWN_PID, "", "getpid"),
    (RESTART, "", "restart_syscall"),
    (SIGRETURN, "", "rt_sigreturn sigreturn"),
    (IO_URING, URING, "io_uring_setup io_uring_enter io_uring_register"),
)
_FD_FIRST: Final = (
    "read recv write send readv preadv preadv2 writev pwritev pwritev2 recvfrom sendto recvmsg sendmsg recvmmsg"
    " recvmmsg_time64 sendmmsg sendfile sendfile64 splice tee epoll_wait epoll_pwait epoll_pwait2 epoll_wait_old"
    " epoll_ctl close dup dup2 dup3 fcntl fcntl64 ioctl connect accept accept4 bind listen getsockname getpeername"
    " getsockopt setsockopt shutdown io_uring_enter io_uring_register pread64 pread pwrite64 pwrite lseek _llseek fstat"
    " fstat64 fsync fdatasync ftruncate ftruncate64 fallocate flock fchmod fchown fadvise64 getdents getdents64"
    " sync_file_range readahead syncfs fstatfs fstatfs64 fchdir timerfd_settime timerfd_gettime inotify_add_watch"
    " inotify_rm_watch fgetxattr fsetxattr flistxattr fremovexattr finit_module vmsplice newfstatat openat statx"
    " unlinkat mkdirat readlinkat faccessat faccessat2"
)
_WAITS: Final = (EPOLL_WAIT, POLL, SELECT, FUTEX, SLEEP)
_MAX_NAMES: Final = 4096
"""No kernel has so many; a file that does is not one to keep a counter for each of its words."""


_SLOTS: Final = 256
_HEAD_LEN: Final = 7
_SEVEN: Final = 0xFF_FFFF_FFFF_FFFF
"""The bits of seven of eight bytes: what is compared stays positive."""


class Syscall:
    """One name, and what was counted under it in one file family."""

    def __init__(self, name: bytes, code: i64, family: str, fd_first: bool) -> None:
        self.name: bytes = name
        self.name_len: i64 = len(name)
        self.head: i64 = _word(name[:_HEAD_LEN])
        """The first seven characters of the name in one number; what stands behind a shorter one is 0."""
        self.head_mask: i64 = _word(b"\xff" * len(name[:_HEAD_LEN]))
        """The bits of them that the name has."""
        self.tail: i64 = _word(name[_HEAD_LEN : 2 * _HEAD_LEN])
        """The seven after those."""
        self.tail_mask: i64 = _word(b"\xff" * len(name[_HEAD_LEN : 2 * _HEAD_LEN]))
        self.code: i64 = code
        self.family: str = family
        """One of `FAMILIES`, or empty."""
        self.fd_first: bool = fd_first
        """The first argument is a descriptor."""
        self.waits: bool = code in _WAITS
        """It is what threads are in most of the time: a wait for events, a lock or a time."""
        self.calls: i64 = 0
        self.failed: i64 = 0
        """Calls that returned an error."""
        self.first_line: i64 = 0
        """Reference of the first line with it (see `core.frames`), 0: never seen."""


class Syscalls:
    """All names of one strace. A name that is new gets an entry of its own."""

    def __init__(self) -> None:
        self.by_name: dict[bytes, Syscall] = {}
        self.other: Syscall = Syscall(b"(other)", NONE, "", False)
        """Where the calls of names beyond the limit are counted."""
        self._slots: list[Syscall] = [self.other] * _SLOTS
        fd_first = set(_FD_FIRST.split())
        for code, family, names in _TABLE:
            for name in names.split():
                self.by_name[name.encode()] = Syscall(name.encode(), code, family, name in fd_first)
        for name in fd_first:
            if name.encode() not in self.by_name:
                self.by_name[name.encode()] = Syscall(name.encode(), NONE, "", True)

    def get(self, name: bytes) -> Syscall:
        """The entry of ``name``."""
        entry = self.by_name.get(name)
        if entry is None:
            if len(self.by_name) >= _MAX_NAMES:
                return self.other
            entry = Syscall(name, NONE, "", False)
            self.by_name[name] = entry
        return entry

    def ahead(self, buf: bytes, at: i64, end: i64, mark: i64) -> Syscall:
        """The entry whose name stands at ``at``, with the character ``mark`` after it, if it is one that was asked for
        lately: the few names that make up most lines are found without a copy. Else `other`."""
        if at + _HEAD_LEN >= end:
            return self.other
        head: i64 = read_i64_le(buf, at) & _SEVEN
        entry = self._slots[_slot(head)]
        after: i64 = at + entry.name_len
        if head & entry.head_mask != entry.head or after >= end or buf[after] != mark:
            return self.other
        if entry.name_len > _HEAD_LEN:
            k: i64 = _HEAD_LEN
            if at + 2 * _HEAD_LEN < end:
                if read_i64_le(buf, at + _HEAD_LEN) & entry.tail_mask != entry.tail:
                    return self.other
                k = 2 * _HEAD_LEN
            name = entry.name
            while k < entry.name_len:
                if buf[at + k] != name[k]:
                    return self.other
                k += 1
        return entry

    def at(self, buf: bytes, start: i64, end: i64) -> Syscall:
        """The entry of the name at ``start``."""
        entry = self.get(buf[start:end])
        if start + _HEAD_LEN < len(buf):
            self._slots[_slot(read_i64_le(buf, start) & _SEVEN)] = entry
        return entry

    def seen(self) -> list[Syscall]:
        """The entries that were called, the busiest first."""
        called = [entry for entry in (*self.by_name.values(), self.other) if entry.calls]
        return sorted(called, key=_by_calls)

    def families_seen(self) -> set[str]:
        """The families with at least one call."""
        return {entry.family for entry in self.by_name.values() if entry.calls and entry.family}


def _word(text: bytes) -> i64:
    """Up to seven characters in one number, the first in the lowest bits."""
    return i64(int.from_bytes(text, "little"))


def _slot(head: i64) -> i64:
    """Where the name that begins so is remembered: chosen so that the names of real traces seldom meet. What stands
    behind a short name only spreads it over several slots."""
    spread: i64 = head + (head >> 8) * 31 + ((head >> 24) + (head >> 32)) * 32 + (head >> 48)
    return spread & (_SLOTS - 1)


def _by_calls(entry: Syscall) -> tuple[int, bytes]:
    return (-int(entry.calls), entry.name)
