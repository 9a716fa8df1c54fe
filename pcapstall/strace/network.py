"""The calls that make, connect, accept, name and end sockets, and what each adds to a socket's record.

An address is kept with where it comes from; which of them is on the wire is for `match` to find out.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.addresses import Decoration, read_family, read_sockaddr
from pcapstall.strace.args import ArgCursor, read_fd, read_flags
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.model import Call, OpenFile, Process, Thread, shared
from pcapstall.strace.numbers import read_number
from pcapstall.strace.sockets import (
    AF_INET,
    AF_INET6,
    AF_OTHER,
    AF_UNIX,
    MAX_CONNECTS,
    Connect,
    Endpoint,
    Socket,
)
from pcapstall.strace.transfer import make_call

CLOEXEC: Final = 0x8_0000
NONBLOCK: Final = 0x800
_TYPES: Final[dict[int, bytes]] = {
    1: b"SOCK_STREAM",
    2: b"SOCK_DGRAM",
    3: b"SOCK_RAW",
    5: b"SOCK_SEQPACKET",
}
OPEN_BITS: Final[dict[bytes, int]] = {
    b"SOCK_STREAM": 1,
    b"SOCK_DGRAM": 2,
    b"SOCK_RAW": 3,
    b"SOCK_SEQPACKET": 5,
    **dict.fromkeys((b"SOCK_CLOEXEC", b"O_CLOEXEC", b"EPOLL_CLOEXEC", b"EFD_CLOEXEC", b"TFD_CLOEXEC"), CLOEXEC),
    **dict.fromkeys((b"SFD_CLOEXEC", b"IN_CLOEXEC", b"MFD_CLOEXEC", b"FAN_CLOEXEC"), CLOEXEC),
    **dict.fromkeys((b"SOCK_NONBLOCK", b"O_NONBLOCK", b"O_NDELAY", b"EFD_NONBLOCK", b"TFD_NONBLOCK"), NONBLOCK),
}
"""Flags of calls that make descriptors; O_CLOEXEC and O_NONBLOCK as on most architectures."""
_DECORATED_FAMILY: Final = ((b"v6", AF_INET6), (b"UNIX", AF_UNIX))


def new_socket(reader: StraceReader) -> tuple[Socket, bool]:
    """The socket that ``socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP)`` made, and whether exec closes it."""
    cursor = ArgCursor()
    cursor.open(reader.args, reader.args_start, reader.args_end)
    socket = Socket(AF_OTHER)
    cloexec = False
    if cursor.next():
        socket.domain = read_family(cursor.buf, cursor.start, cursor.end)
    if cursor.next():
        flags: i64 = read_flags(cursor.buf, cursor.start, cursor.end, OPEN_BITS)
        if flags >= 0:
            socket.type = _TYPES.get(flags & 0xF, b"")
            cloexec = flags & CLOEXEC != 0
            socket.nonblocking = 1 if flags & NONBLOCK != 0 else 0
    if cursor.next():
        socket.protocol = shared(cursor.buf[cursor.start : cursor.end][:32])
    return socket, cloexec


def accepted(reader: StraceReader, listener: Socket) -> tuple[Socket, bool]:
    """The socket that an accept on ``listener`` returned, and whether exec closes it."""
    socket = Socket(listener.domain)
    socket.type = listener.type or b"SOCK_STREAM"
    socket.protocol = listener.protocol
    socket.listener = listener
    socket.nonblocking = 0
    cursor = ArgCursor()
    cursor.open(reader.args, reader.args_rest, reader.args_end)
    cloexec = False
    if cursor.skip(1):
        address = read_sockaddr(cursor.buf, cursor.start, cursor.end)
        if address is not None:
            if socket.domain == AF_OTHER:
                socket.domain = address.family
            if address.endpoint is not None:
                socket.peer = address.endpoint
                socket.peer_source = "accept"
    if cursor.skip(1):
        flags: i64 = read_flags(cursor.buf, cursor.start, cursor.end, OPEN_BITS)
        if flags > 0:
            cloexec = flags & CLOEXEC != 0
            if flags & NONBLOCK != 0:
                socket.nonblocking = 1
    return socket, cloexec


def connected(reader: StraceReader, socket: Socket) -> None:
    """A connect call returned, or the trace ends inside it."""
    endpoint = _address_at(reader, socket, 1)
    if len(socket.connects) < MAX_CONNECTS:
        socket.connects.append(Connect(make_call(reader), endpoint))
    if endpoint is not None and socket.peer_source != "decoration":
        socket.peer = endpoint
        socket.peer_source = "connect"


def pending_connect(thread: Thread, process: Process) -> None:
    """A connect that ``thread`` has entered and that had not returned when the trace ended."""
    text = thread.half_args
    file = process.table.files.get(read_fd(text, 0, len(text)))
    if thread.half is None or not isinstance(file, Socket) or len(file.connects) >= MAX_CONNECTS:
        return
    call = Call(thread.half, thread)
    call.line = thread.half_line
    call.start_ns = thread.half_ns
    cursor = ArgCursor()
    cursor.open(text, 0, len(text))
    address = read_sockaddr(text, cursor.start, cursor.end) if cursor.skip(1) else None
    endpoint = address.endpoint if address is not None else None
    file.connects.append(Connect(call, endpoint))
    if file.peer is None and endpoint is not None:
        file.peer = endpoint
        file.peer_source = "connect"


def sent_to(reader: StraceReader, socket: Socket, name_at: i64) -> None:
    """A datagram, or the first bytes of TCP Fast Open, sent to an address that is an argument."""
    if socket.peer is not None or socket.connects:
        return
    endpoint = _address_at(reader, socket, name_at)
    if endpoint is not None:
        socket.peer = endpoint
        socket.peer_source = "sendto"


def bound(reader: StraceReader, socket: Socket) -> None:
    """bind succeeded."""
    socket.bound = _address_at(reader, socket, 1)
    if socket.bound is not None and socket.local is None and socket.bound[1] != 0:
        socket.local = socket.bound
        socket.local_source = "bind"


def named(reader: StraceReader, socket: Socket, is_peer: bool) -> None:
    """getsockname or getpeername succeeded."""
    endpoint = _address_at(reader, socket, 1)
    if endpoint is None:
        return
    if is_peer:
        if socket.peer_source != "decoration":
            socket.peer = endpoint
            socket.peer_source = "getpeername"
    elif socket.local_source != "decoration":
        socket.local = endpoint
        socket.local_source = "getsockname"


def asked(reader: StraceReader, socket: Socket) -> None:
    """``getsockopt(6, SOL_SOCKET, SO_ERROR, [0], [4]) = 0``; SO_ERROR is how a non-blocking connect is asked for."""
    cursor = ArgCursor()
    cursor.open(reader.args, reader.args_rest, reader.args_end)
    if not cursor.skip(1) or read_flags(cursor.buf, cursor.start, cursor.end, {b"SOL_SOCKET": 1}) != 1:
        return
    if not cursor.next() or read_flags(cursor.buf, cursor.start, cursor.end, {b"SO_ERROR": 4}) != 4:
        return
    if socket.connect_checked is None:
        socket.connect_checked = make_call(reader)
        # [0], or [ECONNREFUSED]
        if cursor.next() and cursor.buf[cursor.start] == 91:
            value, after = read_number(cursor.buf, cursor.start + 1, cursor.end)
            socket.so_error = value if after > cursor.start + 1 else 1


def shut(reader: StraceReader, socket: Socket) -> None:
    """shutdown succeeded; for the writing side it is the end of the stream."""
    call = make_call(reader)
    if socket.shutdown is None:
        socket.shutdown = call
    cursor = ArgCursor()
    cursor.open(reader.args, reader.args_rest, reader.args_end)
    if cursor.skip(1):
        how: i64 = read_flags(cursor.buf, cursor.start, cursor.end, {b"SHUT_WR": 1, b"SHUT_RDWR": 2})
        if how >= 1 and socket.outbound.end is None:
            socket.outbound.end = call


def pair_of(reader: StraceReader) -> tuple[i64, i64]:
    """The two descriptors in ``[5, 6]``, the last argument of socketpair and pipe; -1 when they were not printed."""
    cursor = ArgCursor()
    cursor.open(reader.args, reader.args_start, reader.args_end)
    inner = ArgCursor()
    first: i64 = -1
    second: i64 = -1
    while cursor.next():
        if inner.open_inside(cursor.buf, cursor.start, cursor.end) and inner.next():
            first = read_fd(inner.buf, inner.start, inner.end)
            if inner.next():
                second = read_fd(inner.buf, inner.start, inner.end)
    return first, second


def apply_decoration(socket: Socket, decoration: Decoration) -> None:
    """What -yy says of a socket: its protocol, its inode, once connected its addresses."""
    if decoration.inode >= 0:
        socket.inode = decoration.inode
    if decoration.protocol:
        socket.protocol = shared(decoration.protocol)
        if socket.domain == AF_OTHER:
            socket.domain = AF_INET
            for mark, family in _DECORATED_FAMILY:
                if mark in decoration.protocol:
                    socket.domain = family
        if not socket.type:
            if decoration.protocol.startswith(b"TCP"):
                socket.type = b"SOCK_STREAM"
            elif decoration.protocol.startswith(b"UDP"):
                socket.type = b"SOCK_DGRAM"
    if decoration.local is not None:
        socket.local = decoration.local
        socket.local_source = "decoration"
    if decoration.peer is not None:
        socket.peer = decoration.peer
        socket.peer_source = "decoration"


def differs(file: OpenFile, decoration: Decoration) -> bool:
    """Whether a descriptor's decoration is that of another file than the one it was thought to be."""
    if decoration.kind == 0 or file.kind == 0:
        return False
    if not isinstance(file, Socket):
        return decoration.kind != file.kind
    if decoration.kind != file.kind:
        return True
    if decoration.inode >= 0 and file.inode >= 0:
        return decoration.inode != file.inode
    if decoration.peer is not None and file.peer is not None and file.peer_source == "decoration":
        # A connected stream keeps its addresses; a datagram socket can be connected again.
        return file.type != b"SOCK_DGRAM" and (decoration.peer != file.peer or decoration.local != file.local)
    return False


def listening(reader: StraceReader, socket: Socket) -> None:
    """listen succeeded."""
    call: Call = make_call(reader)
    socket.listening = call
    if not socket.type:
        socket.type = b"SOCK_STREAM"


def _address_at(reader: StraceReader, socket: Socket, place: i64) -> Endpoint | None:
    """The endpoint in argument ``place``; also tells a socket of unknown family which it is of."""
    cursor = ArgCursor()
    cursor.open(reader.args, reader.args_rest, reader.args_end)
    if not cursor.skip(place):
        return None
    address = read_sockaddr(cursor.buf, cursor.start, cursor.end)
    if address is None:
        return None
    if socket.domain == AF_OTHER and address.family > 0:
        socket.domain = address.family
    if address.path:
        socket.label = address.path
    return address.endpoint
