"""Link layers: from the first byte of a captured frame, or of an encapsulation like one, to what lies inside.

`open_frame` knows the LINKTYPE_ numbers (www.tcpdump.org/linktypes.html), `next_layer` the EtherTypes that wrap
something else. Both return what comes next and where, and never look into IP.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be, u16_le, u32_be, u32_le
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
    NFLOG_BAD,
    NOT_TCP,
    PPP,
    PPP_CUT,
    PPPOE,
    PPPOE_CUT,
    TUNNEL_CUT,
)
from pcapstall.wire.segment import Segment

LINKTYPE_NULL: Final = 0
LINKTYPE_ETHERNET: Final = 1
LINKTYPE_PPP: Final = 9
LINKTYPE_PPP_HDLC: Final = 50
LINKTYPE_PPP_ETHER: Final = 51
LINKTYPE_RAW: Final = 101
LINKTYPE_C_HDLC: Final = 104
LINKTYPE_LOOP: Final = 108
LINKTYPE_LINUX_SLL: Final = 113
LINKTYPE_IPV4: Final = 228
LINKTYPE_IPV6: Final = 229
LINKTYPE_NFLOG: Final = 239
LINKTYPE_LINUX_SLL2: Final = 276
_RAW_BSD: Final = 12
_RAW_OPENBSD: Final = 14

_ETHERTYPE_OF_AF: Final[dict[int, int]] = {
    2: ETHERTYPE_IPV4,
    10: ETHERTYPE_IPV6,  # Linux
    24: ETHERTYPE_IPV6,  # NetBSD, OpenBSD
    28: ETHERTYPE_IPV6,  # FreeBSD
    30: ETHERTYPE_IPV6,  # macOS
}

_ETHERTYPE_OF_PPP: Final[dict[int, int]] = {
    0x0021: ETHERTYPE_IPV4,
    0x0057: ETHERTYPE_IPV6,
    0x0281: ETHERTYPE_MPLS,
    0x0283: ETHERTYPE_MPLS_UPSTREAM,
}

_SLL_PROTOCOL_LLC: Final = 0x0004
_NFULA_IFINDEX_INDEV: Final = 4
_NFULA_IFINDEX_OUTDEV: Final = 5
_NFULA_PAYLOAD: Final = 9


def open_frame(buf: bytes, start: i64, end: i64, linktype: i64, segment: Segment) -> tuple[i64, i64]:
    """What the frame ``buf[start:end]`` of a link type other than Ethernet holds, and at which offset.

    Sets ``link_interface`` and ``packet_type`` of ``segment`` where the frame tells them. `NOT_TCP` for a link type
    that is not known here.
    """
    if linktype == LINKTYPE_LINUX_SLL2:
        if start + 20 > end:
            return LINK_CUT, end
        segment.link_interface = u32_be(buf, start + 4)
        segment.packet_type = i64(buf[start + 10])
        return _cooked(u16_be(buf, start), u16_be(buf, start + 8), start + 20)
    if linktype == LINKTYPE_LINUX_SLL:
        if start + 16 > end:
            return LINK_CUT, end
        segment.packet_type = u16_be(buf, start)
        return _cooked(u16_be(buf, start + 14), u16_be(buf, start + 2), start + 16)
    if linktype == LINKTYPE_RAW or linktype == _RAW_BSD or linktype == _RAW_OPENBSD:
        return IP_ANY, start
    if linktype == LINKTYPE_IPV4:
        return ETHERTYPE_IPV4, start
    if linktype == LINKTYPE_IPV6:
        return ETHERTYPE_IPV6, start
    if linktype == LINKTYPE_NULL or linktype == LINKTYPE_LOOP:
        return _loopback(buf, start, end)
    if linktype == LINKTYPE_PPP:
        return PPP, start
    if linktype == LINKTYPE_PPP_ETHER:
        return PPPOE, start
    if linktype == LINKTYPE_PPP_HDLC or linktype == LINKTYPE_C_HDLC:
        return _hdlc(buf, start, end)
    if linktype == LINKTYPE_NFLOG:
        return _nflog(buf, start, end, segment)
    return NOT_TCP, start


def is_known_linktype(linktype: i64) -> bool:
    """Whether frames of this link type can be read."""
    return int(linktype) in _KNOWN_LINKTYPES


_KNOWN_LINKTYPES: Final = frozenset(
    (
        LINKTYPE_NULL,
        LINKTYPE_ETHERNET,
        LINKTYPE_PPP,
        _RAW_BSD,
        _RAW_OPENBSD,
        LINKTYPE_PPP_HDLC,
        LINKTYPE_PPP_ETHER,
        LINKTYPE_RAW,
        LINKTYPE_C_HDLC,
        LINKTYPE_LOOP,
        LINKTYPE_LINUX_SLL,
        LINKTYPE_IPV4,
        LINKTYPE_IPV6,
        LINKTYPE_NFLOG,
        LINKTYPE_LINUX_SLL2,
    )
)


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


def _cooked(protocol: i64, hardware: i64, at: i64) -> tuple[i64, i64]:
    """LINUX_SLL and SLL2: the protocol field is an EtherType or, below 0x0600, one of Linux's own numbers."""
    if hardware == _ARPHRD_NETLINK:
        return NOT_TCP, at  # the protocol field is a netlink family
    if protocol == _SLL_PROTOCOL_LLC:
        return LLC, at
    if protocol < ETHERTYPE_MIN:
        return NOT_TCP, at
    return protocol, at


