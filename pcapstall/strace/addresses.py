"""Addresses as strace prints them: socket addresses in all its styles, and the decorations of -y and -yy.

Addresses come out packed, v4-mapped ones folded to IPv4, so that both sides of a comparison look alike. What a socket
is connected to is `network`'s matter.
"""

import ipaddress
from typing import Final

from mypy_extensions import i64

from pcapstall.core.endpoints import fold
from pcapstall.strace.args import ArgCursor, read_flags, read_string
from pcapstall.strace.model import EPOLL, FILE, PIPE, SOCKET, SPECIAL, UNKNOWN
from pcapstall.strace.numbers import read_number
from pcapstall.strace.sockets import AF_INET, AF_INET6, AF_NETLINK, AF_OTHER, AF_UNIX, AF_UNSPEC, Endpoint
from pcapstall.strace.walk import QUOTE, starts, text_at

FAMILIES: Final[dict[bytes, int]] = {
    b"AF_UNSPEC": AF_UNSPEC,
    b"AF_UNIX": AF_UNIX,
    b"AF_LOCAL": AF_UNIX,
    b"AF_INET": AF_INET,
    b"AF_INET6": AF_INET6,
    b"AF_NETLINK": AF_NETLINK,
    b"PF_INET": AF_INET,
    b"PF_INET6": AF_INET6,
    b"PF_UNIX": AF_UNIX,
    b"PF_NETLINK": AF_NETLINK,
    b"PF_LOCAL": AF_UNIX,
    b"PF_FILE": AF_UNIX,
}
_PLAIN_PORT: Final = b"{sa_family=AF_INET, sin_port=htons("
_PLAIN_ADDRESS: Final = b'), sin_addr=inet_addr("'
_PLAIN_END: Final = b'")}'
_MAX_TEXT: Final = 110
"""An address has at most 45 characters, a unix path 108."""
_MAX_CACHED: Final = 4096
_packed: Final[dict[bytes, bytes]] = {}
"""Addresses that were packed before: one host talks to few others."""


class SockAddr:
    """One socket address."""

    def __init__(self) -> None:
        self.family: i64 = AF_OTHER
        self.endpoint: Endpoint | None = None
        """Of AF_INET and AF_INET6, when it was printed in full."""
        self.path: bytes = b""
        """Of AF_UNIX; begins with ``@`` in the abstract name space."""


def pack_text(text: bytes) -> bytes:
    """The packed form of an address in text; empty when it is none."""
    known = _packed.get(text)
    if known is not None:
        return known
    try:
        packed = fold(ipaddress.ip_address(text.decode("ascii")).packed)
    except ValueError:
        packed = b""
    if len(_packed) >= _MAX_CACHED:
        _packed.clear()
    _packed[text] = packed
    return packed


def read_family(buf: bytes, at: i64, end: i64) -> i64:
    """``AF_INET``, ``0x2 /* AF_INET */``: its number, AF_OTHER for the ones that do not matter here."""
    value: i64 = read_flags(buf, at, end, FAMILIES)
    if value < 0 or (value == 0 and not starts(buf, at, end, b"AF_UNSPEC") and not starts(buf, at, end, b"0")):
        return AF_OTHER
    if value in (AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK):
        return value
    return AF_OTHER


def read_sockaddr(buf: bytes, at: i64, end: i64) -> SockAddr | None:
    """The socket address at ``at``; None when its contents were not printed (a pointer, ``NULL``, ``-e raw``)."""
    address = SockAddr()
    if _read_plain(buf, at, end, address):
        return address
    cursor = ArgCursor()
    if not cursor.open_inside(buf, at, end):
        return None
    port: i64 = -1
    packed = b""
    while cursor.next():
        if cursor.named(b"sa_family"):
            address.family = read_family(buf, cursor.value, cursor.end)
        elif cursor.named(b"sin_port") or cursor.named(b"sin6_port"):
            port = _port(buf, cursor.value, cursor.end)
        elif cursor.named(b"sin_addr") or cursor.named(b"sin6_addr"):
            packed = _address(buf, cursor.value, cursor.end)
        elif starts(buf, cursor.start, cursor.end, b"inet_pton("):
            # inet_pton(AF_INET6, "::1", &sin6_addr)
            packed = _address(buf, cursor.start, cursor.end)
        elif cursor.named(b"sun_path"):
            path, _ = read_string(buf, cursor.value, cursor.end, _MAX_TEXT)
            address.path = b"@" + path if buf[cursor.value] == 64 else path
    if port >= 0 and packed:
        address.endpoint = (packed, port)
    return address


