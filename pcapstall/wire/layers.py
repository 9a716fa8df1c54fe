"""Layers between the link and IP: Ethernet, VLAN tags, MPLS, PPPoE, PPP, LLC and SNAP, NSH.

`next_layer` goes past one of them; the walk that calls it is in decode. IP is not looked into, only recognized.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be
from pcapstall.wire.protocols import (
    BAD_IP_VERSION,
    BAD_VLAN,
    ETHERNET,
    ETHERNET_CUT,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ETHERTYPE_MIN,
    ETHERTYPE_MPLS,
    ETHERTYPE_MPLS_UPSTREAM,
    ETHERTYPE_NSH,
    ETHERTYPE_PPP,
    ETHERTYPE_PPPOE_SESSION,
    ETHERTYPE_QINQ,
    ETHERTYPE_QINQ_OLD,
    ETHERTYPE_QINQ_OLDER,
    ETHERTYPE_TRANSPARENT_BRIDGING,
    ETHERTYPE_VLAN,
    IP_ANY,
    LINK_CUT,
    LLC,
    LLC_CUT,
    MPLS_CUT,
    NOT_TCP,
    PPP,
    PPP_CUT,
    PPPOE,
    PPPOE_CUT,
    TUNNEL_CUT,
)

_ETHERTYPE_OF_PPP: Final[dict[int, int]] = {
    0x0021: ETHERTYPE_IPV4,
    0x0057: ETHERTYPE_IPV6,
    0x0281: ETHERTYPE_MPLS,
    0x0283: ETHERTYPE_MPLS_UPSTREAM,
}

_NSH_NEXT: Final[dict[int, int]] = {1: ETHERTYPE_IPV4, 2: ETHERTYPE_IPV6, 3: ETHERNET, 5: ETHERTYPE_MPLS}


def next_layer(buf: bytes, proto: i64, at: i64, end: i64) -> tuple[i64, i64]:
    """Past one layer that is not IP: what ``proto`` at ``at`` holds, and where that starts."""
    if (
        proto == ETHERTYPE_VLAN
        or proto == ETHERTYPE_QINQ
        or proto == ETHERTYPE_QINQ_OLD
        or proto == ETHERTYPE_QINQ_OLDER
    ):
        if at + 4 > end:
            return BAD_VLAN, end
        return _length_or_type(u16_be(buf, at + 2), at + 4)
    if proto == IP_ANY:
        return ip_version(buf, at, end), at
    if proto == ETHERNET or proto == ETHERTYPE_TRANSPARENT_BRIDGING:
        if at + 14 > end:
            return ETHERNET_CUT, end
        return _length_or_type(u16_be(buf, at + 12), at + 14)
    if proto == ETHERTYPE_MPLS or proto == ETHERTYPE_MPLS_UPSTREAM:
        return _mpls(buf, at, end)
    if proto == ETHERTYPE_PPPOE_SESSION or proto == PPPOE:
        return _pppoe(buf, at, end)
    if proto == PPP or proto == ETHERTYPE_PPP:
        return _ppp(buf, at, end)
    if proto == LLC or proto < ETHERTYPE_MIN:
        return _llc(buf, at, end)
    if proto == ETHERTYPE_NSH:
        return _nsh(buf, at, end)
    return NOT_TCP, at


def ip_version(buf: bytes, at: i64, end: i64) -> i64:
    """The EtherType of the IP packet at ``at`` by its first four bits, or `BAD_IP_VERSION`."""
    if at >= end:
        return LINK_CUT
    version: i64 = i64(buf[at]) >> 4
    if version == 4:
        return ETHERTYPE_IPV4
    if version == 6:
        return ETHERTYPE_IPV6
    return BAD_IP_VERSION


def _length_or_type(word: i64, at: i64) -> tuple[i64, i64]:
    if word < ETHERTYPE_MIN:
        return LLC, at
    return word, at


def _ppp(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """RFC 1661 section 2, RFC 1662 section 3.1: address and control may be there, the protocol may be one byte."""
    if at + 2 <= end and buf[at] == 0xFF and buf[at + 1] == 0x03:
        at += 2
    if at >= end:
        return PPP_CUT, end
    protocol: i64 = i64(buf[at])
    at += 1
    if protocol & 1 == 0:
        if at >= end:
            return PPP_CUT, end
        protocol = (protocol << 8) | i64(buf[at])
        at += 1
    return i64(_ETHERTYPE_OF_PPP.get(int(protocol), NOT_TCP)), at


def _pppoe(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """RFC 2516 section 4: version and type 0x11, code 0 for session data."""
    if at + 6 > end:
        return PPPOE_CUT, end
    if buf[at] != 0x11 or buf[at + 1] != 0:
        return NOT_TCP, at
    return PPP, at + 6


def _llc(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """IEEE 802.2, and SNAP (RFC 1042) with the OUI of Ethernet or of bridge tunnels."""
    if at + 3 > end:
        return LLC_CUT, end
    if buf[at] == 0x06 and buf[at + 1] == 0x06 and buf[at + 2] == 0x03:
        return ETHERTYPE_IPV4, at + 3
    if buf[at] != 0xAA or buf[at + 1] != 0xAA or buf[at + 2] != 0x03:
        return NOT_TCP, at
    if at + 8 > end:
        return LLC_CUT, end
    if buf[at + 3] != 0 or buf[at + 4] != 0 or (buf[at + 5] != 0 and buf[at + 5] != 0xF8):
        return NOT_TCP, at
    return u16_be(buf, at + 6), at + 8


def _mpls(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """A label stack (RFC 3032); nothing says what it carries, so the first four bits must (RFC 4928)."""
    while True:
        if at + 4 > end:
            return MPLS_CUT, end
        at += 4
        if i64(buf[at - 2]) & 1:
            break
    if at >= end:
        return MPLS_CUT, end
    nibble: i64 = i64(buf[at]) >> 4
    if nibble == 0 and is_ethernet(buf, at + 4, end):
        return ETHERNET, at + 4  # pseudowire control word, RFC 4385
    if nibble == 4:
        if i64(buf[at]) & 15 >= 5:
            return ETHERTYPE_IPV4, at
    elif nibble == 6:
        if not is_ethernet(buf, at, end):
            return ETHERTYPE_IPV6, at
    if is_ethernet(buf, at, end):
        return ETHERNET, at
    return NOT_TCP, at


def is_ethernet(buf: bytes, at: i64, end: i64) -> bool:
    """Whether an Ethernet header with an IP packet, or what may hold one, in it may start at ``at``."""
    if at + 15 > end:
        return False
    ethertype: i64 = u16_be(buf, at + 12)
    if ethertype == ETHERTYPE_IPV4:
        return i64(buf[at + 14]) >> 4 == 4
    if ethertype == ETHERTYPE_IPV6:
        return i64(buf[at + 14]) >> 4 == 6
    return (
        ethertype == ETHERTYPE_VLAN
        or ethertype == ETHERTYPE_QINQ
        or ethertype == ETHERTYPE_MPLS
        or ethertype == ETHERTYPE_PPPOE_SESSION
    )


def _nsh(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """Network Service Header, RFC 8300 section 2.2: length in words in the low bits of the second byte."""
    if at + 8 > end:
        return TUNNEL_CUT, end
    length: i64 = (i64(buf[at + 1]) & 0x3F) << 2
    if length < 8 or at + length > end:
        return TUNNEL_CUT, end
    return i64(_NSH_NEXT.get(buf[at + 3], NOT_TCP)), at + length
