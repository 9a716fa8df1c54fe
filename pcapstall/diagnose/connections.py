"""Connections and lives, remembered of every flow by its times; and many of them in few pieces, for another process.

Who remembers them, and what they tell, is the business of `knowledge`. Compiled, since it sees every flow.
"""

from array import array
from typing import Final, NamedTuple

from mypy_extensions import i64, mypyc_attr

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


Columns = tuple["array[int]", ...]


class Packed(NamedTuple):
    """Many things of a kind in few pieces."""

    keys: bytes
    """One after the other."""
    key_lengths: bytes
    """Of each in a byte."""
    flags: bytes
    columns: Columns
    """Numbers of 64 bits, in each as many as there are things."""


def pack(keys: list[bytes], columns: Columns, flags: bytes = b"") -> Packed:
    """Things with these ``keys`` in few pieces; `keys_of` gives the keys back."""
    return Packed(b"".join(keys), bytes([len(key) for key in keys]), flags, columns)


def pack_connections(connections: list[Connection]) -> Packed:
    """``connections`` in few pieces."""
    flags: list[int] = []
    for connection in connections:
        flag: int = 0
        if connection.connected:
            flag = _CONNECTED
        if connection.speaks_tls:
            flag += _SPEAKS_TLS
        flags.append(flag)
    return pack(
        [connection.key for connection in connections],
        (
            array("q", [connection.syn_ns for connection in connections]),
            array("q", [connection.ack_ns for connection in connections]),
        ),
        bytes(flags),
    )


def unpack_connections(packed: Packed) -> list[Connection]:
    """The inverse of `pack_connections`."""
    syns: list[int] = packed.columns[0].tolist()
    acks: list[int] = packed.columns[1].tolist()
    flags = packed.flags
    found: list[Connection] = []
    for at, key in enumerate(keys_of(packed)):
        flag: i64 = i64(flags[at])
        found.append(Connection(key, flag & _CONNECTED != 0, syns[at], acks[at], flag & _SPEAKS_TLS != 0))
    return found


def pack_lives(lives: list[Life]) -> Packed:
    """``lives`` in few pieces."""
    return pack(
        [life.key for life in lives],
        (
            array("q", [life.first_ns for life in lives]),
            array("q", [life.last_ns for life in lives]),
            array("q", [life.first_ref for life in lives]),
            array("q", [life.last_ref for life in lives]),
        ),
    )


def unpack_lives(packed: Packed) -> list[Life]:
    """The inverse of `pack_lives`."""
    first_ns: list[int] = packed.columns[0].tolist()
    last_ns: list[int] = packed.columns[1].tolist()
    first_refs: list[int] = packed.columns[2].tolist()
    last_refs: list[int] = packed.columns[3].tolist()
    return [
        Life(key, first_ns[at], last_ns[at], first_refs[at], last_refs[at]) for at, key in enumerate(keys_of(packed))
    ]


def keys_of(packed: Packed) -> list[bytes]:
    """The keys one by one."""
    found: list[bytes] = []
    keys = packed.keys
    begin: i64 = 0
    for length in packed.key_lengths:
        end: i64 = begin + i64(length)
        found.append(keys[begin:end])
        begin = end
    return found
