"""What all flows of a capture say together: round trips between two hosts, who speaks TLS, who connected when.

Filled flow by flow while the capture is read, in small change; asked when a stalled flow is diagnosed. More flows may
settle what one leaves open, so nothing here judges.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.frames import file_of
from pcapstall.core.packed import Packed
from pcapstall.diagnose.connections import Connection, Life, unpack_connections, unpack_lives
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.pairs import Pair
from pcapstall.flows.flow import COPY, Flow
from pcapstall.wire.segment import RST, SYN
from pcapstall.wire.tls_reader import NEVER

CONNECTIONS_MAX: Final = 1_000_000
"""Connections remembered by their times; later ones are not asked about races."""

PAIRS_MAX: Final = 50_000
"""Pairs of hosts that are told apart; later ones count as one of which nothing is known."""
ALL_PAIRS: Final = 1 << 40
"""More than there can be: no bound."""

LIVED_NS: Final = 500_000_000
"""A shorter connection is no reason to wait for."""


class Knowledge:
    """What was learned from the flows so far."""

    def __init__(self) -> None:
        self.pairs: dict[bytes, Pair] = {}
        """By the addresses of client and server."""
        self.other_pairs: Pair = Pair()
        """All beyond `PAIRS_MAX`: nothing is known of them."""
        self.other_pairs.file_index = -1
        self.connections: list[Connection] = []
        """Those that were learned here; see `all_connections`."""
        self.lives: list[Life] = []
        """Likewise."""
        self.packed_connections: list[Packed] = []
        """What others have learned, as long as nobody asks."""
        self.packed_lives: list[Packed] = []
        self.moment: tuple[i64, i64] = (0, 0)
        """Where in the course of the reading this is, for whoever puts together what several have learned."""
        self.pairs_max: i64 = PAIRS_MAX
        self._tls_endpoints: set[bytes] = set()
        """Address and port of servers that were sent a ClientHello, in the first connections."""
        self._asked: i64 = 0
        """How many of the connections these are."""

    def learn(self, flow: Flow, intervals: Intervals) -> Pair:
        """Take in one finished flow, which ``intervals`` has just measured; returns its pair of hosts."""
        self.note_life(flow)
        return self.meet(flow, intervals)

    def meet(self, flow: Flow, intervals: Intervals) -> Pair:
        """Take in what the beginning of a flow tells, which ``intervals`` has just measured; returns its hosts."""
        key = client_key(flow)
        half: i64 = (len(key) - 4) >> 1
        hosts = key[: half + half]
        pair = self.pairs.get(hosts)
        counted_with = pair
        if pair is None:
            pair = Pair()
            pair.file_index = file_of(flow.first_ref)
            pair.moment = self.moment
            if len(self.pairs) < self.pairs_max:
                self.pairs[hosts] = pair
                counted_with = pair
        if flow.ack_ref != 0 and flow.syn_ref != 0:
            if flow.syn_retries == 0 and flow.syn_ack_retries == 0:
                if 0 <= intervals.syn_synack < pair.syn_synack_ns:
                    pair.syn_synack_ns = intervals.syn_synack
                # An ACK that carries the hello did not leave at once.
                if flow.ack_ref != flow.client_hello_first_ref and 0 <= intervals.synack_ack < pair.synack_ack_ns:
                    pair.synack_ack_ns = intervals.synack_ack
            elif flow.first_note is not None:
                to_server, to_client = own_round_trips(flow)
                if to_server < pair.retried_syn_synack_ns:
                    pair.retried_syn_synack_ns = to_server
                if to_client < pair.retried_synack_ack_ns:
                    pair.retried_synack_ack_ns = to_client
        if (flow.ack_ref != 0 and flow.syn_ref != 0) or flow.client_hello_first_ref != 0:
            if len(self.connections) < CONNECTIONS_MAX:
                self.connections.append(
                    Connection(
                        key,
                        flow.ack_ref != 0 and flow.syn_ref != 0,
                        flow.syn_ns,
                        flow.ack_ns,
                        flow.client_hello_first_ref != 0,
                    )
                )
        if flow.first_note is not None:
            client_ttl, server_ttl = first_ttls(flow)
            pair.see_ttls(client_ttl, server_ttl)
        return counted_with or self.other_pairs

    def note_life(self, flow: Flow) -> None:
        """Take in how long a finished flow lasted."""
        if flow.last_ns - flow.first_ns >= LIVED_NS and len(self.lives) < CONNECTIONS_MAX:
            self.lives.append(Life(client_key(flow), flow.first_ns, flow.last_ns, flow.first_ref, flow.last_ref))
            # Its requests that waited for their answers are lives of their own.
            for asked_ns, answered_ns, ref in flow.waits or ():
                self.lives.append(Life(client_key(flow), asked_ns, answered_ns, 0, ref))

    def hear_tls(self, flow: Flow) -> None:
        """A ClientHello was sent in ``flow``, which may have been met before."""
        self._tls_endpoints.add(server_endpoint(client_key(flow)))

    def forget(self, most: i64) -> None:
        """Let go of the older half of what is more than ``most``, so that a pipe may run for days."""
        if len(self.connections) > most:
            self.speaks_tls(b"")  # reads what is new of them
            del self.connections[: len(self.connections) - most // 2]
            self._asked = len(self.connections)
        if len(self.lives) > most:
            del self.lives[: len(self.lives) - most // 2]
        if len(self.pairs) > most:
            for hosts in list(self.pairs)[: len(self.pairs) - most // 2]:
                del self.pairs[hosts]
        if len(self._tls_endpoints) > most:
            self._tls_endpoints.clear()

    def speaks_tls(self, endpoint: bytes) -> bool:
        """Whether a ClientHello was sent to this `server_endpoint`. Worked out when somebody asks: few do."""
        connections = self.all_connections()
        while self._asked < len(connections):
            connection = connections[self._asked]
            self._asked += 1
            if connection.speaks_tls:
                self._tls_endpoints.add(server_endpoint(connection.key))
        return endpoint in self._tls_endpoints

    def all_connections(self) -> list[Connection]:
        """Those that were learned here, and what others have told."""
        for packed in self.packed_connections:
            self.connections.extend(unpack_connections(packed))
        self.packed_connections.clear()
        return self.connections

    def all_lives(self) -> list[Life]:
        """Likewise."""
        for packed in self.packed_lives:
            self.lives.extend(unpack_lives(packed))
        self.packed_lives.clear()
        return self.lives

    def pair_of(self, flow: Flow) -> Pair:
        """The hosts of a flow that was learned."""
        key = client_key(flow)
        pair = self.pairs.get(key[: len(key) - 4])
        return pair or self.other_pairs


def client_key(flow: Flow) -> bytes:
    """The flow's key with the client as source: src dst sport dport."""
    if flow.opener_is_client:
        return flow.key
    return flow.answer_key


