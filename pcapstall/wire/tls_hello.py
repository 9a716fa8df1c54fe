"""ServerHello: what a server chooses (RFC 8446 section 4.1.3), or asks for again; and what the two hellos say together.

`parse_server_hello` takes a whole message and never raises: what could be read is kept and `malformed` says what could
not. The ClientHello is read in its own module.
"""

from typing import Final, final

from librt.strings import read_i32_be
from mypy_extensions import i64, mypyc_attr

from pcapstall.core.words import U32, u16_be, u32_be
from pcapstall.wire.tls_client_hello import ClientHello, parse_client_hello
from pcapstall.wire.tls_names import SERVER_HELLO, TLS_1_3, is_tls13, printable
from pcapstall.wire.tls_shape import (
    EXTENSION_ALPN,
    EXTENSION_KEY_SHARE,
    EXTENSION_PRE_SHARED_KEY,
    EXTENSION_SUPPORTED_VERSIONS,
)

__all__ = ["ClientHello", "ServerHello", "parse_client_hello", "parse_server_hello", "resumed"]

# SHA-256 of "HelloRetryRequest" in a ServerHello's random (RFC 8446 section 4.1.3).
_HELLO_RETRY_RANDOM: Final = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
_HELLO_RETRY_FIRST: Final = 0xCF
_BODY_OFFSET: Final = 4
_RANDOM_OFFSET: Final = 6
_SESSION_ID_OFFSET: Final = 38
_PROTOCOL_LEN_MAX: Final = 255
_RANDOM_LEN_MIN: Final = 8
"""So much of a random is no chance."""
_PLACES: Final = 64


@mypyc_attr(acyclic=True)
@final
class ServerHello:
    """What a server chose, or asked for again."""

    def __init__(self) -> None:
        self.length: i64 = 0
        """Bytes of the message with its header."""
        self.version: i64 = 0
        """The version negotiated; drafts of TLS 1.3 are 0x7FNN."""
        self.cipher: i64 = -1
        """IANA number of the cipher suite; -1 when it could not be read."""
        self.is_hello_retry: bool = False
        """A HelloRetryRequest, which has a ServerHello's form."""
        self.session_id: bytes = b""
        """The client's own says that the session is resumed. Empty in TLS 1.3, where it is an echo and says nothing."""
        self.alpn: str | None = None
        """The protocol chosen, safe to print, where it is not encrypted."""
        self.psk_selected: bool = False
        self.key_share_group: i64 = -1
        """IANA number of the key share's group, or of the group asked for; -1 for none."""
        self.malformed: str = ""
        """What could not be read; empty when everything was."""

    def clear(self) -> None:
        """As it was made."""
        self.length = 0
        self.version = 0
        self.cipher = -1
        self.is_hello_retry = False
        self.session_id = b""
        self.alpn = None
        self.psk_selected = False
        self.key_share_group = -1
        self.malformed = ""


def resumed(client: ClientHello, server: ServerHello, certificate_seen: bool) -> bool:
    """Whether the server took up an earlier session.

    ``certificate_seen``: whether its flight had a Certificate message, which an abbreviated handshake of TLS 1.2 has
    not (RFC 5246 section 7.3), whatever the session id says.
    """
    if is_tls13(server.version):
        return server.psk_selected
    return len(client.session_id) > 0 and client.session_id == server.session_id and not certificate_seen


def begins_hello_retry(buf: bytes, at: i64, end: i64) -> bool:
    """Whether a ServerHello of which no more than ``buf[at:end]`` was captured is a HelloRetryRequest."""
    if end - at <= _RANDOM_OFFSET or i64(buf[at + _RANDOM_OFFSET]) != _HELLO_RETRY_FIRST:
        return False
    if end > at + _SESSION_ID_OFFSET:
        end = at + _SESSION_ID_OFFSET
    random = buf[at + _RANDOM_OFFSET : end]
    return len(random) >= _RANDOM_LEN_MIN and _HELLO_RETRY_RANDOM.startswith(random)


def parse_server_hello(message: bytes) -> ServerHello:
    """Read a whole ServerHello message with its 4-byte header."""
    hello = ServerHello()
    _read(message, 0, len(message), hello)
    return hello


