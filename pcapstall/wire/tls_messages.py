"""The handshake layer of a `TlsReader`: messages over the records that they are cut into.

Works inside one record of type 22 at a time and carries what is unfinished to the next. Hello messages are collected,
of all others only the extent is known. The record layer is in `tls_reader`.
"""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from pcapstall.core.words import u24_be
from pcapstall.wire.tls_event import (
    ENCRYPTED_HANDSHAKE,
    HANDSHAKE,
    HANDSHAKE_UNREAD,
    HELLO_MAX,
    TlsEvent,
    is_hello,
    is_known_message,
)
from pcapstall.wire.tls_names import CLIENT_HELLO, MESSAGE_LENGTH_MAX, SERVER_HELLO, TLS_1_2

# Where a reader stands.
START: Final = 0
SSL2_HELLO: Final = 1
RECORD_HEADER: Final = 2
OPAQUE: Final = 3
ALERT_BODY: Final = 4
MESSAGE_HEADER: Final = 5
PEEK: Final = 6
MESSAGE_BODY: Final = 7
SYNC: Final = 8
SKIP: Final = 9
DEAD: Final = 10

RECORD_HEADER_LEN: Final = 5
MESSAGE_HEADER_LEN: Final = 4
PEEK_LEN: Final = 6
BEGINNING_LEN: Final = 38
"""Header, version and random of a hello."""

_HELLO_MIN: Final = 38  # legacy_version, random, session id length, and the rest of either hello


