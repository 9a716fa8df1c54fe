"""Link layers: from the first byte of a captured frame to what lies inside.

`open_frame` knows the LINKTYPE_ numbers (www.tcpdump.org/linktypes.html). It returns what comes next and where, and
never looks into IP; Ethernet itself, which needs only a glance, is opened where the walk begins (decode).
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be, u16_le, u32_be, u32_le
from pcapstall.wire.protocols import (
    ETHERNET,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ETHERTYPE_MIN,
    ETHERTYPE_MPLS,
    IP_ANY,
    LINK_CUT,
    LLC,
    NFLOG_BAD,
    NOT_TCP,
    PPP,
    PPPOE,
    UNKNOWN_LINKTYPE,
)
from pcapstall.wire.segment import Segment
from pcapstall.wire.wide_area import is_wide_area, open_wide_area
from pcapstall.wire.wireless import is_wireless, open_wireless

LINKTYPE_NULL: Final = 0
LINKTYPE_ETHERNET: Final = 1
LINKTYPE_PPP: Final = 9
LINKTYPE_PPP_HDLC: Final = 50
LINKTYPE_RAW: Final = 101
LINKTYPE_C_HDLC: Final = 104
LINKTYPE_LOOP: Final = 108
LINKTYPE_LINUX_SLL: Final = 113
LINKTYPE_PFLOG: Final = 117
LINKTYPE_PPP_WITH_DIR: Final = 204
LINKTYPE_IPNET: Final = 226
LINKTYPE_NFLOG: Final = 239
LINKTYPE_PKTAP: Final = 258
LINKTYPE_LINUX_SLL2: Final = 276

_HEADER_OF: Final[dict[int, tuple[int, int]]] = {
    12: (IP_ANY, 0),  # DLT_RAW of most systems
    14: (IP_ANY, 0),  # DLT_RAW of OpenBSD
    51: (PPPOE, 0),
    100: (LLC, 0),  # ATM_RFC1483
    219: (ETHERTYPE_MPLS, 0),
    228: (ETHERTYPE_IPV4, 0),
    229: (ETHERTYPE_IPV6, 0),
    240: (ETHERNET, 4),  # NETANALYZER
    274: (ETHERNET, 8),  # ETHERNET_MPACKET: a preamble
}
"""Link types that need no reading: what they hold, and how many bytes come before it."""

_ETHERTYPE_OF_AF: Final[dict[int, int]] = {
    2: ETHERTYPE_IPV4,
    10: ETHERTYPE_IPV6,  # Linux
    24: ETHERTYPE_IPV6,  # NetBSD, OpenBSD
    26: ETHERTYPE_IPV6,  # Solaris
    28: ETHERTYPE_IPV6,  # FreeBSD
    30: ETHERTYPE_IPV6,  # macOS
}

_ARPHRD_NETLINK: Final = 824
_SLL_PROTOCOL_LLC: Final = 0x0004
_NFULA_IFINDEX_INDEV: Final = 4
_NFULA_IFINDEX_OUTDEV: Final = 5
_NFULA_PAYLOAD: Final = 9


def open_frame(buf: bytes, start: i64, end: i64, linktype: i64, segment: Segment) -> tuple[i64, i64]:
    """What the frame ``buf[start:end]`` of a link type other than Ethernet holds, and at which offset.

    Sets ``link_interface`` and ``packet_type`` of ``segment`` where the frame tells them. `UNKNOWN_LINKTYPE` for
    a link type that is none of these.
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
    if linktype == LINKTYPE_RAW:
        return IP_ANY, start
    if linktype == LINKTYPE_NULL or linktype == LINKTYPE_LOOP:
        return _loopback(buf, start, end)
    inner = _HEADER_OF.get(int(linktype))
    if inner is not None:
        return i64(inner[0]), start + i64(inner[1])
    if linktype == LINKTYPE_PPP or linktype == LINKTYPE_PPP_HDLC or linktype == LINKTYPE_C_HDLC:
        return _hdlc(buf, start, end)
    if linktype == LINKTYPE_PPP_WITH_DIR:
        return _hdlc(buf, start + 1, end)
    if linktype == LINKTYPE_NFLOG:
        return _nflog(buf, start, end, segment)
    if linktype == LINKTYPE_IPNET:
        return _ipnet(buf, start, end, segment)
    if linktype == LINKTYPE_PFLOG:
        return _pflog(buf, start, end)
    if linktype == LINKTYPE_PKTAP:
        return _pktap(buf, start, end, segment)
    if is_wireless(linktype):
        return open_wireless(buf, start, end, linktype)
    if is_wide_area(linktype):
        return open_wide_area(buf, start, end, linktype)
    return UNKNOWN_LINKTYPE, start


def _cooked(protocol: i64, hardware: i64, at: i64) -> tuple[i64, i64]:
    """LINUX_SLL and SLL2: the protocol field is an EtherType or, below 0x0600, one of Linux's own numbers."""
    if hardware == _ARPHRD_NETLINK:
        return NOT_TCP, at  # the protocol field is a netlink family
    if protocol == _SLL_PROTOCOL_LLC:
        return LLC, at
    if protocol < ETHERTYPE_MIN:
        return NOT_TCP, at
    return protocol, at


def _loopback(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """NULL and LOOP: an address family in the writer's byte order, which the file does not always tell."""
    if at + 4 > end:
        return LINK_CUT, end
    family: i64 = u32_le(buf, at)
    if family > 0xFFFF:
        family = u32_be(buf, at)
    return i64(_ETHERTYPE_OF_AF.get(int(family), NOT_TCP)), at + 4


def _hdlc(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """C_HDLC, and PPP of any kind, for serial lines are captured as either.

    Cisco's frame starts with 0x0F or 0x8F (RFC 1547 section 4.3.1), PPP's with FF 03 or, these left out, a protocol.
    """
    if at + 4 > end:
        return LINK_CUT, end
    if buf[at] == 0x0F or buf[at] == 0x8F:
        return u16_be(buf, at + 2), at + 4
    return PPP, at


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


def _ipnet(buf: bytes, at: i64, end: i64, segment: Segment) -> tuple[i64, i64]:
    """LINKTYPE_IPNET of Solaris: version 1, family 2 or 26, then the interface's index at byte 8; 24 bytes."""
    if at + 24 > end:
        return LINK_CUT, end
    segment.link_interface = u32_be(buf, at + 8)
    return i64(_ETHERTYPE_OF_AF.get(buf[at + 1], NOT_TCP)), at + 24


def _pflog(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """LINKTYPE_PFLOG of the BSDs: the header's length without its padding to 4 bytes, the address family."""
    if at + 4 > end:
        return LINK_CUT, end
    inner: i64 = at + ((i64(buf[at]) + 3) & ~3)
    if inner > end:
        return LINK_CUT, end
    return i64(_ETHERTYPE_OF_AF.get(buf[at + 1], NOT_TCP)), inner


def _pktap(buf: bytes, at: i64, end: i64, segment: Segment) -> tuple[i64, i64]:
    """LINKTYPE_PKTAP of macOS: the header's length, a record type, and the DLT_ of the frame behind it."""
    if at + 12 > end:
        return LINK_CUT, end
    length: i64 = u32_le(buf, at)
    linktype: i64 = u32_le(buf, at + 8)
    if length < 12 or at + length > end:
        return LINK_CUT, end
    if linktype == LINKTYPE_PKTAP:
        return NOT_TCP, end
    if linktype == LINKTYPE_ETHERNET:
        return ETHERNET, at + length
    return open_frame(buf, at + length, end, linktype, segment)
