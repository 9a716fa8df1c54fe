"""Tunnels in UDP: by their port, else by content that nothing else has.

Bytes that are no such header are `NOT_TCP`, not malformed: a port number alone proves nothing, and an ordinary DNS or
QUIC datagram must never pass for a tunnel. The inner packet is read only as far as it takes to believe in it.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be, u24_be, u32_be
from pcapstall.wire.layers import ip_version, is_ethernet, next_layer
from pcapstall.wire.protocols import (
    ETHERNET,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ETHERTYPE_MPLS,
    ETHERTYPE_NSH,
    ETHERTYPE_QINQ,
    ETHERTYPE_TRANSPARENT_BRIDGING,
    ETHERTYPE_VLAN,
    IP_ANY,
    NOT_TCP,
)
from pcapstall.wire.tunnels import GENEVE, GTP_U, MPLS_OVER_UDP, NO_TUNNEL, TEREDO, VXLAN, gre

_PORT_GTP_U: Final = 2152  # 3GPP TS 29.281 section 4.4.2
_PORT_TEREDO: Final = 3544  # RFC 4380
_PORT_GRE: Final = 4754  # RFC 8086
_PORT_VXLAN: Final = 4789  # RFC 7348
_PORT_VXLAN_GPE: Final = 4790
_PORT_GENEVE: Final = 6081  # RFC 8926
_PORT_MPLS: Final = 6635  # RFC 7510
_PORT_VXLAN_LINUX: Final = 8472
"""Linux's default, older than the assignment of 4789."""

_GPE_NEXT: Final[dict[int, int]] = {
    1: ETHERTYPE_IPV4,
    2: ETHERTYPE_IPV6,
    3: ETHERNET,
    4: ETHERTYPE_NSH,
    5: ETHERTYPE_MPLS,
}


def read_udp(buf: bytes, sport: i64, dport: i64, at: i64, end: i64, wire_end: i64) -> tuple[i64, i64, i64, i64]:
    """The tunnel in the UDP payload ``buf[at:end]``, which was on the wire up to ``wire_end``.

    By its port first; most tunnels' source ports are made of a hash of the inner flow and say nothing.
    """
    if at + 8 > end:
        return NOT_TCP, at, NO_TUNNEL, -1
    first: i64 = i64(buf[at])
    found: tuple[i64, i64, i64, i64] = (NOT_TCP, at, NO_TUNNEL, -1)
    if dport == _PORT_VXLAN or dport == _PORT_VXLAN_LINUX:
        if first & 0x37 == 0 and first & 0x08:  # the two bits not looked at belong to group policies
            return ETHERNET, at + 8, VXLAN, u24_be(buf, at + 4)
    elif dport == _PORT_GENEVE:
        found = _geneve(buf, at, end)
    elif dport == _PORT_GTP_U or sport == _PORT_GTP_U:
        found = _gtp_u(buf, at, end)
    elif dport == _PORT_VXLAN_GPE:
        if first & 0x0C == 0x0C:
            return i64(_GPE_NEXT.get(buf[at + 3], NOT_TCP)), at + 8, VXLAN, u24_be(buf, at + 4)
    elif dport == _PORT_TEREDO or sport == _PORT_TEREDO:
        found = _teredo(buf, at, end)
    elif dport == _PORT_MPLS:
        if _leads_to_ip(buf, ETHERTYPE_MPLS, at, end, wire_end):
            return ETHERTYPE_MPLS, at, MPLS_OVER_UDP, -1
    elif dport == _PORT_GRE:
        found = gre(buf, at, end)
        if not _leads_to_ip(buf, found[0], found[1], end, wire_end):
            found = (NOT_TCP, at, NO_TUNNEL, -1)
    if found[0] != NOT_TCP or first > 0x3F:
        return found
    return _by_content(buf, first, at, end, wire_end)


def _by_content(buf: bytes, first: i64, at: i64, end: i64, wire_end: i64) -> tuple[i64, i64, i64, i64]:
    """The same for a datagram whose ports say nothing; only an IP packet that fits exactly is believed."""
    if first == 0x08 and u24_be(buf, at + 1) == 0 and buf[at + 7] == 0:
        if _holds_ip(buf, ETHERNET, at + 8, end, wire_end):
            return ETHERNET, at + 8, VXLAN, u24_be(buf, at + 4)
    found: tuple[i64, i64, i64, i64]
    if first & 0xF8 == 0x30 and u16_be(buf, at + 2) + 8 == wire_end - at:
        found = _gtp_u(buf, at, end)
    else:
        found = _geneve(buf, at, end)
    if found[0] >= 0 and _holds_ip(buf, found[0], found[1], end, wire_end):
        return found
    return NOT_TCP, at, NO_TUNNEL, -1


