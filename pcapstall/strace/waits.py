"""What the readiness calls print: epoll events of three generations, poll and select sets, event masks.

Reads text into small records; whose descriptors they are is `epoll`'s and `window`'s matter.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.args import ArgCursor, read_fd, read_flags
from pcapstall.strace.walk import skip_decoration, skip_spaces, starts

EPOLLIN: Final = 0x001
EPOLLPRI: Final = 0x002
EPOLLOUT: Final = 0x004
EPOLLEXCLUSIVE: Final = 1 << 28
EPOLLONESHOT: Final = 1 << 30
EPOLLET: Final = 1 << 31
EVENT_BITS: Final[dict[bytes, int]] = {
    b"EPOLLIN": 0x001,
    b"EPOLLPRI": 0x002,
    b"EPOLLOUT": 0x004,
    b"EPOLLERR": 0x008,
    b"EPOLLHUP": 0x010,
    b"EPOLLNVAL": 0x020,
    b"EPOLLRDNORM": 0x040,
    b"EPOLLRDBAND": 0x080,
    b"EPOLLWRNORM": 0x100,
    b"EPOLLWRBAND": 0x200,
    b"EPOLLMSG": 0x400,
    b"EPOLLRDHUP": 0x2000,
    b"EPOLLEXCLUSIVE": 1 << 28,
    b"EPOLLWAKEUP": 1 << 29,
    b"EPOLLONESHOT": 1 << 30,
    b"EPOLLET": 1 << 31,
    b"POLLIN": 0x001,
    b"POLLPRI": 0x002,
    b"POLLOUT": 0x004,
    b"POLLERR": 0x008,
    b"POLLHUP": 0x010,
    b"POLLNVAL": 0x020,
    b"POLLRDNORM": 0x040,
    b"POLLRDBAND": 0x080,
    b"POLLWRNORM": 0x100,
    b"POLLWRBAND": 0x200,
    b"POLLMSG": 0x400,
    b"POLLRDHUP": 0x2000,
}
"""Values from the kernel's uapi/linux/eventpoll.h and asm-generic/poll.h; the first twelve are the same in both."""

CTL_ADD: Final = 1
CTL_DEL: Final = 2
CTL_MOD: Final = 3
CONTROLS: Final[dict[bytes, int]] = {b"EPOLL_CTL_ADD": CTL_ADD, b"EPOLL_CTL_DEL": CTL_DEL, b"EPOLL_CTL_MOD": CTL_MOD}

UNKNOWN_DATA: Final = -1
_MAX_ITEMS: Final = 4096


class Ready:
    """One event of an epoll set, or one descriptor of a poll or select set."""

    def __init__(self, mask: i64, data: int, fd: i64) -> None:
        self.mask: i64 = mask
        """EPOLLIN and so on; -1 when it was not printed."""
        self.data: int = data
        """The u64 of an epoll event; `UNKNOWN_DATA` when it was not printed, and for poll."""
        self.fd: i64 = fd
        """Of poll and select; -1 for epoll."""


class ReadySet:
    """A list of them, and whether strace printed all."""

    def __init__(self) -> None:
        self.items: list[Ready] = []
        self.cut: bool = False
        """``[..., ...]``: more than -s (32) elements, or none of them, were printed."""


def mask_text(mask: int, prefix: str = "EPOLL") -> str:
    """``EPOLLIN|EPOLLET`` for a mask; ``?`` when it is unknown."""
    if mask < 0:
        return "?"
    names = [
        name.decode()
        for name, bit in EVENT_BITS.items()
        if name.startswith(prefix.encode()) and mask & bit and not (prefix == "POLL" and name.startswith(b"EPOLL"))
    ]
    return "|".join(names) or "0"


def read_event(buf: bytes, at: i64, end: i64) -> Ready | None:
    """The epoll_event at ``at``; None when it was not printed (``NULL``, a pointer).

    ``{EPOLLIN, {u32=8, u64=8}}`` up to 5.10, ``{events=EPOLLIN, data={u32=8, u64=8}}`` up to 6.12,
    ``{events=EPOLLIN, data=0x8}`` since.
    """
    cursor = ArgCursor()
    if not cursor.open_inside(buf, at, end) or not cursor.next():
        return None
    cursor.named(b"events")
    mask: i64 = read_flags(buf, cursor.value, cursor.end, EVENT_BITS)
    data: int = UNKNOWN_DATA
    if cursor.next():
        cursor.named(b"data")
        data = _data(buf, cursor.value, cursor.end)
    return Ready(mask, data, -1)


