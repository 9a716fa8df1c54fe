"""Both directions of the wanted connections: their first bytes are learnt, then every segment gets its other payload.

Learning comes first, for a segment may be a copy, come too early or be cut anywhere. Behind what is kept in memory only
record headers are followed, in the order in which segments come.
"""

from collections.abc import Sequence
from typing import Final

from pcapstall.anonymise.mapping import Mapping, filler
from pcapstall.anonymise.plain_stream import plain_streams
from pcapstall.anonymise.tls_stream import Stretches, TlsStream
from pcapstall.core.seq import to_offset
from pcapstall.core.words import u16_be
from pcapstall.wire.preamble import find_client_hello, server_tls_start
from pcapstall.wire.segment import SYN
from pcapstall.wire.tls_event import is_record_header
from pcapstall.wire.tls_messages import RECORD_HEADER_LEN

HEAD_MAX: Final = 4 << 20
"""Bytes of one direction that are kept in memory."""
ALL_MAX: Final = 256 << 20
"""Bytes of all directions."""
_SEGMENTS_MAX: Final = 65_536
_TALK_MAX: Final = 16 * 1024
"""Where TLS has not begun after so many bytes, it does not begin any more."""


class Half:
    """One direction of a connection."""

    def __init__(self, base_seq: int) -> None:
        self.base_seq = base_seq
        """Sequence number of the first byte; -1 until a segment tells."""
        self.near = 0
        """Offset of the latest segment: others are near it."""
        self.data = bytearray()
        self.there = Stretches()
        self.segments: set[int] = set()
        self.out = b""
        self.first_header = -1
        self.next_header = -1
        """Where a record is to begin behind ``out``; -1 when that is not known."""

    def offset(self, seq: int, flags: int) -> int:
        """Stream offset of a segment's first payload byte."""
        if flags & SYN:
            seq = seq + 1 & 0xFFFFFFFF
        if self.base_seq < 0:
            self.base_seq = seq
        self.near = int(to_offset(seq, self.base_seq, self.near))
        return self.near

    def learn(self, offset: int, data: bytes, room: int) -> int:
        """Take ``data`` unless it is known, too far away or there is no ``room``; how many bytes it took."""
        if offset < 0:
            data, offset = data[-offset:], 0
        end = offset + len(data)
        if not data or end > HEAD_MAX:
            return 0
        if len(self.segments) < _SEGMENTS_MAX:
            self.segments.add(offset)
        grown = max(end - len(self.data), 0)
        if grown > room:
            return 0
        self.data.extend(bytes(grown))
        for start, stop in self.there.add(offset, end):
            self.data[start:stop] = data[start - offset : stop - offset]
        return grown

    def head(self, most: int) -> bytes:
        """What is there of the beginning without a hole."""
        return bytes(self.data[: min(self.there.end_from(0), most)])

    def payload(self, offset: int, data: bytes) -> bytes:
        """What becomes of a segment's payload."""
        start = max(offset, 0)
        known = self.out[start : offset + len(data)] if offset + len(data) > 0 else b""
        before = filler(min(start - offset, len(data)))
        rest = len(data) - len(before) - len(known)
        if rest <= 0:
            return before + known
        return before + known + self._follow(offset + len(data) - rest, data[len(data) - rest :])

    def _follow(self, offset: int, data: bytes) -> bytes:
        """Bytes behind the head: record headers stay as long as nothing is missing; one that is cut is not known."""
        out = bytearray(filler(len(data)))
        while 0 <= self.next_header < offset + len(data):
            at = self.next_header - offset
            if at < 0 or at + RECORD_HEADER_LEN > len(data):
                self.next_header = -1
                break
            length = u16_be(data, at + 3)
            if not is_record_header(data[at], u16_be(data, at + 1), length):
                self.next_header = -1
                break
            out[at : at + RECORD_HEADER_LEN] = data[at : at + RECORD_HEADER_LEN]
            self.next_header += RECORD_HEADER_LEN + length
        return bytes(out)


