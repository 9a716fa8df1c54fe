"""ICMP and ICMPv6 errors that quote the TCP segment they are about (RFC 792, RFC 1191, RFC 4443).

Only what names the segment and says what became of it is read. What that means for a flow is decided elsewhere.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be, u32_be
from pcapstall.wire.protocols import (
    IPPROTO_AH,
    IPPROTO_DSTOPTS,
    IPPROTO_FRAGMENT,
    IPPROTO_HOPOPTS,
    IPPROTO_ROUTING,
    IPPROTO_TCP,
)

ICMP_UNREACHABLE: Final = 3
ICMP_FRAGMENTATION_NEEDED: Final = 4
"""The code of `ICMP_UNREACHABLE` that carries an MTU."""
ICMP_SOURCE_QUENCH: Final = 4
ICMP_TIME_EXCEEDED: Final = 11
ICMP_PARAMETER_PROBLEM: Final = 12
ICMPV6_UNREACHABLE: Final = 1
ICMPV6_PACKET_TOO_BIG: Final = 2
ICMPV6_PARAMETER_PROBLEM: Final = 4

_MAX_EXTENSION_HEADERS: Final = 8


class IcmpQuote:
    """One ICMP error about a TCP segment."""

    def __init__(self, v6: bool, kind: i64, code: i64, mtu: i64, sender: bytes, key: bytes, seq: i64) -> None:
        self.v6: bool = v6
        """ICMPv6, whose types and codes are others."""
        self.kind: i64 = kind
        """The ICMP type."""
        self.code: i64 = code
        self.mtu: i64 = mtu
        """Of the next hop, from "fragmentation needed" or "packet too big"; 0 for others and for old routers."""
        self.sender: bytes = sender
        """Who sent the error: 4 or 16 bytes."""
        self.key: bytes = key
        """src dst sport dport of the quoted segment, as it was on its way: 12 or 36 bytes."""
        self.seq: i64 = seq
        """Sequence number of the quoted segment."""


def read_icmp(buf: bytes, at: i64, end: i64, sender: bytes) -> IcmpQuote | None:
    """The error in the ICMP message ``buf[at:end]``, when it is one and quotes the start of a TCP segment."""
    if at + 8 > end:
        return None
    kind: i64 = i64(buf[at])
    code: i64 = i64(buf[at + 1])
    mtu: i64 = 0
    if kind == ICMP_UNREACHABLE:
        if code == ICMP_FRAGMENTATION_NEEDED:
            mtu = u16_be(buf, at + 6)
    elif kind != ICMP_TIME_EXCEEDED and kind != ICMP_PARAMETER_PROBLEM and kind != ICMP_SOURCE_QUENCH:
        return None
    at += 8
    if at + 20 > end or i64(buf[at]) >> 4 != 4 or buf[at + 9] != IPPROTO_TCP or u16_be(buf, at + 6) & 0x1FFF != 0:
        return None
    tcp_at: i64 = at + ((i64(buf[at]) & 15) << 2)
    if tcp_at < at + 20 or tcp_at + 8 > end:
        return None
    key = buf[at + 12 : at + 20] + buf[tcp_at : tcp_at + 4]
    return IcmpQuote(False, kind, code, mtu, sender, key, u32_be(buf, tcp_at + 4))


def read_icmpv6(buf: bytes, at: i64, end: i64, sender: bytes) -> IcmpQuote | None:
    """The same for ICMPv6, whose quoted packet may have extension headers."""
    if at + 8 > end:
        return None
    kind: i64 = i64(buf[at])
    code: i64 = i64(buf[at + 1])
    mtu: i64 = 0
    if kind < ICMPV6_UNREACHABLE or kind > ICMPV6_PARAMETER_PROBLEM:
        return None
    if kind == ICMPV6_PACKET_TOO_BIG:
        mtu = u32_be(buf, at + 4)
    at += 8
    if at + 40 > end or i64(buf[at]) >> 4 != 6:
        return None
    protocol: i64 = i64(buf[at + 6])
    tcp_at: i64 = at + 40
    headers: i64 = 0
    while protocol != IPPROTO_TCP:
        headers += 1
        if tcp_at + 8 > end or headers > _MAX_EXTENSION_HEADERS:
            return None
        step: i64
        if protocol == IPPROTO_HOPOPTS or protocol == IPPROTO_ROUTING or protocol == IPPROTO_DSTOPTS:
            step = (i64(buf[tcp_at + 1]) + 1) << 3
        elif protocol == IPPROTO_AH:
            step = (i64(buf[tcp_at + 1]) + 2) << 2
        elif protocol == IPPROTO_FRAGMENT and u16_be(buf, tcp_at + 2) & 0xFFF8 == 0:
            step = 8
        else:
            return None
        protocol = i64(buf[tcp_at])
        tcp_at += step
    if tcp_at + 8 > end:
        return None
    key = buf[at + 8 : at + 40] + buf[tcp_at : tcp_at + 4]
    return IcmpQuote(True, kind, code, mtu, sender, key, u32_be(buf, tcp_at + 4))
