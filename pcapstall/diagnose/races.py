"""Connections that lost a race: several addresses were tried and another one connected first (RFC 8305).

Such a SYN was given up, not filtered. Only times and endpoints are compared; names are not known here. Compiled, since
every connection of the capture is looked at as soon as one has failed.
"""

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from pcapstall.core.packed import Unpacker
from pcapstall.core.vecs import lengthened
from pcapstall.core.words import V4_KEY_LEN
from pcapstall.diagnose.connections import CONNECTED, Connection, connection_at
from pcapstall.diagnose.intervals import SYN_RETRY_NS
from pcapstall.diagnose.knowledge import Knowledge, client_address, client_key
from pcapstall.flows.flow import Flow

START_WITHIN_NS: Final = 2_000_000_000
"""RFC 8305 section 5 lets the next attempt start within 2 s of the one before."""
_V4: Final = b"4"
_V6: Final = b"6"
_SPAN_BITS: Final = 30
"""Connections are sorted into spans of so many bits of nanoseconds, about a second."""


class Races:
    """Tells whether another connection won, of those that were known when this was made."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._connections: Unpacker = Unpacker(knowledge.connections)
        self._last_of_span: dict[int, int] = {}
        """Of the connections that came about: the last one whose SYN is in a span, by their numbers from 0."""
        self._before: vec[i64] = lengthened(vec[i64](), len(knowledge.connections))
        """By those numbers: the one before it in the same span; -1 for none."""
        self._places: vec[i64] = lengthened(vec[i64](), len(knowledge.connections))
        """Likewise: where it is among all connections."""
        self._by_client: dict[int, dict[bytes, list[Connection]]] = {}
        """Of spans that were asked about: by server port and client address, and by server port and family. Few are
        asked about, and to sort a connection in so takes longer than to have followed it."""
        them = self._connections
        before = self._before
        places = self._places
        last_span: i64 = 0
        last: i64 = -1
        number: i64 = 0
        while them.next():
            if them.kind & CONNECTED == 0:
                continue
            span: i64 = them.number(0) >> _SPAN_BITS
            if span != last_span:
                if last >= 0:
                    self._last_of_span[last_span] = last
                last = self._last_of_span.get(span, -1)
                last_span = span
            before[number] = last
            places[number] = them.place()
            last = number
            number += 1
        if last >= 0:
            self._last_of_span[last_span] = last

    def is_lost_by(self, flow: Flow) -> bool:
        """Whether another connection won against ``flow``, which never connected.

        It goes from the same client (or one of the other address family, where a host cannot be told by its address)
        to the same port of another address, began at nearly the same time, and was connected when this one was given
        up: no SYN came after that, though the time for one passed.
        """
        if flow.syn_ref == 0 or flow.ack_ref != 0:
            return False
        key = client_key(flow)
        family = _V4
        if len(key) == V4_KEY_LEN:
            family = _V6
        port = key[len(key) - 2 :]
        span: i64 = (flow.syn_ns - START_WITHIN_NS) >> _SPAN_BITS
        last_span: i64 = (flow.syn_ns + START_WITHIN_NS) >> _SPAN_BITS
        while span <= last_span:
            by_client = self._within(span)
            if by_client is not None:
                if _has_winner(flow, by_client.get(port + client_address(key))):
                    return True
                if _has_winner(flow, by_client.get(port + family)):
                    return True
            span += 1
        return False

    def _within(self, span: i64) -> dict[bytes, list[Connection]] | None:
        """What began within ``span``, as `_by_client` has it; None when nothing did."""
        known = self._by_client.get(span)
        if known is not None:
            return known
        number: i64 = self._last_of_span.get(span, -1)
        if number < 0:
            return None
        known = {}
        while number >= 0:
            self._connections.go_to(self._places[number])
            connection = connection_at(self._connections)
            key = connection.key
            family = _V6
            if len(key) == V4_KEY_LEN:
                family = _V4
            port = key[len(key) - 2 :]
            _put(known, port + client_address(key), connection)
            _put(known, port + family, connection)
            number = self._before[number]
        self._by_client[span] = known
        return known


def _put(known: dict[bytes, list[Connection]], name: bytes, connection: Connection) -> None:
    found = known.get(name)
    if found is None:
        known[name] = [connection]
    else:
        found.append(connection)


def _has_winner(flow: Flow, attempts: list[Connection] | None) -> bool:
    """Whether one of ``attempts`` won against ``flow``."""
    if attempts is None:
        return False
    hosts_len: i64 = len(flow.key) - 4
    hosts = client_key(flow)[:hosts_len]
    client = flow.client()
    reset: bool = client.rst_ref != 0
    given_up_ns: i64 = flow.last_ns + (flow.last_ns - flow.syn_ns) + SYN_RETRY_NS
    if reset:
        given_up_ns = client.rst_ns
    earliest_ns: i64 = flow.syn_ns - START_WITHIN_NS
    latest_ns: i64 = flow.syn_ns + START_WITHIN_NS
    for connection in attempts:
        if connection.syn_ns < earliest_ns or connection.syn_ns > latest_ns or connection.ack_ns > given_up_ns:
            continue
        if (reset or flow.last_ns <= connection.ack_ns) and connection.key[: len(connection.key) - 4] != hosts:
            return True
    return False
