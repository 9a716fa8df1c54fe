"""From a captured record to the innermost TCP segment: the walk through the layers, and IPv4, IPv6 and TCP themselves.

What lies between (link layers, tunnels, fragments, ICMP) is in the modules beside this one. Nothing here keeps
anything from one record to the next but pending fragments and counts.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be, u32_be
from pcapstall.wire import link
from pcapstall.wire.protocols import (
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    IPPROTO_AH,
    IPPROTO_DSTOPTS,
    IPPROTO_FRAGMENT,
    IPPROTO_HIP,
    IPPROTO_HOPOPTS,
    IPPROTO_MOBILITY,
    IPPROTO_ROUTING,
    IPPROTO_SHIM6,
    IPPROTO_TCP,
    NOT_TCP,
    REASONS,
)
from pcapstall.wire.segment import MALFORMED, OTHER, TCP, Segment

MAX_IP_HEADERS: Final = 16
"""IP in IP deeper than this is malformed."""

_MAX_LINK_LAYERS: Final = 64
_MAX_EXTENSION_HEADERS: Final = 32

_DEEPER: Final = 3
"""Beside TCP, OTHER and MALFORMED: another layer starts where `_next`, `_at`, `_end` and `_wire_end` say."""


class Decoder:
    """Fills `segment` from one captured record after another.

    The caller sets ``segment.ts_ns``, ``ref`` and ``interface`` before `decode` (fragments time out by ``ts_ns``).
    """

    def __init__(self) -> None:
        self.segment: Segment = Segment()
        """Valid after `decode` returned TCP, until the next call."""
        self.reason: str = ""
        """Why the last record was MALFORMED: a short text from a small fixed set, to count by."""
        self.unknown_linktypes: dict[int, int] = {}
        """How many records of each link type were passed over because nothing here can read it."""
        self._buf: bytes = b""
        self._next: i64 = 0
        self._at: i64 = 0
        self._end: i64 = 0
        self._wire_end: i64 = 0

    def decode(self, buf: bytes, start: i64, caplen: i64, origlen: i64, linktype: i64) -> i64:
        """TCP, OTHER or MALFORMED for the record ``buf[start:start + caplen]``, ``origlen`` bytes on the wire.

        Never raises, whatever the bytes are; ``start + caplen`` must lie within ``buf``.
        """
        segment: Segment = self.segment
        segment.tunnel = ""
        segment.link_interface = -1
        segment.packet_type = -1
        end: i64 = start + caplen
        wire_end: i64 = end
        if origlen > caplen:
            wire_end = start + origlen
        proto: i64
        at: i64
        if linktype == link.LINKTYPE_ETHERNET:
            if caplen < 14:
                return self._malformed("ethernet header cut")
            proto = u16_be(buf, start + 12)
            at = start + 14
        else:
            proto, at = link.open_frame(buf, start, end, linktype, segment)
            if proto == NOT_TCP and not link.is_known_linktype(linktype):
                self.unknown_linktypes[linktype] = self.unknown_linktypes.get(linktype, 0) + 1
        layers: i64 = 0
        headers: i64 = 0
        while True:
            outcome: i64
            if proto == ETHERTYPE_IPV4:
                outcome = self._ipv4(buf, at, end, wire_end)
            elif proto == ETHERTYPE_IPV6:
                outcome = self._ipv6(buf, at, end, wire_end)
            elif proto < 0:
                if proto == NOT_TCP:
                    return OTHER
                return self._malformed(REASONS[proto])
            else:
                layers += 1
                if layers > _MAX_LINK_LAYERS:
                    return self._malformed("nested too deep")
                proto, at = link.next_layer(buf, proto, at, end)
                continue
            if outcome != _DEEPER:
                return outcome
            headers += 1
            if headers >= MAX_IP_HEADERS:
                return self._malformed("nested too deep")
            buf = self._buf
            proto = self._next
            at = self._at
            end = self._end
            wire_end = self._wire_end

    def _malformed(self, reason: str) -> i64:
        self.reason = reason
        return MALFORMED

    def _deeper(self, buf: bytes, proto: i64, at: i64, end: i64, wire_end: i64) -> i64:
        self._buf = buf
        self._next = proto
        self._at = at
        self._end = end
        self._wire_end = wire_end
        return _DEEPER

    def _ipv4(self, buf: bytes, at: i64, end: i64, wire_end: i64) -> i64:
        """RFC 791 section 3.1. ``wire_end`` is where the enclosing layer ended on the wire."""
        if at + 20 > end:
            return self._malformed("ip header cut")
        first: i64 = i64(buf[at])
        header_len: i64 = (first & 15) << 2
        if first != 0x45:
            if first >> 4 != 4:
                return self._malformed("ip version")
            if header_len < 20:
                return self._malformed("ip header length < 20")
            if at + header_len > end:
                return self._malformed("ip header cut")
        total_len: i64 = u16_be(buf, at + 2)
        if total_len < header_len:
            if total_len != 0:
                return self._malformed("ip total length < header")
            total_len = wire_end - at  # segmentation offload of more than 64 KiB, or the card fills it in
        wire_end = at + total_len
        if end > wire_end:
            end = wire_end  # what follows is Ethernet's padding
        segment: Segment = self.segment
        segment.ip_offset = at
        segment.ip_id = u16_be(buf, at + 4)
        segment.ttl = i64(buf[at + 8])
        if u16_be(buf, at + 6) & 0x3FFF != 0:
            return OTHER
        protocol: i64 = i64(buf[at + 9])
        if protocol != IPPROTO_TCP:
            return self._upper(buf, protocol, at + header_len, end, wire_end)
        if header_len == 20:
            segment.key = buf[at + 12 : at + 24]
        else:
            segment.key = buf[at + 12 : at + 20] + buf[at + header_len : at + header_len + 4]
        return self._tcp(buf, at + header_len, end, wire_end)

    def _ipv6(self, buf: bytes, at: i64, end: i64, wire_end: i64) -> i64:
        """RFC 8200, with the extension headers of the IANA registry."""
        if at + 40 > end:
            return self._malformed("ip header cut")
        if i64(buf[at]) >> 4 != 6:
            return self._malformed("ip version")
        ip_at: i64 = at
        payload_len: i64 = u16_be(buf, at + 4)
        protocol: i64 = i64(buf[at + 6])
        segment: Segment = self.segment
        segment.ip_offset = at
        segment.ip_id = -1
        segment.ttl = i64(buf[at + 7])
        at += 40
        if payload_len == 0 and protocol == IPPROTO_HOPOPTS:
            payload_len = jumbo_len(buf, at, end)
        if payload_len > 0:
            wire_end = at + payload_len
            if end > wire_end:
                end = wire_end
        # else: an offload of more than 64 KiB, which ends where the frame does
        if protocol != IPPROTO_TCP:
            headers: i64 = 0
            while True:
                step: i64 = 0
                if (
                    protocol == IPPROTO_HOPOPTS
                    or protocol == IPPROTO_ROUTING
                    or protocol == IPPROTO_DSTOPTS
                    or protocol == IPPROTO_MOBILITY
                    or protocol == IPPROTO_HIP
                    or protocol == IPPROTO_SHIM6
                ):
                    step = 8
                elif protocol == IPPROTO_AH:
                    step = 4
                elif protocol != IPPROTO_FRAGMENT:
                    break
                headers += 1
                if at + 8 > end or headers > _MAX_EXTENSION_HEADERS:
                    return self._malformed("ipv6 extension header cut")
                if protocol == IPPROTO_FRAGMENT:
                    if u16_be(buf, at + 2) & 0xFFF9 != 0:
                        return OTHER
                    protocol = i64(buf[at])  # an atomic fragment, RFC 6946
                    at += 8
                    continue
                protocol = i64(buf[at])
                if step == 8:
                    at += (i64(buf[at + 1]) + 1) << 3
                else:
                    at += (i64(buf[at + 1]) + 2) << 2
                if at > end:
                    return self._malformed("ipv6 extension header cut")
            if protocol != IPPROTO_TCP:
                return self._upper(buf, protocol, at, end, wire_end)
        if at == ip_at + 40:
            segment.key = buf[ip_at + 8 : ip_at + 44]
        else:
            segment.key = buf[ip_at + 8 : ip_at + 40] + buf[at : at + 4]
        return self._tcp(buf, at, end, wire_end)

    def _upper(self, buf: bytes, protocol: i64, at: i64, end: i64, wire_end: i64) -> i64:
        """What an IP packet holds that is not TCP."""
        return OTHER

    def _tcp(self, buf: bytes, at: i64, end: i64, wire_end: i64) -> i64:
        """RFC 9293 section 3.1. The checksum is not looked at: an offloading card has yet to fill it in."""
        if at + 20 > end:
            return self._malformed("tcp header cut")
        header_len: i64 = (i64(buf[at + 12]) >> 4) << 2
        if header_len < 20:
            return self._malformed("tcp offset < 5")
        payload_at: i64 = at + header_len
        if payload_at > wire_end:
            return self._malformed("tcp offset beyond packet")
        segment: Segment = self.segment
        segment.buf = buf
        segment.tcp_offset = at
        segment.payload_offset = payload_at
        segment.payload_len = wire_end - payload_at
        if payload_at <= end:
            segment.options_end = payload_at
            segment.captured_len = end - payload_at
        else:
            segment.options_end = end
            segment.captured_len = 0
        segment.seq = u32_be(buf, at + 4)
        segment.ack = u32_be(buf, at + 8)
        segment.flags = i64(buf[at + 13])
        segment.window = u16_be(buf, at + 14)
        return TCP


def jumbo_len(buf: bytes, at: i64, end: i64) -> i64:
    """The length in a jumbo payload option (RFC 2675 section 2) of the hop-by-hop header at ``at``; 0 without one."""
    if at + 8 > end:
        return 0
    stop: i64 = at + ((i64(buf[at + 1]) + 1) << 3)
    if stop > end:
        stop = end
    at += 2
    while at + 2 <= stop:
        kind: i64 = i64(buf[at])
        if kind == 0:  # Pad1 has no length
            at += 1
            continue
        length: i64 = i64(buf[at + 1])
        if kind == 0xC2 and length == 4 and at + 6 <= stop:
            return u32_be(buf, at + 2)
        at += 2 + length
    return 0
