"""TCP headers, ICMP errors and DNS messages under other names, within an IP packet that is being rewritten.

Ports, sequence numbers, flags, windows and time stamps stay: they are what is measured. Payload of TCP is in `streams`.
"""

from typing import Final, NamedTuple

from pcapstall.anonymise.checksums import carried
from pcapstall.anonymise.mapping import Mapping, filler
from pcapstall.core.words import u16_be
from pcapstall.wire.protocols import (
    IPPROTO_AH,
    IPPROTO_DSTOPTS,
    IPPROTO_FRAGMENT,
    IPPROTO_HOPOPTS,
    IPPROTO_ICMPV6,
    IPPROTO_ROUTING,
    IPPROTO_TCP,
    IPPROTO_UDP,
)

_TCP_KEPT: Final = frozenset((2, 3, 4, 5, 8))
"""Options whose data stay: MSS, window scale, SACK permitted, SACK, time stamps."""
_A: Final = 1
_AAAA: Final = 28
_NAMED: Final = {2: 0, 5: 0, 12: 0, 15: 2, 33: 6, 39: 0}
"""Records whose data end with a name, and behind how many bytes: NS, CNAME, PTR, MX, SRV, DNAME."""
_DNS_HEADER: Final = 12
_ICMP_HEADER: Final = 8
_QUOTED_EXTENSIONS: Final = frozenset((IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_FRAGMENT, IPPROTO_AH, IPPROTO_DSTOPTS))


class Packet(NamedTuple):
    """An IP packet in a frame, and where its upper layer is."""

    buf: bytes
    out: bytearray
    """What is being made, as long as ``buf``."""
    ip_at: int
    address_len: int
    at: int
    """Start of the upper layer."""
    end: int
    """End of what was captured of it."""
    wire_end: int
    """Where it ended on the wire."""

    def ending(self, wire_end: int) -> "Packet":
        """The same with an upper layer that ends at ``wire_end``, if that is nearer."""
        return self._replace(end=min(self.end, wire_end), wire_end=min(self.wire_end, wire_end))

    def addresses(self, data: bytes) -> bytes:
        """Where it comes from and goes to, in ``data``: ``buf``, or what is being made."""
        start = self.ip_at + (12 if self.address_len == 4 else 8)
        return data[start : start + 2 * self.address_len]

    def mend(self, protocol: int, at: int, field: int) -> None:
        """Put the checksum right that covers the upper layer and the addresses."""
        if at + field + 2 > self.end:
            return
        new = carried(
            self.buf[at : self.end],
            bytes(self.out[at : self.end]),
            field,
            self._pseudo(self.buf, protocol),
            self._pseudo(bytes(self.out), protocol),
            self.end == self.wire_end,
        )
        self.out[at + field : at + field + 2] = new.to_bytes(2, "big")

    def _pseudo(self, data: bytes, protocol: int) -> bytes:
        length = self.wire_end - self.at
        addresses = self.addresses(data)
        if self.address_len == 4:
            return addresses + bytes((0, protocol)) + (length & 0xFFFF).to_bytes(2, "big")
        return addresses + length.to_bytes(4, "big") + bytes((0, 0, 0, protocol))


def extension_len(buf: bytes, at: int, protocol: int) -> int:
    """Length of the header at ``at``, which another one follows (RFC 8200 section 4, RFC 4302 section 2.2)."""
    if protocol == IPPROTO_FRAGMENT:
        return 8
    return (buf[at + 1] + 2) << 2 if protocol == IPPROTO_AH else (buf[at + 1] + 1) << 3


def tcp_header(packet: Packet) -> int:
    """The header with its options; where the payload starts, -1 when the header is none."""
    buf, out, at, end = packet.buf, packet.out, packet.at, packet.end
    if at + 20 > end:
        return -1  # not even the ports can be told from the payload of something else
    out[at : at + 20] = buf[at : at + 20]
    header_len = (buf[at + 12] >> 4) << 2
    if header_len < 20:
        return -1
    payload_at = min(at + header_len, end)
    option = at + 20
    while option < payload_at:
        out[option] = kind = buf[option]
        if kind == 0:
            break
        if kind == 1:
            option += 1
            continue
        if option + 1 >= payload_at or buf[option + 1] < 2:
            break
        size = buf[option + 1]
        stop = min(option + size, payload_at)
        if kind in _TCP_KEPT:
            out[option:stop] = buf[option:stop]
        else:
            out[option + 1 : stop] = bytes((size,)) + filler(stop - option - 2)
        option += size
    return payload_at


