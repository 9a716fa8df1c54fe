"""One direction of a TLS connection with nothing in it but its shape: records, messages, and mapped hellos.

Headers of records and of messages in the clear stay, alerts too; everything encrypted or unknown is filler. Works on
the beginning of a stream, of which parts may be missing.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

from pcapstall.anonymise.certificates import Certificates
from pcapstall.anonymise.hellos import Hellos
from pcapstall.anonymise.mapping import Mapping, filler
from pcapstall.core.words import u16_be, u24_be
from pcapstall.wire.tls_event import is_known_message, is_record_header
from pcapstall.wire.tls_messages import MESSAGE_HEADER_LEN, RECORD_HEADER_LEN
from pcapstall.wire.tls_names import (
    ALERT_RECORD,
    CCS_RECORD,
    CERTIFICATE,
    CLIENT_HELLO,
    CLIENT_KEY_EXCHANGE,
    HANDSHAKE_RECORD,
    NEW_SESSION_TICKET,
    SERVER_HELLO,
    SERVER_KEY_EXCHANGE,
)
from pcapstall.wire.tls_ssl2 import ssl2_header_len, ssl2_hello_len

_CERTIFICATE_VERIFY: Final = 15
_TICKET_HEAD: Final = 6
_HELLO_MIN: Final = 38
_LONGEST: Final = 3
"""The upper byte of a message's length: a longer one is none."""


