"""Addresses and endpoints as text: RFC 5952 for IPv6, `[address]:port` around it.

Addresses are 4 or 16 bytes in network order inside, text only at the edge. Nothing here resolves names.
"""

import re
from typing import Final

from pcapstall.core.digits import is_decimal

DOTTED_QUAD: Final = r"\d{1,3}(?:\.\d{1,3}){3}"
"""What an IPv4 address looks like in text; what may stand beside it depends on the text."""
_QUAD_AT_END: Final = re.compile(rf"{DOTTED_QUAD}$")
_V4_MAPPED: Final = bytes(10) + b"\xff\xff"


def fold(packed: bytes) -> bytes:
    """A v4-mapped address as the four bytes that it is (RFC 4291 section 2.5.5.2); others as they are."""
    return packed[12:] if len(packed) == 16 and packed.startswith(_V4_MAPPED) else packed


def format_address(packed: bytes) -> str:
    """``packed`` (4 or 16 bytes) as text."""
    if len(packed) == 4:
        return "%d.%d.%d.%d" % (packed[0], packed[1], packed[2], packed[3])
    import ipaddress  # 2 ms that a report without IPv6 need not pay

    return str(ipaddress.IPv6Address(packed))


def format_endpoint(packed: bytes, port: int) -> str:
    """``10.0.0.1:443`` or ``[2001:db8::1]:443``."""
    if len(packed) == 4:
        return f"{format_address(packed)}:{port}"
    return f"[{format_address(packed)}]:{port}"


def format_endpoints(key: bytes) -> tuple[str, str]:
    """Both endpoints of ``src dst sport dport``, which is how a flow's key has them."""
    half = (len(key) - 4) // 2
    source_port, destination_port = int.from_bytes(key[-4:-2], "big"), int.from_bytes(key[-2:], "big")
    return format_endpoint(key[:half], source_port), format_endpoint(key[half:-4], destination_port)


def split_endpoint(text: str) -> tuple[str, str | None]:
    """Host without brackets, and port, of ``10.0.0.1:443``, ``[2001:db8::1]:443``, ``:443``, or of an address alone,
    which has None for a port. ``::ffff:10.0.0.1:443`` needs no brackets: nothing but a port follows a dotted quad.

    ValueError when a bracket does not close, or holds nothing. Neither part is judged.
    """
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or not host or (rest and not rest.startswith(":")):
            raise ValueError(f"{text!r} is not an endpoint")
        return host, rest[1:] if rest else None
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and _QUAD_AT_END.search(host) is None):
        return text, None
    return host, port


def parse_port(text: str) -> int:
    """The port that ``text`` is; ValueError when it is none."""
    if not is_decimal(text) or len(text) > 5 or int(text) > 0xFFFF:
        raise ValueError(f"{text!r} is not a port")
    return int(text)


def parse_endpoint(text: str) -> tuple[bytes, int]:
    """The inverse of `format_endpoint`; ValueError says what is wrong with ``text``."""
    import ipaddress  # as above

    host, port = split_endpoint(text)
    if port is None and text.count(":") > 1 and not text.startswith("["):
        host, _, port = text.rpartition(":")
        raise ValueError(f"{text!r}: an IPv6 address is written in brackets, [{host}]:{port}")
    if port is None or not host:
        raise ValueError(f"{text!r} is not ADDRESS:PORT")
    number = parse_port(port)
    return ipaddress.ip_address(host).packed, number
