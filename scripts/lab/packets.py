"""One packet as the lab's router sees it: enough of IPv4, IPv6 and TCP to choose it, change it or answer it.

It works on the IP packet, without a link header. Packets come from the kernels of the lab's own namespaces, so it
trusts their lengths; it never reads a capture.
"""

from __future__ import annotations

import socket
import struct

TCP = 6
UDP = 17
FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
TLS_HANDSHAKE_RECORD = 22
CLIENT_HELLO, SERVER_HELLO = 1, 2


def internet_checksum(data: bytes) -> int:
    """Return the ones' complement checksum of RFC 1071."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Packet:
    """One IP packet on its way through the router."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.version = data[0] >> 4
        if self.version == 4:
            self.protocol = data[9]
            self.transport_offset = (data[0] & 0x0F) * 4
            self.source, self.destination = data[12:16], data[16:20]
        else:
            self.protocol = data[6]
            self.transport_offset = 40
            self.source, self.destination = data[8:24], data[24:40]
        self.flags = 0
        self.sequence = self.acknowledgment = 0
        self.source_port = self.destination_port = 0
        self.payload = b""
        transport = data[self.transport_offset :]
        if self.protocol in (TCP, UDP):
            self.source_port, self.destination_port = struct.unpack("!HH", transport[:4])
        if self.protocol == TCP:
            self.sequence, self.acknowledgment = struct.unpack("!LL", transport[4:12])
            self.flags = transport[13]
            self.payload = transport[(transport[12] >> 4) * 4 :]

    def has(self, flags: int) -> bool:
        """Say whether exactly these of SYN, FIN, RST and ACK are set."""
        return self.protocol == TCP and self.flags & (SYN | FIN | RST | ACK) == flags

    @property
    def is_syn(self) -> bool:
        """A first or repeated SYN."""
        return self.has(SYN)

    @property
    def is_syn_ack(self) -> bool:
        """A SYN-ACK."""
        return self.has(SYN | ACK)

    @property
    def handshake_type(self) -> int:
        """The TLS handshake type at the start of the payload, or 0."""
        if len(self.payload) > 5 and self.payload[0] == TLS_HANDSHAKE_RECORD and self.payload[1] == 3:
            return self.payload[5]
        return 0

    @property
    def is_client_hello(self) -> bool:
        """It begins with a ClientHello."""
        return self.handshake_type == CLIENT_HELLO

    @property
    def is_server_hello(self) -> bool:
        """It begins with a ServerHello."""
        return self.handshake_type == SERVER_HELLO

    def hop(self) -> Packet:
        """Return the packet one hop on: TTL or hop limit less by one."""
        data = bytearray(self.data)
        if self.version == 4:
            data[8] -= 1
            data[10:12] = b"\0\0"
            data[10:12] = struct.pack("!H", internet_checksum(bytes(data[: self.transport_offset])))
        else:
            data[7] -= 1
        return Packet(bytes(data))

    def translated(
        self, *, source: tuple[str, int] | None = None, destination: tuple[str, int] | None = None
    ) -> Packet:
        """Return the IPv4 TCP packet with another source or destination, its checksums made anew, as NAT does."""
        data = bytearray(self.data)
        at = self.transport_offset
        if source is not None:
            data[12:16] = socket.inet_aton(source[0])
            data[at : at + 2] = struct.pack("!H", source[1])
        if destination is not None:
            data[16:20] = socket.inet_aton(destination[0])
            data[at + 2 : at + 4] = struct.pack("!H", destination[1])
        return Packet(_with_checksums(bytes(data), at))

    def reset_to_sender(self, *, ttl: int, identification: int = 0) -> Packet:
        """Return the RST that a box on the path would send back to the packet's sender, as if from its destination."""
        sequence = self.acknowledgment
        acknowledgment = self.sequence + len(self.payload) + (1 if self.flags & (SYN | FIN) else 0)
        return reset(
            (socket.inet_ntoa(self.destination), self.destination_port),
            (socket.inet_ntoa(self.source), self.source_port),
            sequence=sequence,
            acknowledgment=acknowledgment,
            ttl=ttl,
            identification=identification,
        )

    def icmp_prohibited(self, router: str) -> Packet:
        """Return the ICMP 'communication administratively prohibited' (type 3 code 13, RFC 1812 5.2.7.1) for it."""
        quoted = self.data[: self.transport_offset + 8]
        body = struct.pack("!BBHL", 3, 13, 0, 0) + quoted
        body = body[:2] + struct.pack("!H", internet_checksum(body)) + body[4:]
        header = _ipv4_header(socket.inet_aton(router), self.source, 1, len(body), ttl=64, identification=0)
        return Packet(header + body)


def reset(
    source: tuple[str, int],
    destination: tuple[str, int],
    *,
    sequence: int,
    acknowledgment: int,
    ttl: int,
    identification: int = 0,
) -> Packet:
    """Return an IPv4 RST-ACK segment without options."""
    addresses = socket.inet_aton(source[0]), socket.inet_aton(destination[0])
    segment = struct.pack(
        "!HHLLBBHHH", source[1], destination[1], sequence, acknowledgment & 0xFFFFFFFF, 5 << 4, RST | ACK, 0, 0, 0
    )
    header = _ipv4_header(*addresses, TCP, len(segment), ttl=ttl, identification=identification)
    return Packet(_with_checksums(header + segment, len(header)))


def _ipv4_header(
    source: bytes, destination: bytes, protocol: int, payload_len: int, *, ttl: int, identification: int
) -> bytes:
    header = struct.pack(
        "!BBHHHBBH4s4s", 0x45, 0, 20 + payload_len, identification, 0, ttl, protocol, 0, source, destination
    )
    return header[:10] + struct.pack("!H", internet_checksum(header)) + header[12:]


def _with_checksums(data: bytes, transport_offset: int) -> bytes:
    header = data[:10] + b"\0\0" + data[12:transport_offset]
    header = header[:10] + struct.pack("!H", internet_checksum(header)) + header[12:]
    segment = data[transport_offset:]
    segment = segment[:16] + b"\0\0" + segment[18:]
    pseudo = data[12:20] + struct.pack("!BBH", 0, TCP, len(segment))
    segment = segment[:16] + struct.pack("!H", internet_checksum(pseudo + segment)) + segment[18:]
    return header + segment