def _geneve(buf: bytes, at: i64, end: i64) -> tuple[i64, i64, i64, i64]:
    """RFC 8926 section 3.4; the reserved bits must be 0."""
    proto: i64 = u16_be(buf, at + 2)
    if i64(buf[at]) > 0x3F or i64(buf[at + 1]) & 0x3F != 0 or buf[at + 7] != 0 or proto < 0x0600:
        return NOT_TCP, at, NO_TUNNEL, -1
    inner: i64 = at + 8 + ((i64(buf[at]) & 0x3F) << 2)
    if inner > end:
        return NOT_TCP, at, NO_TUNNEL, -1
    if proto == ETHERTYPE_TRANSPARENT_BRIDGING:
        proto = ETHERNET
    return proto, inner, GENEVE, u24_be(buf, at + 4)


def _gtp_u(buf: bytes, at: i64, end: i64) -> tuple[i64, i64, i64, i64]:
    """A G-PDU (message type 255) of GTP version 1: 3GPP TS 29.281 section 5.1, extension headers 5.2."""
    flags: i64 = i64(buf[at])
    if flags & 0xF8 != 0x30 or buf[at + 1] != 0xFF:
        return NOT_TCP, at, NO_TUNNEL, -1
    inner: i64 = at + 8
    if flags & 7:
        inner += 4
        if inner > end:
            return NOT_TCP, at, NO_TUNNEL, -1
        extension: i64 = 0
        if flags & 4:
            extension = i64(buf[inner - 1])
        while extension != 0:
            if inner >= end or buf[inner] == 0:
                return NOT_TCP, at, NO_TUNNEL, -1
            inner += i64(buf[inner]) << 2
            if inner > end:
                return NOT_TCP, at, NO_TUNNEL, -1
            extension = i64(buf[inner - 1])
    proto: i64 = ip_version(buf, inner, end)
    if proto < 0:
        return NOT_TCP, at, NO_TUNNEL, -1  # Ethernet or unstructured: the header does not say which
    return proto, inner, GTP_U, u32_be(buf, at + 4)


def _teredo(buf: bytes, at: i64, end: i64) -> tuple[i64, i64, i64, i64]:
    """RFC 4380 section 5.1.1: an authentication and an origin indicator may stand before the IPv6 packet."""
    if u16_be(buf, at) == 1:
        at += 13 + i64(buf[at + 2]) + i64(buf[at + 3])
        if at + 8 > end:
            return NOT_TCP, end, NO_TUNNEL, -1
    if u16_be(buf, at) == 0:
        at += 8
    if at >= end or i64(buf[at]) >> 4 != 6:
        return NOT_TCP, end, NO_TUNNEL, -1
    return ETHERTYPE_IPV6, at, TEREDO, -1


def _leads_to_ip(buf: bytes, proto: i64, at: i64, end: i64, wire_end: i64) -> bool:
    """Whether ``proto`` at ``at`` is such an IP packet, or a few of the layers that lead to one.

    For tunnels whose headers any bytes may pass for: without it their ports would make others' datagrams malformed.
    """
    layers: i64 = 0
    while layers < 4 and (proto == ETHERTYPE_MPLS or proto == ETHERTYPE_NSH or proto == IP_ANY):
        proto, at = next_layer(buf, proto, at, end)
        layers += 1
    if proto == ETHERTYPE_TRANSPARENT_BRIDGING:
        proto = ETHERNET
    return proto >= 0 and _holds_ip(buf, proto, at, end, wire_end)


def _holds_ip(buf: bytes, proto: i64, at: i64, end: i64, wire_end: i64) -> bool:
    """Whether ``proto`` at ``at`` is, beyond reasonable doubt, an IP packet that ends where the UDP payload does."""
    if proto == ETHERNET:
        if not is_ethernet(buf, at, end):
            return False
        proto = u16_be(buf, at + 12)
        at += 14
    while proto == ETHERTYPE_VLAN or proto == ETHERTYPE_QINQ:
        if at + 4 > end:
            return False
        proto = u16_be(buf, at + 2)
        at += 4
    spare: i64
    if proto == ETHERTYPE_IPV4:
        if at + 20 > end or i64(buf[at]) >> 4 != 4:
            return False
        header_len: i64 = (i64(buf[at]) & 15) << 2
        total_len: i64 = u16_be(buf, at + 2)
        if header_len < 20 or total_len < header_len or at + header_len > end:
            return False
        spare = wire_end - at - total_len
        if not _header_checksum_holds(buf, at, header_len):
            return False
    elif proto == ETHERTYPE_IPV6:
        if at + 40 > end or i64(buf[at]) >> 4 != 6 or buf[at + 7] == 0:
            return False
        spare = wire_end - at - 40 - u16_be(buf, at + 4)
    else:
        return False
    return 0 <= spare <= 46  # what Ethernet may have padded


def _header_checksum_holds(buf: bytes, at: i64, header_len: i64) -> bool:
    """RFC 1071 over an IPv4 header. A checksum of 0 is one that the card was to fill in."""
    if u16_be(buf, at + 10) == 0:
        return True
    total: i64 = 0
    stop: i64 = at + header_len
    while at < stop:
        total += u16_be(buf, at)
        at += 2
    return (total & 0xFFFF) + (total >> 16) == 0xFFFF
