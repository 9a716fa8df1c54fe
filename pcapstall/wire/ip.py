"""IPv4, IPv6 and TCP headers: lengths, the flow's key, and what goes into `Segment`.

The hot path: an IPv4 header without options and a TCP header pass without an allocation. What else
IP may carry is in upper, fragments in fragments.
"""

from typing import Final

from librt.strings import read_i16_be, read_i64_be
from mypy_extensions import i64

from pcapstall.core.words import U32, u16_be, u32_be
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
)
from pcapstall.wire.segment import TCP, Segment, v4_endpoint
from pcapstall.wire.upper import read_upper
from pcapstall.wire.walk import Walk

_MAX_EXTENSION_HEADERS: Final = 32


def read_ipv4(walk: Walk, segment: Segment, buf: bytes, at: i64, end: i64, wire_end: i64) -> i64:
    """The IPv4 packet at ``at`` (RFC 791 section 3.1), captured up to ``end``, in a layer that ends at ``wire_end``.

    TCP, with ``segment``, the walk's, filled; OTHER, MALFORMED or `walk.DEEPER`.
    """
    if at + 20 > end:
        return walk.malformed("ip header cut")
    words: i64 = read_i64_be(buf, at)
    first: i64 = (words >> 56) & 0xFF
    total_len: i64 = (words >> 32) & 0xFFFF
    ip_id: i64 = (words >> 16) & 0xFFFF
    fragment: i64 = words & 0x3FFF
    word: i64 = i64(read_i16_be(buf, at + 8))
    ttl: i64 = (word >> 8) & 0xFF
    protocol: i64 = word & 0xFF
    header_len: i64 = (first & 15) << 2
    if first != 0x45:
        if first >> 4 != 4:
            return walk.malformed("ip version")
        if header_len < 20:
            return walk.malformed("ip header length < 20")
        if at + header_len > end:
            return walk.malformed("ip header cut")
    if total_len < header_len:
        if total_len != 0:
            return walk.unreadable("ip total length < header", buf[at + 12 : at + 20])
        total_len = wire_end - at  # segmentation offload of more than 64 KiB, or the card fills it in
    # A length that reaches beyond the frame is believed all the same: mirrors cut frames, and tools that shorten them
    # do not all keep the frame's old length.
    if at + total_len < wire_end or not walk.length_told:
        wire_end = at + total_len
    if end > wire_end:
        end = wire_end  # what follows is Ethernet's padding
    segment.ip_offset = at
    segment.ip_id = ip_id
    segment.ttl = ttl
    if fragment != 0:
        walk.fragments.ref = segment.ref
        return walk.joined(walk.fragments.ipv4(buf, at, end, wire_end, segment.ts_ns), ETHERTYPE_IPV4)
    upper_at: i64 = at + header_len
    if protocol != IPPROTO_TCP:
        if protocol == IPPROTO_AH:
            if upper_at + 8 > end:
                return walk.malformed("ah header cut")
            protocol = i64(buf[upper_at])
            upper_at += (i64(buf[upper_at + 1]) + 2) << 2
        if protocol != IPPROTO_TCP:
            return read_upper(walk, buf, protocol, upper_at, end, wire_end)
    segment.addresses_offset = at + 12
    segment.address_len = 4
    return _read_tcp(walk, segment, buf, upper_at, end, wire_end)


