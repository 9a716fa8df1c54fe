"""What the vector and message calls print: buffers, their previews, and descriptors that travel as SCM_RIGHTS.

Old and new ways of printing msghdr are read alike. What the bytes mean is nobody's matter here.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.args import ArgCursor, read_fd, read_flags, read_string
from pcapstall.strace.numbers import read_number
from pcapstall.strace.walk import starts

MESSAGE_FLAGS: Final[dict[bytes, int]] = {b"MSG_PEEK": 2, b"MSG_DONTWAIT": 0x40, b"MSG_ERRQUEUE": 0x2000}
MSG_PEEK: Final = 2
_MAX_FDS: Final = 256


class Shown:
    """Bytes that a call moved, as far as strace showed them from the first on."""

    def __init__(self) -> None:
        self.data: bytes = b""
        self.whole: bool = False
        """They are all of what the call moved."""


def read_buffer(buf: bytes, at: i64, end: i64, moved: i64, limit: i64) -> Shown:
    """The buffer argument at ``at`` of a call that moved ``moved`` bytes; at most ``limit`` of them."""
    shown = Shown()
    if limit > moved:
        limit = moved
    shown.data, _ = read_string(buf, at, end, limit)
    shown.whole = len(shown.data) == moved
    return shown


def read_vector(buf: bytes, at: i64, end: i64, moved: i64, limit: i64) -> Shown:
    """``[{iov_base="..", iov_len=5}, {iov_base="..."..., iov_len=512}]``, before 4.x ``[{"..", 5}]``.

    What a buffer shows counts as long as it and the ones before it were shown whole.
    """
    shown = Shown()
    if limit > moved:
        limit = moved
    cursor = ArgCursor()
    if not cursor.open_inside(buf, at, end):
        return shown
    inner = ArgCursor()
    parts = b""
    left: i64 = moved
    while left > 0 and limit > len(parts) and cursor.next():
        if not inner.open_inside(buf, cursor.start, cursor.end) or not inner.next():
            break
        inner.named(b"iov_base")
        want: i64 = limit - len(parts)
        text, _ = read_string(buf, inner.value, inner.end, want)
        size: i64 = left
        if inner.next():
            inner.named(b"iov_len")
            length, after = read_number(buf, inner.value, inner.end)
            if after > inner.value and length < left:
                size = length
        if len(text) > size:
            text = text[:size]
        parts += text
        left -= size
        if len(text) < size:
            left = moved
            break
    shown.data = parts
    shown.whole = len(parts) == moved
    return shown


def find_vector(buf: bytes, at: i64, end: i64) -> i64:
    """Where the vector of the msghdr at ``at`` starts; -1 when it was not printed.

    ``msg_iov=[...]``; before 4.x ``msg_iov(1)=[...]``.
    """
    cursor = ArgCursor()
    if not cursor.open_inside(buf, at, end):
        return -1
    while cursor.next():
        if starts(buf, cursor.start, cursor.end, b"msg_iov=") or starts(buf, cursor.start, cursor.end, b"msg_iov("):
            value: i64 = cursor.start
            while value < cursor.end and buf[value] != 91:
                value += 1
            if value < cursor.end:
                return value
    return -1


def read_rights(buf: bytes, at: i64, end: i64) -> list[int]:
    """The descriptors that the msghdr at ``at`` carries as SCM_RIGHTS: ``cmsg_data=[6<TCP:[42220]>, 7]``, ``[15]``."""
    found: list[int] = []
    cursor = ArgCursor()
    if not cursor.open_inside(buf, at, end):
        return found
    control = ArgCursor()
    while cursor.next():
        start: i64 = cursor.start
        if cursor.named(b"msg_control"):
            start = cursor.value
        if start >= cursor.end or buf[start] != 91:
            continue  # older: the array of control messages stands without a name
        control.open_inside(buf, start, cursor.end)
        while control.next():
            _one_control(buf, control.start, control.end, found)
    return found


def _one_control(buf: bytes, at: i64, end: i64, found: list[int]) -> None:
    """``{cmsg_len=20, cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[6]}``."""
    member = ArgCursor()
    if not member.open_inside(buf, at, end):
        return
    is_socket_level = False
    is_rights = False
    while member.next():
        if member.named(b"cmsg_level"):
            is_socket_level = read_flags(buf, member.value, member.end, {b"SOL_SOCKET": 1}) == 1
        elif member.named(b"cmsg_type"):
            is_rights = is_socket_level and read_flags(buf, member.value, member.end, {b"SCM_RIGHTS": 1}) == 1
        elif is_rights:
            start: i64 = member.start
            if member.named(b"cmsg_data"):
                start = member.value
            fds = ArgCursor()
            if fds.open_inside(buf, start, member.end):
                while fds.next() and len(found) < _MAX_FDS:
                    fd: i64 = read_fd(buf, fds.start, fds.end)
                    if fd >= 0:
                        found.append(fd)
