"""What a walk through the layers of one packet remembers, and what it leaves behind for the caller.

The modules of the layers read bytes and write here; `decode.Decoder` is a `Walk` that knows the way. No bytes are read
here.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.wire.fragments import Reassembler
from pcapstall.wire.icmp import IcmpQuote
from pcapstall.wire.protocols import NOT_TCP, REASONS
from pcapstall.wire.segment import MALFORMED, OTHER, Segment, UdpDatagram
from pcapstall.wire.tunnels import TunnelNames
from pcapstall.wire.unread import UnreadPackets

DEEPER: Final = 3
"""Beside TCP, OTHER and MALFORMED: another layer starts where ``next_proto``, ``next_at`` and the ends say."""


class Walk:
    """State of one packet's reading, used again for the next packet."""

    def __init__(self) -> None:
        self.segment: Segment = Segment()
        """The innermost TCP segment: valid after TCP, until the next packet."""
        self.reason: str = ""
        """Why the last packet was MALFORMED: a short text from a small fixed set, to count by."""
        self.icmp: IcmpQuote | None = None
        """After OTHER: the ICMP error about a TCP segment that the last packet was."""
        self.dns: UdpDatagram | None = None
        """After OTHER: the DNS message (UDP port 53) that the last packet was; valid until the next packet."""
        self.unread: UnreadPackets = UnreadPackets()
        """Packets between known hosts whose segment could not be read."""
        self.fragments: Reassembler = Reassembler(self.unread)
        """Fragments that wait for the rest, and counts of those that waited in vain."""
        self.udp: UdpDatagram = UdpDatagram()
        """What ``dns`` points at when it is set."""
        self.names: TunnelNames = TunnelNames()
        self.is_marked: bool = False
        """``icmp``, ``dns`` or the segment's ``tunnel`` may be set."""
        self.length_told: bool = False
        """The layer around the IP packet told its length; the end is not only that of the frame."""
        self.next_buf: bytes = b""
        self.next_proto: i64 = 0
        self.next_at: i64 = 0
        self.next_end: i64 = 0
        """End of the captured bytes."""
        self.next_wire_end: i64 = 0
        """Where the layer ended on the wire, as an offset like ``next_end``."""

    def malformed(self, reason: str) -> i64:
        """Give the packet up."""
        self.reason = reason
        return MALFORMED

    def unreadable(self, reason: str, hosts: bytes) -> i64:
        """Give the packet up, whose IP header told source and destination, ``hosts``."""
        self.unread.note(hosts, self.segment.ts_ns, self.segment.ref, 0)
        return self.malformed(reason)

    def ended(self, proto: i64) -> i64:
        """The outcome that a negative ``proto`` stands for."""
        if proto == NOT_TCP:
            return OTHER
        return self.malformed(REASONS[proto])

    def deeper(self, buf: bytes, proto: i64, at: i64, end: i64, wire_end: i64) -> i64:
        """Another layer, ``proto``, starts at ``at``."""
        self.next_buf = buf
        self.next_proto = proto
        self.next_at = at
        self.next_end = end
        self.next_wire_end = wire_end
        self.length_told = False
        return DEEPER

    def enter(self, kind: i64, ident: i64, buf: bytes, proto: i64, at: i64, end: i64, wire_end: i64) -> i64:
        """Go on inside a tunnel, or end where ``proto`` says that it is none."""
        if proto < 0:
            return self.ended(proto)
        segment: Segment = self.segment
        segment.tunnel = self.names.inside(segment.tunnel, kind, ident)
        return self.deeper(buf, proto, at, end, wire_end)

    def joined(self, datagram: bytes, proto: i64) -> i64:
        """Go on with a datagram put together from fragments, once there is one."""
        if not datagram:
            if self.fragments.reason:
                return self.unreadable(self.fragments.reason, self.fragments.hosts)
            return OTHER
        return self.deeper(datagram, proto, 0, len(datagram), len(datagram))
