"""Frames of all link types down to IP: headers are kept without what names a host, the walk is `wire`'s own.

What each header holds besides lengths, types and tags is replaced or left 0. IP is not looked into.
"""

from typing import Final, NamedTuple

from pcapstall.anonymise.mapping import Mapping
from pcapstall.core.words import u16_be, u16_le
from pcapstall.wire.decode import MAX_LINK_LAYERS
from pcapstall.wire.layers import next_layer
from pcapstall.wire.link import (
    LINKTYPE_C_HDLC,
    LINKTYPE_ETHERNET,
    LINKTYPE_IPNET,
    LINKTYPE_LINUX_SLL,
    LINKTYPE_LINUX_SLL2,
    LINKTYPE_LOOP,
    LINKTYPE_NFLOG,
    LINKTYPE_NULL,
    LINKTYPE_PFLOG,
    LINKTYPE_PKTAP,
    LINKTYPE_PPP,
    LINKTYPE_PPP_HDLC,
    LINKTYPE_PPP_WITH_DIR,
    open_frame,
)
from pcapstall.wire.protocols import (
    ETHERNET,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ETHERTYPE_NSH,
    ETHERTYPE_PPPOE_SESSION,
    ETHERTYPE_TRANSPARENT_BRIDGING,
    PPPOE,
)
from pcapstall.wire.segment import Segment
from pcapstall.wire.wide_area import LINKTYPE_FRELAY, LINKTYPE_IPOIB, LINKTYPE_JUNIPER_ETHER
from pcapstall.wire.wireless import (
    LINKTYPE_IEEE802_11,
    LINKTYPE_IEEE802_11_RADIOTAP,
    is_wireless,
    monitor_header_len,
)

_KEPT: Final[dict[int, int]] = {
    LINKTYPE_NULL: 4, LINKTYPE_PPP: 1 << 16, LINKTYPE_PPP_HDLC: 1 << 16, 51: 1 << 16, 100: 1 << 16,
    LINKTYPE_C_HDLC: 1 << 16, LINKTYPE_FRELAY: 1 << 16, LINKTYPE_LOOP: 4, LINKTYPE_PFLOG: 2, LINKTYPE_JUNIPER_ETHER: 6,
    LINKTYPE_PPP_WITH_DIR: 1 << 16, LINKTYPE_IPNET: 12, 240: 4, 274: 8,
}  # fmt: skip
"""How many bytes of a link header are kept, of link types that have no addresses in them; 0 of others."""
_NFLOG_KEPT: Final = frozenset((4, 5))
"""Attributes that are kept: the interfaces' indexes."""
_ADDRESSES_802_11: Final = (4, 10, 16)


class Inside(NamedTuple):
    """Where the next layer is that `packets` reads: an EtherType of IP, or -1 when there is none."""

    proto: int
    at: int
    end: int


class Links:
    """Writes what is kept of link headers into the frame that is being made."""

    def __init__(self, mapping: Mapping) -> None:
        self._mapping = mapping
        self._segment = Segment()

    def frame(self, buf: bytes, out: bytearray, linktype: int) -> Inside:
        """From the first byte of a frame to the IP packet in it."""
        end = len(buf)
        if linktype == LINKTYPE_ETHERNET:
            return self.layers(buf, out, int(ETHERNET), 0, end)
        proto, at = open_frame(buf, 0, end, linktype, self._segment)
        if proto < 0:
            return Inside(-1, end, end)
        at = int(at)
        start = 0
        if linktype == LINKTYPE_PKTAP:
            start = int.from_bytes(buf[0:4], "little")
            out[:12] = buf[:12]
            linktype = int.from_bytes(buf[8:12], "little")
            if linktype == LINKTYPE_ETHERNET:
                return self.layers(buf, out, int(proto), at, end)
        self._header(buf, out, start, at, linktype)
        return self.layers(buf, out, int(proto), at, end)

    def layers(self, buf: bytes, out: bytearray, proto: int, at: int, end: int) -> Inside:
        """Past Ethernet, tags and labels."""
        for _ in range(MAX_LINK_LAYERS):
            if proto in (ETHERTYPE_IPV4, ETHERTYPE_IPV6) or proto < 0:
                break
            outer, start = proto, at
            found, inner = next_layer(buf, outer, start, end)
            proto, at = int(found), int(inner)
            if proto < 0:
                break
            out[start:at] = buf[start:at]
            if outer in (ETHERNET, ETHERTYPE_TRANSPARENT_BRIDGING):
                self._macs(buf, out, (start, start + 6))
            elif outer == ETHERTYPE_NSH:
                out[start + 8 : at] = bytes(at - start - 8)
            elif found == ETHERNET:
                continue  # MPLS with a control word
            if outer in (ETHERTYPE_PPPOE_SESSION, PPPOE):
                end = min(end, at + u16_be(buf, at - 2))
        return Inside(proto if proto in (ETHERTYPE_IPV4, ETHERTYPE_IPV6) else -1, at, end)

    def _macs(self, buf: bytes, out: bytearray, places: tuple[int, ...]) -> None:
        for at in places:
            out[at : at + 6] = self._mapping.mac(buf[at : at + 6])

    def _header(self, buf: bytes, out: bytearray, start: int, at: int, linktype: int) -> None:
        if linktype == LINKTYPE_LINUX_SLL:
            out[start : start + 6] = buf[start : start + 6]
            if u16_be(buf, start + 4) == 6:
                self._macs(buf, out, (start + 6,))
            out[at - 2 : at] = buf[at - 2 : at]
        elif linktype == LINKTYPE_LINUX_SLL2:
            out[start : start + 12] = buf[start : start + 12]
            if buf[start + 11] == 6:
                self._macs(buf, out, (start + 12,))
        elif linktype == LINKTYPE_NFLOG:
            self._nflog(buf, out, start, at)
        elif linktype == LINKTYPE_IPOIB:
            out[at - 4 : at] = buf[at - 4 : at]
        elif is_wireless(linktype):
            self._wireless(buf, out, start, at, linktype)
        else:
            kept = min(_KEPT.get(linktype, 0), at - start)
            out[start : start + kept] = buf[start : start + kept]

    def _nflog(self, buf: bytes, out: bytearray, at: int, end: int) -> None:
        out[at : at + 4] = buf[at : at + 4]
        at += 4
        while at + 4 <= end:
            length, kind = u16_le(buf, at), u16_le(buf, at + 2)
            if kind > 0xFF:
                length, kind = u16_be(buf, at), u16_be(buf, at + 2)
            out[at : at + 4] = buf[at : at + 4]
            if kind in _NFLOG_KEPT:
                out[at + 4 : at + 8] = buf[at + 4 : at + 8]
            at += max((length + 3) & ~3, 4)

    def _wireless(self, buf: bytes, out: bytearray, start: int, at: int, linktype: int) -> None:
        """Radiotap as it is, of the older headers only their length; then the frame's own header."""
        header = start
        if linktype != LINKTYPE_IEEE802_11:
            header += int(monitor_header_len(buf, start, linktype))
            kept = header if linktype == LINKTYPE_IEEE802_11_RADIOTAP else start + 8
            out[start:kept] = buf[start:kept]
        out[header:at] = buf[header:at]
        places = [header + place for place in _ADDRESSES_802_11]
        flags = buf[header + 1]
        body = header + 24
        if flags & 3 == 3:
            places.append(body)
            body += 6
        if buf[header] & 0x80 and buf[body] & 0x80:
            places += [at - 14, at - 8]  # of the first packet of an A-MSDU
        self._macs(buf, out, tuple(places))