def _behind_a_hole(half: Half) -> int:
    """Where TLS goes on in a direction whose first bytes are missing: at the first bytes that may be a record."""
    start = half.there.first()
    found = int(server_tls_start(bytes(half.data[start : half.there.end_from(start)]), 0))
    return start + max(found, 0)


class Connection:
    """Both halves, by the key of whoever sent the first packet."""

    def __init__(self, key: bytes, base_seqs: Sequence[int]) -> None:
        self.key = key
        self.halves = (Half(base_seqs[0]), Half(base_seqs[1]))
        self.first = -1
        """Number of the first record that is its own, of all records in their order."""

    def half(self, key: bytes) -> Half:
        """The direction that sends with ``key``."""
        return self.halves[0] if key == self.key else self.halves[1]

    def settle(self, mapping: Mapping) -> None:
        """All was learnt: work out what becomes of it."""
        heads = [half.head(_TALK_MAX) for half in self.halves]
        hellos = [int(find_client_hello(head, 0)) if head else -1 for head in heads]
        client = 1 if hellos[0] < 0 <= hellos[1] else 0
        starts = [-1, -1]
        starts[client] = hellos[client]
        answer = int(server_tls_start(heads[1 - client], 0)) if heads[1 - client] else -1
        # A server that the client never asked for TLS may still speak it: the hello was not captured.
        starts[1 - client] = answer
        if starts[client] < 0 and heads[client][:1] in {b"\x14", b"\x15", b"\x16", b"\x17"}:
            starts[client] = max(int(server_tls_start(heads[client], 0)), -1)
        talk = [head[:start] if start >= 0 else head for head, start in zip(heads, starts, strict=True)]
        plain = plain_streams(talk[client], talk[1 - client], mapping)
        for index, half in enumerate(self.halves):
            said = plain[0 if index == client else 1]
            if half.data and not heads[index]:
                starts[index] = _behind_a_hole(half)
            if starts[index] < 0:
                half.out = said + filler(len(half.data) - len(said))
                continue
            stream = TlsStream(mapping, index == client, bytes(half.data), half.there, half.segments)
            half.first_header = stream.run(starts[index])
            half.out = said + bytes(stream.out[len(said) :])
        for half in self.halves:
            half.data, half.segments = bytearray(), set()
        self.rewind()

    def rewind(self) -> None:
        """The segments come from the first one on."""
        for half in self.halves:
            half.near = 0
            half.next_header = half.first_header


class Streams:
    """All connections that are wanted."""

    def __init__(self, mapping: Mapping) -> None:
        self._mapping = mapping
        self._by_key: dict[bytes, list[Connection]] = {}
        self._connections: list[Connection] = []
        self._held = 0

    def open(self, key: bytes, answer_key: bytes, base_seqs: Sequence[int]) -> Connection:
        """A wanted connection; its segments are known by the two keys."""
        connection = Connection(key, base_seqs)
        self._connections.append(connection)
        for each in {key, answer_key}:
            self._by_key.setdefault(each, []).append(connection)
        return connection

    def learn(self, connection: Connection, number: int, key: bytes, seq: int, flags: int, data: bytes) -> None:
        """One of its segments, in record ``number``."""
        if connection.first < 0:
            connection.first = number
        half = connection.half(key)
        offset = half.offset(seq, flags)
        self._held += half.learn(offset, data, ALL_MAX - self._held)

    def settle(self) -> None:
        """Everything was learnt."""
        for connections in self._by_key.values():
            connections.sort(key=lambda connection: connection.first)
        for connection in self._connections:
            connection.settle(self._mapping)

    def rewind(self) -> None:
        """The segments come from the first one on."""
        for connection in self._connections:
            connection.rewind()

    def knows(self, key: bytes) -> bool:
        """Whether segments with this key are wanted."""
        return key in self._by_key

    def payload(self, number: int, key: bytes, seq: int, flags: int, data: bytes) -> bytes:
        """What becomes of the payload of a segment in record ``number``; filler for one of another connection."""
        found = None
        for connection in self._by_key.get(key, ()):
            if found is None or connection.first <= number:
                found = connection
        if found is None or not data:
            return filler(len(data))
        half = found.half(key)
        return half.payload(half.offset(seq, flags), data)
