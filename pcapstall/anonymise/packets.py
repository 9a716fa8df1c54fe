"""Whole frames under other names: the way through the layers that the decoder goes, writing what may stay.

The new frame starts as zeros, and what a layer knows to be harmless is copied into it. What the walk does not reach, or
cannot read, stays zero. Everything above IP that is not a tunnel is in `uppers`.
"""

from collections.abc import Mapping as Table
from typing import Final

from pcapstall.anonymise.checksums import carried
from pcapstall.anonymise.links import Links
from pcapstall.anonymise.mapping import Mapping
from pcapstall.anonymise.streams import Streams
from pcapstall.anonymise.uppers import Packet, dns_message, extension_len, icmp_message, tcp_header
from pcapstall.core.words import u16_be
from pcapstall.wire.decode import MAX_IP_HEADERS
from pcapstall.wire.protocols import (
    ETHERNET,
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ETHERTYPE_MPLS,
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
)
from pcapstall.wire.tunnels import ERSPAN, GENEVE, GRE, GTP_U, PPTP, TEREDO, gre
from pcapstall.wire.udp_tunnels import read_udp

_INNER: Final[Table[int, tuple[int, int]]] = {
    IPPROTO_IPV4: (ETHERTYPE_IPV4, 0),
    IPPROTO_IPV6: (ETHERTYPE_IPV6, 0),
    IPPROTO_MPLS: (ETHERTYPE_MPLS, 0),
    IPPROTO_ETHERIP: (ETHERNET, 2),
    IPPROTO_ETHERNET: (ETHERNET, 0),
}
"""What IP protocols that are tunnels hold, and behind how many bytes."""
_EXTENSIONS: Final = frozenset(
    (IPPROTO_HOPOPTS, IPPROTO_ROUTING, IPPROTO_DSTOPTS, IPPROTO_MOBILITY, IPPROTO_HIP, IPPROTO_SHIM6)
)
_JUMBO: Final = 0xC2
_DNS: Final = 53
_GRE_KINDS: Final = frozenset((GRE, PPTP, ERSPAN))
_KEPT: Final[Table[int, int]] = {
    GENEVE: 8,  # options behind it
    TEREDO: 4,  # what an authentication and an obfuscated address begin with
}
"""How many bytes of a tunnel's header are kept, of those of which it is not all."""