def client_address(key: bytes) -> bytes:
    """The source address in a key."""
    return key[: (len(key) - 4) >> 1]


def server_address(key: bytes) -> bytes:
    """The destination address in a key."""
    return key[(len(key) - 4) >> 1 : len(key) - 4]


def server_endpoint(key: bytes) -> bytes:
    """Destination address and port in a key."""
    half: i64 = (len(key) - 4) >> 1
    return key[half : half + half] + key[len(key) - 2 :]


def own_round_trips(flow: Flow) -> tuple[i64, i64]:
    """The round trips to the server and to the client of one handshake with repeated segments; `NEVER` when unknown.

    A TSecr tells which SYN a SYN-ACK answers, and which SYN-ACK an ACK (RFC 7323 section 3.2): at once. Without one it
    is taken to be the last.
    """
    to_server: i64 = NEVER
    to_client: i64 = NEVER
    syn_ns: i64 = -1
    syn_tsval: i64 = -1
    syn_ack_ns: i64 = -1
    syn_ack_tsval: i64 = -1
    first_ns: i64 = -1
    first_tsval: i64 = -1
    for note in flow.notes():
        if note.kind == COPY or note.flags & RST != 0:
            continue
        if note.from_opener == flow.opener_is_client:
            if note.flags & SYN != 0:
                syn_ns = note.ns
                syn_tsval = note.tsval
            elif syn_ack_ns >= 0:
                if note.payload_len == 0:
                    if note.tsecr < 0 or note.tsecr == syn_ack_tsval:
                        to_client = note.ns - syn_ack_ns
                    elif note.tsecr == first_tsval:
                        to_client = note.ns - first_ns
                break
        elif note.flags & SYN != 0:
            syn_ack_ns = note.ns
            syn_ack_tsval = note.tsval
            if first_ns < 0:
                first_ns = note.ns
                first_tsval = note.tsval
            if syn_tsval >= 0 and note.tsecr == syn_tsval and note.ns - syn_ns < to_server:
                to_server = note.ns - syn_ns
    return to_server, to_client


def first_ttls(flow: Flow) -> tuple[i64, i64]:
    """The TTLs of client and server; 0 where not known. A RST may have been sent by something else on the path."""
    client_ttl: i64 = 0
    server_ttl: i64 = 0
    for note in flow.notes():
        if note.flags & RST != 0 or note.kind == COPY:
            continue
        if note.from_opener == flow.opener_is_client:
            if client_ttl == 0:
                client_ttl = i64(note.ttl)
        elif server_ttl == 0:
            server_ttl = i64(note.ttl)
    return client_ttl, server_ttl