def icmp_message(packet: Packet, v6: bool, mapping: Mapping) -> None:
    """An error with what it quotes: the IP header, and of TCP the ports and the sequence number."""
    buf, out, at, end = packet.buf, packet.out, packet.at, packet.end
    if at + _ICMP_HEADER > end:
        return
    out[at : at + _ICMP_HEADER] = buf[at : at + _ICMP_HEADER]
    inner = at + _ICMP_HEADER
    first = buf[inner] if inner < end else 0
    version = first >> 4
    header_len = {4: (first & 15) << 2, 6: 40}.get(version, 0)
    if header_len >= 20 and inner + header_len <= end:
        addresses, size = (inner + 12, 4) if version == 4 else (inner + 8, 16)
        out[inner:addresses] = buf[inner:addresses]
        for place in (addresses, addresses + size):
            out[place : place + size] = mapping.ip(buf[place : place + size])
        if version == 4:
            header = slice(inner, inner + header_len)
            options = bytes(header_len - 20)
            old = buf[inner : inner + 20] + options
            out[inner + 20 : inner + header_len] = options
            field = carried(old, bytes(out[header]), 10)
            out[inner + 10 : inner + 12] = field.to_bytes(2, "big")
        _quoted(packet, inner, header_len, version)
    if v6:
        packet.mend(IPPROTO_ICMPV6, at, 2)
    else:
        field = carried(buf[at:end], bytes(out[at:end]), 2, whole=end == packet.wire_end)
        out[at + 2 : at + 4] = field.to_bytes(2, "big")


def _quoted(packet: Packet, inner: int, header_len: int, version: int) -> None:
    """Eight bytes behind the quoted header: ports and sequence number of TCP, ports and length of UDP."""
    buf, end = packet.buf, packet.end
    at, protocol = inner + header_len, buf[inner + (9 if version == 4 else 6)]
    for _ in range(8):
        if protocol not in _QUOTED_EXTENSIONS or version == 4 or at + 8 > end:
            break
        packet.out[at : at + 2] = buf[at : at + 2]
        if protocol == IPPROTO_FRAGMENT:
            packet.out[at : at + 8] = buf[at : at + 8]
        protocol, at = buf[at], at + extension_len(buf, at, protocol)
    if protocol in (IPPROTO_TCP, IPPROTO_UDP):
        stop = min(at + 8, end)
        packet.out[at:stop] = buf[at:stop]


def dns_message(data: bytes, mapping: Mapping) -> bytes:
    """A DNS message (RFC 1035 section 4): names label by label, addresses; other data are zero."""
    out = bytearray(len(data))
    out[:_DNS_HEADER] = data[:_DNS_HEADER]
    try:
        at = _DNS_HEADER
        for _ in range(u16_be(data, 4)):
            at = _dns_name(data, out, at, mapping)
            out[at : at + 4] = data[at : at + 4]
            at += 4
        for _ in range(u16_be(data, 6) + u16_be(data, 8) + u16_be(data, 10)):
            at = _dns_record(data, out, _dns_name(data, out, at, mapping), mapping)
    except IndexError:
        return bytes(out[: len(data)])  # cut, or no DNS at all: the rest stays zero
    return bytes(out[: len(data)])


def _dns_record(data: bytes, out: bytearray, at: int, mapping: Mapping) -> int:
    kind, size = u16_be(data, at), u16_be(data, at + 8)
    out[at : at + 10] = data[at : at + 10]
    at += 10
    end = at + size
    if end > len(data):
        raise IndexError("cut")
    if kind in (_A, _AAAA) and size in (4, 16):
        out[at:end] = mapping.ip(data[at:end])
    elif kind in _NAMED and _NAMED[kind] < size:
        start = at + _NAMED[kind]
        out[at:start] = data[at:start]
        _dns_name(data, out, start, mapping)
    return end


def _dns_name(data: bytes, out: bytearray, at: int, mapping: Mapping) -> int:
    """Labels up to the root or a pointer; they are mapped together, so that the name is remembered."""
    places: list[tuple[int, int]] = []
    while True:
        size = data[at]
        if size >= 0xC0:
            out[at : at + 2] = data[at : at + 2]
            at += 2
            break
        if size > 63 or at + 1 + size > len(data):
            raise IndexError("cut")
        out[at] = size
        at += 1
        if size == 0:
            break
        places.append((at, at + size))
        at += size
    mapped = mapping.name_bytes(b".".join(data[start:end] for start, end in places))
    for start, end in places:
        out[start:end], mapped = mapped[: end - start], mapped[end - start + 1 :]
    return at
