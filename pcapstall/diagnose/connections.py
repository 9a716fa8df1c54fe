"""Connections and lives, remembered of every flow by its times; and many of them in few pieces, for another process.

Who remembers them, and what they tell, is the business of `knowledge`. Compiled, since it sees every flow.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.core.packed import Packed, Packer, Unpacker

_CONNECTED: Final = 1
_SPEAKS_TLS: Final = 2


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


def pack_connections(connections: list[Connection]) -> Packed:
    """``connections`` in few pieces."""
    packer = Packer()
    for connection in connections:
        flags: i64 = 0
        if connection.connected:
            flags = _CONNECTED
        if connection.speaks_tls:
            flags += _SPEAKS_TLS
        packer.begin(connection.key)
        packer.number(flags)
        packer.number(connection.syn_ns)
        packer.number(connection.ack_ns)
    return packer.packed()


def unpack_connections(packed: Packed) -> list[Connection]:
    """The inverse of `pack_connections`."""
    them = Unpacker(packed)
    found: list[Connection] = []
    while them.next():
        flags: i64 = them.number()
        syn_ns: i64 = them.number()
        ack_ns: i64 = them.number()
        found.append(Connection(them.key, flags & _CONNECTED != 0, syn_ns, ack_ns, flags & _SPEAKS_TLS != 0))
    return found


def pack_lives(lives: list[Life]) -> Packed:
    """``lives`` in few pieces."""
    packer = Packer()
    for life in lives:
        packer.begin(life.key)
        packer.number(life.first_ns)
        packer.number(life.last_ns)
        packer.number(life.first_ref)
        packer.number(life.last_ref)
    return packer.packed()


def unpack_lives(packed: Packed) -> list[Life]:
    """The inverse of `pack_lives`."""
    them = Unpacker(packed)
    found: list[Life] = []
    while them.next():
        first_ns: i64 = them.number()
        last_ns: i64 = them.number()
        first_ref: i64 = them.number()
        last_ref: i64 = them.number()
        found.append(Life(them.key, first_ns, last_ns, first_ref, last_ref))
    return found
