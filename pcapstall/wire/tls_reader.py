"""One direction of a TLS connection, record by record: which message or record lies at which stream offsets.

A `TlsReader` is shown stretches of the stream and fills a `TlsEvent`. It keeps the bytes of hello messages only;
everything else is passed over by arithmetic. It knows stream offsets and nothing of segments, times or the peer.
"""

from typing import Final, final

from librt.strings import read_i16_be
from mypy_extensions import i64, mypyc_attr

from pcapstall.wire.tls_event import (
    ALERT,
    APP_DATA,
    BAD,
    CHANGE_CIPHER_SPEC,
    ENCRYPTED_ALERT,
    ENCRYPTED_HANDSHAKE,
    HANDSHAKE,
    HANDSHAKE_UNREAD,
    OTHER_RECORD,
    TlsEvent,
    header_fault,
    is_record_header,
)
from pcapstall.wire.tls_messages import (
    ALERT_BODY,
    DEAD,
    MESSAGE_BODY,
    MESSAGE_HEADER,
    OPAQUE,
    PEEK,
    RECORD_HEADER,
    RECORD_HEADER_LEN,
    SKIP,
    SSL2_HELLO,
    START,
    SYNC,
    MessageReader,
)
from pcapstall.wire.tls_names import (
    ALERT_RECORD,
    APPLICATION_DATA_RECORD,
    CCS_RECORD,
    CLIENT_HELLO,
    HANDSHAKE_RECORD,
    HEARTBEAT_RECORD,
)
from pcapstall.wire.tls_ssl2 import NEED_MORE, ssl2_hello_len

__all__ = [
    "ALERT",
    "APP_DATA",
    "BAD",
    "CHANGE_CIPHER_SPEC",
    "ENCRYPTED_ALERT",
    "ENCRYPTED_HANDSHAKE",
    "HANDSHAKE",
    "HANDSHAKE_UNREAD",
    "NEVER",
    "OTHER_RECORD",
    "TlsEvent",
    "TlsReader",
]

NEVER: Final = (1 << 61) - 1
"""A stream offset that no byte reaches."""


