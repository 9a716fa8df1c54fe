"""Addresses and endpoints as text: RFC 5952 for IPv6, `[address]:port` around it.

Addresses are 4 or 16 bytes in network order inside, text only at the edge. Nothing here resolves names.
"""

from typing import Final

from pcapstall.core.digits import is_decimal

DOTTED_QUAD: Final = r"\d{1,3}(?:\.\d{1,3}){3}"
"""What an IPv4 address looks like in text; what may stand beside it depends on the text."""
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


def parse_endpoint(text: str) -> tuple[bytes, int]:
    """The inverse of `format_endpoint`; ValueError says what is wrong with ``text``."""
    import ipaddress  # as above

    host, colon, port = text.rpartition(":")
    if not colon or not is_decimal(port) or len(port) > 5 or int(port) > 0xFFFF:
        raise ValueError(f"{text!r} is not ADDRESS:PORT")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r}: an IPv6 address is written in brackets, [{host}]:{port}")
    return ipaddress.ip_address(host).packed, int(port)