class Packets:
    """Rewrites frames."""

    def __init__(self, mapping: Mapping, streams: Streams) -> None:
        self._mapping = mapping
        self._streams = streams
        self._links = Links(mapping)
        self.datagrams: dict[bytes, list[tuple[int, bytes]]] = {}
        """Datagrams that were cut into fragments, by what these have in common, with the number of the record that
        completed each."""
        self._number = 0
        self._made: dict[tuple[bytes, int], bytes] = {}

    def frame(self, number: int, data: bytes, linktype: int) -> bytes | None:
        """The frame in record ``number`` of all; None for one of which nothing can be read."""
        self._number = number
        out = bytearray(len(data))
        try:
            inside = self._links.frame(data, out, linktype)
            if inside.proto < 0:
                return None
            self._ip(data, out, inside.proto, inside.at, inside.end, 0)
        except IndexError:
            out.extend(bytes(len(data)))  # it is cut here: what follows is zero
        return bytes(out[: len(data)])

    def _ip(self, buf: bytes, out: bytearray, proto: int, at: int, end: int, depth: int) -> None:
        if depth < MAX_IP_HEADERS:
            (self._ipv4 if proto == ETHERTYPE_IPV4 else self._ipv6)(buf, out, at, end, depth)

    def _ipv4(self, buf: bytes, out: bytearray, at: int, end: int, depth: int) -> None:
        header_len = (buf[at] & 15) << 2
        if at + 20 > end or buf[at] >> 4 != 4 or header_len < 20 or at + header_len > end:
            return
        total_len = u16_be(buf, at + 2)
        wire_end = at + total_len if total_len >= header_len else end
        out[at : at + 12] = buf[at : at + 12]
        out[at + 12 : at + 16] = self._mapping.ip(buf[at + 12 : at + 16])
        out[at + 16 : at + 20] = self._mapping.ip(buf[at + 16 : at + 20])
        _options(buf, out, at + 20, at + header_len)
        header = slice(at, at + header_len)
        out[at + 10 : at + 12] = carried(buf[header], bytes(out[header]), 10).to_bytes(2, "big")
        packet = Packet(buf, out, at, 4, at + header_len, min(end, wire_end), wire_end)
        if u16_be(buf, at + 6) & 0x3FFF:
            key = buf[at + 12 : at + 20] + buf[at + 4 : at + 6] + buf[at + 9 : at + 10]
            self._fragment(packet, key, header_len, (u16_be(buf, at + 6) & 0x1FFF) << 3, depth)
        else:
            self._upper(packet, buf[at + 9], depth)

    def _ipv6(self, buf: bytes, out: bytearray, at: int, end: int, depth: int) -> None:
        if at + 40 > end or buf[at] >> 4 != 6:
            return
        ip_at, payload_len, protocol = at, u16_be(buf, at + 4), buf[at + 6]
        wire_end = at + 40 + payload_len if payload_len else end
        end = min(end, wire_end)
        out[at : at + 8] = buf[at : at + 8]
        out[at + 8 : at + 24] = self._mapping.ip(buf[at + 8 : at + 24])
        out[at + 24 : at + 40] = self._mapping.ip(buf[at + 24 : at + 40])
        at += 40
        for _ in range(32):
            if at + 8 > end:
                return
            if protocol == IPPROTO_FRAGMENT:
                out[at : at + 8] = buf[at : at + 8]
                if u16_be(buf, at + 2) & 0xFFF9:
                    key = buf[ip_at + 8 : ip_at + 40] + buf[at + 4 : at + 8]
                    packet = Packet(buf, out, ip_at, 16, at + 8, end, wire_end)
                    self._fragment(packet, key, at - ip_at, u16_be(buf, at + 2) & 0xFFF8, depth)
                    return
            elif protocol == IPPROTO_AH:
                out[at : at + 12] = buf[at : at + 12]
            elif protocol in _EXTENSIONS:
                _extension(buf, out, at, min(at + extension_len(buf, at, protocol), end), protocol)
            else:
                break
            protocol, at = buf[at], at + extension_len(buf, at, protocol)
        self._upper(Packet(buf, out, ip_at, 16, at, end, wire_end), protocol, depth)

    def _fragment(self, packet: Packet, key: bytes, header_len: int, offset: int, depth: int) -> None:
        """What stands at this place of the whole datagram; zeros where that never came together."""
        known = self.datagrams.get(key)
        if not known:
            return
        number, datagram = next((each for each in known if each[0] >= self._number), known[-1])
        whole = self._made.get((key, number))
        if whole is None:
            made = bytearray(len(datagram))
            before, self._number = self._number, number
            try:
                version = datagram[0] >> 4
                self._ip(
                    datagram, made, ETHERTYPE_IPV4 if version == 4 else ETHERTYPE_IPV6, 0, len(datagram), depth + 1
                )
            except IndexError:
                made = bytearray(len(datagram))
            self._number = before
            whole = self._made[key, number] = bytes(made)
        part = whole[header_len + offset : header_len + offset + packet.end - packet.at]
        packet.out[packet.at : packet.at + len(part)] = part

    def _upper(self, packet: Packet, protocol: int, depth: int) -> None:
        buf, out, at, end = packet.buf, packet.out, packet.at, packet.end
        if protocol == IPPROTO_AH and packet.address_len == 4:
            out[at : at + 12] = buf[at : at + 12]
            protocol, packet = buf[at], packet._replace(at=at + extension_len(buf, at, protocol))
            at = packet.at
        if protocol == IPPROTO_TCP:
            self._tcp(packet)
        elif protocol == IPPROTO_UDP:
            self._udp(packet, depth)
        elif protocol in (IPPROTO_ICMP, IPPROTO_ICMPV6):
            icmp_message(packet, protocol == IPPROTO_ICMPV6, self._mapping)
        elif protocol == IPPROTO_GRE:
            self._gre(packet, at, depth)
        elif protocol in _INNER:
            proto, before = _INNER[protocol]
            out[at : at + before] = buf[at : at + before]
            self._deeper(packet, proto, at + before, end, depth)

    def _deeper(self, packet: Packet, proto: int, at: int, end: int, depth: int) -> None:
        inside = self._links.layers(packet.buf, packet.out, proto, at, end)
        if inside.proto >= 0:
            self._ip(packet.buf, packet.out, inside.proto, inside.at, inside.end, depth + 1)

    def _tcp(self, packet: Packet) -> None:
        buf, at, end = packet.buf, packet.at, packet.end
        key = packet.addresses(buf) + buf[at : at + 4]
        if not self._streams.knows(key):
            return  # of somebody else, or no TCP header at all
        payload_at = tcp_header(packet)
        if payload_at < 0:
            return
        seq = int.from_bytes(buf[at + 4 : at + 8], "big")
        data = buf[payload_at:end]
        packet.out[payload_at : payload_at + len(data)] = self._streams.payload(
            self._number, key, seq, buf[at + 13], data
        )
        packet.mend(IPPROTO_TCP, at, 16)

    def _udp(self, packet: Packet, depth: int) -> None:
        buf, out, at = packet.buf, packet.out, packet.at
        if at + 8 > packet.end:
            return
        out[at : at + 8] = buf[at : at + 8]
        sport, dport, length = u16_be(buf, at), u16_be(buf, at + 2), u16_be(buf, at + 4)
        if length >= 8:
            packet = packet.ending(at + length)
        end = packet.end
        if _DNS in (sport, dport):
            out[at + 8 : end] = dns_message(buf[at + 8 : end], self._mapping)
        else:
            proto, inner, kind, _ = read_udp(buf, sport, dport, at + 8, end, packet.wire_end)
            if kind in _GRE_KINDS:
                self._gre(packet, at + 8, depth)
            elif proto >= 0:
                kept = min(at + 8 + _KEPT.get(int(kind), len(buf)), int(inner))
                out[at + 8 : kept] = buf[at + 8 : kept]
                if kind == GTP_U:
                    _extensions_of_gtp(buf, out, at + 8, int(inner))
                self._deeper(packet, int(proto), int(inner), end, depth)
        packet.mend(IPPROTO_UDP, at, 6)

    def _gre(self, packet: Packet, at: int, depth: int) -> None:
        buf, out, end = packet.buf, packet.out, packet.end
        proto, inner, _, _ = gre(buf, at, end)
        if proto < 0 or u16_be(buf, at) & 0x4000:
            return  # source routes are addresses in a row
        out[at:inner] = buf[at:inner]
        self._deeper(packet, int(proto), int(inner), end, depth)
        if u16_be(buf, at) & 0x8000:
            whole = end == packet.wire_end
            out[at + 4 : at + 6] = carried(buf[at:end], bytes(out[at:end]), 4, whole=whole).to_bytes(2, "big")


