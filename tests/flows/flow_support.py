"""Builds conversations segment by segment and runs them through a flow table.

`Talk` keeps both sides' sequence numbers, so that a test says who sent what when and nothing else; what a capture does
to the packets (lose, double, reorder) is done to the list before `run`.
"""

import ssl
from dataclasses import dataclass, field, replace

from pcapstall.core.frames import frame_ref
from pcapstall.flows.flow import Flow
from pcapstall.flows.table import FlowSink, FlowTable
from pcapstall.wire.segment import ACK, FIN, RST, SYN, Segment

START_NS = 1_700_000_000_000_000_000
MS = 1_000_000
SECOND = 1_000_000_000
CLIENT = bytes([10, 0, 0, 1]) + bytes([10, 0, 0, 2]) + (40000).to_bytes(2, "big") + (443).to_bytes(2, "big")
SERVER = bytes([10, 0, 0, 2]) + bytes([10, 0, 0, 1]) + (443).to_bytes(2, "big") + (40000).to_bytes(2, "big")


@dataclass
class Packet:
    """One TCP segment of a test."""

    ns: int
    from_client: bool
    seq: int
    ack: int
    flags: int
    payload: bytes = b""
    ip_id: int = 0
    captured_len: int | None = None
    window: int = 64240


@dataclass
class Talk:
    """A conversation being written down."""

    client_isn: int = 1000
    server_isn: int = 9000
    packets: list[Packet] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.seq = {True: self.client_isn, False: self.server_isn}
        self.ids = {True: 100, False: 5000}
        self.ns = START_NS

    def send(self, from_client: bool, flags: int, payload: bytes = b"", after: int = MS) -> Packet:
        """Append a segment ``after`` nanoseconds after the last one; it acknowledges all that the peer sent."""
        self.ns += after
        self.ids[from_client] += 1
        ack = self.seq[not from_client] & 0xFFFFFFFF if flags & ACK else 0
        packet = Packet(self.ns, from_client, self.seq[from_client], ack, flags, payload, self.ids[from_client])
        taken = len(payload) + bool(flags & SYN) + bool(flags & FIN)
        self.seq[from_client] = (self.seq[from_client] + taken) & 0xFFFFFFFF
        self.packets.append(packet)
        return packet

    def client(self, payload: bytes = b"", flags: int = ACK, after: int = MS) -> Packet:
        """The client sends."""
        return self.send(True, flags, payload, after)

    def server(self, payload: bytes = b"", flags: int = ACK, after: int = MS) -> Packet:
        """The server sends."""
        return self.send(False, flags, payload, after)

    def handshake(self) -> None:
        """SYN, SYN-ACK, ACK."""
        self.client(flags=SYN)
        self.server(flags=SYN | ACK)
        self.client()

    def close(self) -> None:
        """FIN of both sides, client first."""
        self.client(flags=FIN | ACK)
        self.server(flags=FIN | ACK)
        self.client()


class Kept(FlowSink):
    """Keeps the finished flows."""

    def __init__(self) -> None:
        self.flows: list[Flow] = []

    def forgets(self, flow: Flow) -> bool:
        """Nothing is forgotten."""
        return False

    def take(self, flow: Flow) -> bool:
        """Keep ``flow``."""
        self.flows.append(flow)
        return True


def to_segment(packet: Packet, frame: int) -> Segment:
    """As the decoder would hand it out."""
    segment = Segment()
    captured = packet.payload if packet.captured_len is None else packet.payload[: packet.captured_len]
    key = CLIENT if packet.from_client else SERVER
    segment.buf = key[:8] + b"\xee" * 12 + key[8:] + b"\xee" * 16 + captured
    segment.ts_ns = packet.ns
    segment.ref = frame_ref(0, frame)
    segment.tcp_offset = 20
    segment.locate(0, 4)
    segment.options_end = 40
    segment.payload_offset = 40
    segment.payload_len = len(packet.payload)
    segment.captured_len = len(captured)
    segment.seq = packet.seq
    segment.ack = packet.ack
    segment.flags = packet.flags
    segment.window = packet.window
    segment.ip_id = packet.ip_id
    segment.ttl = 64
    return segment


def between(segment: Segment, key: bytes) -> None:
    """Give ``segment`` the endpoints in ``key``: the addresses follow the payload, where nobody looks for them."""
    address_len = (len(key) - 4) // 2
    ports, addresses_offset = segment.tcp_offset, len(segment.buf)
    segment.buf = segment.buf[:ports] + key[-4:] + segment.buf[ports + 4 :] + key[:-4]
    segment.locate(addresses_offset, address_len)


def run(packets: list[Packet], slow_ns: int = SECOND) -> list[Flow]:
    """The flows of ``packets``; their frames count from 1."""
    sink = Kept()
    table = FlowTable(sink, slow_ns)
    for frame, packet in enumerate(packets, 1):
        table.add(to_segment(packet, frame))
    table.finish()
    assert table.limits.pending_len == 0
    assert table.limits.notes == 0
    return sink.flows


def only(packets: list[Packet]) -> Flow:
    """The one flow of ``packets``."""
    (flow,) = run(packets)
    return flow


def shifted(packet: Packet, ns: int, **changes: object) -> Packet:
    """A copy of ``packet`` that came ``ns`` later."""
    return replace(packet, ns=packet.ns + ns, **changes)  # type: ignore[arg-type]


def tls_flights(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> list[tuple[bool, bytes]]:
    """What a real TLS client and server say to each other until the certificate is refused: (from_client, bytes)."""
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.check_hostname = False
    client_context.verify_mode = ssl.CERT_NONE
    client_context.minimum_version = client_context.maximum_version = version
    to_server = ssl.MemoryBIO()
    client = client_context.wrap_bio(ssl.MemoryBIO(), to_server, server_hostname="flow.example")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return [(True, to_server.read())]


def client_hello(version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> bytes:
    """A real ClientHello in its record."""
    return tls_flights(version)[0][1]


def record(content_type: int, body: bytes) -> bytes:
    """A TLS record."""
    return bytes([content_type, 3, 3]) + len(body).to_bytes(2, "big") + body


def server_hello(version: int = 0x0304, random: bytes = b"\x11" * 32, more: bytes = b"") -> bytes:
    """A ServerHello in its record; ``more`` is further messages in the same record."""
    extensions = b""
    if version == 0x0304:
        extensions = bytes.fromhex("002b00020304")
    body = b"\x03\x03" + random + b"\x00" + b"\x13\x01" + b"\x00" + len(extensions).to_bytes(2, "big") + extensions
    return record(22, b"\x02" + len(body).to_bytes(3, "big") + body + more)


HELLO_RETRY_RANDOM = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
FINISHED = record(23, b"\x55" * 53)
CHANGE_CIPHER_SPEC = record(20, b"\x01")
ENCRYPTED_ALERT = record(23, b"\x66" * 19)


__all__ = [
    "ACK", "CHANGE_CIPHER_SPEC", "ENCRYPTED_ALERT", "FIN", "FINISHED", "HELLO_RETRY_RANDOM", "MS", "RST", "SECOND",
    "START_NS", "SYN", "Kept", "Packet", "Talk", "client_hello", "only", "record", "run", "server_hello", "shifted",
    "to_segment",
]  # fmt: skip
