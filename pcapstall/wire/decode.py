"""From a captured record to the innermost TCP segment: the walk through the layers, one after the other.

Each layer's bytes are read by the module named after it. Nothing is kept from one record to the next but pending
fragments, names and counts.
"""

from typing import Final

from librt.strings import read_i16_be
from mypy_extensions import i64

from pcapstall.core.words import u16_be
from pcapstall.wire.ip import read_ipv4, read_ipv6
from pcapstall.wire.layers import next_layer
from pcapstall.wire.link import LINKTYPE_ETHERNET, open_frame
from pcapstall.wire.protocols import (
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ETHERTYPE_PPPOE_SESSION,
    PPP,
    PPPOE,
    UNKNOWN_LINKTYPE,
)
from pcapstall.wire.segment import OTHER, Segment
from pcapstall.wire.walk import DEEPER, Walk

MAX_IP_HEADERS: Final = 16
"""A packet with more IP headers inside one another is malformed, "nested too deep"."""
MAX_LINK_LAYERS: Final = 64
"""The same for all that is not IP, a stack of MPLS labels counting as one."""


class Decoder(Walk):
    """Fills `segment` from one captured record after another.

    The caller sets ``segment.ts_ns`` (fragments time out by it), ``ref`` and ``interface`` before `decode`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unknown_linktypes: dict[int, int] = {}
        """How many records of each link type were passed over because nothing here can read it."""

    def decode(self, buf: bytes, start: i64, caplen: i64, origlen: i64, linktype: i64) -> i64:
        """TCP, OTHER or MALFORMED for the record ``buf[start:start + caplen]``, ``origlen`` bytes on the wire.

        Never raises, whatever the bytes are; ``start + caplen`` must lie within ``buf``.
        """
        segment: Segment = self.segment
        segment.link_interface = -1
        segment.packet_type = -1
        if self.is_marked:
            self.is_marked = False
            segment.tunnel = ""
            self.icmp = None
            self.dns = None
        self.length_told = False
        end: i64 = start + caplen
        wire_end: i64 = end
        if origlen > caplen:
            wire_end = start + origlen
        proto: i64
        at: i64
        if linktype == LINKTYPE_ETHERNET:
            if caplen < 14:
                return self.malformed("ethernet header cut")
            proto = i64(read_i16_be(buf, start + 12)) & 0xFFFF
            at = start + 14
        else:
            proto, at = open_frame(buf, start, end, linktype, segment)
            if proto == UNKNOWN_LINKTYPE:
                self.unknown_linktypes[linktype] = self.unknown_linktypes.get(linktype, 0) + 1
                return OTHER
        if proto == ETHERTYPE_IPV4:
            # Nearly every packet ends here.
            outcome: i64 = read_ipv4(self, segment, buf, at, end, wire_end)
            if outcome != DEEPER:
                return outcome
            return self._go_deeper(1)
        self.deeper(buf, proto, at, end, wire_end)
        return self._go_deeper(0)

    def _go_deeper(self, headers: i64) -> i64:
        """The walk from where ``next_proto`` says, behind ``headers`` IP headers."""
        segment: Segment = self.segment
        buf: bytes = self.next_buf
        proto: i64 = self.next_proto
        at: i64 = self.next_at
        end: i64 = self.next_end
        wire_end: i64 = self.next_wire_end
        layers: i64 = 0
        while True:
            outcome: i64
            if proto == ETHERTYPE_IPV4:
                outcome = read_ipv4(self, segment, buf, at, end, wire_end)
            elif proto == ETHERTYPE_IPV6:
                outcome = read_ipv6(self, segment, buf, at, end, wire_end)
            elif proto < 0:
                return self.ended(proto)
            else:
                layers += 1
                if layers > MAX_LINK_LAYERS:
                    return self.malformed("nested too deep")
                outer: i64 = proto
                proto, at = next_layer(buf, outer, at, end)
                if proto == PPP and (outer == ETHERTYPE_PPPOE_SESSION or outer == PPPOE):
                    # Some access concentrators pad a frame and count the padding in the IP header, but not here.
                    self.length_told = True
                    if at + u16_be(buf, at - 2) < wire_end:
                        wire_end = at + u16_be(buf, at - 2)
                        if end > wire_end:
                            end = wire_end
                continue
            if outcome != DEEPER:
                return outcome
            headers += 1
            if headers >= MAX_IP_HEADERS:
                return self.malformed("nested too deep")
            buf = self.next_buf
            proto = self.next_proto
            at = self.next_at
            end = self.next_end
            wire_end = self.next_wire_end
