"""What all flows of a capture say together: round trips between two hosts, who speaks TLS, who connected when.

Filled flow by flow while the capture is read, in small change; asked when a stalled flow is diagnosed. More flows may
settle what one leaves open, so nothing here judges.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.packed import Packer, Unpacker
from pcapstall.diagnose.connections import (
    CONNECTION_NUMBERS,
    LIFE_NUMBERS,
    SPEAKS_TLS,
    add_connection,
    add_life,
    add_v4_connection,
)
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.pairs import Pair, Pairs
from pcapstall.flows.flow import Flow
from pcapstall.flows.notebook import COPY
from pcapstall.flows.roles import client_and_server, is_v4
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
        self.pairs: Pairs = Pairs()
        """By the addresses of client and server."""
        self.other_unshown: i64 = 0
        """Flows that are not shown one by one, of pairs beyond `PAIRS_MAX`."""
        self.connections: Packer = Packer(CONNECTION_NUMBERS)
        """Those that were learned here, and what others have told (`connections.Connection`)."""
        self.lives: Packer = Packer(LIFE_NUMBERS)
        """Likewise (`connections.Life`)."""
        self.moment: tuple[i64, i64] = (0, 0)
        """Where in the course of the reading this is, for whoever puts together what several have learned."""
        self.pairs_max: i64 = PAIRS_MAX
        self._tls_endpoints: set[bytes] = set()
        """Address and port of servers that were sent a ClientHello, in the first connections."""
        self._asked: Unpacker = Unpacker(self.connections)
        """Has moved to the last of these."""

    def learn(self, flow: Flow, intervals: Intervals) -> i64:
        """Take in one finished flow, which ``intervals`` has just measured; returns the row of its pair of hosts."""
        self.note_life(flow)
        return self.meet(flow, intervals)

    def meet(self, flow: Flow, intervals: Intervals) -> i64:
        """Take in what the beginning of a flow tells, which ``intervals`` has just measured; returns the row of its
        hosts, -1 where they are beyond `PAIRS_MAX`."""
        pairs = self.pairs
        row: i64 = pairs.meet(flow, self.pairs_max, self.moment)
        connected: bool = flow.ack_ref != 0 and flow.syn_ref != 0
        speaks_tls: bool = flow.client_hello_first_ref != 0
        if connected and row >= 0:
            if flow.syn_retries == 0 and flow.syn_ack_retries == 0:
                synack_ack_ns: i64 = intervals.synack_ack
                if flow.ack_ref == flow.client_hello_first_ref:
                    # An ACK that carries the hello did not leave at once.
                    synack_ack_ns = ABSENT
                pairs.see_handshake(row, intervals.syn_synack, synack_ack_ns)
            elif flow.book is not None:
                to_server, to_client = own_round_trips(flow)
                pairs.see_retried_handshake(row, to_server, to_client)
        if (connected or speaks_tls) and len(self.connections) < CONNECTIONS_MAX:
            if not is_v4(flow):
                add_connection(self.connections, client_key(flow), connected, flow.syn_ns, flow.ack_ns, speaks_tls)
            else:
                client, server = client_and_server(flow)
                add_v4_connection(self.connections, client, server, connected, flow.syn_ns, flow.ack_ns, speaks_tls)
        if flow.book is not None and row >= 0:
            client_ttl, server_ttl = first_ttls(flow)
            pairs.see_ttls(row, client_ttl, server_ttl)
        return row

    def count_unshown(self, row: i64) -> None:
        """One more flow of the hosts in ``row`` is not shown one by one."""
        if row < 0:
            self.other_unshown += 1
        else:
            self.pairs.count_unshown(row)

    def note_life(self, flow: Flow) -> None:
        """Take in how long a finished flow lasted."""
        if flow.last_ns - flow.first_ns < LIVED_NS or len(self.lives) >= CONNECTIONS_MAX:
            return
        key = client_key(flow)
        add_life(self.lives, key, flow.first_ns, flow.last_ns, flow.first_ref, flow.last_ref)
        # Its requests that waited for their answers are lives of their own.
        for asked_ns, answered_ns, ref in flow.waits or ():
            add_life(self.lives, key, asked_ns, answered_ns, 0, ref)

    def hear_tls(self, flow: Flow) -> None:
        """A ClientHello was sent in ``flow``, which may have been met before."""
        self._tls_endpoints.add(server_endpoint(client_key(flow)))

    def forget(self, most: i64) -> None:
        """Let go of the older half of what is more than ``most``, so that a pipe may run for days."""
        if len(self.connections) > most:
            self.speaks_tls(b"")  # reads what is new of them
            self.connections = self.connections.without_first(len(self.connections) - most // 2)
            self._asked = Unpacker(self.connections)
            self._asked.rest()
        if len(self.lives) > most:
            self.lives = self.lives.without_first(len(self.lives) - most // 2)
        if len(self.pairs) > most:
            self.pairs = self.pairs.only(list(range(len(self.pairs) - most // 2, len(self.pairs))))
        if len(self._tls_endpoints) > most:
            self._tls_endpoints.clear()

    def speaks_tls(self, endpoint: bytes) -> bool:
        """Whether a ClientHello was sent to this `server_endpoint`. Worked out when somebody asks: few do."""
        them = self._asked
        while them.next():
            if them.kind & SPEAKS_TLS != 0:
                self._tls_endpoints.add(server_endpoint(them.key()))
        return endpoint in self._tls_endpoints

    def pair_of(self, flow: Flow) -> Pair:
        """What is known of the hosts of a flow that was learned."""
        row: i64 = self.pairs.find(flow)
        if row >= 0:
            return self.pairs.pair(row)
        pair = Pair()
        pair.file_index = -1
        return pair


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
                client_ttl = note.ttl
        elif server_ttl == 0:
            server_ttl = note.ttl
    return client_ttl, server_ttl
