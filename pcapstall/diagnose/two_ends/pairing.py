"""Finds the same connections in two captures: by both initial sequence numbers, else by the ClientHello's random.

Addresses and ports may be translated on the way, so they never make a pair; they only choose between flows that are
equal otherwise. What fits several flows is left unpaired, with the candidates, and never guessed.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pcapstall.diagnose.knowledge import client_key
from pcapstall.flows.flow import Flow

BY_ISNS: Final = "isns"
BY_RANDOM: Final = "client_random"
BY_CLIENT_ISN: Final = "client_isn"
BY_SERVER_ISN: Final = "server_isn"

CANDIDATES_MAX: Final = 16
UNKNOWN: Final = -1
_MASK: Final = 0xFFFF_FFFF


class Signature(NamedTuple):
    """What a connection keeps on its way."""

    client_isn: int
    """Initial sequence number of the side that opened the connection; `UNKNOWN` when no SYN tells."""
    server_isn: int
    random: bytes
    """Of the ClientHello; empty without one."""

    @property
    def isns(self) -> tuple[int, int]:
        """Both initial sequence numbers."""
        return self.client_isn, self.server_isn

    @property
    def known(self) -> tuple[bool, bool, bool]:
        """Which of the three are known."""
        return self.client_isn != UNKNOWN, self.server_isn != UNKNOWN, bool(self.random)

    def told(self, by: tuple[bool, ...]) -> tuple[object, ...]:
        """What those of the three say that ``by`` asks for."""
        three = (self.client_isn, self.server_isn, self.random)
        return tuple(value for value, wanted in zip(three, by, strict=True) if wanted)


class Pair(NamedTuple):
    """One connection, as each capture has it."""

    client: Flow
    """In the capture at the client."""
    server: Flow
    way: str
    """How they were found to be the same."""


class Unpaired(NamedTuple):
    """A flow that only one capture has, or that may be several of the other's."""

    flow: Flow
    candidates: tuple[Flow, ...] = ()
    """Flows of the other capture that it may be, the first `CANDIDATES_MAX` of them."""


@dataclass(slots=True)
class Pairing:
    """All flows of two captures."""

    pairs: list[Pair]
    client_only: list[Unpaired]
    server_only: list[Unpaired]


def signature(flow: Flow) -> Signature:
    """What tells this connection from all others."""
    hello = flow.client_hello
    return _by_handshake(flow)._replace(random=hello.random if hello is not None else b"")


def _by_handshake(flow: Flow) -> Signature:
    """The part of it that the TCP handshake tells."""
    handshake = flow.syn_ref != 0 or flow.syn_ack_ref != 0
    # Without its SYN-ACK the ACK that follows the SYN tells the server's.
    return Signature(_isn(flow.client().base_seq, handshake), _isn(flow.server().base_seq, handshake), b"")


def pair_flows(client: Sequence[Flow], server: Sequence[Flow]) -> Pairing:
    """Pair the flows of the capture at the client with those of the one at the server."""
    return _Pairer(client, server).run()


_Key = Callable[[Signature], Hashable]
_Known = tuple[Flow, Signature]


