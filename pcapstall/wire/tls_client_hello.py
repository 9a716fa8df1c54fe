"""ClientHello: what a client offers (RFC 8446 section 4.1.2), SSLv2 format included.

`parse_client_hello` takes a whole message and never raises: what could be read is kept and `malformed` says what could
not. What the hellos of one kind of client have in common is in `tls_shape`.
"""

from typing import Final, final

from mypy_extensions import i64, mypyc_attr

from pcapstall.core.words import u16_be, u24_be
from pcapstall.wire.tls_names import CLIENT_HELLO, is_grease
from pcapstall.wire.tls_shape import (
    EXTENSION_ALPN,
    EXTENSION_KEY_SHARE,
    EXTENSION_SERVER_NAME,
    EXTENSION_SESSION_TICKET,
    EXTENSION_SIGNATURE_ALGORITHMS,
    EXTENSION_SUPPORTED_VERSIONS,
    EXTENSIONS_MAX,
    NO_SHAPE,
    SET_END,
    HelloShape,
    HelloShapes,
    ShapeParts,
    group_tuple,
    server_name,
    shape_of,
)
from pcapstall.wire.tls_ssl2 import ssl2_header_len, ssl2_hello_len

_BODY_OFFSET: Final = 4
_RANDOM_OFFSET: Final = 6
_SESSION_ID_OFFSET: Final = 38

# The extensions whose data are looked at, as bits.
_READ_INTO: Final = (
    (1 << EXTENSION_SERVER_NAME)
    | (1 << EXTENSION_SIGNATURE_ALGORITHMS)
    | (1 << EXTENSION_ALPN)
    | (1 << EXTENSION_SESSION_TICKET)
    | (1 << EXTENSION_SUPPORTED_VERSIONS)
    | (1 << EXTENSION_KEY_SHARE)
)


@mypyc_attr(acyclic=True)
@final
class ClientHello:
    """What a client offered. Small, for every flow has one: what many have in common is shared."""

    def __init__(self) -> None:
        self.shape: HelloShape = NO_SHAPE
        self.length: i64 = 0
        """Bytes of the message with its header."""
        self._opaque: bytes = b""
        """The random, and the session id behind it."""
        self._random_len: i64 = 0
        self.sni: str | None = None
        """The server's name, safe to print; of the outer hello with ECH."""
        self.key_share_groups: tuple[int, ...] = ()
        """IANA numbers of the groups that key shares came with, GREASE left out."""
        self.session_ticket: bool = False
        """Whether a ticket of TLS 1.2 came with it (RFC 5077)."""
        self.malformed: str = ""
        """What could not be read; empty when everything was."""

    def set_opaque(self, random: bytes, session_id: bytes) -> None:
        """Keep what has no meaning of its own."""
        self._opaque = random + session_id
        self._random_len = len(random)

    @property
    def random(self) -> bytes:
        """32 bytes; the challenge of an SSLv2-format hello is as long as the client made it."""
        return self._opaque[: self._random_len]

    @property
    def session_id(self) -> bytes:
        """What the client calls a session that it would resume, or nothing but noise."""
        return self._opaque[self._random_len :]

    @property
    def legacy_version(self) -> i64:
        """What stands in the version field."""
        return self.shape.legacy_version

    @property
    def ja4(self) -> str:
        """The JA4 fingerprint; empty when the hello's lists could not be read to their end, or in SSLv2 format."""
        return self.shape.ja4

    @property
    def alpn(self) -> tuple[str, ...]:
        """The protocols offered, safe to print, in the client's order."""
        return self.shape.alpn

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions offered: the supported_versions extension, GREASE left out, else `legacy_version`."""
        return self.shape.versions

    @property
    def cipher_suites(self) -> tuple[int, ...]:
        """IANA numbers in the client's order, GREASE left out; those of SSL 2.0 have three bytes."""
        return self.shape.cipher_suites()

    @property
    def ech(self) -> bool:
        """Whether it has the extension of Encrypted Client Hello, which clients also send as GREASE."""
        return self.shape.ech

    @property
    def early_data(self) -> bool:
        """Whether it offers early data (RFC 8446 section 4.2.10)."""
        return self.shape.early_data

    @property
    def psk(self) -> bool:
        """Whether it offers to resume with a pre-shared key of TLS 1.3."""
        return self.shape.psk


def parse_client_hello(message: bytes, shapes: HelloShapes | None = None) -> ClientHello:
    """Read a whole ClientHello message with its 4-byte header, or one in SSLv2 format with its record header.

    ``shapes`` are those of the hellos that were read before, to be shared.
    """
    if shapes is None:
        shapes = HelloShapes()
    end: i64 = len(message)
    hello = ClientHello()
    hello.length = end
    if end < _BODY_OFFSET or i64(message[0]) != CLIENT_HELLO or u24_be(message, 1) != end - _BODY_OFFSET:
        _parse_ssl2(message, hello, shapes)
        return hello
    if end <= _SESSION_ID_OFFSET:
        hello.malformed = "random"
        return hello
    hello.set_opaque(message[_RANDOM_OFFSET:_SESSION_ID_OFFSET], b"")
    parts = ShapeParts(u16_be(message, _BODY_OFFSET), shapes)
    _read_client_body(message, end, hello, parts)
    hello.shape = shape_of(parts)
    if hello.malformed == "":
        hello.malformed = hello.shape.malformed
    return hello


