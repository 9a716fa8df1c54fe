"""What came before TLS on a connection, and whose turn it was: layer inside layer, tunnels and proxies included.

The layers themselves are in `preamble_layers` and `preamble_text`, which are loaded with the first preamble: every
verdict asks for ports. Asked once a connection at most. Who spoke last, and when, is not known here.
"""

from typing import TYPE_CHECKING, Final

from pcapstall.wire.preamble import UNKNOWN

if TYPE_CHECKING:
    from pcapstall.wire.preamble_layers import Layer

__all__ = [
    "GREETING",
    "LAYERS_MAX",
    "SERVER_FIRST_PORTS",
    "UNKNOWN",
    "layer_of",
    "name_preamble",
    "server_owes",
    "tls_due",
]

GREETING: Final = "greeting"
LAYERS_MAX: Final = 4
"""So many protocols are looked for one in another."""

_TUNNELS: Final = frozenset({"proxy_v1", "proxy_v2", "http_connect", "socks4", "socks4a", "socks5"})
_ASK_FOR_TLS: Final = frozenset({"postgresql", "mysql", "rdp", "tds", "ldap_starttls", "http_upgrade"})
"""Layers that are recognised by the client's request for TLS."""
_PORT_443: Final = b"\x01\xbb"

SERVER_FIRST_PORTS: Final[dict[int, str]] = {
    21: "ftp",
    22: "ssh",
    24: "lmtp",
    25: "smtp",
    110: "pop3",
    119: "nntp",
    143: "imap",
    433: "nnsp",
    587: "submission",
    2525: "smtp",
    3306: "mysql",
    4190: "sieve",
    5900: "rfb",
    6667: "irc",
}
"""Well-known ports of protocols in which the server speaks first (IANA service names; 2525 by custom)."""


def name_preamble(client: bytes, server: bytes) -> str:
    """What the client and the server said before TLS: ``smtp_starttls``, ``proxy_v1+postgresql``, ``unknown``.

    ``client`` ends where its ClientHello begins; ``server`` may be empty or incomplete.
    """
    names: list[str] = []
    while (client or server) and len(names) < LAYERS_MAX:
        layer = layer_of(client, server)
        if layer is None:
            if client or not names:
                names.append(UNKNOWN)
            break
        names.append(layer.name)
        if layer.name not in _TUNNELS:
            break
        client, server = client[layer.client_len :], server[layer.server_len :]
        if not client:
            break
    return "+".join(names)


def server_owes(client: bytes, server: bytes, server_port: int) -> str:
    """What the server owes before the client can go on: `GREETING`, the name of a layer that asked, or nothing.

    ``client`` and ``server`` are the heads of the two streams so far. Empty when it is the client's turn, when a
    request is not complete, and when the protocol is not known.
    """
    for _ in range(LAYERS_MAX):
        if not client and not server:
            return GREETING if server_port in SERVER_FIRST_PORTS else ""
        layer = layer_of(client, server)
        if layer is None:
            return GREETING if not client and server_port in SERVER_FIRST_PORTS and b"\n" not in server else ""
        if layer.owes:
            return layer.name if client else GREETING
        if layer.name not in _TUNNELS:
            return ""
        client, server = client[layer.client_len :], server[layer.server_len :]
        if not client and layer.name not in {"proxy_v1", "proxy_v2"} and not server:
            # The tunnel is open; what the port behind it speaks is not known.
            return ""
    return ""


def tls_due(client: bytes, server: bytes) -> bool:
    """Whether TLS is to come next: the last that the client said asks for it, and was not refused.

    A tunnel counts when it leads to port 443. Refusals are known of line protocols and of HTTP.
    """
    for _ in range(LAYERS_MAX):
        layer = layer_of(client, server)
        if layer is None:
            return False
        inner = client[layer.client_len :]
        if layer.name in _ASK_FOR_TLS:
            return not inner and not (layer.name == "postgresql" and server[layer.server_len - 1 :] == b"N")
        if layer.name not in _TUNNELS:
            from pcapstall.wire.preamble_text import asks_for_tls

            return asks_for_tls(client, server)
        if not inner:
            return _leads_to_https(layer, client, server)
        client, server = inner, server[layer.server_len :]
    return False


def _leads_to_https(layer: "Layer", client: bytes, server: bytes) -> bool:
    """Whether a tunnel, nothing said in it yet, was asked for to port 443 and not refused."""
    if layer.name == "http_connect":
        refused = server.startswith(b"HTTP/1.") and server[9:10] in {b"3", b"4", b"5"}
        return client.split(b" ", 2)[1].endswith(b":443") and not refused
    if layer.name == "socks5":
        return client[layer.client_len - 2 : layer.client_len] == _PORT_443 and server[3:4] in {b"", b"\0"}
    if layer.name in {"socks4", "socks4a"}:
        return client[2:4] == _PORT_443 and server[1:2] in {b"", b"\x5a"}
    return False


def layer_of(client: bytes, server: bytes) -> "Layer | None":
    """What the beginnings of both directions are; None when no protocol is recognised."""
    from pcapstall.wire.preamble_layers import BINARY_LAYERS
    from pcapstall.wire.preamble_text import text_layer

    for recognise in BINARY_LAYERS:
        layer = recognise(client, server)
        if layer is not None:
            return layer
    return text_layer(client, server)