def _extensions_of_gtp(buf: bytes, out: bytearray, at: int, end: int) -> None:
    """3GPP TS 29.281 section 5.2: the length of each and the kind of the next stay, what a network says in them not."""
    at += 12 if buf[at] & 4 else end
    while at < end and buf[at]:
        size = buf[at] << 2
        out[at + 1 : at + size - 1] = bytes(size - 2)
        at += size


def _options(buf: bytes, out: bytearray, at: int, end: int) -> None:
    """IPv4 options: kinds and lengths; what they hold are addresses and times."""
    while at < end:
        out[at] = buf[at]
        if buf[at] == 0:
            return
        if buf[at] == 1:
            at += 1
            continue
        if at + 1 >= end or buf[at + 1] < 2:
            return
        out[at + 1] = buf[at + 1]
        at += buf[at + 1]


def _extension(buf: bytes, out: bytearray, at: int, end: int, protocol: int) -> None:
    """An IPv6 extension header: its length, and of options the jumbo payload's and what pads."""
    out[at : at + 2] = buf[at : at + 2]
    if protocol not in (IPPROTO_HOPOPTS, IPPROTO_DSTOPTS):
        out[at + 2] = buf[at + 2]  # the type, with no segments left to go to
        return
    at += 2
    while at + 1 < end:
        out[at] = buf[at]
        if buf[at] == 0:
            at += 1
            continue
        out[at + 1] = buf[at + 1]
        if buf[at] == _JUMBO and buf[at + 1] == 4:
            out[at + 2 : at + 6] = buf[at + 2 : at + 6]
        at += 2 + buf[at + 1]