@final
class ServerHellos:
    """Reads ServerHellos. Servers choose much alike, so that most of those of TLS 1.3 are one and the same object."""

    def __init__(self) -> None:
        self._met: list[ServerHello] = [ServerHello()] * _PLACES
        """The latest one in each place."""
        self._next: ServerHello = ServerHello()

    def parse(self, buf: bytes, at: i64, end: i64) -> ServerHello:
        """`parse_server_hello` of ``buf[at:end]``, but not always a new object: it is not to be changed."""
        hello = self._next
        _read(buf, at, end, hello)
        place: i64 = (hello.cipher * 31 + hello.key_share_group * 7 + hello.length) & (_PLACES - 1)
        met = self._met[place]
        if _are_equal(hello, met):
            hello.clear()
            return met
        if len(hello.session_id) == 0:
            self._met[place] = hello
        self._next = ServerHello()
        return hello


def _are_equal(one: ServerHello, other: ServerHello) -> bool:
    return (
        one.length == other.length
        and one.version == other.version
        and one.cipher == other.cipher
        and one.key_share_group == other.key_share_group
        and one.is_hello_retry == other.is_hello_retry
        and one.psk_selected == other.psk_selected
        and one.session_id == other.session_id
        and one.alpn == other.alpn
        and one.malformed == other.malformed
    )


def _read(buf: bytes, start: i64, end: i64, hello: ServerHello) -> None:
    """Read ``buf[start:end]`` into ``hello``, in which there is nothing yet."""
    hello.length = end - start
    if end - start < _BODY_OFFSET or u32_be(buf, start) != (SERVER_HELLO << 24) + end - start - _BODY_OFFSET:
        hello.malformed = "header"
        return
    session_id_at: i64 = start + _SESSION_ID_OFFSET
    if end <= session_id_at:
        hello.malformed = "random"
        return
    version: i64 = u16_be(buf, start + _BODY_OFFSET)
    hello.version = version
    hello.is_hello_retry = begins_hello_retry(buf, start, end)
    at: i64 = session_id_at
    session_id_end: i64 = session_id_at
    # TLS 1.3 drafts up to 21 chose by this field and had neither session id nor compression method.
    if not (is_tls13(version) and version != TLS_1_3):
        at += 1 + i64(buf[at])
        if at + 3 > end:
            hello.malformed = "session_id"
            return
        session_id_end = at
        hello.cipher = u16_be(buf, at)
        at += 3
    else:
        if at + 2 > end:
            hello.malformed = "cipher_suite"
            return
        hello.cipher = u16_be(buf, at)
        at += 2
    _read_server_extensions(buf, at, end, hello)
    if session_id_end > session_id_at + 1 and not is_tls13(hello.version):
        hello.session_id = buf[session_id_at + 1 : session_id_end]


def _read_server_extensions(buf: bytes, at: i64, end: i64, hello: ServerHello) -> None:
    if at == end:
        return
    if at + 2 > end:
        hello.malformed = "extensions"
        return
    stop: i64 = at + 2 + u16_be(buf, at)
    at += 2
    if stop != end:
        hello.malformed = "extensions"
        if stop > end:
            stop = end
    while at + 4 <= stop:
        word: i64 = i64(read_i32_be(buf, at)) & U32
        number: i64 = word >> 16
        size: i64 = word & 0xFFFF
        at += 4
        if at + size > stop:
            hello.malformed = f"extension {number}"
            return
        if number == EXTENSION_SUPPORTED_VERSIONS and size == 2:
            hello.version = u16_be(buf, at)
        elif number == EXTENSION_KEY_SHARE and size >= 2:
            hello.key_share_group = u16_be(buf, at)
        elif number == EXTENSION_PRE_SHARED_KEY:
            hello.psk_selected = True
        elif number == EXTENSION_ALPN and size > 3:
            hello.alpn = printable(buf[at + 3 : at + size][:_PROTOCOL_LEN_MAX])
        at += size
    if at != stop:
        hello.malformed = "extensions"