_ARPHRD_NETLINK: Final = 824


def _loopback(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """NULL and LOOP: an address family in the writer's byte order, which the file does not always tell."""
    if at + 4 > end:
        return LINK_CUT, end
    family: i64 = u32_le(buf, at)
    if family > 0xFFFF:
        family = u32_be(buf, at)
    return i64(_ETHERTYPE_OF_AF.get(int(family), NOT_TCP)), at + 4


def _hdlc(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """PPP_HDLC and C_HDLC: Cisco's frame starts with 0x0F or 0x8F (RFC 1547 section 4.3.1), PPP's with FF 03."""
    if at + 4 > end:
        return LINK_CUT, end
    if buf[at] == 0x0F or buf[at] == 0x8F:
        return u16_be(buf, at + 2), at + 4
    return PPP, at


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
    """Whether an Ethernet header with an IP packet or a VLAN tag in it may start at ``at``."""
    if at + 15 > end:
        return False
    ethertype: i64 = u16_be(buf, at + 12)
    if ethertype == ETHERTYPE_IPV4:
        return i64(buf[at + 14]) >> 4 == 4
    if ethertype == ETHERTYPE_IPV6:
        return i64(buf[at + 14]) >> 4 == 6
    return ethertype == ETHERTYPE_VLAN or ethertype == ETHERTYPE_QINQ


_NSH_NEXT: Final[dict[int, int]] = {1: ETHERTYPE_IPV4, 2: ETHERTYPE_IPV6, 3: ETHERNET, 5: ETHERTYPE_MPLS}


def _nsh(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """Network Service Header, RFC 8300 section 2.2: length in words in the low bits of the second byte."""
    if at + 8 > end:
        return TUNNEL_CUT, end
    length: i64 = (i64(buf[at + 1]) & 0x3F) << 2
    if length < 8 or at + length > end:
        return TUNNEL_CUT, end
    return i64(_NSH_NEXT.get(buf[at + 3], NOT_TCP)), at + length


def _nflog(buf: bytes, at: i64, end: i64, segment: Segment) -> tuple[i64, i64]:
    """LINKTYPE_NFLOG: family, version, id, then attributes in the writer's byte order, each padded to 4 bytes."""
    if at + 4 > end:
        return LINK_CUT, end
    family: i64 = i64(buf[at])
    at += 4
    while at + 4 <= end:
        length: i64 = u16_le(buf, at)
        kind: i64 = u16_le(buf, at + 2)
        if kind > 0xFF:
            length = u16_be(buf, at)
            kind = u16_be(buf, at + 2)
        if length < 4:
            return NFLOG_BAD, end
        if kind & 0x7FFF == _NFULA_PAYLOAD:
            if family == 2 or family == 10:
                return IP_ANY, at + 4
            return NOT_TCP, at + 4  # another protocol family, or a bridge's
        if kind == _NFULA_IFINDEX_INDEV or kind == _NFULA_IFINDEX_OUTDEV:
            if at + 8 <= end:
                segment.link_interface = u32_be(buf, at + 4)
        at += (length + 3) & ~3
    return NOT_TCP, end