def _read_plain(buf: bytes, at: i64, end: i64, address: SockAddr) -> bool:
    """Whether the address is printed as most are: ``{sa_family=AF_INET, sin_port=htons(443),
    sin_addr=inet_addr("1.2.3.4")}``."""
    port_at: i64 = at + len(_PLAIN_PORT)
    if buf[at:port_at] != _PLAIN_PORT:
        return False
    port, after = read_number(buf, port_at, end)
    text_start: i64 = after + len(_PLAIN_ADDRESS)
    if after == port_at or not 0 <= port <= 0xFFFF or buf[after:text_start] != _PLAIN_ADDRESS:
        return False
    text_end: i64 = end - len(_PLAIN_END)
    if text_end <= text_start or buf[text_end:end] != _PLAIN_END:
        return False
    packed = pack_text(buf[text_start:text_end])
    if not packed:
        return False
    address.family = AF_INET
    address.endpoint = (packed, port)
    return True


def _port(buf: bytes, at: i64, end: i64) -> i64:
    """``htons(443)``, ``"\\x01\\xbb"``, ``"\\x01\\xbb" /* htons(443) */``."""
    if starts(buf, at, end, b"htons("):
        value, after = read_number(buf, at + 6, end)
        if after > at + 6 and 0 <= value <= 0xFFFF:
            return value
        return -1
    raw, _ = read_string(buf, at, end, 2)
    if len(raw) != 2:
        return -1
    return (i64(raw[0]) << 8) | i64(raw[1])


def _address(buf: bytes, at: i64, end: i64) -> bytes:
    """``inet_addr("1.2.3.4")``, ``inet_pton(AF_INET6, "::1", &sin6_addr)``, ``"\\x7f\\x00\\x00\\x01"``."""
    is_text = starts(buf, at, end, b"inet_")
    while at < end and buf[at] != QUOTE:
        at += 1
    text, _ = read_string(buf, at, end, _MAX_TEXT)
    if is_text:
        return pack_text(text)
    return fold(text) if len(text) in (4, 16) else b""


class Decoration:
    """What -y or -yy says of a descriptor."""

    def __init__(self) -> None:
        self.kind: i64 = UNKNOWN
        """SOCKET, EPOLL, FILE, PIPE, SPECIAL, UNKNOWN of `model`."""
        self.protocol: bytes = b""
        """``TCP``, ``UDPv6``, ``UNIX-STREAM``; empty for ``socket:[...]``."""
        self.inode: i64 = -1
        self.local: Endpoint | None = None
        self.peer: Endpoint | None = None
        """None for a socket that listens or is not connected yet."""


def read_decoration(text: bytes) -> Decoration:
    """``TCP:[10.0.0.1:5->10.0.0.2:443]``, ``socket:[61694]``, ``anon_inode:[eventpoll]``, ``/etc/hosts``."""
    found = Decoration()
    if text.startswith(b"/"):
        found.kind = FILE
        return found
    if text.startswith(b"anon_inode:"):
        found.kind = EPOLL if b"[eventpoll]" in text else SPECIAL
        return found
    if text.startswith(b"pipe:["):
        found.kind = PIPE
        return found
    if text.startswith((b"{", b"pid:", b"signalfd:", b"mnt:", b"net:")):
        found.kind = SPECIAL
        return found
    at: i64 = text_at(text, 0, len(text), b":[")
    if at <= 0 or not text.endswith(b"]"):
        return found
    name = text[:at]
    inside = text[at + 2 : -1]
    found.kind = SOCKET
    if name != b"socket":
        found.protocol = name
    if inside.isdigit():
        if len(inside) <= 18:
            found.inode = int(inside)
        return found
    if name.startswith((b"TCP", b"UDP", b"SCTP", b"MPTCP", b"DCCP", b"RAW")):
        local, _, peer = inside.partition(b"->")
        found.local = read_endpoint(local)
        found.peer = read_endpoint(peer)
    return found


def read_endpoint(text: bytes) -> Endpoint | None:
    """``10.0.0.1:443``, ``[::1]:443``; None when it is no endpoint."""
    host, colon, port = text.rpartition(b":")
    if not colon or not port.isdigit() or len(port) > 5 or int(port) > 0xFFFF:
        return None
    packed = pack_text(host[1:-1] if host.startswith(b"[") else host)
    if not packed:
        return None
    return (packed, int(port))
