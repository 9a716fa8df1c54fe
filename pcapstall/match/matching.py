"""Which socket of a strace is which end of which flow, by four ways, the strongest first.

A socket that may be several ends, or an end that several sockets may be, stays unmatched and is listed. Times are used
as soon as the surer matches tell how the clocks stand. Compiled, since a long trace has tens of thousands of sockets.
"""

from math import isqrt
from typing import Final

from mypy_extensions import i64

from pcapstall.match.bytesway import Relayed, ends_by_random, leave_out_relays
from pcapstall.match.ends import End, Ends
from pcapstall.match.keeping import FlowKeeper, is_stranger, may_be_tcp, told_again
from pcapstall.match.offset import Offset, bounds, nearest, settle
from pcapstall.match.outline import Outlines
from pcapstall.strace.family import Strace
from pcapstall.strace.index import Index, index_strace
from pcapstall.strace.leader import EPOCH, RELATIVE, TIME_OF_DAY
from pcapstall.strace.sockets import Preview, Socket

# How a match was found.
BY_RANDOM: Final = "client_random"
BY_DECORATION: Final = "decoration"
BY_ADDRESSES: Final = "addresses"
BY_CONNECT: Final = "connect_time"
_SURE: Final = (BY_RANDOM, BY_DECORATION, BY_ADDRESSES)

_NEAR_NS: Final = 1_000_000_000
"""A SYN leaves within this after its connect was entered, clocks being right; also what tells two of them apart."""
_LISTED: Final = 50


class Match:
    """One socket that is one end of a flow."""

    def __init__(self, socket: Socket, end: End, way: str, hello: Preview | None = None) -> None:
        self.socket = socket
        self.end = end
        self.way = way
        self.hello = hello
        """Where the ClientHello's random was seen."""
        self.translated = way != BY_RANDOM and socket.peer is not None and socket.peer != end.peer
        """The peer that the process knows is not the one on the wire."""
        self.relayed: Relayed | None = None
        """Where a process that answers nothing itself passed the ClientHello on."""


