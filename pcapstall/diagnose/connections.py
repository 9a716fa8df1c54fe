"""Connections and lives, remembered of every flow by its times; packed, and an object only when somebody asks for it.

Who remembers them, and what they tell, is the business of `knowledge`. Compiled, since it sees every flow.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.core.packed import Packer, Unpacker

CONNECTED: Final = 1
SPEAKS_TLS: Final = 2
CONNECTION_NUMBERS: Final = 2
"""Of a packed connection: the stamps of SYN and ACK."""
LIFE_NUMBERS: Final = 4
"""Of a packed life: its first and its last stamp, its first and its last frame."""


@mypyc_attr(acyclic=True)
class Connection:
    """A flow whose handshake was seen from the SYN on, or in which a ClientHello was sent."""

    def __init__(self, key: bytes, connected: bool, syn_ns: i64, ack_ns: i64, speaks_tls: bool) -> None:
        self.key: bytes = key
        """The flow's key with the client as source."""
        self.connected: bool = connected
        """Whether the stamps of SYN and ACK are known."""
        self.syn_ns: i64 = syn_ns
        self.ack_ns: i64 = ack_ns
        self.speaks_tls: bool = speaks_tls


@mypyc_attr(acyclic=True)
class Life:
    """A flow that lasted for a while, or a request in one: the stamps and frames of its first and last segment. Of a
    request the first frame is not known: 0."""

    def __init__(self, key: bytes, first_ns: i64, last_ns: i64, first_ref: i64, last_ref: i64) -> None:
        self.key: bytes = key
        """The flow's key with the client as source."""
        self.first_ns: i64 = first_ns
        self.last_ns: i64 = last_ns
        self.first_ref: i64 = first_ref
        self.last_ref: i64 = last_ref


def add_connection(
    connections: Packer, key: bytes, connected: bool, syn_ns: i64, ack_ns: i64, speaks_tls: bool
) -> None:
    """Pack what makes a `Connection`."""
    connections.begin(key, _kind_of(connected, speaks_tls))
    connections.number(syn_ns)
    connections.number(ack_ns)


def add_v4_connection(
    connections: Packer, client: i64, server: i64, connected: bool, syn_ns: i64, ack_ns: i64, speaks_tls: bool
) -> None:
    """The same of one between two IPv4 endpoints, as numbers (wire.segment)."""
    connections.begin_v4(client, server, _kind_of(connected, speaks_tls))
    connections.number(syn_ns)
    connections.number(ack_ns)


def _kind_of(connected: bool, speaks_tls: bool) -> i64:
    kind: i64 = 0
    if connected:
        kind = CONNECTED
    if speaks_tls:
        kind |= SPEAKS_TLS
    return kind


def connection_at(them: Unpacker) -> Connection:
    """The one that ``them`` has moved to."""
    kind: i64 = them.kind
    return Connection(them.key(), kind & CONNECTED != 0, them.number(0), them.number(1), kind & SPEAKS_TLS != 0)


def add_life(lives: Packer, key: bytes, first_ns: i64, last_ns: i64, first_ref: i64, last_ref: i64) -> None:
    """Pack what makes a `Life`."""
    lives.begin(key, 0)
    lives.number(first_ns)
    lives.number(last_ns)
    lives.number(first_ref)
    lives.number(last_ref)


def all_lives(lives: Packer) -> list[Life]:
    """All that were packed."""
    them = Unpacker(lives)
    found: list[Life] = []
    while them.next():
        found.append(Life(them.key(), them.number(0), them.number(1), them.number(2), them.number(3)))
    return found
