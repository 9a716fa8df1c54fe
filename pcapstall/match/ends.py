"""The two ends of a flow, as a socket sees them, and where to find the ends that a socket may be.

An index over flows only; which socket is which end is decided in `matching`.
"""

from collections.abc import Iterable
from typing import Final

from pcapstall.core.endpoints import format_endpoint
from pcapstall.flows.flow import Flow

Endpoint = tuple[bytes, int]
"""A packed address and a port."""

RANDOM_MIN: Final = 12
"""So many bytes of a ClientHello's random must be seen. The default preview of strace shows 21 of them."""


class End:
    """One end of a flow."""

    def __init__(self, flow: Flow, is_client: bool) -> None:
        self.flow = flow
        self.is_client = is_client
        """Whether it is the end that opened the connection."""
        key = flow.key if flow.opener_is_client == is_client else flow.answer_key
        half = (len(key) - 4) // 2
        self.local: Endpoint = (key[:half], int.from_bytes(key[-4:-2], "big"))
        self.peer: Endpoint = (key[half:-4], int.from_bytes(key[-2:], "big"))

    @property
    def side(self) -> str:
        """client or server."""
        return "client" if self.is_client else "server"

    @property
    def sends_hello(self) -> bool:
        """Whether the ClientHello comes from this end: the client's, but for a TLS client that accepts."""
        flow = self.flow
        if not flow.client_hello_first_ref:
            return self.is_client
        return (flow.tls_client_is_opener == flow.opener_is_client) == self.is_client

    def describe(self) -> str:
        """For a sentence: ``the client of 10.0.0.1:34506 -> 10.0.0.2:443``."""
        client, server = (self.local, self.peer) if self.is_client else (self.peer, self.local)
        return f"the {self.side} of {format_endpoint(*client)} -> {format_endpoint(*server)}"


class Ends:
    """All ends, by what a strace may show of them."""

    def __init__(self, flows: Iterable[Flow]) -> None:
        self.by_random: dict[bytes, list[End]] = {}
        """The first `RANDOM_MIN` bytes of the ClientHello's random, to both ends of each flow that has it."""
        self.by_pair: dict[tuple[Endpoint, Endpoint], list[End]] = {}
        """Local and remote address."""
        self.by_local: dict[Endpoint, list[End]] = {}
        self.by_peer: dict[Endpoint, list[End]] = {}
        for flow in flows:
            hello = flow.client_hello
            for end in (End(flow, True), End(flow, False)):
                self.by_pair.setdefault((end.local, end.peer), []).append(end)
                self.by_local.setdefault(end.local, []).append(end)
                self.by_peer.setdefault(end.peer, []).append(end)
                if hello is not None and len(hello.random) >= RANDOM_MIN:
                    self.by_random.setdefault(bytes(hello.random[:RANDOM_MIN]), []).append(end)
