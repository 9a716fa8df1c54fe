"""The record of one socket: its addresses, what passed through it, and the bytes that strace showed of it.

Only records; `network` and `transfer` fill them. Times and lines are as in `model`.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.endpoints import format_endpoint
from pcapstall.strace.model import SOCKET, Call, OpenFile

Endpoint = tuple[bytes, int]
"""A packed address (4 or 16 bytes, v4-mapped folded to 4) and a port."""

AF_UNSPEC: Final = 0
AF_UNIX: Final = 1
AF_INET: Final = 2
AF_INET6: Final = 10
AF_NETLINK: Final = 16
AF_OTHER: Final = -1

MAX_CONNECTS: Final = 8


class Preview:
    """Bytes that strace showed of consecutive reads or writes, joined for as long as nothing was left out."""

    def __init__(self, offset: i64, call: Call) -> None:
        self.offset: i64 = offset
        """In the stream, from the first byte that was seen to pass (which is not its first when attached late)."""
        self.data: bytes = b""
        self.call: Call = call
        """The call that brought the first of these bytes."""
        self.last: Call = call
        """The call that brought the last of them."""
        self.peeked: bool = False
        """Looked at with MSG_PEEK and perhaps read again later."""


class Direction:
    """What went one way through a socket."""

    def __init__(self) -> None:
        self.calls: i64 = 0
        """Calls that moved bytes."""
        self.bytes: i64 = 0
        self.would_block: i64 = 0
        """Calls that returned EAGAIN."""
        self.first: Call | None = None
        """The first call that moved bytes."""
        self.first_try: Call | None = None
        """The first call at all, whatever it returned."""
        self.peek: Call | None = None
        """The first read with MSG_PEEK that had bytes to show."""
        self.last_line: i64 = 0
        self.last_end_ns: i64 = -1
        self.end: Call | None = None
        """The read that returned 0; the shutdown, for writing."""
        self.failed: Call | None = None
        """The first call with an error other than EAGAIN and EINTR."""
        self.previews: list[Preview] = []


_NOTHING_PASSED: Final = Direction()


class Connect:
    """A connect call and the address it was given."""

    def __init__(self, call: Call, address: Endpoint | None) -> None:
        self.call: Call = call
        self.address: Endpoint | None = address
        """None when the address was not printed, or is of another family."""


class Socket(OpenFile):
    """A socket and all that was seen of it."""

    def __init__(self, domain: i64) -> None:
        super().__init__(SOCKET, b"")
        self.number: i64 = -1
        """Its place in `Index.sockets`, the same in every pass; -1 for one that may not be a socket at all."""
        self.domain: i64 = domain
        self.type: bytes = b""
        """``SOCK_STREAM``; empty when unknown."""
        self.protocol: bytes = b""
        self.origin: str = ""
        """socket, accept, socketpair, received, unseen."""
        self.inode: i64 = -1
        self.created: Call | None = None
        """The socket or accept call."""
        self.nonblocking: i64 = -1
        """1, 0, or -1: not known."""
        self.connects: list[Connect] = []
        self.connect_checked: Call | None = None
        """getsockopt(SO_ERROR), the usual way to ask how a connect ended."""
        self.so_error: i64 = -1
        """What that returned: 0 for connected."""
        self.listener: Socket | None = None
        """The socket on which it was accepted."""
        self.listening: Call | None = None
        self.accepts: i64 = 0
        """Connections that were accepted on it."""
        self.bound: Endpoint | None = None
        self.local: Endpoint | None = None
        self.local_source: str = ""
        """decoration, getsockname, bind."""
        self.peer: Endpoint | None = None
        self.peer_source: str = ""
        """decoration, accept, getpeername, connect; under address translation none of them is on the wire."""
        self.inbound: Direction = _NOTHING_PASSED
        self.outbound: Direction = _NOTHING_PASSED
        """Their own as soon as it is known to be a socket."""
        self.shutdown: Call | None = None
        """The first shutdown that succeeded."""
        self.settled: bool = False
        """It was closed and somebody will ask for it (`keeper`)."""
        self.rights: bool = False
        """It came or went as SCM_RIGHTS."""

    def describe(self) -> str:
        """For a sentence: ``socket to 10.0.0.1:443``."""
        if self.peer is not None:
            return f"socket to {format_endpoint(self.peer[0], self.peer[1])}"
        if self.listening is not None or self.accepts > 0:
            where = self.local or self.bound
            return f"listener {format_endpoint(where[0], where[1])}" if where else "listener"
        if self.domain == AF_UNIX:
            return "unix socket " + self.label.decode("utf-8", "backslashreplace") if self.label else "unix socket"
        if self.domain == AF_NETLINK:
            return "netlink socket"
        return "socket"
