"""What `strace -yy` would have printed of a process: the lines of a trace without it, with what each descriptor means.

For one process with one table of descriptors, whose beginning is in the trace. Inodes, and the ports that the kernel
chose, are made up; addresses are those that the trace shows.
"""

import re
from collections.abc import Iterable, Iterator

_LINE = re.compile(rb"((?:\[pid +)?(\d+)?\]? *[\d.:]+ )(<\.\.\. )?(\w+)(\(| resumed>)(.*)", re.DOTALL)
_RESULT = re.compile(rb"(\) += )(\d+)(?= |\n|$)(?!.*\) += )")
_MAPPED = re.compile(rb"(, )(\d+)(, (?:0x[0-9a-f]+|0)\))")
_WATCHED = re.compile(rb"(EPOLL_CTL_\w+, )(\d+)")
_PATH = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ADDRESS = re.compile(rb'sin_port=htons\((\d+)\), sin_addr=inet_addr\("([\d.]+)"\)')
_FOLDER = b"/opt/lab"
_FD_FIRST = frozenset(
    b"read write readv writev pread64 pwrite64 recvfrom sendto recvmsg sendmsg epoll_wait epoll_pwait epoll_ctl close"
    b" dup fcntl ioctl connect accept accept4 bind listen getsockname getpeername getsockopt setsockopt shutdown lseek"
    b" fstat newfstatat getdents64 fsync ftruncate".split()
)
_NAMED = {b"epoll_create1": b"anon_inode:[eventpoll]", b"eventfd2": b"anon_inode:[eventfd]"}


class Decorator:
    """Follows the descriptors of one process."""

    def __init__(self) -> None:
        self._files: dict[int, bytes] = dict.fromkeys(range(3), b"/dev/null<char 1:3>")
        self._local: dict[int, bytes] = {}
        self._halves: dict[bytes, bytes] = {}
        """Arguments of calls that have not returned, by thread."""
        self._made = 0

    def line(self, line: bytes) -> bytes:
        """One line, decorated."""
        match = _LINE.fullmatch(line)
        if match is None:
            return line
        leader, thread, resumed, name, bracket, rest = match.groups(b"")
        half = self._halves.pop(thread, b"") if resumed else b""
        shown = rest
        if not resumed:
            shown = self._arguments(name, rest)
        if rest.endswith(b"<unfinished ...>\n"):
            self._halves[thread] = half + rest
        else:
            shown = self._returned(name, half + rest, shown)
        return b"".join((leader, resumed, name, bracket, shown))

    def _arguments(self, name: bytes, rest: bytes) -> bytes:
        if name in _FD_FIRST:
            size = len(rest) - len(rest.lstrip(b"0123456789"))
            rest = self._decorated(rest[:size]) + rest[size:]
        if name == b"epoll_ctl":
            rest = _WATCHED.sub(lambda found: found[1] + self._decorated(found[2]), rest, count=1)
        elif name == b"mmap":
            rest = _MAPPED.sub(lambda found: found[1] + self._decorated(found[2]) + found[3], rest, count=1)
        return rest.replace(b"AT_FDCWD", b"AT_FDCWD<" + _FOLDER + b">", 1)

    def _returned(self, name: bytes, text: bytes, shown: bytes) -> bytes:
        """What the call changed, and its line with the result decorated."""
        first = int(text[: len(text) - len(text.lstrip(b"0123456789"))] or b"-1")
        result = _RESULT.search(text)
        if name == b"close":
            self._files.pop(first, None)
            self._local.pop(first, None)
        elif name in (b"bind", b"connect"):
            self._addressed(name, first, text)
        if result is None:
            return shown
        made = self._new(name, text, first)
        if made:
            self._files[int(result[2])] = made
            shown = _RESULT.sub(lambda found: found[1] + self._decorated(found[2]), shown)
        return shown

    def _addressed(self, name: bytes, fd: int, text: bytes) -> None:
        address = _ADDRESS.search(text)
        if address is None:
            return
        endpoint = address[2] + b":" + address[1]
        if name == b"bind":
            self._local[fd] = endpoint
            return
        self._made += 1
        local = self._local.get(fd) or address[2] + b":%d" % (33_000 + self._made % 27_000)
        self._files[fd] = b"TCP:[%s->%s]" % (local, endpoint)

    def _new(self, name: bytes, text: bytes, first: int) -> bytes:
        """What a call that returns a descriptor made; empty when it makes none."""
        if name in (b"open", b"openat"):
            path = _PATH.search(text)
            return path[1] if path is not None else b""
        if name == b"socket":
            self._made += 1
            return b"TCP:[%d]" % (60_000 + self._made)
        if name in (b"accept", b"accept4"):
            address = _ADDRESS.search(text)
            if address is None:
                return b""
            return b"TCP:[%s->%s:%s]" % (self._local.get(first, b"127.0.0.1:80"), address[2], address[1])
        return _NAMED.get(name, b"")

    def _decorated(self, number: bytes) -> bytes:
        meaning = self._files.get(int(number)) if number else None
        return b"%s<%s>" % (number, meaning) if meaning else number


def decorated(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of one process as `-yy` prints them."""
    decorator = Decorator()
    for line in lines:
        yield decorator.line(line)
