"""A path between a client and a server, with a capture somewhere on it.

A test says what each host sends and what is lost; what the capture shows of it, and when, follows from where it was
taken. Hosts behave like Linux: IP IDs count by one, timestamps tick a thousand times a second.
"""

import random
import ssl
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field

from pcapstall.capture.captures import open_captures
from pcapstall.capture.source import Stop
from pcapstall.core.frames import frame_ref
from pcapstall.diagnose.thresholds import make_thresholds
from pcapstall.flows.flow import Flow
from pcapstall.flows.table import FlowTable
from pcapstall.pipeline.findings import Findings
from pcapstall.pipeline.scan.collect import Collector
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.thresholds import parse_thresholds
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import ACK, FIN, PSH, RST, SYN, TCP, Segment

START_NS = 1_700_000_000_000_000_000
US = 1_000
MS = 1_000_000
SECOND = 1_000_000_000
POSITIONS = {"client": 0.0, "middle": 0.5, "server": 1.0}


@dataclass
class Sent:
    """One segment as its sender sent it."""

    from_client: bool
    ns: int
    """When it left its host, from the beginning of the test."""
    offset: int
    ack: int | None
    flags: int
    payload: bytes
    lost_at: float | None
    """How far it came, as a part of its way; None when it arrived."""
    ip_id: int
    tsval: int
    tsecr: int
    sack: tuple[tuple[int, int], ...]
    window: int
    ttl: int
    mss: int
    dropped: bool = False
    """The capture missed it, though it came by."""

    @property
    def end(self) -> int:
        return self.offset + len(self.payload)