class Matching:
    """What was found for one strace."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.matches: list[Match] = []
        self.offset: Offset | None = None
        self.ambiguous: list[tuple[Socket, list[End]]] = []
        self.strangers: list[Socket] = []
        """TCP sockets that went somewhere and are no end of a flow in the capture."""
        self.strangers_let_go = 0
        """More of them, of which nothing else is known any more."""
        self.told_again: list[Socket] = []
        """Sockets of which an earlier part of the strace tells the same: its lines stand in it again."""

    def unmatched(self) -> list[str]:
        """The ambiguous sockets and those without a flow, for the report."""
        lines = [
            f"{self._name(socket)}: may be {', or '.join([end.describe() for end in found[:3]])}"
            + (f", or one of {len(found) - 3} more" if len(found) > 3 else "")
            for socket, found in self.ambiguous[:_LISTED]
        ]
        listed = self.strangers[: _LISTED - len(lines)]
        lines += [f"{self._name(socket)}: no flow of the capture" for socket in listed]
        more = len(self.ambiguous) + len(self.strangers) - len(lines) + self.strangers_let_go
        return [*lines, f"{more} more"] if more else lines

    def _name(self, socket: Socket) -> str:
        line = socket.line or socket.first_line
        return f"descriptor {socket.fd}, {socket.describe()} ({self.index.where(line)})"


def match_strace(strace: Strace, outlines: Outlines) -> Matching:
    """Read a strace and find the flows of all its sockets. InputError when it cannot be read."""
    keeper = FlowKeeper(outlines)
    matching = match_index(index_strace(strace, keeper), outlines)
    matching.strangers_let_go = keeper.strangers
    return matching


def match_index(index: Index, outlines: Outlines) -> Matching:
    """Find the flows of all sockets of a strace that has been read."""
    return _Matcher(index, Ends(outlines)).run()


class _Matcher:
    def __init__(self, index: Index, ends: Ends) -> None:
        self._index = index
        self._ends = ends
        self._result = Matching(index)
        self._taken: dict[int, Match] = {}
        """By the identity of an end."""
        sockets = index.sockets
        self._result.told_again = told_again(sockets, index.resolution_ns)
        again = {socket.number for socket in self._result.told_again}
        self._left: list[Socket] = [socket for socket in sockets if may_be_tcp(socket) and socket.number not in again]
        self._by_bytes: dict[int, list[tuple[End, Preview | None]]] = {}
        """What the first way finds for each socket, by its number, if anything: that does not change."""
        for socket in self._left:
            shown = ends_by_random(ends, socket)
            if shown:
                self._by_bytes[socket.number] = shown
        self._relayed = leave_out_relays(self._by_bytes, self._left, index.clock_kind == EPOCH)

    def run(self) -> Matching:
        result = self._result
        for way in _SURE:
            self._pass(way)
        result.offset = self._offset()
        if result.matches:
            for way in _SURE:  # now that times may tell flows apart, and some are taken
                self._pass(way)
            result.offset = self._offset()
        self._pass(BY_CONNECT)
        result.offset = self._offset()
        for socket in self._left:
            found = self._any(socket)
            if found:
                result.ambiguous.append((socket, found))
            elif is_stranger(socket):
                result.strangers.append(socket)
        result.matches.sort(key=_by_number)
        return result

    def _pass(self, way: str) -> None:
        """Match what is certain by this way: one socket to one end, and no other socket to that end."""
        wanted: list[tuple[Socket, End, Preview | None]] = []
        claims: dict[int, int] = {}
        for socket in self._left:
            found = self._candidates(socket, way)
            if len(found) == 1:
                (end, hello) = found[0]
                wanted.append((socket, end, hello))
            for end, _ in found:
                claims[id(end)] = claims.get(id(end), 0) + 1
        matched: set[int] = set()
        for socket, end, hello in wanted:
            if claims[id(end)] > 1:
                continue
            match = Match(socket, end, way, hello)
            if not end.sends_hello:
                match.relayed = self._relayed.get(end.flow.id)
            self._taken[id(end)] = match
            self._result.matches.append(match)
            matched.add(id(socket))
        self._left = [socket for socket in self._left if id(socket) not in matched]

    def _candidates(self, socket: Socket, way: str) -> list[tuple[End, Preview | None]]:
        found: list[tuple[End, Preview | None]] = []
        if way == BY_RANDOM:
            found = self._by_bytes.get(socket.number, found)
        elif way == BY_DECORATION:
            if socket.local_source == socket.peer_source == "decoration" and socket.local and socket.peer:
                found += [(end, None) for end in self._by_addresses(socket)]
        elif way == BY_ADDRESSES:
            found += [(end, None) for end in self._by_addresses(socket)]
        else:
            found += [(end, None) for end in self._by_connect(socket)]
        if not found:
            return found
        free = [(end, hello) for end, hello in found if id(end) not in self._taken and _fits(socket, end)]
        return self._narrow(socket, free)

    def _by_addresses(self, socket: Socket) -> list[End]:
        local, peer = socket.local, socket.peer
        if local is not None and peer is not None:
            exact = self._ends.of_pair(local, peer)
            if exact:
                return exact
        if socket.connects and local is not None and local[1] != 0:
            # Where the destination is translated the peer is another one on the wire; the own port is one's own.
            own = [end for end in self._ends.of_local(local) if end.is_client]
            return own if peer is None else [end for end in own if self._near(socket, end)]
        if socket.listener is not None and local is None and peer is not None:
            bound = socket.listener.local or socket.listener.bound
            port = bound[1] if bound is not None else 0
            return [end for end in self._ends.of_peer(peer) if not end.is_client and (not port or end.local[1] == port)]
        return []

    def _by_connect(self, socket: Socket) -> list[End]:
        if not socket.connects or socket.connects[0].address is None:
            return []
        if socket.local is not None and socket.local[1] != 0:
            return []
        address = socket.connects[0].address
        found = [end for end in self._ends.of_peer(address) if end.is_client and end.flow.syn_ref]
        if self._result.offset is None and self._index.clock_kind not in (EPOCH, TIME_OF_DAY):
            return found
        return [end for end in found if self._near(socket, end)]

    def _narrow(self, socket: Socket, found: list[tuple[End, Preview | None]]) -> list[tuple[End, Preview | None]]:
        """Of several ends those that addresses, and then times, agree with, if any do."""
        if len(found) > 1 and socket.local is not None:
            local = [item for item in found if item[0].local == socket.local]
            found = local or found
        if len(found) > 1 and socket.peer is not None:
            peer = [item for item in found if item[0].peer == socket.peer]
            found = peer or found
        if len(found) > 1:
            near = [item for item in found if self._near(socket, item[0])]
            found = near or found
        if len(found) > 1:
            inside = [item for item in found if self._inside(socket, item[0])]
            found = inside if len(inside) == 1 else found
        return found

    def _near(self, socket: Socket, end: End) -> bool:
        """Whether the socket began when the flow did, as far as the clocks are known."""
        flow = end.flow
        if end.is_client:
            if not socket.connects or not flow.syn_ref:
                return False
            start: i64 = socket.connects[0].call.start_ns
            event: i64 = flow.syn_ns
        else:
            if socket.listener is None or socket.created is None or not flow.ack_ref:
                return False
            # The accept may come long after the handshake, never before.
            start = socket.created.end_ns
            event = flow.ack_ns
        if start < 0:
            return False
        offset, kind = self._result.offset, self._index.clock_kind
        slack: int = self._index.resolution_ns + 1_000_000
        if offset is not None and offset.consistent:
            ahead: int = event - start - offset.ns
            slack += offset.slack_ns
        elif kind == EPOCH:
            ahead = event - start
        elif kind == TIME_OF_DAY:
            ahead = event - start
            ahead -= nearest(ahead)
        else:
            return False
        return -slack <= ahead <= _NEAR_NS if end.is_client else -_NEAR_NS <= ahead <= slack

    def _inside(self, socket: Socket, end: End) -> bool:
        """Whether the SYN left while the process was in its connect, where it is sent."""
        offset = self._result.offset
        if not socket.connects or not end.is_client:
            return False
        call = socket.connects[0].call
        slack = int(self._index.resolution_ns) + 1_000
        at = int(end.flow.syn_ns)
        if offset is not None and offset.consistent:
            at -= offset.ns
        elif offset is None and self._index.clock_kind == TIME_OF_DAY:
            at -= nearest(at - int(call.start_ns))
        elif offset is not None or self._index.clock_kind != EPOCH:
            return False
        return 0 <= call.start_ns - slack <= at <= call.end_ns + slack

    def _offset(self) -> Offset | None:
        index = self._index
        found = [
            bound
            for match in self._result.matches
            for bound in bounds(match.socket, match.end, match.hello, int(index.resolution_ns))
        ]
        drift = isqrt(sum(index.counts.values())) * int(index.resolution_ns) if index.clock_kind == RELATIVE else 0
        return settle(found, index.clock_kind, drift)

    def _any(self, socket: Socket) -> list[End]:
        for way in (*_SURE, BY_CONNECT):
            found = self._candidates(socket, way)
            if found:
                return [end for end, _ in found]
        return []


def _by_number(match: Match) -> int:
    return match.socket.number


def _fits(socket: Socket, end: End) -> bool:
    """Whether a socket that connected, or was accepted, can be this end at all."""
    if socket.connects:
        return end.is_client
    if socket.listener is not None:
        return not end.is_client
    return True
