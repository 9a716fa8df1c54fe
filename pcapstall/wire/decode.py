"""From a captured record to the innermost TCP segment: the walk through the layers, and IPv4, IPv6 and TCP themselves.

What lies between (link layers, tunnels, fragments, ICMP) is in the modules beside this one. Nothing here keeps
anything from one record to the next but pending fragments and counts.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be, u32_be
from pcapstall.wire.fragments import Reassembler
from pcapstall.wire.icmp import IcmpQuote, read_icmp, read_icmpv6
from pcapstall.wire.layers import next_layer
from pcapstall.wire.link import LINKTYPE_ETHERNET, open_frame
from pcapstall.wire.protocols import (
    ETHERNET,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ETHERTYPE_MPLS,
    ETHERTYPE_PPPOE_SESSION,
    IPPROTO_AH,
    IPPROTO_DSTOPTS,
    IPPROTO_ETHERIP,
    IPPROTO_ETHERNET,
    IPPROTO_FRAGMENT,
    IPPROTO_GRE,
    IPPROTO_HIP,
    IPPROTO_HOPOPTS,
    IPPROTO_ICMP,
    IPPROTO_ICMPV6,
    IPPROTO_IPV4,
    IPPROTO_IPV6,
    IPPROTO_MOBILITY,
    IPPROTO_MPLS,
    IPPROTO_ROUTING,
    IPPROTO_SHIM6,
    IPPROTO_TCP,
    IPPROTO_UDP,
    NOT_TCP,
    PPP,
    PPPOE,
    REASONS,
    UNKNOWN_LINKTYPE,
)
from pcapstall.wire.segment import MALFORMED, OTHER, TCP, Segment, UdpDatagram
from pcapstall.wire.tunnels import (
    ETHERIP,
    ETHERNET_OVER_IP,
    FOUR_IN_SIX,
    IPIP,
    MPLS_OVER_IP,
    SIX_IN_FOUR,
    SIX_IN_SIX,
    TunnelNames,
    gre,
)
from pcapstall.wire.udp_tunnels import read_udp

MAX_IP_HEADERS: Final = 16
"""IP in IP deeper than this is malformed."""

_MAX_LINK_LAYERS: Final = 64
_MAX_EXTENSION_HEADERS: Final = 32

_PORT_DNS: Final = 53
_DNS_HEADER_LEN: Final = 12

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
        self.icmp: IcmpQuote | None = None
        """After OTHER: the ICMP error about a TCP segment that the last record was."""
        self.dns: UdpDatagram | None = None
        """After OTHER: the DNS message (UDP port 53) that the last record was; valid until the next call."""
        self.fragments: Reassembler = Reassembler()
        """Fragments that wait for the rest, and counts of those that waited in vain."""
        self.unknown_linktypes: dict[int, int] = {}
        """How many records of each link type were passed over because nothing here can read it."""
        self._dns: UdpDatagram = UdpDatagram()
        self._names: TunnelNames = TunnelNames()
        self._declared: bool = False
        """A layer around this IP packet told its length, not only the frame's end."""
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
        self.icmp = None
        self.dns = None
        self._declared = False
        end: i64 = start + caplen
        wire_end: i64 = end
        if origlen > caplen:
            wire_end = start + origlen
        proto: i64
        at: i64
        if linktype == LINKTYPE_ETHERNET:
            if caplen < 14:
                return self._malformed("ethernet header cut")
            proto = u16_be(buf, start + 12)
            at = start + 14
        else:
            proto, at = open_frame(buf, start, end, linktype, segment)
            if proto == UNKNOWN_LINKTYPE:
                self.unknown_linktypes[linktype] = self.unknown_linktypes.get(linktype, 0) + 1
                return OTHER
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
                outer: i64 = proto
                proto, at = next_layer(buf, outer, at, end)
                if proto == PPP and (outer == ETHERTYPE_PPPOE_SESSION or outer == PPPOE):
                    # Some access concentrators pad a frame and count the padding in the IP header, but not here.
                    self._declared = True
                    if at + u16_be(buf, at - 2) < wire_end:
                        wire_end = at + u16_be(buf, at - 2)
                        if end > wire_end:
                            end = wire_end
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
        self._declared = False
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
        # A length that reaches beyond the frame is believed all the same: mirrors cut frames, and tools that shorten
        # them do not all keep the old length of the frame.
        if at + total_len < wire_end or not self._declared:
            wire_end = at + total_len
        if end > wire_end:
            end = wire_end  # what follows is Ethernet's padding
        segment: Segment = self.segment
        segment.ip_offset = at
        segment.ip_id = u16_be(buf, at + 4)
        segment.ttl = i64(buf[at + 8])
        if u16_be(buf, at + 6) & 0x3FFF != 0:
            return self._joined(self.fragments.ipv4(buf, at, end, wire_end, segment.ts_ns), ETHERTYPE_IPV4)
        protocol: i64 = i64(buf[at + 9])
        upper_at: i64 = at + header_len
        if protocol != IPPROTO_TCP:
            if protocol == IPPROTO_AH:
                if upper_at + 8 > end:
                    return self._malformed("ah header cut")
                protocol = i64(buf[upper_at])
                upper_at += (i64(buf[upper_at + 1]) + 2) << 2
            if protocol != IPPROTO_TCP:
                return self._upper(buf, protocol, upper_at, end, wire_end)
        if upper_at == at + 20:
            segment.key = buf[at + 12 : at + 24]
        else:
            segment.key = buf[at + 12 : at + 20] + buf[upper_at : upper_at + 4]
        return self._tcp(buf, upper_at, end, wire_end)

    def _ipv6(self, buf: bytes, at: i64, end: i64, wire_end: i64) -> i64:
        """RFC 8200, with the extension headers of the IANA registry."""
        if at + 40 > end:
            return self._malformed("ip header cut")
        if i64(buf[at]) >> 4 != 6:
            return self._malformed("ip version")
        ip_at: i64 = at
        next_at: i64 = at + 6
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
                        return self._joined(
                            self.fragments.ipv6(buf, ip_at, at, end, wire_end, next_at, segment.ts_ns), ETHERTYPE_IPV6
                        )
                    step = 1  # an atomic fragment, RFC 6946
                protocol = i64(buf[at])
                next_at = at
                if step == 1:
                    at += 8
                elif step == 8:
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
        if protocol == IPPROTO_UDP:
            return self._udp(buf, at, end, wire_end)
        if protocol == IPPROTO_ICMP:
            self.icmp = read_icmp(buf, at, end, self._sender(buf))
            return OTHER
        if protocol == IPPROTO_ICMPV6:
            self.icmp = read_icmpv6(buf, at, end, self._sender(buf))
            return OTHER
        v6: bool = i64(buf[self.segment.ip_offset]) >> 4 == 6
        if protocol == IPPROTO_GRE:
            proto, inner, kind, ident = gre(buf, at, end)
            return self._tunnel(buf, proto, inner, end, wire_end, kind, ident)
        if protocol == IPPROTO_IPV4:
            if v6:
                return self._tunnel(buf, ETHERTYPE_IPV4, at, end, wire_end, FOUR_IN_SIX, -1)
            return self._tunnel(buf, ETHERTYPE_IPV4, at, end, wire_end, IPIP, -1)
        if protocol == IPPROTO_IPV6:
            if v6:
                return self._tunnel(buf, ETHERTYPE_IPV6, at, end, wire_end, SIX_IN_SIX, -1)
            return self._tunnel(buf, ETHERTYPE_IPV6, at, end, wire_end, SIX_IN_FOUR, -1)
        if protocol == IPPROTO_MPLS:
            return self._tunnel(buf, ETHERTYPE_MPLS, at, end, wire_end, MPLS_OVER_IP, -1)
        if protocol == IPPROTO_ETHERIP and at + 2 <= end and i64(buf[at]) >> 4 == 3:  # version 3, RFC 3378
            return self._tunnel(buf, ETHERNET, at + 2, end, wire_end, ETHERIP, -1)
        if protocol == IPPROTO_ETHERNET:
            return self._tunnel(buf, ETHERNET, at, end, wire_end, ETHERNET_OVER_IP, -1)
        return OTHER

    def _udp(self, buf: bytes, at: i64, end: i64, wire_end: i64) -> i64:
        """RFC 768."""
        if at + 8 > end:
            return self._malformed("udp header cut")
        sport: i64 = u16_be(buf, at)
        dport: i64 = u16_be(buf, at + 2)
        length: i64 = u16_be(buf, at + 4)
        if length >= 8 and at + length < wire_end:
            wire_end = at + length
            if end > wire_end:
                end = wire_end
        at += 8
        if sport == _PORT_DNS or dport == _PORT_DNS:
            if end - at >= _DNS_HEADER_LEN:
                dns: UdpDatagram = self._dns
                dns.buf = buf
                dns.key = self._addresses(buf) + buf[at - 8 : at - 4]
                dns.offset = at
                dns.captured_len = end - at
                self.dns = dns
            return OTHER
        proto, inner, kind, ident = read_udp(buf, sport, dport, at, end, wire_end)
        return self._tunnel(buf, proto, inner, end, wire_end, kind, ident)

    def _tunnel(self, buf: bytes, proto: i64, at: i64, end: i64, wire_end: i64, kind: i64, ident: i64) -> i64:
        """Go on inside a tunnel, or end where ``proto`` says that it is none."""
        if proto < 0:
            if proto == NOT_TCP:
                return OTHER
            return self._malformed(REASONS[proto])
        segment: Segment = self.segment
        segment.tunnel = self._names.inside(segment.tunnel, kind, ident)
        return self._deeper(buf, proto, at, end, wire_end)

    def _joined(self, datagram: bytes, proto: i64) -> i64:
        """Go on with a datagram put together from fragments, once there is one."""
        if not datagram:
            if self.fragments.reason:
                return self._malformed(self.fragments.reason)
            return OTHER
        return self._deeper(datagram, proto, 0, len(datagram), len(datagram))

    def _addresses(self, buf: bytes) -> bytes:
        """Source and destination of the IP packet that is being read."""
        at: i64 = self.segment.ip_offset
        if i64(buf[at]) >> 4 == 6:
            return buf[at + 8 : at + 40]
        return buf[at + 12 : at + 20]

    def _sender(self, buf: bytes) -> bytes:
        addresses = self._addresses(buf)
        return addresses[: len(addresses) >> 1]

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