@dataclass
class Road:
    """The path and what was sent on it."""

    one_way_ns: int = 5 * MS
    client: bytes = bytes([10, 0, 0, 1])
    server: bytes = bytes([10, 0, 0, 2])
    client_port: int = 40000
    server_port: int = 443
    client_isn: int = 1000
    server_isn: int = 9000
    counts_ids: bool = True
    timestamps: bool = True
    hops: int = 0
    """Routers on the path: they take from the TTL."""
    mss: int = 1460
    tick_hz: int = 1000
    sent: list[Sent] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ids = {True: 100, False: 5000}
        self._random = random.Random(7)

    def send(
        self,
        from_client: bool,
        ns: int,
        flags: int = ACK,
        payload: bytes = b"",
        *,
        offset: int = 0,
        ack: int | None = 0,
        lost_at: float | None = None,
        sack: Iterable[tuple[int, int]] = (),
        window: int = 64240,
        dropped: bool = False,
        echo: Sent | None = None,
    ) -> Sent:
        """Send a segment at ``ns``. ``echo`` is the segment whose timestamp it returns: else the last that arrived."""
        if self.counts_ids:
            self._ids[from_client] += 1
            ip_id = self._ids[from_client]
        else:
            ip_id = self._random.randrange(1, 0x10000)
        if flags & (SYN | ACK) == SYN | ACK:
            ip_id = 0
            self._ids[from_client] -= self.counts_ids
        tsval = tsecr = -1
        if self.timestamps and not flags & RST:
            tsval = (123_456 if from_client else 987_654) + ns * self.tick_hz // SECOND
            arrived = [s for s in self.sent if s.from_client != from_client and self._arrives(s) and s.tsval >= 0]
            arrived = [s for s in arrived if s.ns + self.one_way_ns <= ns]
            tsecr = echo.tsval if echo else arrived[-1].tsval if arrived and flags & ACK else 0
        mss = self.mss if flags & SYN else -1
        sent = Sent(
            from_client, ns, offset, ack if flags & ACK else None, flags, payload, lost_at, ip_id, tsval, tsecr,
            tuple(sack), window, 64, mss, dropped,
        )  # fmt: skip
        self.sent.append(sent)
        return sent

    def c(self, ns: int, flags: int = ACK, payload: bytes = b"", **more: object) -> Sent:
        """The client sends."""
        return self.send(True, ns, flags, payload, **more)  # type: ignore[arg-type]

    def s(self, ns: int, flags: int = ACK, payload: bytes = b"", **more: object) -> Sent:
        """The server sends."""
        return self.send(False, ns, flags, payload, **more)  # type: ignore[arg-type]

    def handshake(self, ns: int = 0) -> int:
        """SYN, SYN-ACK, ACK; returns when the client sent its ACK."""
        rtt = 2 * self.one_way_ns
        self.c(ns, SYN)
        self.s(ns + self.one_way_ns + 30 * US, SYN | ACK)
        self.c(ns + rtt + 60 * US)
        return ns + rtt + 60 * US

    def _arrives(self, sent: Sent) -> bool:
        return sent.lost_at is None

    def captured(self, at: str, first_frame: int = 1, until_ns: int | None = None) -> list[Segment]:
        """What a capture ``at`` client, middle or server holds, as the decoder hands it out."""
        position = POSITIONS[at]
        seen: list[tuple[int, int, Sent]] = []
        for order, sent in enumerate(self.sent):
            way = position if sent.from_client else 1 - position
            if sent.dropped or (sent.lost_at is not None and way > sent.lost_at):
                continue
            ns = START_NS + sent.ns + int(way * self.one_way_ns)
            if until_ns is None or ns <= START_NS + until_ns:
                seen.append((ns, order, sent))
        seen.sort(key=lambda entry: entry[:2])
        return [self._segment(sent, ns, frame, position) for frame, (ns, _, sent) in enumerate(seen, first_frame)]

    def _segment(self, sent: Sent, ns: int, frame: int, position: float) -> Segment:
        options = self._options(sent)
        segment = Segment()
        segment.ts_ns = ns
        segment.ref = frame_ref(0, frame)
        source, destination = (self.client, self.server) if sent.from_client else (self.server, self.client)
        ports = (self.client_port, self.server_port) if sent.from_client else (self.server_port, self.client_port)
        segment.options_end = segment.payload_offset = 20 + len(options)
        segment.buf = ports[0].to_bytes(2, "big") + ports[1].to_bytes(2, "big") + b"\0" * 16 + options + sent.payload
        end = len(segment.buf)
        segment.buf += source + destination
        segment.locate(end, len(source))
        segment.payload_len = segment.captured_len = len(sent.payload)
        base = (self.client_isn if sent.from_client else self.server_isn) + 1
        peer_base = (self.server_isn if sent.from_client else self.client_isn) + 1
        segment.seq = (base + sent.offset - bool(sent.flags & SYN)) & 0xFFFFFFFF
        segment.ack = 0 if sent.ack is None else (peer_base + sent.ack) & 0xFFFFFFFF
        segment.flags = sent.flags
        segment.window = sent.window
        segment.ip_id = -1 if len(self.client) == 16 else sent.ip_id
        way = position if sent.from_client else 1 - position
        segment.ttl = sent.ttl - (self.hops if way == 1 else self.hops // 2 if way else 0)
        return segment

    def _options(self, sent: Sent) -> bytes:
        options = b""
        if sent.mss >= 0:
            options += b"\x02\x04" + sent.mss.to_bytes(2, "big") + b"\x04\x02"
        if sent.tsval >= 0:
            options += b"\x01\x01\x08\x0a" + sent.tsval.to_bytes(4, "big") + sent.tsecr.to_bytes(4, "big")
        if sent.sack:
            base = (self.server_isn if sent.from_client else self.client_isn) + 1
            options += b"\x01\x01\x05" + bytes([2 + 8 * len(sent.sack)])
            for left, right in sent.sack:
                options += ((base + left) & 0xFFFFFFFF).to_bytes(4, "big")
                options += ((base + right) & 0xFFFFFFFF).to_bytes(4, "big")
        return options + b"\0" * (-len(options) % 4)


def follow(
    segments: Iterable[Segment], *, slow: Iterable[str] = (), all_flows: bool = True, watched_ns: int = 0
) -> Collector:
    """Run ``segments`` through a flow table into a collector; the capture goes on until ``watched_ns``."""
    collector = Collector(make_thresholds(parse_thresholds(slow)), all_flows)
    table = FlowTable(collector, collector.thresholds.least())
    last = watched_ns
    for segment in segments:
        table.add(segment)
        last = max(last, segment.ts_ns)
    collector.watched_until = [last]
    table.finish()
    return collector


def flows_of(segments: Iterable[Segment], until_ns: int | None = None) -> list[Flow]:
    """The finished flows of ``segments``."""
    return follow(segments).kept


def reports(
    segments: Iterable[Segment],
    *,
    slow: Iterable[str] = (),
    at: str = "",
    tls_ports: Iterable[int] = (),
    watched_ns: int = 0,
) -> list[FlowReport]:
    """The rows of the report, all flows shown."""
    collector = follow(segments, slow=slow, watched_ns=watched_ns)
    findings = Findings(collector, at, frozenset(tls_ports), show_all=True)
    findings.settle(Stop())
    return list(findings.rows(START_NS))


def segments_of(path: str) -> list[Segment]:
    """The TCP segments of a capture, each on its own."""
    cursor, decoder = open_captures([path]), Decoder()
    found: list[Segment] = []
    while cursor.next():
        decoder.segment.ts_ns, decoder.segment.ref = cursor.ts_ns, cursor.ref
        decoder.segment.interface = cursor.interface
        if decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype) == TCP:
            kept = copy(decoder.segment)
            kept.interface = max(kept.interface, kept.link_interface)
            found.append(kept)
    cursor.close()
    return found


