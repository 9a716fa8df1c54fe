"""Binary and HTTP preambles of TLS: PROXY headers, CONNECT, SOCKS, and the requests of databases, LDAP and RDP.

Each function looks at the first bytes of both directions, says None when they are not its protocol's, and else how
long the layer is in each direction and whether the server still owes an answer. Rare, so written to be read.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = ["BINARY_LAYERS", "Layer"]


class Layer(NamedTuple):
    """One protocol at the beginning of a connection."""

    name: str
    client_len: int
    """Bytes of the client's stream that are this layer's, as far as they came; what follows lies inside it."""
    server_len: int
    owes: bool = False
    """The server has not answered yet what the client has asked."""


_PROXY_V1_MAX: Final = 107
_PROXY_V2_SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
_PROXY_V2_HEADER_LEN: Final = 16


def _proxy_v1(client: bytes, _server: bytes) -> Layer | None:
    """``PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\\r\\n``, at most 107 bytes (HAProxy's proxy-protocol.txt, 2.1)."""
    if not client.startswith(b"PROXY "):
        return None
    end = client.find(b"\r\n", 0, _PROXY_V1_MAX)
    return Layer("proxy_v1", end + 2 if end >= 0 else len(client), 0)


def _proxy_v2(client: bytes, _server: bytes) -> Layer | None:
    """12 bytes of signature, version and command, family, length; addresses and TLVs (proxy-protocol.txt, 2.2)."""
    if not client.startswith(_PROXY_V2_SIGNATURE):
        return None
    return Layer("proxy_v2", _PROXY_V2_HEADER_LEN + int.from_bytes(client[14:16], "big"), 0)


def _http_connect(client: bytes, server: bytes) -> Layer | None:
    """``CONNECT host:443 HTTP/1.1``, perhaps twice, when the proxy wanted a password (RFC 9110 section 9.3.6)."""
    if not client.startswith(b"CONNECT "):
        return None
    asked = client_len = 0
    while client.startswith(b"CONNECT ", client_len):
        head_end = client.find(b"\r\n\r\n", client_len)
        if head_end < 0:
            return Layer("http_connect", len(client), len(server))
        client_len = head_end + 4
        asked += 1
    statuses, server_len = _http_answers(server)
    return Layer("http_connect", client_len, server_len, owes=len(statuses) < asked)


def _http_upgrade(client: bytes, server: bytes) -> Layer | None:
    """A request with ``Upgrade: TLS/1.0`` (RFC 2817)."""
    head, blank, _ = client.partition(b"\r\n\r\n")
    if b" HTTP/1.1\r\n" not in head or b"\r\nupgrade: tls" not in head.lower():
        return None
    statuses, server_len = _http_answers(server)
    return Layer("http_upgrade", len(head) + len(blank), server_len, owes=bool(blank) and not statuses)


def _http_answers(server: bytes) -> tuple[list[int], int]:
    """Statuses of the complete answers, interim ones (100) left out, and the length of all of them."""
    statuses: list[int] = []
    at = 0
    while server.startswith(b"HTTP/1.", at):
        head_end = server.find(b"\r\n\r\n", at)
        if head_end < 0:
            break
        head = server[at:head_end].lower()
        status = int(head[9:12]) if head[9:12].isdigit() else 0
        at = head_end + 4
        if status == 101 or status >= 200:
            statuses.append(status)
        if status >= 300:
            _, _, length = head.partition(b"\r\ncontent-length:")
            digits = length.partition(b"\r\n")[0].strip()
            at += int(digits) if digits.isdigit() and len(digits) < 10 else 0
    return statuses, at


def _socks4(client: bytes, server: bytes) -> Layer | None:
    """4, command, port, address, user; with the address 0.0.0.x a host name follows: SOCKS 4A."""
    if client[:1] != b"\x04" or client[1:2] not in {b"\x01", b"\x02"}:
        return None
    named = client[4:7] == b"\0\0\0" and client[7:8] != b"\0"
    name = "socks4a" if named else "socks4"
    end = client.find(b"\0", 8)
    if named and end >= 0:
        end = client.find(b"\0", end + 1)
    if end < 0:
        return Layer(name, len(client), len(server))
    return Layer(name, end + 1, min(len(server), 8), owes=len(server) < 8)


def _socks5(client: bytes, server: bytes) -> Layer | None:
    """Methods, perhaps a password (RFC 1929), then the request (RFC 1928); each is answered."""
    if client[:1] != b"\x05" or len(client) < 2 or client[1] == 0:
        return None
    at, answered = 2 + client[1], 2
    if len(client) <= at:
        return Layer("socks5", len(client), len(server), owes=len(client) == at and len(server) < 2)
    if client[at] == 1 and server[1:2] in {b"", b"\x02"}:
        user_end = at + 2 + _byte(client, at + 1)
        at = user_end + 1 + _byte(client, user_end)
        answered += 2
        if len(client) <= at:
            return Layer("socks5", len(client), len(server), owes=len(client) == at and len(server) < answered)
    at = _socks5_address_end(client, at)
    answered = _socks5_address_end(server, answered)
    if at > len(client):
        return Layer("socks5", len(client), len(server))
    return Layer("socks5", at, min(answered, len(server)), owes=len(server) < answered)


def _socks5_address_end(data: bytes, at: int) -> int:
    """Where a request or reply at ``at`` ends: version, command, 0, kind of address, address, port."""
    kind = _byte(data, at + 3)
    if kind == 3:
        return at + 5 + _byte(data, at + 4) + 2
    return at + 4 + (16 if kind == 4 else 4) + 2


def _byte(data: bytes, at: int) -> int:
    return data[at] if at < len(data) else 0


_SSL_REQUEST: Final = bytes.fromhex("0000000804d2162f")
_GSSENC_REQUEST: Final = bytes.fromhex("0000000804d21630")


def _postgresql(client: bytes, server: bytes) -> Layer | None:
    """SSLRequest or GSSENCRequest, each answered by one byte (PostgreSQL's documentation, 54.2.10)."""
    asked = 0
    while client[8 * asked : 8 * asked + 8] in {_SSL_REQUEST, _GSSENC_REQUEST}:
        asked += 1
    if asked == 0:
        return None
    return Layer("postgresql", 8 * asked, min(len(server), asked), owes=len(server) < asked)


_MYSQL_CLIENT_SSL: Final = 0x0800
_MYSQL_PROTOCOL: Final = 10


def _mysql(client: bytes, server: bytes) -> Layer | None:
    """The server greets with protocol version 10; the client's SSLRequest is not answered but by TLS."""
    greeting_len = 4 + int.from_bytes(server[:3], "little")
    greeted = len(server) > 4 and server[3] == 0 and server[4] == _MYSQL_PROTOCOL and 30 < greeting_len < 512
    request_len = int.from_bytes(client[:3], "little")
    # 32 bytes of capabilities and so on; clients from before 4.1 sent 4 or 5.
    asked = len(client) >= 8 and client[3] == 1 and request_len in {4, 5, 32} and client[5] & _MYSQL_CLIENT_SSL >> 8
    if not asked and not (greeted and not client):
        return None
    return Layer(
        "mysql",
        4 + request_len if asked else 0,
        min(len(server), greeting_len),
        not asked and len(server) < greeting_len,
    )


def _rdp(client: bytes, server: bytes) -> Layer | None:
    """TPKT with an X.224 connection request, answered by a connection confirm (MS-RDPBCGR 2.2.1.1)."""
    if client[:2] != b"\x03\0" or client[5:6] != b"\xe0":
        return None
    return _one_packet("rdp", client, server, header_len=4)


def _tds(client: bytes, server: bytes) -> Layer | None:
    """TDS PRELOGIN (type 0x12), answered by a packet of type 4; TLS then comes in packets of its own (MS-TDS 2.2)."""
    if client[:1] != b"\x12" or client[1:2] not in {b"\0", b"\x01"} or int.from_bytes(client[2:4], "big") < 8:
        return None
    return _one_packet("tds", client, server, header_len=8)


def _one_packet(name: str, client: bytes, server: bytes, header_len: int) -> Layer:
    """A request and an answer, each with its whole length in bytes 2 and 3."""
    asked = max(header_len, int.from_bytes(client[2:4], "big"))
    answered = max(header_len, int.from_bytes(server[2:4], "big"))
    owes = len(client) >= asked and len(server) < answered
    return Layer(name, min(asked, len(client)), min(answered, len(server)), owes)


_LDAP_START_TLS: Final = b"1.3.6.1.4.1.1466.20037"
_LDAP_EXTENDED_RESPONSE: Final = 0x78


def _ldap(client: bytes, server: bytes) -> Layer | None:
    """An ExtendedRequest named StartTLS, answered by an ExtendedResponse (RFC 4511 section 4.14)."""
    if client[:1] != b"\x30" or _LDAP_START_TLS not in client:
        return None
    answered = any(_ldap_operation(server[start:end]) == _LDAP_EXTENDED_RESPONSE for start, end in _ber_spans(server))
    spans = _ber_spans(client)
    return Layer(
        "ldap_starttls", spans[-1][1] if spans else len(client), len(server), owes=bool(spans) and not answered
    )


def _ber_spans(data: bytes) -> list[tuple[int, int]]:
    """Start of content and end of each complete SEQUENCE at the beginning of ``data``."""
    spans: list[tuple[int, int]] = []
    at = 0
    while data[at : at + 1] == b"\x30" and at + 1 < len(data):
        start, length = at + 2, data[at + 1]
        if length >= 0x80:
            start += length & 0x7F
            length = int.from_bytes(data[at + 2 : min(start, at + 6)], "big")
        if start + length > len(data):
            break
        at = start + length
        spans.append((start, at))
    return spans


def _ldap_operation(content: bytes) -> int:
    """The tag behind the message id."""
    return _byte(content, 2 + _byte(content, 1)) if content[:1] == b"\x02" else 0


BINARY_LAYERS: Final[tuple[Callable[[bytes, bytes], Layer | None], ...]] = (
    _proxy_v1,
    _proxy_v2,
    _http_connect,
    _http_upgrade,
    _socks4,
    _socks5,
    _postgresql,
    _rdp,
    _tds,
    _ldap,
    _mysql,
)
