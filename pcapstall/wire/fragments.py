"""Fragments of IPv4 and IPv6 put together again, within bounds that no capture can stretch.

A joined datagram is handed back as new bytes that start with its IP header, as if it had never been cut; it belongs to
the record that completed it. Nothing here looks above IP.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be
from pcapstall.wire.unread import UnreadPackets

MAX_PENDING: Final = 64
"""Datagrams that may wait for their missing fragments at a time; the oldest gives way."""
MAX_BYTES: Final = 1 << 20
"""Payload bytes that may wait, over all pending datagrams."""
TIMEOUT_NS: Final = 30_000_000_000
"""How long a datagram waits, from its first fragment on: what Linux does (net.ipv4.ipfrag_time)."""
MAX_PIECES: Final = 2048
"""Pieces of one datagram; more than a full-sized one has at the smallest MTU of IPv4, 68 bytes."""

_MAX_DATAGRAM: Final = 65535
_IPPROTO_UDP: Final = 17


class _Pending:
    """One datagram of which something is missing."""

    def __init__(self, first_ns: i64, ref: i64, hosts: bytes) -> None:
        self.first_ns: i64 = first_ns
        self.ref: i64 = ref
        self.hosts: bytes = hosts
        self.fragments: i64 = 0
        """That came; 0 for copies of a datagram that was complete."""
        self.header: bytes = b""
        """Of the fragment with offset 0; empty until that has come."""
        self.offsets: list[int] = []
        """Where each of ``pieces`` starts: ascending, without overlap."""
        self.pieces: list[bytes] = []
        self.held: i64 = 0
        self.total: i64 = -1
        """Length of the payload once the last fragment has come."""

    def insert(self, offset: i64, data: bytes) -> None:
        """Keep of ``data`` what no earlier fragment brought."""
        index: i64 = 0
        at: i64 = offset
        stop: i64 = offset + len(data)
        while at < stop:
            limit: i64 = stop
            skip_to: i64 = stop
            while index < len(self.pieces):
                start: i64 = self.offsets[index]
                end: i64 = start + len(self.pieces[index])
                if end > at:
                    if start < limit:
                        limit = start
                        skip_to = end
                    break
                index += 1
            if limit > at:
                piece = data[at - offset : limit - offset]
                self.offsets.insert(index, at)
                self.pieces.insert(index, piece)
                self.held += len(piece)
                index += 1
            at = skip_to

    def payload(self) -> bytes:
        """The whole payload, or nothing while it has a hole."""
        at: i64 = 0
        index: i64 = 0
        while index < len(self.pieces) and at < self.total:
            if self.offsets[index] != at:
                return b""
            at += len(self.pieces[index])
            index += 1
        if at < self.total:
            return b""
        return b"".join(self.pieces)[: self.total]


class Reassembler:
    """Fragments that wait for the rest of their datagram."""

    def __init__(self, unread: UnreadPackets) -> None:
        self.ref: i64 = 0
        """The frame of the fragment that is to be taken."""
        self.hosts: bytes = b""
        """Of the last fragment: source and destination address, empty for UDP."""
        self.key: bytes = b""
        """What the last fragment has in common with the others of its datagram."""
        self.reason: str = ""
        """Why the last fragment was malformed; empty when it was not."""
        self.dropped: i64 = 0
        """Datagrams given up: timed out, or pushed out by the bounds."""
        self.cut: i64 = 0
        """Fragments that the snap length cut, so that their datagram cannot be put together."""
        self.held_bytes: i64 = 0
        """Payload bytes that wait."""
        self._pending: dict[bytes, _Pending] = {}
        self._done: dict[bytes, int] = {}
        """When the last datagrams were complete: what comes of them again are copies."""
        self._unread: UnreadPackets = unread

    @property
    def waiting(self) -> int:
        """Datagrams of which something is still missing."""
        return len(self._pending)

    def ipv4(self, buf: bytes, at: i64, end: i64, wire_end: i64, now_ns: i64) -> bytes:
        """Take the fragment whose IPv4 header is at ``at``; the joined datagram, or empty while there is none."""
        payload_at: i64 = at + ((i64(buf[at]) & 15) << 2)
        word: i64 = u16_be(buf, at + 6)
        key = buf[at + 12 : at + 20] + buf[at + 4 : at + 6] + buf[at + 9 : at + 10]
        header = b""
        self.hosts = b""
        if i64(buf[at + 9]) != _IPPROTO_UDP:
            self.hosts = buf[at + 12 : at + 20]
        if word & 0x1FFF == 0:
            header = buf[at:payload_at]
        done = self._add(key, (word & 0x1FFF) << 3, word & 0x2000 != 0, header, buf, payload_at, end, wire_end, now_ns)
        if done is None:
            return b""
        payload = done.payload()
        header = done.header
        total_len: i64 = len(header) + len(payload)
        if total_len > _MAX_DATAGRAM:
            self.reason = "ip fragment beyond 65535"
            return b""
        # Total length put right; no fragment any more, "don't fragment" kept.
        return b"".join(
            (
                header[:2],
                int(total_len).to_bytes(2, "big"),
                header[4:6],
                bytes((header[6] & 0x40, 0)),
                header[8:],
                payload,
            )
        )

    def ipv6(self, buf: bytes, ip_at: i64, at: i64, end: i64, wire_end: i64, next_at: i64, now_ns: i64) -> bytes:
        """Take the fragment whose fragment header (RFC 8200 section 4.5) is at ``at``, named by the byte ``next_at``.

        The joined datagram without fragment header, or empty while there is none.
        """
        word: i64 = u16_be(buf, at + 2)
        key = buf[ip_at + 8 : ip_at + 40] + buf[at + 4 : at + 8]
        header = b""
        self.hosts = b""
        if i64(buf[at]) != _IPPROTO_UDP:
            self.hosts = buf[ip_at + 8 : ip_at + 40]
        if word & 0xFFF8 == 0:
            header = buf[ip_at:next_at] + buf[at : at + 1] + buf[next_at + 1 : at]
        done = self._add(key, word & 0xFFF8, word & 1 != 0, header, buf, at + 8, end, wire_end, now_ns)
        if done is None:
            return b""
        payload = done.payload()
        header = done.header
        payload_len: i64 = len(header) - 40 + len(payload)
        if payload_len > _MAX_DATAGRAM:
            self.reason = "ip fragment beyond 65535"
            return b""
        return b"".join((header[:4], int(payload_len).to_bytes(2, "big"), header[6:], payload))

    def _add(
        self,
        key: bytes,
        offset: i64,
        more: bool,
        header: bytes,
        buf: bytes,
        start: i64,
        end: i64,
        wire_end: i64,
        now_ns: i64,
    ) -> _Pending | None:
        """Keep one fragment; the pending datagram when this completes it, which is then forgotten here."""
        self.reason = ""
        self.key = key
        self._expire(now_ns)
        length: i64 = wire_end - start
        if more and length & 7 != 0:
            self.reason = "ip fragment length"
            return None
        if offset + length > _MAX_DATAGRAM:
            self.reason = "ip fragment beyond 65535"
            return None
        if end < wire_end:
            self.cut += 1
            self._unread.note(self.hosts, now_ns, self.ref, 1)
            return None
        pending = self._pending.get(key)
        if pending is None:
            pending = self._pending[key] = _Pending(now_ns, self.ref, self.hosts)
        if key not in self._done:
            pending.fragments += 1
        if header and not pending.header:
            pending.header = header
        if not more and pending.total < 0:
            pending.total = offset + length
        self.held_bytes -= pending.held
        pending.insert(offset, buf[start:end])
        self.held_bytes += pending.held
        if pending.header and 0 <= pending.total <= pending.held and pending.payload():
            self._forget(key)
            self._done[key] = now_ns
            if len(self._done) > MAX_PENDING:
                del self._done[next(iter(self._done))]
            return pending
        if len(pending.pieces) > MAX_PIECES:
            self._drop(key)
        while self.held_bytes > MAX_BYTES or len(self._pending) > MAX_PENDING:
            self._drop(next(iter(self._pending)))
        return None

    def give_up(self) -> None:
        """No more fragments will come."""
        while self._pending:
            self._drop(next(iter(self._pending)))

    def _expire(self, now_ns: i64) -> None:
        while self._done:
            done = next(iter(self._done))
            if now_ns - self._done[done] <= TIMEOUT_NS:
                break
            del self._done[done]
        while self._pending:
            key = next(iter(self._pending))
            if now_ns - self._pending[key].first_ns <= TIMEOUT_NS:
                return
            self._drop(key)

    def _drop(self, key: bytes) -> None:
        self.dropped += 1
        pending = self._pending[key]
        if pending.fragments > 0:
            self._unread.note(pending.hosts, pending.first_ns, pending.ref, pending.fragments)
        self._forget(key)

    def _forget(self, key: bytes) -> None:
        self.held_bytes -= self._pending[key].held
        del self._pending[key]