def _read_client_body(message: bytes, end: i64, hello: ClientHello, parts: ShapeParts) -> None:
    """Everything behind the random. Returns early, with `malformed` set, at the first list that does not end."""
    at: i64 = _SESSION_ID_OFFSET + 1 + i64(message[_SESSION_ID_OFFSET])
    parts.complete = False
    if at + 2 > end:
        hello.malformed = "session_id"
        return
    hello.set_opaque(message[_RANDOM_OFFSET:_SESSION_ID_OFFSET], message[_SESSION_ID_OFFSET + 1 : at])
    size: i64 = u16_be(message, at)
    at += 2
    if at + size > end or size & 1 == 1:
        hello.malformed = "cipher_suites"
        return
    # Clients that send GREASE send it first, and another value each time.
    if size >= 2 and is_grease(u16_be(message, at)):
        parts.ciphers = message[at + 2 : at + size]
    else:
        parts.ciphers = message[at : at + size]
    at += size
    if at >= end or at + 1 + i64(message[at]) > end:
        hello.malformed = "compression_methods"
        return
    at += 1 + i64(message[at])
    if at == end:
        # No extensions at all, as before TLS 1.0 had any.
        parts.complete = True
        return
    if at + 2 > end:
        hello.malformed = "extensions"
        return
    size = u16_be(message, at)
    at += 2
    stop: i64 = at + size
    if stop != end:
        hello.malformed = "extensions"
        if stop > end:
            stop = end
    while at + 4 <= stop:
        number: i64 = u16_be(message, at)
        size = u16_be(message, at + 2)
        at += 4
        if at + size > stop:
            hello.malformed = f"extension {number}"
            return
        if number < SET_END and parts.add_to_set(number):
            if (_READ_INTO >> number) & 1 == 1:
                _read_client_extension(message, number, at, at + size, hello, parts)
        elif number & 0x0F0F != 0x0A0A or not is_grease(number):
            parts.add_extension(number, message, at - 4)
        at += size
    if at != stop or parts.too_many:
        hello.malformed = "extensions"
    parts.complete = at == end and not parts.too_many


def _read_client_extension(
    message: bytes, number: i64, at: i64, end: i64, hello: ClientHello, parts: ShapeParts
) -> None:
    """One of the extensions in `_READ_INTO`, the first of its number, with its data in ``message[at:end]``."""
    size: i64 = end - at
    if number == EXTENSION_SERVER_NAME:
        # server_name_list: length, then name_type 0 (host_name), length, name (RFC 6066 section 3).
        if (
            size < 5
            or u16_be(message, at) != size - 2
            or message[at + 2] != 0
            or at + 5 + u16_be(message, at + 3) > end
        ):
            hello.malformed = "server_name"
        else:
            hello.sni = server_name(message[at + 5 : at + 5 + u16_be(message, at + 3)])
    elif number == EXTENSION_ALPN:
        if size < 2 or u16_be(message, at) != size - 2:
            hello.malformed = "application_layer_protocol_negotiation"
        elif size > 2:
            parts.alpn = message[at + 2 : end]
    elif number == EXTENSION_SIGNATURE_ALGORITHMS:
        if size < 2 or size & 1 == 1 or u16_be(message, at) != size - 2:
            hello.malformed = "signature_algorithms"
        else:
            parts.signature_algorithms = message[at + 2 : end]
    elif number == EXTENSION_SUPPORTED_VERSIONS:
        if size < 1 or size & 1 == 0 or i64(message[at]) != size - 1:
            hello.malformed = "supported_versions"
        elif size >= 3 and is_grease(u16_be(message, at + 1)):
            parts.versions = message[at + 3 : end]
        else:
            parts.versions = message[at + 1 : end]
    elif number == EXTENSION_KEY_SHARE:
        _read_key_shares(message, at, end, hello, parts.shapes)
    elif number == EXTENSION_SESSION_TICKET:
        hello.session_ticket = size > 0


def _read_key_shares(message: bytes, at: i64, end: i64, hello: ClientHello, shapes: HelloShapes) -> None:
    """client_shares: length, then group, length, key (RFC 8446 section 4.2.8). Up to three groups make one number."""
    if end - at < 2 or u16_be(message, at) != end - at - 2:
        hello.malformed = "key_share"
        return
    at += 2
    packed: i64 = 1
    groups = b""
    while at + 4 <= end:
        group: i64 = u16_be(message, at)
        if not is_grease(group):
            if packed < 1 << 48:
                packed = (packed << 16) | group
            elif len(groups) < 2 * EXTENSIONS_MAX:
                groups += message[at : at + 2]
        at += 4 + u16_be(message, at + 2)
    if at != end:
        hello.malformed = "key_share"
    hello.key_share_groups = group_tuple(packed, groups, shapes)


def _parse_ssl2(message: bytes, hello: ClientHello, shapes: HelloShapes) -> None:
    """The same out of an SSLv2-format hello (RFC 5246 appendix E.2): cipher specs of three bytes, no extensions."""
    end: i64 = len(message)
    if ssl2_hello_len(message, 0, end) != end or end == 0:
        hello.malformed = "header"
        return
    at: i64 = ssl2_header_len(i64(message[0]))
    specs_len: i64 = u16_be(message, at + 3)
    session_id_len: i64 = u16_be(message, at + 5)
    challenge_len: i64 = u16_be(message, at + 7)
    parts = ShapeParts(u16_be(message, at + 1), shapes)
    at += 9
    parts.ssl2 = True
    parts.ciphers = message[at : at + specs_len]
    at += specs_len
    session_id = message[at : at + session_id_len]
    at += session_id_len
    hello.set_opaque(message[at : at + challenge_len], session_id)
    hello.shape = shape_of(parts)