def read_ipv6(walk: Walk, segment: Segment, buf: bytes, at: i64, end: i64, wire_end: i64) -> i64:
    """The IPv6 packet at ``at`` (RFC 8200), like `read_ipv4`."""
    if at + 40 > end:
        return walk.malformed("ip header cut")
    if i64(buf[at]) >> 4 != 6:
        return walk.malformed("ip version")
    ip_at: i64 = at
    payload_len: i64 = u16_be(buf, at + 4)
    protocol: i64 = i64(buf[at + 6])
    segment.ip_offset = at
    segment.ip_id = -1
    segment.ttl = i64(buf[at + 7])
    at += 40
    if payload_len == 0 and protocol == IPPROTO_HOPOPTS:
        payload_len = _jumbo_len(buf, at, end)
    if payload_len > 0:  # else an offload of more than 64 KiB, which ends where the frame does
        if at + payload_len < wire_end or not walk.length_told:
            wire_end = at + payload_len
        if end > wire_end:
            end = wire_end
    if protocol != IPPROTO_TCP:
        next_at: i64 = ip_at + 6
        headers: i64 = 0
        while _is_extension(protocol):
            headers += 1
            if headers > _MAX_EXTENSION_HEADERS:
                return walk.malformed("more than 32 ipv6 extension headers")
            if at + 8 > end:
                return walk.malformed("ipv6 extension header cut")
            if protocol == IPPROTO_FRAGMENT and u16_be(buf, at + 2) & 0xFFF9 != 0:
                walk.fragments.ref = segment.ref
                datagram = walk.fragments.ipv6(buf, ip_at, at, end, wire_end, next_at, segment.ts_ns)
                return walk.joined(datagram, ETHERTYPE_IPV6)
            next_at = at
            if protocol == IPPROTO_FRAGMENT:
                at += 8  # the only fragment, RFC 6946
            elif protocol == IPPROTO_AH:
                at += (i64(buf[at + 1]) + 2) << 2
            else:
                at += (i64(buf[at + 1]) + 1) << 3
            protocol = i64(buf[next_at])
            if at > end:
                return walk.malformed("ipv6 extension header cut")
        if protocol != IPPROTO_TCP:
            return read_upper(walk, buf, protocol, at, end, wire_end)
    segment.addresses_offset = ip_at + 8
    segment.address_len = 16
    return _read_tcp(walk, segment, buf, at, end, wire_end)


def _read_tcp(walk: Walk, segment: Segment, buf: bytes, at: i64, end: i64, wire_end: i64) -> i64:
    """RFC 9293 section 3.1, between the addresses that ``segment`` tells.

    The checksum is not looked at: an offloading card has yet to fill it in.
    """
    if at + 20 > end:
        return walk.unreadable("tcp header cut", _hosts(segment, buf))
    words: i64 = read_i64_be(buf, at + 8)
    header_len: i64 = ((words >> 28) & 15) << 2
    if header_len < 20:
        return walk.unreadable("tcp offset < 5", _hosts(segment, buf))
    payload_at: i64 = at + header_len
    if payload_at > wire_end:
        return walk.unreadable("tcp offset beyond packet", _hosts(segment, buf))
    segment.ack = (words >> 32) & U32
    segment.flags = (words >> 16) & 0xFF
    segment.window = words & 0xFFFF
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
    words = read_i64_be(buf, at)
    segment.seq = words & U32
    if segment.address_len == 4:
        addresses: i64 = read_i64_be(buf, segment.addresses_offset)
        segment.source = v4_endpoint(addresses >> 32, words >> 48)
        segment.destination = v4_endpoint(addresses, words >> 32)
    else:
        segment.locate(segment.addresses_offset, segment.address_len)
    return TCP


def _hosts(segment: Segment, buf: bytes) -> bytes:
    """Source and destination of a packet whose segment cannot be read."""
    at: i64 = segment.addresses_offset
    return buf[at : at + segment.address_len + segment.address_len]


def _is_extension(protocol: i64) -> bool:
    """Whether this is a header of IPv6 that another one follows (RFC 8200 section 4; not ESP, which hides it)."""
    return (
        protocol == IPPROTO_HOPOPTS
        or protocol == IPPROTO_ROUTING
        or protocol == IPPROTO_FRAGMENT
        or protocol == IPPROTO_AH
        or protocol == IPPROTO_DSTOPTS
        or protocol == IPPROTO_MOBILITY
        or protocol == IPPROTO_HIP
        or protocol == IPPROTO_SHIM6
    )


def _jumbo_len(buf: bytes, at: i64, end: i64) -> i64:
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
