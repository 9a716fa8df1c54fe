"""Which sockets of a strace may be ends of flows: what a long trace of many connections keeps.

Wider than any of the ways in `matching`: what is let go here could not have been matched. Those are only counted.
Compiled, since it is asked about every socket of a long trace.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.match.outline import Outlines, packed
from pcapstall.strace.keeper import Keeper
from pcapstall.strace.sockets import AF_INET, AF_INET6, AF_OTHER, Direction, Endpoint, Socket

_MICROSECOND_NS: Final = 1_000


class FlowKeeper(Keeper):
    """Keeps sockets that may be ends of these flows."""

    def __init__(self, outlines: Outlines) -> None:
        self._outlines: Outlines = outlines
        self.strangers: i64 = 0
        """TCP sockets that went somewhere and were let go."""

    def keeps(self, socket: Socket) -> bool:
        """Whether ``socket``, which was closed a while ago, may be the end of a flow."""
        if not may_be_tcp(socket):
            return False
        if self._knows(socket.peer) or self._knows(socket.local):
            return True
        for connect in socket.connects:
            if self._knows(connect.address):
                return True
        if self._shows(socket.outbound) or self._shows(socket.inbound):
            return True
        if is_stranger(socket):
            self.strangers += 1
        return False

    def _knows(self, endpoint: Endpoint | None) -> bool:
        """Whether a flow has this address and port."""
        if endpoint is None:
            return False
        key = packed(endpoint)
        return key in self._outlines.by_server or key in self._outlines.by_client

    def _shows(self, way: Direction) -> bool:
        return any(self._outlines.with_random_in(preview.data) for preview in way.previews)


def may_be_tcp(socket: Socket) -> bool:
    """Whether it may be a TCP connection, as far as the strace tells."""
    if socket.domain != AF_INET and socket.domain != AF_INET6 and socket.domain != AF_OTHER:
        return False
    if socket.type == b"SOCK_DGRAM" or socket.listening is not None or socket.accepts > 0:
        return False
    return not socket.protocol.startswith(b"UDP")


def is_stranger(socket: Socket) -> bool:
    """Of a socket that is the end of no flow: whether it was a connection to somewhere."""
    is_internet = socket.domain == AF_INET or socket.domain == AF_INET6
    return socket.peer is not None and is_internet and socket.origin != "unseen"


def told_again(sockets: list[Socket], resolution_ns: int) -> list[Socket]:
    """Those made by a call that another one before them was made by, too: a trace that was appended to itself.

    No thread makes two sockets of one number in one microsecond; stamps that tell less tell nothing here.
    """
    again: list[Socket] = []
    if resolution_ns > _MICROSECOND_NS:
        return again
    known: set[tuple[int, int, int]] = set()
    for socket in sockets:
        made = socket.created
        if made is None or made.start_ns < 0:
            continue
        key = (int(made.thread.tid), int(made.start_ns), int(socket.fd))
        if key in known:
            again.append(socket)
        known.add(key)
    return again