@mypyc_attr(acyclic=True)
@final
class TlsReader(MessageReader):
    """Reads one direction from stream offset ``offset`` on, where TLS is to begin."""

    def wanted_offset(self) -> i64:
        """Bytes before this offset need not be shown; `NEVER` once the stream is no TLS."""
        state: i64 = self.state
        if state == OPAQUE:
            return self.record_end
        if state == MESSAGE_BODY and self.collected is None:
            last: i64 = self.offset + self.message_left - 1
            if last < self.record_end:
                return last
            return self.record_end
        if state == DEAD:
            return NEVER
        return self.offset

    def is_between(self) -> bool:
        """Whether nothing has begun that is told only when later bytes have come."""
        if self.message_type >= 0 or self.message_word_len > 0 or self.word_len > 0:
            return False
        state: i64 = self.state
        return state == RECORD_HEADER or state == OPAQUE or state >= SYNC

    def begun_offset(self) -> i64:
        """The first byte of what has begun and is not told yet: a message, its record's header; else the next byte."""
        if self.message_type >= 0 or self.message_word_len > 0:
            return self.message_start
        if self.word_len > 0 or self.offset == self.record_offset + RECORD_HEADER_LEN or self.state == SSL2_HELLO:
            return self.record_offset
        return self.offset

    def read(self, buf: bytes, start: i64, end: i64, offset: i64, event: TlsEvent) -> bool:
        """Go on to the next event in ``buf[start:end]``, the stream's bytes from ``offset`` on.

        True with ``event`` filled: call again with the same stretch. False: all of it is read. Bytes that were read
        before are passed over. Bytes between where the reader stands and ``offset`` are a hole: not captured, or not
        shown because they lie before `wanted_offset`; an empty stretch just says that there is one.
        """
        end_offset: i64 = offset + (end - start)
        shift: i64 = start - offset
        while self.offset < end_offset:
            state: i64 = self.state
            if state == DEAD:
                return False
            if self.offset < offset:
                if self._pass_hole(offset, event):
                    return True
                continue
            at: i64 = self.offset + shift
            if state == RECORD_HEADER or state == SYNC:
                if self._read_record_header(buf, at, end, event):
                    return True
            elif state == OPAQUE:
                if self.record_end > end_offset:
                    self.offset = end_offset
                else:
                    self.offset = self.record_end
                    self.state = RECORD_HEADER
            elif state == MESSAGE_BODY:
                if self.read_message_body(buf, at, end, event):
                    return True
            elif state == MESSAGE_HEADER:
                if self.read_message_header(buf, at, end, event):
                    return True
            elif state == ALERT_BODY:
                if self._read_alert(buf, at, end, event):
                    return True
            elif state == PEEK:
                if self.peek(buf, at, end, event):
                    return True
            elif state == START:
                self._start(i64(buf[at]))
            elif state == SKIP:
                self.offset = end_offset
            elif self._read_ssl2(buf, at, end, event):
                return True
        if self.state == SKIP:
            self.state = SYNC
        return False

    def _start(self, first: i64) -> None:
        """Only a client's first byte may begin an SSLv2-format hello, if it is no content type of TLS."""
        if self.from_client and (first < CCS_RECORD or first > HEARTBEAT_RECORD):
            self.state = SSL2_HELLO
            self.collected = bytearray()
        else:
            self.state = RECORD_HEADER

    def _pass_hole(self, to: i64, event: TlsEvent) -> bool:
        """Pass over what is missing up to ``to``, or to the end of the record if that is nearer."""
        state: i64 = self.state
        if state == SYNC or state == SKIP:
            self.offset = to
            self.word_len = 0
            self.state = SYNC
            return False
        if state == RECORD_HEADER or state == START or state == SSL2_HELLO:
            # A header is missing: what follows must be found by its looks.
            self.lost = True
            self.state = SYNC
            self.offset = to
            self.word_len = 0
            self.drop_message()
            return False
        if self.record_end < to:
            to = self.record_end
        if state == MESSAGE_BODY:
            return self.pass_message_hole(to, event)
        self.state = OPAQUE
        self.word_len = 0
        self.message_word = 0
        self.message_word_len = 0
        if state == ALERT_BODY:
            self.tell_record(ALERT, event)
            return True
        if state == PEEK:
            self.tell_record(ENCRYPTED_HANDSHAKE, event)
            return True
        # An opaque body, or messages in the rest of a record that have no known beginning now.
        self.offset = to
        self.end_of_record()
        return False

    def _read_record_header(self, buf: bytes, at: i64, end: i64, event: TlsEvent) -> bool:
        if self.word_len == 0:
            self.record_offset = self.offset
            if end - at >= RECORD_HEADER_LEN:
                self.offset += RECORD_HEADER_LEN
                version: i64 = i64(read_i16_be(buf, at + 1)) & 0xFFFF
                length: i64 = i64(read_i16_be(buf, at + 3)) & 0xFFFF
                return self._begin_record(i64(buf[at]), version, length, event)
            self.word = 0
        while self.word_len < RECORD_HEADER_LEN:
            if at >= end:
                return False
            self.word = (self.word << 8) | i64(buf[at])
            self.word_len += 1
            self.offset += 1
            at += 1
        word: i64 = self.word
        self.word_len = 0
        return self._begin_record(word >> 32, (word >> 16) & 0xFFFF, word & 0xFFFF, event)

    def _begin_record(self, content_type: i64, version: i64, length: i64, event: TlsEvent) -> bool:
        if not is_record_header(content_type, version, length):
            return self._bad(header_fault(content_type, version, length), event)
        self.content_type = content_type
        self.record_end = self.offset + length
        self.state = OPAQUE
        if length == 0:
            self.state = RECORD_HEADER
        kind: i64 = OTHER_RECORD
        if content_type == APPLICATION_DATA_RECORD:
            kind = APP_DATA
        elif content_type == HANDSHAKE_RECORD:
            if length == 0:
                return False
            return self.begin_messages(event)
        elif content_type == CCS_RECORD and length == 1:
            kind = CHANGE_CIPHER_SPEC
            self.ccs = True
            # No message goes on beyond it (RFC 8446 section 5.1).
            self.drop_message()
        elif content_type == ALERT_RECORD:
            if length == 2:
                # No cipher makes two bytes of two bytes: in the clear, whatever came before.
                self.state = ALERT_BODY
                self.word = 0
                return False
            if length > 2:
                kind = ENCRYPTED_ALERT
        self.tell_record(kind, event)
        return True

    def _bad(self, reason: str, event: TlsEvent) -> bool:
        self.drop_message()
        if self.lost:
            # It was a guess that a record began here; the next stretch's first byte is the next guess.
            self.state = SKIP
            return False
        self.state = DEAD
        event.fill(BAD, -1, self.record_offset, self.record_offset, 0)
        event.reason = reason
        return True

    def _read_alert(self, buf: bytes, at: i64, end: i64, event: TlsEvent) -> bool:
        while self.word_len < 2:
            if at >= end:
                return False
            self.word = (self.word << 8) | i64(buf[at])
            self.word_len += 1
            self.offset += 1
            at += 1
        self.tell_record(ALERT, event)
        event.level = self.word >> 8
        event.description = self.word & 0xFF
        self.word_len = 0
        self.state = RECORD_HEADER
        return True

    def _read_ssl2(self, buf: bytes, at: i64, end: i64, event: TlsEvent) -> bool:
        """Collect an SSLv2-format ClientHello: byte by byte until it is known to be one, then all of it."""
        collected = self.collected
        if collected is None:
            return self._bad("content type", event)
        length: i64 = ssl2_hello_len(bytes(collected), 0, len(collected))
        size: i64 = 1
        if length != NEED_MORE:
            size = length - len(collected)
            if end - at < size:
                size = end - at
        collected += buf[at : at + size]
        self.offset += size
        if length == NEED_MORE:
            length = ssl2_hello_len(bytes(collected), 0, len(collected))
        if length < 0:
            return self._bad(header_fault(i64(collected[0]), 0, 0), event)
        if length == NEED_MORE or len(collected) < length:
            return False
        self.message_type = CLIENT_HELLO
        self.message_offset = self.record_offset
        self.message_start = self.record_offset
        self.message_len = length
        self.record_end = self.offset
        self.end_message(bytes(collected), event)
        return True
