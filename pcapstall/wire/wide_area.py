"""Links that few captures are of: Frame Relay, IP over InfiniBand, Ethernet with the header of a Juniper router.

What the frame holds is returned, and where, as in `link`; nothing else in these headers tells anything of a connection.
Nothing here looks into the packet.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be, u32_be
from pcapstall.wire.protocols import ETHERNET, ETHERTYPE_IPV4, ETHERTYPE_IPV6, LINK_CUT, NOT_TCP

LINKTYPE_FRELAY: Final = 107
LINKTYPE_JUNIPER_ETHER: Final = 178
LINKTYPE_IPOIB: Final = 242

_ROUTE_HEADER_LEN: Final = 40
"""Of InfiniBand's global route header; tcpdump writes this much before the four bytes of RFC 4391 section 6."""
_JUNIPER_MAGIC: Final = 0x4D4743
_JUNIPER_HAS_EXTENSIONS: Final = 0x80
_JUNIPER_HAS_NO_LINK_LAYER: Final = 0x02
_UNNUMBERED: Final = 0x03
_NLPID_SNAP: Final = 0x80
_NLPID_IPV4: Final = 0xCC
_NLPID_IPV6: Final = 0x8E
_BRIDGED_ETHERNET: Final = 0x0080_C2


def is_wide_area(linktype: i64) -> bool:
    """Whether `open_wide_area` reads this link type."""
    return linktype == LINKTYPE_FRELAY or linktype == LINKTYPE_JUNIPER_ETHER or linktype == LINKTYPE_IPOIB


def open_wide_area(buf: bytes, at: i64, end: i64, linktype: i64) -> tuple[i64, i64]:
    """What the frame ``buf[at:end]`` holds, and at which offset."""
    if linktype == LINKTYPE_IPOIB:
        if at + _ROUTE_HEADER_LEN + 4 > end:
            return LINK_CUT, end
        return u16_be(buf, at + _ROUTE_HEADER_LEN), at + _ROUTE_HEADER_LEN + 4
    if linktype == LINKTYPE_JUNIPER_ETHER:
        return _juniper(buf, at, end)
    return _frame_relay(buf, at, end)


def _juniper(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """The letters MGC, flags and, if these say so, extensions with their length."""
    if at + 6 > end:
        return LINK_CUT, end
    if u32_be(buf, at) >> 8 != _JUNIPER_MAGIC or buf[at + 3] & _JUNIPER_HAS_NO_LINK_LAYER != 0:
        return NOT_TCP, at
    if buf[at + 3] & _JUNIPER_HAS_EXTENSIONS == 0:
        return ETHERNET, at + 4
    return ETHERNET, at + 6 + u16_be(buf, at + 4)


def _frame_relay(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """RFC 2427 section 3 and 4: the address, whose last byte is odd, a control byte, then which protocol it is."""
    start: i64 = at
    while at < end and at < start + 4 and buf[at] & 1 == 0:
        at += 1
    if at + 4 > end:
        return LINK_CUT, end
    if buf[at + 1] != _UNNUMBERED:
        return NOT_TCP, at
    at += 2
    if buf[at] == 0:  # a byte that aligns the rest
        at += 1
    if buf[at] == _NLPID_IPV4:
        return ETHERTYPE_IPV4, at + 1
    if buf[at] == _NLPID_IPV6:
        return ETHERTYPE_IPV6, at + 1
    if buf[at] != _NLPID_SNAP:
        return NOT_TCP, at
    if at + 6 > end:
        return LINK_CUT, end
    oui: i64 = u32_be(buf, at) & 0xFFFFFF
    protocol: i64 = u16_be(buf, at + 4)
    if oui == 0:
        return protocol, at + 6
    if oui == _BRIDGED_ETHERNET and (protocol == 1 or protocol == 7):
        return ETHERNET, at + 6
    return NOT_TCP, at
