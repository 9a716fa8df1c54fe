"""One TCP segment as it lies in the capture buffer: offsets into bytes, never copies of them.

The decoder fills one `Segment` again and again and the flow table reads it; whoever wants to keep something copies it
out before the next packet. What flows make of a segment is not here.
"""

from typing import Final

from mypy_extensions import i64

# What a record turned out to be. Every record is exactly one of these, so that totals add up.
TCP: Final = 0
OTHER: Final = 1
MALFORMED: Final = 2

FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
PSH: Final = 0x08
ACK: Final = 0x10
URG: Final = 0x20
ECE: Final = 0x40
CWR: Final = 0x80


class Segment:
    """The innermost TCP segment of one captured record."""

    def __init__(self) -> None:
        self.buf: bytes = b""
        self.ts_ns: i64 = 0
        """When it was captured."""
        self.ref: i64 = 0
        """Which file and frame (core.frames)."""
        self.interface: i64 = 0
        """Index of the capture interface in its file."""
        self.link_interface: i64 = -1
        """The host's interface index where the frame itself tells it (LINUX_SLL2, NFLOG); -1 elsewhere."""
        self.packet_type: i64 = -1
        """LINUX_SLL and SLL2: 0 to this host, 3 to another host, 4 sent by this host; -1 elsewhere."""
        self.key: bytes = b""
        """src dst sport dport as on the wire: 12 bytes for IPv4, 36 for IPv6."""
        self.ip_offset: i64 = 0
        """Where the innermost IP header starts in ``buf``."""
        self.tcp_offset: i64 = 0
        self.options_end: i64 = 0
        """End of the TCP options that were captured; they start at ``tcp_offset + 20``."""
        self.payload_offset: i64 = 0
        self.payload_len: i64 = 0
        """Payload bytes on the wire, from the IP length (or the frame's length where an offload left it 0)."""
        self.captured_len: i64 = 0
        """Of those, how many are in ``buf`` at ``payload_offset``: fewer when the snap length cut them."""
        self.seq: i64 = 0
        self.ack: i64 = 0
        self.flags: i64 = 0
        """FIN SYN RST PSH ACK URG ECE CWR, the eight low bits."""
        self.window: i64 = 0
        """As sent, not scaled."""
        self.tsval: i64 = -1
        """TCP timestamp value; -1 without one. Only `tcp_options.timestamps` sets the two."""
        self.tsecr: i64 = -1
        self.ip_id: i64 = -1
        """IPv4 identification; -1 for IPv6."""
        self.ttl: i64 = 0
        self.tunnel: str = ""
        """Names the tunnel that held it, outermost first: ``vxlan:42``, ``gre/erspan:5``; empty without one."""


class UdpDatagram:
    """The payload of a UDP datagram as it lies in the capture buffer."""

    def __init__(self) -> None:
        self.buf: bytes = b""
        self.key: bytes = b""
        """src dst sport dport, like `Segment.key`."""
        self.offset: i64 = 0
        self.captured_len: i64 = 0
        """Bytes of it in ``buf`` at ``offset``."""