def merged(*captures: list[Segment]) -> list[Segment]:
    """Several captures at one place, in the order of time, frames counted anew."""
    segments = sorted((segment for capture in captures for segment in capture), key=lambda s: s.ts_ns)
    for frame, segment in enumerate(segments, 1):
        segment.ref = frame_ref(0, frame)
    return segments


def client_hello(size: int = 0) -> bytes:
    """A real ClientHello in its record; padded with ALPN to at least ``size`` bytes."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    names: list[str] = []
    while True:
        if names:
            context.set_alpn_protocols(names)
        out = ssl.MemoryBIO()
        client = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="stall.example")
        try:
            client.do_handshake()
        except ssl.SSLWantReadError:
            hello = out.read()
        if len(hello) >= size:
            return hello
        names += [f"protocol-{len(names):03d}-{'x' * 80}"]


def record(content_type: int, body: bytes) -> bytes:
    """A TLS record."""
    return bytes([content_type, 3, 3]) + len(body).to_bytes(2, "big") + body


def server_hello(*, retry: bool = False, more: bytes = b"") -> bytes:
    """A ServerHello of TLS 1.3 in its record, and ``more`` behind it."""
    retry_random = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
    body = b"\x03\x03" + (retry_random if retry else b"\x11" * 32) + b"\x00\x13\x01\x00\x00\x06\x00\x2b\x00\x02\x03\x04"
    return record(22, b"\x02" + len(body).to_bytes(3, "big") + body) + more


HELLO = client_hello()
FINISHED = record(23, b"\x55" * 53)
FLIGHT = server_hello(more=record(23, b"\x66" * 1200))

__all__ = [
    "ACK", "FIN", "FINISHED", "FLIGHT", "HELLO", "MS", "PSH", "RST", "SECOND", "START_NS", "SYN", "US", "Road", "Sent",
    "client_hello", "flows_of", "follow", "merged", "record", "reports", "segments_of", "server_hello",
]  # fmt: skip


def readdress(segment: Segment, key: bytes) -> None:
    """Give ``segment`` the endpoints in ``key``: the addresses follow the payload, where nobody looks for them."""
    ports, addresses_offset = segment.tcp_offset, len(segment.buf)
    segment.buf = segment.buf[:ports] + key[-4:] + segment.buf[ports + 4 :] + key[:-4]
    segment.locate(addresses_offset, (len(key) - 4) // 2)