def _data(buf: bytes, at: i64, end: i64) -> int:
    inner = ArgCursor()
    if inner.open_inside(buf, at, end):
        if not inner.find(b"u64"):
            return UNKNOWN_DATA
        at = inner.value
        end = inner.end
    text = buf[at:end]
    space: i64 = text.find(b" ")
    if space > 0:
        text = text[:space]
    try:
        value = int(text, 0)
    except ValueError:
        return UNKNOWN_DATA
    # Signed once, unsigned now; hostile ones are as long as a line.
    return value & 0xFFFF_FFFF_FFFF_FFFF


def read_events(buf: bytes, at: i64, end: i64) -> ReadySet:
    """The array that an epoll wait filled: ``[{...}, {...}, ...]``, before 5.x ``{{...}}``."""
    found = ReadySet()
    cursor = ArgCursor()
    if not cursor.open_inside(buf, at, end):
        found.cut = True
        return found
    while cursor.next():
        if starts(buf, cursor.start, cursor.end, b"..."):
            found.cut = True
            break
        event = read_event(buf, cursor.start, cursor.end)
        if event is None or len(found.items) >= _MAX_ITEMS:
            found.cut = True
            break
        found.items.append(event)
    return found


def read_pollfds(buf: bytes, at: i64, end: i64) -> ReadySet:
    """``[{fd=7<TCP:[...]>, events=POLLIN|POLLRDHUP}, {fd=6, revents=POLLIN}, ...]``; of two masks the last."""
    found = ReadySet()
    cursor = ArgCursor()
    if not cursor.open_inside(buf, at, end):
        found.cut = not starts(buf, at, end, b"NULL")
        return found
    inner = ArgCursor()
    while cursor.next():
        if starts(buf, cursor.start, cursor.end, b"...") or len(found.items) >= _MAX_ITEMS:
            found.cut = True
            break
        if not inner.open_inside(buf, cursor.start, cursor.end):
            found.cut = True
            break
        fd: i64 = -1
        mask: i64 = -1
        while inner.next():
            if inner.named(b"fd"):
                fd = read_fd(buf, inner.value, inner.end)
            elif inner.named(b"events") or inner.named(b"revents"):
                mask = read_flags(buf, inner.value, inner.end, EVENT_BITS)
        if fd >= 0:
            found.items.append(Ready(mask, UNKNOWN_DATA, fd))
    return found


def read_poll_result(buf: bytes, at: i64, end: i64) -> ReadySet:
    """``1 ([{fd=6, revents=POLLOUT}])``; empty for ``0 (Timeout)``."""
    while at < end and buf[at] != 40:
        at += 1
    if at + 1 >= end or buf[at + 1] != 91:
        return ReadySet()
    return read_pollfds(buf, at + 1, end)


def read_fd_set(buf: bytes, at: i64, end: i64, mask: i64, found: ReadySet) -> None:
    """Add the descriptors of a select set, ``[7 9<TCP:[...]>]``, to ``found``."""
    if at >= end or buf[at] != 91:
        return
    at += 1
    item = ArgCursor()
    while at < end and buf[at] != 93:
        at = skip_spaces(buf, at, end)
        if starts(buf, at, end, b"..."):
            found.cut = True
            return
        fd: i64 = read_fd(buf, at, end)
        if fd < 0 or len(found.items) >= _MAX_ITEMS:
            found.cut = True
            return
        found.items.append(Ready(mask, UNKNOWN_DATA, fd))
        item.open(buf, at, end)
        at = _after_word(buf, at, end)


def _after_word(buf: bytes, at: i64, end: i64) -> i64:
    """Past a number and its decoration, to the blank or bracket after it."""
    while at < end and buf[at] != 32 and buf[at] != 93:
        if buf[at] == 60:
            after: i64 = skip_decoration(buf, at, end)
            if after < 0:
                return end
            at = after
        else:
            at += 1
    return at


def read_select_result(buf: bytes, at: i64, end: i64) -> ReadySet:
    """``1 (in [7], out [4], left {tv_sec=0, tv_nsec=997164})``."""
    found = ReadySet()
    while at < end and buf[at] != 40:
        at += 1
    cursor = ArgCursor()
    cursor.open(buf, at + 1, end)
    while cursor.next():
        for name, mask in ((b"in ", EPOLLIN), (b"out ", EPOLLOUT), (b"except ", EPOLLPRI)):
            if starts(buf, cursor.start, cursor.end, name):
                read_fd_set(buf, cursor.start + len(name), cursor.end, mask, found)
    return found