class Stretches:
    """Which bytes of a stream there are: ascending stretches that do not touch."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def add(self, start: int, end: int) -> list[tuple[int, int]]:
        """Note that these bytes are there; which of them were not before."""
        new: list[tuple[int, int]] = []
        at = start
        first = index = max(bisect_right(self._starts, start) - 1, 0)
        if index < len(self._ends) and self._ends[index] < start:
            first = index = index + 1
        low, high = start, end
        while index < len(self._starts) and self._starts[index] <= end:
            if self._starts[index] > at:
                new.append((at, self._starts[index]))
            at = max(at, self._ends[index])
            low, high = min(low, self._starts[index]), max(high, self._ends[index])
            index += 1
        if at < end:
            new.append((at, end))
        self._starts[first:index] = [low]
        self._ends[first:index] = [high]
        return new

    def end_from(self, start: int) -> int:
        """Up to where all bytes from ``start`` on are there; ``start`` when that one is not."""
        index = bisect_right(self._starts, start) - 1
        return max(self._ends[index], start) if index >= 0 else start

    def first(self) -> int:
        """Where the first one starts; -1 without any."""
        return self._starts[0] if self._starts else -1


class TlsStream:
    """Fills ``out`` with what becomes of ``data``, from where TLS begins."""

    def __init__(
        self, mapping: Mapping, from_client: bool, data: bytes, there: Stretches, segments: Iterable[int]
    ) -> None:
        self._segments = sorted(segments)
        """Where segments begin: behind a hole a record may."""
        self._mapping = mapping
        self._hellos = Hellos(mapping)
        self._from_client = from_client
        self._data = data
        self._there = there
        self._pieces: list[tuple[int, int]] = []
        """Where the bytes of handshake messages are that have begun."""
        self._encrypted = False
        self.out = bytearray(filler(len(data)))

    def run(self, at: int) -> int:
        """Walk the records from offset ``at`` on; where the next header is to be, -1 when that is not known."""
        if self._there.end_from(at) > at and self._from_client:
            at += self._ssl2(at)
        while at < len(self._data):
            if self._there.end_from(at) < at + RECORD_HEADER_LEN:
                self._flush()
                at = self._resume(at)
                if at < 0:
                    return -1
                continue
            kind, version, length = self._data[at], u16_be(self._data, at + 1), u16_be(self._data, at + 3)
            if not is_record_header(kind, version, length):
                self._flush()
                return -1
            self._keep(at, at + RECORD_HEADER_LEN)
            self._record(kind, at + RECORD_HEADER_LEN, length)
            at += RECORD_HEADER_LEN + length
        self._flush()
        return at

    def _resume(self, at: int) -> int:
        """A header is missing, and the next segment that begins like a record is taken for one; -1 for none."""
        for start in self._segments[bisect_right(self._segments, at) :]:
            if self._there.end_from(start) >= start + RECORD_HEADER_LEN and is_record_header(
                self._data[start], u16_be(self._data, start + 1), u16_be(self._data, start + 3)
            ):
                return start
        return -1

    def _keep(self, start: int, end: int) -> None:
        self.out[start:end] = self._data[start:end]

    def _ssl2(self, at: int) -> int:
        length = int(ssl2_hello_len(self._data, at, self._there.end_from(at)))
        if length <= 0 or self._there.end_from(at) < at + length:
            return 0
        hello = self._data[at : at + length]
        self.out[at : at + length] = self._hellos.ssl2(hello, int(ssl2_header_len(hello[0])))
        return length

    def _record(self, kind: int, start: int, length: int) -> None:
        end = start + length
        if kind == CCS_RECORD and length == 1:
            self._flush()
            self._encrypted = True
            self._keep(start, min(end, len(self._data)))
        elif kind == ALERT_RECORD and length == 2:
            self._keep(start, min(end, len(self._data)))
        elif kind == HANDSHAKE_RECORD and not (self._encrypted and not self._begins_hello(start)):
            there = min(self._there.end_from(start), end, len(self._data))
            self._pieces.append((start, there))
            if there < end:
                self._flush()

    def _begins_hello(self, at: int) -> bool:
        """Behind a ChangeCipherSpec of TLS 1.3 a hello may still come (RFC 8446 appendix D.4)."""
        if self._pieces:
            return True
        hello = CLIENT_HELLO if self._from_client else SERVER_HELLO
        if self._there.end_from(at) < at + 6:
            return False
        size = u24_be(self._data, at + 1)
        return self._data[at] == hello and size >= _HELLO_MIN and self._data[at + 4 : at + 6] == b"\x03\x03"

    def _flush(self) -> None:
        """Map the messages in the pieces; the last one may be cut."""
        if not self._pieces:
            return
        data = b"".join(self._data[start:end] for start, end in self._pieces)
        mapped = self.messages(data)
        at = 0
        for start, end in self._pieces:
            self.out[start:end] = mapped[at : at + end - start]
            at += end - start
        self._pieces = []

    def messages(self, data: bytes) -> bytes:
        """Handshake messages without the records that they came in."""
        out = bytearray(filler(len(data)))
        at = 0
        while at < len(data):
            if not is_known_message(data[at]) or (at + 1 < len(data) and data[at + 1] > _LONGEST):
                break
            out[at : at + MESSAGE_HEADER_LEN] = data[at : at + MESSAGE_HEADER_LEN]
            start = at + MESSAGE_HEADER_LEN
            size = u24_be(data, at + 1) if start <= len(data) else len(data)
            body = data[start : start + size]
            out[start : start + len(body)] = self._body(data[at], body)
            at = start + size
        return bytes(out)

    def _body(self, kind: int, body: bytes) -> bytes:
        if kind in (CLIENT_HELLO, SERVER_HELLO):
            return self._hellos.body(body, kind == CLIENT_HELLO)
        if kind == CERTIFICATE:
            return Certificates(self._mapping).message(body)
        if kind == NEW_SESSION_TICKET:
            return body[:_TICKET_HEAD] + self._mapping.blob(body[_TICKET_HEAD:])
        kept = _lengths_of(kind, body)
        return kept + filler(len(body) - len(kept))


def _lengths_of(kind: int, body: bytes) -> bytes:
    """The beginning of a key exchange or signature that tells only its shape (RFC 5246 section 7.4, RFC 8422)."""
    if kind == SERVER_KEY_EXCHANGE and body[:1] == b"\x03" and len(body) > 4:
        end = 4 + body[3]
        return body[:4] + filler(body[3]) + body[end : end + 4] if end + 4 <= len(body) else body[:4]
    if kind == _CERTIFICATE_VERIFY:
        return body[:4]
    if kind == CLIENT_KEY_EXCHANGE:
        for size in (1, 2):
            if int.from_bytes(body[:size], "big") + size == len(body):
                return body[:size]
    return b""
