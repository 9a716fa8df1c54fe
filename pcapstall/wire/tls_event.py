"""What a TLS reader finds in a stream, and what makes bytes a record or a message.

Kinds of events, the one `TlsEvent` that carries them, and the plausibility of headers. How a stream is walked is in
`tls_reader`; nothing here knows times or segments.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.wire.tls_names import CCS_RECORD, CLIENT_HELLO, HEARTBEAT_RECORD, RECORD_LENGTH_MAX, SERVER_HELLO

# What an event is.
HANDSHAKE: Final = 1
"""A handshake message in the clear, told at its last byte. ``type``; ``body`` for hellos."""
HANDSHAKE_UNREAD: Final = 2
"""A hello that is over and was not read: a hole in it, or longer than `HELLO_MAX`."""
ENCRYPTED_HANDSHAKE: Final = 3
"""A record of type 22 after a ChangeCipherSpec, or what is left of one where no handshake message begins."""
CHANGE_CIPHER_SPEC: Final = 4
ALERT: Final = 5
"""``level``, ``description``; both -1 when the bytes were not captured."""
ENCRYPTED_ALERT: Final = 6
APP_DATA: Final = 7
OTHER_RECORD: Final = 8
"""Heartbeat, encrypted ChangeCipherSpec (a renegotiation), empty alert. ``type``"""
BAD: Final = 9
"""Not TLS from ``first_offset`` on, for ``reason``; nothing follows."""

HELLO_MAX: Final = 64 * 1024
"""A hello longer than this, header included, is not collected."""

# RFC 8446 appendix B.3, RFC 5246, RFC 4680, RFC 6066, RFC 8879: types 0-6, 8, 11-16, 20-25 as bits.
_KNOWN_MESSAGES: Final = 0b0000_0011_1111_0001_1111_1001_0111_1111
# NextProtocol of early HTTP/2.
_NEXT_PROTOCOL: Final = 67


class TlsEvent:
    """What was found last. One instance serves all readers."""

    def __init__(self) -> None:
        self.kind: i64 = 0
        """One of the constants above."""
        self.type: i64 = -1
        """Handshake type of a message, else the record's content type."""
        self.first_offset: i64 = 0
        """Stream offset of the first byte of the message or record, which is its header's."""
        self.start_offset: i64 = 0
        """The same, but that of its record for the first message in one."""
        self.last_offset: i64 = 0
        """Of its last byte. That of a record that is not looked into may still be to come."""
        self.length: i64 = 0
        """Bytes of the body, without the header."""
        self.level: i64 = -1
        self.description: i64 = -1
        self.buf: bytes = b""
        self.body_at: i64 = 0
        self.body_end: i64 = 0
        """A whole hello is ``buf[body_at:body_end]``: with the 4-byte handshake header, or the SSLv2 record header. Of
        an unread one what there is up to the end of its random, without a hole. Nothing else has a body."""
        self.reason: str = ""

    def fill(self, kind: i64, kind_type: i64, first_offset: i64, last_offset: i64, length: i64) -> None:
        """Begin a new event: everything else is reset."""
        self.kind = kind
        self.type = kind_type
        self.first_offset = first_offset
        self.start_offset = first_offset
        self.last_offset = last_offset
        self.length = length
        self.level = -1
        self.description = -1
        self.body_at = 0
        self.body_end = 0
        self.reason = ""

    def set_body(self, buf: bytes, at: i64, end: i64) -> None:
        """The hello is ``buf[at:end]``."""
        self.buf = buf
        self.body_at = at
        self.body_end = end

    @property
    def body(self) -> bytes:
        """The bytes of the hello."""
        return self.buf[self.body_at : self.body_end]


def is_hello(message_type: i64) -> bool:
    """Whether a message of this type is collected."""
    return message_type == CLIENT_HELLO or message_type == SERVER_HELLO


def is_known_message(message_type: i64) -> bool:
    """Whether ``message_type`` is a handshake type that goes over a wire."""
    if message_type < 32:
        return (_KNOWN_MESSAGES >> message_type) & 1 == 1
    return message_type == _NEXT_PROTOCOL


def is_record_header(content_type: i64, version: i64, length: i64) -> bool:
    """Whether the three fields can be those of a TLS record (RFC 8446 section 5.1; its version says little)."""
    return (
        content_type >= CCS_RECORD
        and content_type <= HEARTBEAT_RECORD
        and version >= 0x0300
        and version <= 0x0304
        and length <= RECORD_LENGTH_MAX
    )


def header_fault(content_type: i64, version: i64, length: i64) -> str:
    """What keeps three fields from being a record's header; empty when nothing does."""
    if content_type < CCS_RECORD or content_type > HEARTBEAT_RECORD:
        return "content type"
    if version >= 0xFE00:
        return "dtls"
    if version < 0x0300 or version > 0x0304:
        return "version"
    if length > RECORD_LENGTH_MAX:
        return "length"
    return ""
