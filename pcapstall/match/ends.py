"""The two ends of a flow, as a socket sees them, and where to find the ends that a socket may be.

An index over flows only; which socket is which end is decided in `matching`. An end is made when somebody asks for it:
of most flows of a capture nobody does. Compiled like `matching`.
"""

from mypy_extensions import i64

from pcapstall.core.endpoints import format_endpoint
from pcapstall.core.words import u16_be
from pcapstall.match.outline import Outline, Outlines, packed

Endpoint = tuple[bytes, int]
"""A packed address and a port."""


class End:
    """One end of a flow."""

    def __init__(self, flow: Outline, is_client: bool) -> None:
        self.flow = flow
        self.is_client = is_client
        """Whether it is the end that opened the connection."""
        client, server = _endpoint(flow.client), _endpoint(flow.server)
        self.local: Endpoint = client if is_client else server
        self.peer: Endpoint = server if is_client else client
        self.sends_hello = flow.client_sends_hello == is_client
        """Whether the ClientHello comes from this end: the client's, but for a TLS client that accepts."""

    @property
    def side(self) -> str:
        """client or server."""
        return "client" if self.is_client else "server"

    def describe(self) -> str:
        """For a sentence: ``the client of 10.0.0.1:34506 -> 10.0.0.2:443``."""
        client, server = (self.local, self.peer) if self.is_client else (self.peer, self.local)
        return f"the {self.side} of {format_endpoint(*client)} -> {format_endpoint(*server)}"


class Ends:
    """All ends, by what a strace may show of them. The same end is the same object, however it was found."""

    def __init__(self, outlines: Outlines) -> None:
        self._outlines = outlines
        self._made: dict[tuple[int, bool], End] = {}

    def with_random_in(self, data: bytes) -> list[End]:
        """Both ends of the flows whose ClientHello's random stands in ``data``."""
        flows = self._outlines.with_random_in(data)
        return [end for flow in flows for end in (self._end(flow, True), self._end(flow, False))]

    def of_pair(self, local: Endpoint, peer: Endpoint) -> list[End]:
        """Those that have this address and this peer."""
        own, other = packed(local), packed(peer)
        found = [self._end(flow, True) for flow in self._outlines.of_client(own) if flow.server == other]
        accepted = [self._end(flow, False) for flow in self._outlines.of_client(other) if flow.server == own]
        accepted.reverse()  # those of a client come with the last one first, those of a server in their order
        return found + accepted

    def of_local(self, local: Endpoint) -> list[End]:
        """Those that have this address."""
        return self._ends(packed(local), True)

    def of_peer(self, peer: Endpoint) -> list[End]:
        """Those whose peer has this address."""
        return self._ends(packed(peer), False)

    def _ends(self, endpoint: bytes, is_own: bool) -> list[End]:
        found = [self._end(flow, is_own) for flow in self._outlines.of_client(endpoint)]
        found += [self._end(flow, not is_own) for flow in self._outlines.of_server(endpoint)]
        return found

    def _end(self, flow: Outline, is_client: bool) -> End:
        key = (id(flow), is_client)
        end = self._made.get(key)
        if end is None:
            end = self._made[key] = End(flow, is_client)
        return end


def _endpoint(text: bytes) -> Endpoint:
    at: i64 = len(text) - 2
    return (text[:at], u16_be(text, at))
