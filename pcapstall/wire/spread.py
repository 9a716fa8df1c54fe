"""A number that both directions of a connection have in common, to share the connections of a capture out by.

Of most records it is found by a glance at the headers; where that does not do, the decoder's segment tells it. Nothing
is counted or kept here.
"""

from typing import Final

from librt.strings import read_i16_be, read_i64_be
from mypy_extensions import i64

from pcapstall.wire.link import LINKTYPE_ETHERNET, LINKTYPE_LINUX_SLL, LINKTYPE_LINUX_SLL2, LINKTYPE_RAW
from pcapstall.wire.protocols import ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_VLAN, IPPROTO_TCP
from pcapstall.wire.segment import Segment

SPREAD_BITS: Final = 16
NOT_PLAIN: Final = -1
"""No TCP over IP over a common link layer; or such as the decoder may find fault with."""
_ARPHRD_NETLINK: Final = 824
"""Of this hardware the protocol is none of Ethernet's."""
_MIX: Final = 0x9E3779B1


def spread_of(segment: Segment) -> i64:
    """The number, of `SPREAD_BITS` bits, of a segment's connection."""
    at: i64 = segment.addresses_offset
    half: i64 = segment.address_len
    return _spread(segment.buf, at + half - 2, at + half + half - 2, segment.tcp_offset)


def spread_of_key(key: bytes) -> i64:
    """The same of a flow's key, ``src dst sport dport``."""
    half: i64 = (len(key) - 4) >> 1
    return _spread(key, half - 2, half + half - 2, half + half)


def glance(buf: bytes, start: i64, caplen: i64, linktype: i64) -> i64:
    """The number of the record ``buf[start:start + caplen]``, or `NOT_PLAIN`.

    Whatever has a number here is decoded as TCP, with the same endpoints, and never malformed.
    """
    end: i64 = start + caplen
    at: i64 = start
    if caplen < 40:
        return NOT_PLAIN
    proto: i64
    if linktype == LINKTYPE_ETHERNET:
        proto = i64(read_i16_be(buf, at + 12)) & 0xFFFF
        at += 14
        if proto == ETHERTYPE_VLAN:
            proto = i64(read_i16_be(buf, at + 2)) & 0xFFFF
            at += 4
    elif linktype == LINKTYPE_LINUX_SLL2:
        if i64(read_i16_be(buf, at + 8)) == _ARPHRD_NETLINK:
            return NOT_PLAIN
        proto = i64(read_i16_be(buf, at)) & 0xFFFF
        at += 20
    elif linktype == LINKTYPE_LINUX_SLL:
        if i64(read_i16_be(buf, at + 2)) == _ARPHRD_NETLINK:
            return NOT_PLAIN
        proto = i64(read_i16_be(buf, at + 14)) & 0xFFFF
        at += 16
    elif linktype == LINKTYPE_RAW:
        proto = ETHERTYPE_IPV6
        if i64(buf[at]) >> 4 == 4:
            proto = ETHERTYPE_IPV4
    else:
        return NOT_PLAIN
    if at + 40 > end:
        return NOT_PLAIN
    if proto == ETHERTYPE_IPV4:
        # Word by word, since this is all that is looked at of most records (RFC 791 section 3.1, RFC 9293 section 3.1).
        word: i64 = read_i64_be(buf, at)
        if (word >> 56) & 0xFF != 0x45 or word & 0x3FFF != 0:  # the end: more fragments, and the fragment's offset
            return NOT_PLAIN
        tcp_len: i64 = ((word >> 32) & 0xFFFF) - 20
        word = read_i64_be(buf, at + 8)
        if (word >> 48) & 0xFF != IPPROTO_TCP:
            return NOT_PLAIN
        both: i64 = word & 0xFFFF
        word = read_i64_be(buf, at + 16)
        both += ((word >> 32) & 0xFFFF) + ((word >> 16) & 0xFFFF) + (word & 0xFFFF)
        if not _has_header(buf, at + 32, tcp_len):
            return NOT_PLAIN
        return _mixed(both)
    if proto != ETHERTYPE_IPV6 or at + 60 > end:
        return NOT_PLAIN
    if i64(buf[at]) >> 4 != 6 or buf[at + 6] != IPPROTO_TCP:
        return NOT_PLAIN
    if not _has_header(buf, at + 52, i64(read_i16_be(buf, at + 4)) & 0xFFFF):
        return NOT_PLAIN
    return _spread(buf, at + 22, at + 38, at + 40)


def _has_header(buf: bytes, offset: i64, tcp_len: i64) -> bool:
    """Whether the decoder finds no fault with the length of a TCP header, of which ``buf[offset]`` tells."""
    header_len: i64 = (i64(read_i16_be(buf, offset)) >> 10) & 0x3C
    return 20 <= header_len <= tcp_len


def _spread(buf: bytes, source: i64, destination: i64, ports: i64) -> i64:
    """From the last two bytes of both addresses and from the ports, whichever is whose."""
    both: i64 = (i64(read_i16_be(buf, source)) & 0xFFFF) + (i64(read_i16_be(buf, destination)) & 0xFFFF)
    both += (i64(read_i16_be(buf, ports)) & 0xFFFF) + (i64(read_i16_be(buf, ports + 2)) & 0xFFFF)
    return _mixed(both)


def _mixed(both: i64) -> i64:
    """Numbers that follow each other, far from each other."""
    return ((both * _MIX) >> 16) & 0xFFFF
