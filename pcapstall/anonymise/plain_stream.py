"""What is said before TLS, or instead of it, under other names: proxy headers, SOCKS, STARTTLS, HTTP.

Which protocol it is tells `wire`; each keeps its shape, so that it is still recognised, and all text in it is
mapped. Of what nobody recognises only text is left, mapped too.
"""

from collections.abc import Callable
from typing import Final

from pcapstall.anonymise.mapping import Mapping, filler
from pcapstall.anonymise.text import binary_text, protocol_text
from pcapstall.wire.preamble_names import LAYERS_MAX, layer_of

_PROXY_V2_HEADER: Final = 16
_BINARY: Final = {"postgresql": 8, "rdp": 4, "tds": 8, "ldap_starttls": 2, "mysql": 4}
"""Binary protocols, and how long the header is in which they tell what it is and how long."""


def plain_streams(client: bytes, server: bytes, mapping: Mapping) -> tuple[bytes, bytes]:
    """What becomes of the beginnings of both directions, as far as TLS has not begun in them."""
    said: tuple[list[bytes], list[bytes]] = ([], [])
    for _ in range(LAYERS_MAX):
        layer = layer_of(client, server) if client or server else None
        if layer is None or (layer.client_len == 0 and layer.server_len == 0):
            break
        said[0].append(_part(layer.name, client[: layer.client_len], mapping, True))
        said[1].append(_part(layer.name, server[: layer.server_len], mapping, False))
        client, server = client[layer.client_len :], server[layer.server_len :]
    said[0].append(_rest(client, mapping))
    said[1].append(_rest(server, mapping))
    return b"".join(said[0]), b"".join(said[1])


def _rest(data: bytes, mapping: Mapping) -> bytes:
    """What no protocol claims; one byte of answer tells nothing and may be all there is."""
    return data if data in (b"S", b"N") else protocol_text(data, mapping)


def _part(name: str, data: bytes, mapping: Mapping, from_client: bool) -> bytes:
    structured = _STRUCTURED.get(name)
    if structured is not None:
        mapped = structured(data, mapping, from_client)
        return (mapped + filler(len(data) - len(mapped)))[: len(data)]
    header_len = _BINARY.get(name)
    return binary_text(data, mapping, header_len) if header_len is not None else protocol_text(data, mapping)


def _proxy_v2(data: bytes, mapping: Mapping, _from_client: bool) -> bytes:
    """Addresses and ports behind the header by the family in byte 13 (proxy-protocol.txt, 2.2), then TLVs."""
    size = {0x10: 4, 0x20: 16}.get(data[13] & 0xF0 if len(data) > 13 else 0, 0)
    at = _PROXY_V2_HEADER
    out = data[:at]
    if size and len(data) >= at + 2 * size + 4:
        out += mapping.ip(data[at : at + size]) + mapping.ip(data[at + size : at + 2 * size])
        at += 2 * size
        out += data[at : at + 4]
        at += 4
    while size and at + 3 <= len(data):
        length = int.from_bytes(data[at + 1 : at + 3], "big")
        out += data[at : at + 3] + filler(min(length, len(data) - at - 3))
        at += 3 + length
    return out


def _socks4(data: bytes, mapping: Mapping, from_client: bool) -> bytes:
    """Version, command, port, address, user, and in SOCKS 4A a name; 0.0.0.x says that there is one."""
    address = data[4:8]
    mapped = address if len(address) < 4 or address[:3] == b"\0\0\0" else mapping.ip(address)
    texts = data[8:].split(b"\0") if from_client else [filler(len(data[8:]))]
    return data[:4] + mapped + b"\0".join(mapping.name_bytes(text) if from_client else text for text in texts)


def _socks5(data: bytes, mapping: Mapping, from_client: bool) -> bytes:
    """Methods, perhaps user and password (RFC 1929), the request (RFC 1928); the answers have two bytes before it."""
    at = 2 + (data[1] if len(data) > 1 else 0) if from_client else 2
    out = data[:at]
    if from_client and data[at : at + 1] == b"\x01":
        for _ in range(2):
            start = len(out) + (2 if len(out) == at else 1)
            size = data[start - 1] if start <= len(data) else 0
            out += data[len(out) : start] + mapping.words(data[start : start + size].decode("latin-1")).encode("ascii")
    elif not from_client and data[at : at + 1] == b"\x01":
        out += data[at : at + 2]
    at = len(out)
    kind = data[at + 3] if len(data) > at + 3 else 0
    size = {1: 4, 3: (data[at + 4] if len(data) > at + 4 else 0), 4: 16}.get(kind, 0)
    start = at + (5 if kind == 3 else 4)
    address = data[start : start + size]
    if kind == 3:
        mapped = mapping.name_bytes(address)
    else:
        mapped = mapping.ip(address) if len(address) in (4, 16) else filler(len(address))
    return out + data[at:start] + mapped + data[start + size : start + size + 2]


_STRUCTURED: Final[dict[str, Callable[[bytes, Mapping, bool], bytes]]] = {
    "proxy_v2": _proxy_v2,
    "socks4": _socks4,
    "socks4a": _socks4,
    "socks5": _socks5,
}