@mypyc_attr(acyclic=True)
class MessageReader:
    """The state of a reader, and the walk over handshake messages within a record."""

    def __init__(self, from_client: bool, offset: i64) -> None:
        self.from_client: bool = from_client
        self.lost: bool = False
        """Whether a record header was not captured: what came then was found again by its looks."""
        self.ccs: bool = False
        """Whether a ChangeCipherSpec was seen in this direction."""
        self.unread: bool = False
        """Whether the message that has begun is a hello that cannot be read."""
        self.offset: i64 = offset
        """The next byte to be read."""
        self.state: i64 = START
        self.content_type: i64 = 0
        self.record_offset: i64 = offset
        self.record_end: i64 = offset
        self.message_type: i64 = -1
        """Type of the handshake message that has begun and is not over; -1 for none."""
        self.word_len: i64 = 0
        self.message_word_len: i64 = 0
        """How much there is in ``word`` and ``message_word``."""
        self.word: i64 = 0
        """The beginning of a record header or alert that is cut."""
        self.message_word: i64 = 0
        """The same for a message header, which may be cut into records."""
        self.message_offset: i64 = 0
        self.message_start: i64 = 0
        """The same as ``message_offset``, or where the record's header is when the message is the first in it."""
        self.message_len: i64 = 0
        self.message_left: i64 = 0
        """Body bytes of the message still to come."""
        self.collected: bytearray | None = None
        """What there is of a hello."""
        self.beginning: bytes = b""
        """What there was of a hello before the first hole in it, up to its random."""

    @final
    def tell_record(self, kind: i64, event: TlsEvent) -> None:
        """Fill ``event`` with the current record."""
        length: i64 = self.record_end - self.record_offset - RECORD_HEADER_LEN
        event.fill(kind, self.content_type, self.record_offset, self.record_end - 1, length)

    @final
    def end_of_record(self) -> None:
        """Look for the next header if the record is read to its end."""
        if self.offset >= self.record_end:
            self.state = RECORD_HEADER

    @final
    def drop_message(self) -> None:
        """No message has begun."""
        self.message_type = -1
        self.message_word = 0
        self.message_word_len = 0
        self.message_left = 0
        self.collected = None
        self.unread = False
        self.beginning = b""

    @final
    def begin_messages(self, event: TlsEvent) -> bool:
        """A record of type 22 begins, with a body that is not empty."""
        if self.message_type >= 0:
            self.state = MESSAGE_BODY
        elif not self.ccs or self.message_word_len > 0:
            self.state = MESSAGE_HEADER
        elif self.record_end - self.offset >= PEEK_LEN:
            self.state = PEEK
        else:
            self.state = OPAQUE
            self.tell_record(ENCRYPTED_HANDSHAKE, event)
            return True
        return False

    @final
    def read_message_header(self, buf: bytes, at: i64, end: i64, event: TlsEvent) -> bool:
        """Go on with the message header at ``buf[at]``."""
        limit: i64 = self.record_end - self.offset
        if end - at < limit:
            limit = end - at
        if self.message_word_len == 0:
            self.message_offset = self.offset
            self.message_start = self.offset
            if self.offset == self.record_offset + RECORD_HEADER_LEN:
                self.message_start = self.record_offset
            if limit >= MESSAGE_HEADER_LEN:
                message_type: i64 = i64(buf[at])
                length: i64 = u24_be(buf, at + 1)
                whole: i64 = length + MESSAGE_HEADER_LEN
                if whole <= limit and whole <= HELLO_MAX and is_hello(message_type):
                    self.offset += whole  # the ordinary hello: whole in one stretch and one record
                    event.fill(HANDSHAKE, message_type, self.message_offset, self.offset - 1, length)
                    event.start_offset = self.message_start
                    event.set_body(buf, at, at + whole)
                    self.end_of_record()
                    return True
                self.offset += MESSAGE_HEADER_LEN
                return self.begin_message(message_type, length, event)
        while self.message_word_len < MESSAGE_HEADER_LEN:
            if limit <= 0:
                self.end_of_record()
                return False
            self.message_word = (self.message_word << 8) | i64(buf[at])
            self.message_word_len += 1
            self.offset += 1
            at += 1
            limit -= 1
        word: i64 = self.message_word
        self.message_word = 0
        self.message_word_len = 0
        return self.begin_message(word >> 24, word & 0xFFFFFF, event)

    @final
    def begin_message(self, message_type: i64, length: i64, event: TlsEvent) -> bool:
        """A message header was read: of ``length`` body bytes none is here yet."""
        if length > MESSAGE_LENGTH_MAX or not is_known_message(message_type):
            self.state = OPAQUE
            self.tell_record(ENCRYPTED_HANDSHAKE, event)
            if self.message_offset > self.record_offset + RECORD_HEADER_LEN:
                event.first_offset = self.message_offset
            self.end_of_record()
            return True
        self.message_type = message_type
        self.message_len = length
        self.message_left = length
        self.state = MESSAGE_BODY
        if is_hello(message_type):
            if length > HELLO_MAX - MESSAGE_HEADER_LEN:
                self.unread = True
            else:
                self.collect((message_type << 24) | length, MESSAGE_HEADER_LEN)
        if length == 0:
            self.end_collected(event)
            return True
        self.end_of_record()
        return False

    @final
    def collect(self, word: i64, word_len: i64) -> None:
        """Begin to collect a hello with the bytes that were read into ``word``."""
        collected = bytearray()
        while word_len > 0:
            word_len -= 1
            collected.append((word >> (8 * word_len)) & 0xFF)
        self.collected = collected

    @final
    def peek(self, buf: bytes, at: i64, end: i64, event: TlsEvent) -> bool:
        """Behind a ChangeCipherSpec a record of type 22 is encrypted, unless it begins with a hello.

        TLS 1.3 sends a ChangeCipherSpec that changes nothing before the second ClientHello and after a
        HelloRetryRequest (RFC 8446 appendix D.4). Such a hello fills its record, or goes on in the next one.
        """
        if self.message_word_len == 0:
            self.message_offset = self.offset
            self.message_start = self.record_offset
        while self.message_word_len < PEEK_LEN:
            if at >= end:
                return False
            self.message_word = (self.message_word << 8) | i64(buf[at])
            self.message_word_len += 1
            self.offset += 1
            at += 1
        word: i64 = self.message_word
        self.message_word = 0
        self.message_word_len = 0
        hello: i64 = SERVER_HELLO
        if self.from_client:
            hello = CLIENT_HELLO
        length: i64 = (word >> 16) & 0xFFFFFF
        if (
            word >> 40 != hello
            or word & 0xFFFF != TLS_1_2
            or length < _HELLO_MIN
            or length > HELLO_MAX - MESSAGE_HEADER_LEN
            or self.message_offset + MESSAGE_HEADER_LEN + length < self.record_end
        ):
            self.state = OPAQUE
            self.tell_record(ENCRYPTED_HANDSHAKE, event)
            self.end_of_record()
            return True
        self.message_type = hello
        self.message_len = length
        self.message_left = length - (PEEK_LEN - MESSAGE_HEADER_LEN)
        self.state = MESSAGE_BODY
        self.collect(word, PEEK_LEN)
        self.end_of_record()
        return False

    @final
    def read_message_body(self, buf: bytes, at: i64, end: i64, event: TlsEvent) -> bool:
        """Go on with the message body at ``buf[at]``."""
        size: i64 = self.record_end - self.offset
        if end - at < size:
            size = end - at
        if self.message_left < size:
            size = self.message_left
        collected = self.collected
        if collected is not None:
            collected += buf[at : at + size]
        self.offset += size
        self.message_left -= size
        if self.message_left == 0:
            self.end_collected(event)
            return True
        self.end_of_record()
        return False

    @final
    def pass_message_hole(self, to: i64, event: TlsEvent) -> bool:
        """Body bytes up to ``to``, within the record, are missing: a hello with a hole is never read."""
        skipped: i64 = to - self.offset
        if skipped > self.message_left:
            skipped = self.message_left
        self.leave_unread()
        self.offset += skipped
        self.message_left -= skipped
        if self.message_left == 0:
            self.end_message(b"", event)
            return True
        self.end_of_record()
        return False

    @final
    def leave_unread(self) -> None:
        """Collect no more of the hello that has begun; only its extent will be told."""
        collected = self.collected
        if collected is not None:
            self.beginning = bytes(collected[:BEGINNING_LEN])
            self.collected = None
            self.unread = True

    @final
    def end_collected(self, event: TlsEvent) -> None:
        """The message that has just ended was collected, or only measured."""
        body = b""
        collected = self.collected
        if collected is not None:
            body = bytes(collected)
        self.end_message(body, event)

    @final
    def end_message(self, body: bytes, event: TlsEvent) -> None:
        """The byte before ``offset`` was the message's last."""
        kind: i64 = HANDSHAKE
        if self.unread:
            kind = HANDSHAKE_UNREAD
            body = self.beginning
        event.fill(kind, self.message_type, self.message_offset, self.offset - 1, self.message_len)
        event.start_offset = self.message_start
        event.set_body(body, 0, len(body))
        self.drop_message()
        self.state = MESSAGE_HEADER
        self.end_of_record()
