"""What IP carries that is not TCP: UDP with its tunnels and DNS, tunnels with a protocol number, ICMP errors.

Each ends the walk or sends it deeper; `walk.Walk` takes what is found. Messages are delimited here, not read.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be
from pcapstall.wire.icmp import read_icmp, read_icmpv6
from pcapstall.wire.protocols import (
    ETHERNET,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ETHERTYPE_MPLS,
    IPPROTO_ETHERIP,
    IPPROTO_ETHERNET,
    IPPROTO_GRE,
    IPPROTO_ICMP,
    IPPROTO_ICMPV6,
    IPPROTO_IPV4,
    IPPROTO_IPV6,
    IPPROTO_MPLS,
    IPPROTO_UDP,
)
from pcapstall.wire.segment import OTHER, UdpDatagram
from pcapstall.wire.tunnels import (
    ETHERIP,
    ETHERNET_OVER_IP,
    FOUR_IN_SIX,
    IPIP,
    MPLS_OVER_IP,
    SIX_IN_FOUR,
    SIX_IN_SIX,
    gre,
)
from pcapstall.wire.udp_tunnels import read_udp
from pcapstall.wire.walk import Walk

_PORT_DNS: Final = 53
_DNS_HEADER_LEN: Final = 12


def read_upper(walk: Walk, buf: bytes, protocol: i64, at: i64, end: i64, wire_end: i64) -> i64:
    """The payload ``protocol`` at ``at`` of the IP packet at ``segment.ip_offset``: an outcome as of `ip.read_ipv4`."""
    walk.is_marked = True
    if protocol == IPPROTO_UDP:
        return _udp(walk, buf, at, end, wire_end)
    ip_at: i64 = walk.segment.ip_offset
    v6: bool = i64(buf[ip_at]) >> 4 == 6
    if protocol == IPPROTO_ICMP:
        if not v6:
            walk.icmp = read_icmp(buf, at, end, buf[ip_at + 12 : ip_at + 16])
        return OTHER
    if protocol == IPPROTO_ICMPV6:
        if v6:
            walk.icmp = read_icmpv6(buf, at, end, buf[ip_at + 8 : ip_at + 24])
        return OTHER
    if protocol == IPPROTO_GRE:
        proto, inner, kind, ident = gre(buf, at, end)
        return walk.enter(kind, ident, buf, proto, inner, end, wire_end)
    if protocol == IPPROTO_IPV4:
        if v6:
            return walk.enter(FOUR_IN_SIX, -1, buf, ETHERTYPE_IPV4, at, end, wire_end)
        return walk.enter(IPIP, -1, buf, ETHERTYPE_IPV4, at, end, wire_end)
    if protocol == IPPROTO_IPV6:
        if v6:
            return walk.enter(SIX_IN_SIX, -1, buf, ETHERTYPE_IPV6, at, end, wire_end)
        return walk.enter(SIX_IN_FOUR, -1, buf, ETHERTYPE_IPV6, at, end, wire_end)
    if protocol == IPPROTO_MPLS:
        return walk.enter(MPLS_OVER_IP, -1, buf, ETHERTYPE_MPLS, at, end, wire_end)
    if protocol == IPPROTO_ETHERIP and at + 2 <= end and i64(buf[at]) >> 4 == 3:  # version 3, RFC 3378
        return walk.enter(ETHERIP, -1, buf, ETHERNET, at + 2, end, wire_end)
    if protocol == IPPROTO_ETHERNET:
        return walk.enter(ETHERNET_OVER_IP, -1, buf, ETHERNET, at, end, wire_end)
    return OTHER


def _udp(walk: Walk, buf: bytes, at: i64, end: i64, wire_end: i64) -> i64:
    """RFC 768."""
    if at + 8 > end:
        return walk.malformed("udp header cut")
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
            _note_dns(walk, buf, at, end)
        return OTHER
    proto, inner, kind, ident = read_udp(buf, sport, dport, at, end, wire_end)
    return walk.enter(kind, ident, buf, proto, inner, end, wire_end)


def _note_dns(walk: Walk, buf: bytes, at: i64, end: i64) -> None:
    dns: UdpDatagram = walk.udp
    ip_at: i64 = walk.segment.ip_offset
    dns.buf = buf
    if i64(buf[ip_at]) >> 4 == 6:
        dns.key = buf[ip_at + 8 : ip_at + 40] + buf[at - 8 : at - 4]
    else:
        dns.key = buf[ip_at + 12 : ip_at + 20] + buf[at - 8 : at - 4]
    dns.offset = at
    dns.captured_len = end - at
    walk.dns = dns
