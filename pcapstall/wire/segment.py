"""One TCP segment as it lies in the capture buffer: offsets into bytes, never copies of them.

The decoder fills one `Segment` again and again and the flow table reads it; whoever wants to keep something copies it
out before the next packet. What flows make of a segment is not here.
"""

from typing import Final

from librt.strings import read_i32_be, read_i64_be
from mypy_extensions import i64

from pcapstall.core.words import U32, u16_be, u32_be

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

V6_ENDPOINT: Final = 1 << 48
"""Set in the number of an IPv6 endpoint."""


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
        self.source: i64 = 0
        """Address and port of the sender in one number: ``address << 16 | port`` with IPv4. With IPv6 a number with
        `V6_ENDPOINT` set, that another endpoint may have as well."""
        self.destination: i64 = 0
        """Of the receiver."""
        self.addresses_offset: i64 = 0
        """Where the innermost source and destination address stand in ``buf``; the ports are at ``tcp_offset``."""
        self.address_len: i64 = 4
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

    @property
    def key(self) -> bytes:
        """src dst sport dport as on the wire: 12 bytes for IPv4, 36 for IPv6."""
        start: i64 = self.addresses_offset
        end: i64 = start + self.address_len + self.address_len
        ports: i64 = self.tcp_offset
        if ports == end:
            return self.buf[start : end + 4]
        return self.buf[start:end] + self.buf[ports : ports + 4]

    def locate(self, addresses_offset: i64, address_len: i64) -> None:
        """Set who sent it to whom: the addresses are at ``addresses_offset``, the ports at ``tcp_offset``."""
        self.addresses_offset = addresses_offset
        self.address_len = address_len
        buf: bytes = self.buf
        ports: i64 = self.tcp_offset
        if address_len != 4:
            self.source = _v6_endpoint(buf, addresses_offset, ports)
            self.destination = _v6_endpoint(buf, addresses_offset + 16, ports + 2)
            return
        addresses: i64 = read_i64_be(buf, addresses_offset)
        port_pair: i64 = i64(read_i32_be(buf, ports))
        self.source = v4_endpoint(addresses >> 32, port_pair >> 16)
        self.destination = v4_endpoint(addresses, port_pair)


def v4_endpoint(address: i64, port: i64) -> i64:
    """The number of an IPv4 endpoint: of ``address`` the low 32 bits count, of ``port`` the low 16."""
    return ((address & U32) << 16) | (port & 0xFFFF)


def _v6_endpoint(buf: bytes, address_at: i64, port_at: i64) -> i64:
    """48 bits that depend on all of an IPv6 address and port, and `V6_ENDPOINT`."""
    high: i64 = u32_be(buf, address_at) ^ (u32_be(buf, address_at + 4) << 5)
    low: i64 = (u32_be(buf, address_at + 8) << 9) ^ (u32_be(buf, address_at + 12) << 15)
    return ((high ^ low ^ u16_be(buf, port_at)) & (V6_ENDPOINT - 1)) | V6_ENDPOINT


class UdpDatagram:
    """The payload of a UDP datagram as it lies in the capture buffer."""

    def __init__(self) -> None:
        self.buf: bytes = b""
        self.key: bytes = b""
        """src dst sport dport, like `Segment.key`."""
        self.offset: i64 = 0
        self.captured_len: i64 = 0
        """Bytes of it in ``buf`` at ``offset``."""