class _Pairer:
    def __init__(self, client: Sequence[Flow], server: Sequence[Flow]) -> None:
        self._left = {flow.id: (flow, _by_handshake(flow)) for flow in client}
        self._right = {flow.id: (flow, _by_handshake(flow)) for flow in server}
        self._pairs: list[Pair] = []
        self._maybe_left: dict[int, tuple[Flow, ...]] = {}
        self._maybe_right: dict[int, tuple[Flow, ...]] = {}

    def run(self) -> Pairing:
        self._pass(BY_ISNS, lambda s: None if UNKNOWN in s.isns else s.isns)
        # Hellos are read where they are needed only.
        self._left = {number: (flow, signature(flow)) for number, (flow, _) in self._left.items()}
        self._right = {number: (flow, signature(flow)) for number, (flow, _) in self._right.items()}
        self._pass(BY_RANDOM, lambda s: s.random or None)
        self._pass(BY_CLIENT_ISN, lambda s: None if s.client_isn == UNKNOWN else s.client_isn)
        self._pass(BY_SERVER_ISN, lambda s: None if s.server_isn == UNKNOWN else s.server_isn)
        self._pairs.sort(key=lambda pair: int(pair.client.id))
        return Pairing(
            self._pairs,
            [Unpaired(flow, self._maybe_left.get(flow.id, ())) for flow, _ in self._left.values()],
            [Unpaired(flow, self._maybe_right.get(flow.id, ())) for flow, _ in self._right.values()],
        )

    def _pass(self, way: str, key: _Key) -> None:
        """Pair what has the same ``key``, one flow of each capture."""
        right: dict[Hashable, list[_Known]] = defaultdict(list)
        for flow, known in self._right.values():
            if (value := key(known)) is not None:
                right[value].append((flow, known))
        wanted: dict[Hashable, list[_Known]] = defaultdict(list)
        for flow, known in self._left.values():
            if (value := key(known)) is not None and value in right:
                wanted[value].append((flow, known))
        for value, mine in wanted.items():
            self._settle(way, mine, right[value])

    def _settle(self, way: str, mine: list[_Known], theirs: list[_Known]) -> None:
        if way in (BY_CLIENT_ISN, BY_SERVER_ISN):
            # One number of 32 bits is enough only while nothing speaks against it.
            mine, theirs = _fitting(mine, theirs), _fitting(theirs, mine)
        if not mine or not theirs:
            return
        if len(mine) == len(theirs) == 1:
            self._take(mine[0][0], theirs[0][0], way)
            return
        # Copies of a connection on both sides of a translation, in one capture: the untranslated one is the same.
        here, there = _by_key(mine), _by_key(theirs)
        for key, flows in here.items():
            same = there.get(key, [])
            if len(flows) == len(same) == 1:
                self._take(flows[0], same[0], way)
        left = [flow for flow, _ in mine if flow.id in self._left]
        over = [other for other, _ in theirs if other.id in self._right]
        if len(left) == len(over) == 1 and len(mine) == len(theirs):
            self._take(left[0], over[0], way)
            return
        if left and over:
            self._maybe_left.update(dict.fromkeys((flow.id for flow in left), tuple(over[:CANDIDATES_MAX])))
            self._maybe_right.update(dict.fromkeys((other.id for other in over), tuple(left[:CANDIDATES_MAX])))

    def _take(self, client: Flow, server: Flow, way: str) -> None:
        self._pairs.append(Pair(client, server, way))
        del self._left[client.id], self._right[server.id]


def _isn(base_seq: int, handshake: bool) -> int:
    return (base_seq - 1) & _MASK if handshake and base_seq >= 0 else UNKNOWN


def _by_key(known: Sequence[_Known]) -> dict[bytes, list[Flow]]:
    found: dict[bytes, list[Flow]] = defaultdict(list)
    for flow, _ in known:
        found[client_key(flow)].append(flow)
    return found


def _fitting(mine: list[_Known], theirs: list[_Known]) -> list[_Known]:
    """Those of ``mine`` that agree with one of ``theirs`` in all that both know. By what is known and asked, so that
    not each is compared with each: a scan may send all of its SYNs with one number."""
    told: dict[tuple[tuple[bool, ...], tuple[bool, ...]], set[tuple[object, ...]]] = defaultdict(set)
    kinds = {other.known for _, other in theirs}
    asking = {one.known for _, one in mine}
    for _, other in theirs:
        for asked in asking:
            told[other.known, asked].add(other.told(_in_both(other.known, asked)))
    return [
        (flow, one)
        for flow, one in mine
        if any(one.told(_in_both(kind, one.known)) in told[kind, one.known] for kind in kinds)
    ]


def _in_both(one: tuple[bool, ...], other: tuple[bool, ...]) -> tuple[bool, ...]:
    return tuple(here and there for here, there in zip(one, other, strict=True))
