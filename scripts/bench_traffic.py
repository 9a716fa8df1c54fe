"""Captures for the benchmark: TLS over TCP over IPv4 over Ethernet as it looks at a client's gateway, deterministic.

Sequence numbers, acknowledgements, timestamps, IP identification and checksums are right, so that no reader takes a
short cut over damage. A capture is written in time order from a window of live flows. The TLS is bench_hellos'.
"""

import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from heapq import heappop, heappush
from pathlib import Path
from random import Random

import bench_hellos as tls

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
MSS = 1448
"""Payload of a full segment: 1500 less 20 of IP, 20 of TCP and 12 of timestamps."""
SEGMENT_NS = 12_000
"""A full frame at 1 Gbit/s."""
START_NS = 1_700_000_000 * 10**9
LIVE_FLOWS = 300
CLIENT_HOSTS = 250

_PCAP_HEADER = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)
_RECORD = struct.Struct("<IIII")
_FRAME = struct.Struct(">14sHHHHHH8s4sIIHHHH4sII")
_SYN_OPTIONS = struct.Struct(">HHBBBBIIBBBB")
_TIMESTAMPS = b"\1\1\x08\x0a"

Payload = tuple[bytes, int]
"""Bytes and their sum modulo 65535 (RFC 1071), so that a shared payload is summed once."""
NOTHING: Payload = (b"", 0)


def payload(data: bytes) -> Payload:
    """``data`` with its sum: 2**16 is 1 modulo 65535, so one division sums all its words."""
    return data, int.from_bytes(data + b"\0" * (len(data) & 1), "big") % 65535


def segments(data: bytes) -> list[Payload]:
    """``data`` in full segments and what is left."""
    return [payload(data[at : at + MSS]) for at in range(0, len(data), MSS)]


@cache
def bulk(count: int) -> list[Payload]:
    """A response of ``count`` full segments: records of 16 KiB of plaintext and a last one that fills the segment."""
    rng = Random(count)
    left = count * MSS
    records = []
    while left:
        length = min(left, 5 + 16384 + 17)
        if 0 < left - length < 64:
            length -= 64  # no record shorter than its own overhead
        records.append(tls.application_data(rng, length - 5))
        left -= length
    return segments(b"".join(records))


@cache
def small(size: int) -> Payload:
    """One record of ``size`` bytes of ciphertext."""
    return payload(tls.application_data(Random(size), size))


class Host:
    """One end of one connection, and the headers that it writes."""

    def __init__(self, rng: Random, ethernet: bytes, address_pair: bytes, port_pair: bytes, ttl: int) -> None:
        self.ethernet = ethernet
        self.address_pair = address_pair
        self.port_pair = port_pair
        self.seq = rng.randrange(1 << 32)
        self.ack = 0
        self.ip_id = rng.randrange(1 << 16)
        self.ticks = rng.randrange(1 << 31)
        """TSval at the capture's start; it counts milliseconds."""
        self.echo = 0
        self.window = rng.choice((501, 502, 509, 1024, 2048))
        self.ttl_protocol = ttl << 8 | 6
        self.fixed_sum = sum(struct.unpack(">4H", address_pair)) + 6 + sum(struct.unpack(">2H", port_pair))
        self.ip_sum = 0x4500 + 0x4000 + self.ttl_protocol + sum(struct.unpack(">4H", address_pair))

    def write(self, ns: int, peer: "Host", flags: int, data: Payload = NOTHING) -> bytes:
        """The next record from here, and what it changes at both ends."""
        body, body_sum = data
        options = b""
        length = 52 + len(body)
        offset_flags = 0x8000 | flags
        window = self.window
        ticks = (self.ticks + (ns - START_NS) // 1_000_000) & 0xFFFFFFFF
        if flags & SYN:
            # The same header, but with the options of a SYN where the timestamps stand otherwise.
            options = _SYN_OPTIONS.pack(0x0204, MSS + 12, 4, 2, 8, 10, ticks, self.echo, 1, 3, 3, 7)
            length = 60
            offset_flags = 0xA000 | flags
            window = 64240
        ip_id = 0 if flags & (SYN | ACK) == SYN | ACK else self.ip_id
        self.ip_id = (self.ip_id + 1) & 0xFFFF
        ip_sum = self.ip_sum + length + ip_id
        tcp_sum = self.fixed_sum + length - 20 + self.seq + self.ack + offset_flags + window + body_sum
        tcp_sum += int.from_bytes(options, "big") if options else 0x0101 + 0x080A + ticks + self.echo
        record = _RECORD.pack(ns // 10**9, ns % 10**9, 14 + length, 14 + length) + _FRAME.pack(
            self.ethernet, 0x4500, length, ip_id, 0x4000, self.ttl_protocol, -ip_sum % 0xFFFF,
            self.address_pair, self.port_pair, self.seq, self.ack, offset_flags, window, -tcp_sum % 0xFFFF, 0,
            _TIMESTAMPS, ticks, self.echo,
        )  # fmt: skip
        self.seq = (self.seq + len(body) + (1 if flags & (SYN | FIN) else 0)) & 0xFFFFFFFF
        peer.ack = self.seq
        peer.echo = ticks
        return record[:-12] + options if options else record + body


@dataclass
class Mix:
    """What a capture is made of."""

    packets: int
    flows: int
    seed: int = 1
    live: int = LIVE_FLOWS
    stalls: float = 0.002
    """Share of flows whose client is late with its hello by more than a second."""
    retransmits: float = 0.01
    """Share of exchanges in which a segment is sent twice."""
    interactive: float = 0.64
    """Share of flows that exchange small messages."""
    chain_len: tuple[int, int] = (2200, 4200)
    """Bytes of certificates; with less than a segment the whole server flight fits one."""
    clients: tuple[tls.ClientKind, ...] = tls.CLIENTS
    hosts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng = Random(self.seed)
        parts = ("api", "www", "cdn", "auth", "metrics", "static", "img", "queue", "db", "eu", "us", "login", "files")
        self.hosts = [
            f"{rng.choice(parts)}{rng.randrange(20)}.{rng.choice(parts)}.shop{number}.example" for number in range(200)
        ]

    def budgets(self, rng: Random) -> list[int]:
        """Packets of each flow, together ``packets``: many short flows and some long ones."""
        mean = self.packets // self.flows
        if mean <= 10:
            return [mean] * self.flows
        least = min(mean, 30)
        weights = [rng.lognormvariate(0, 0.8) for _ in range(self.flows)]
        scale = (self.packets - least * self.flows) / sum(weights)
        counts = [least + int(weight * scale) for weight in weights]
        for index in range(self.packets - sum(counts)):
            counts[index % self.flows] += 1
        return counts


def flow(mix: Mix, rng: Random, number: int, budget: int, ns: int) -> Iterator[tuple[int, bytes]]:
    """One connection in exactly ``budget`` packets from ``ns`` on: times and records."""
    client_ip = bytes([10, 40, 7, 1 + number % CLIENT_HOSTS])
    server_number = rng.randrange(len(mix.hosts))
    server_ip = bytes([203, 0, 113, server_number])
    ports = struct.pack(">HH", 32768 + number // CLIENT_HOSTS * 7 % 28000, 443)
    ethernet = bytes.fromhex("020000000001 020000000002 0800")
    back = ethernet[6:12] + ethernet[:6] + ethernet[12:]
    client = Host(rng, ethernet, client_ip + server_ip, ports, 64)
    server = Host(rng, back, server_ip + client_ip, ports[2:] + ports[:2], 64 - rng.randrange(20))
    rtt = int(rng.lognormvariate(16.5, 0.9))  # about 15 ms
    kind = rng.choice(mix.clients)
    host = mix.hosts[server_number]
    shake = tls.exchange(rng, kind, host, rng.randint(*mix.chain_len))

    yield ns, client.write(ns, server, SYN)
    ns += rtt
    yield ns, server.write(ns, client, SYN | ACK)
    ns += 30_000
    yield ns, client.write(ns, server, ACK)
    ns += int(rng.expovariate(1 / 400_000))
    if rng.random() < mix.stalls:
        ns += rng.randrange(1_200_000_000, 12_000_000_000)
    used = 3
    for part in segments(tls.client_hello(rng, kind, host)):
        yield ns, client.write(ns, server, PSH | ACK, part)
        ns += SEGMENT_NS
        used += 1
    if budget > 10:
        ns += rtt
        yield ns, server.write(ns, client, ACK)
        used += 1
    ns += (rtt if budget <= 10 else 0) + int(rng.expovariate(1 / 700_000))
    flight = segments(shake.server_flight)
    for index, part in enumerate(flight):
        yield ns, server.write(ns, client, ACK | (PSH if index == len(flight) - 1 else 0), part)
        ns += SEGMENT_NS
        used += 1
    if budget > 10:
        ns += 40_000
        yield ns, client.write(ns, server, ACK)
        used += 1
    ns += int(rng.expovariate(1 / 900_000))
    yield ns, client.write(ns, server, PSH | ACK, payload(shake.client_flight))
    ns += rtt
    yield ns, server.write(ns, client, PSH | ACK, payload(shake.server_finish))
    used += 2

    yield from _data(mix, rng, client, server, rtt, ns, budget - used - 3)


def _data(
    mix: Mix, rng: Random, client: Host, server: Host, rtt: int, ns: int, left: int
) -> Iterator[tuple[int, bytes]]:
    """Requests and responses in ``left`` packets, then the three of the end."""
    interactive = rng.random() < mix.interactive
    asker, giver = (server, client) if rng.random() < 0.15 else (client, server)
    while left > 0:
        ns += int(rng.expovariate(1 / 20_000_000))
        yield ns, asker.write(ns, giver, PSH | ACK, small(rng.randrange(60, 700, 8)))
        left -= 1
        ns += rtt
        if left < 2:
            if left:
                yield ns, giver.write(ns, asker, ACK)
                left -= 1
            continue
        if interactive:
            yield ns, giver.write(ns, asker, PSH | ACK, small(rng.randrange(80, 1400, 8)))
            ns += 40_000
            yield ns, asker.write(ns, giver, ACK)
            left -= 2
            continue
        again = left > 4 and rng.random() < mix.retransmits
        left -= again
        count = min(rng.randrange(2, 120), left * 2 // 3)
        body = bulk(count)
        burst = 10
        for index, part in enumerate(body):
            seq = giver.seq
            yield ns, giver.write(ns, asker, ACK | (PSH if index == count - 1 else 0), part)
            left -= 1
            if again and index == count // 2:
                end, expected = giver.seq, asker.ack
                giver.seq = seq
                yield ns + 2 * SEGMENT_NS, giver.write(ns + 2 * SEGMENT_NS, asker, ACK, part)
                giver.seq, asker.ack = end, expected
                ns += 3 * SEGMENT_NS
            if index & 1 or index == count - 1:
                yield ns + 4_000, asker.write(ns + 4_000, giver, ACK)
                left -= 1
            ns += SEGMENT_NS
            burst -= 1
            if not burst:
                ns += rtt
                burst = 40
    ns += int(rng.expovariate(1 / 5_000_000))
    yield ns, client.write(ns, server, FIN | ACK)
    ns += rtt
    yield ns, server.write(ns, client, FIN | ACK)
    ns += 30_000
    yield ns, client.write(ns, server, ACK)


def records(mix: Mix) -> Iterator[bytes]:
    """All records of the capture in time order, ``mix.live`` flows at a time."""
    rng = Random(mix.seed)
    budgets = mix.budgets(rng)
    heap: list[tuple[int, int, bytes, Iterator[tuple[int, bytes]]]] = []

    def start(number: int, ns: int) -> None:
        packets = flow(mix, Random(mix.seed << 32 | number), number, budgets[number], ns)
        first_ns, first = next(packets)
        heappush(heap, (first_ns, number, first, packets))

    started = min(mix.live, mix.flows)
    for number in range(started):
        start(number, START_NS + int(rng.random() * 500_000_000))
    while heap:
        ns, number, data, packets = heappop(heap)
        yield data
        following = next(packets, None)
        if following is not None:
            heappush(heap, (following[0], number, following[1], packets))
        elif started < mix.flows:
            start(started, ns + int(rng.expovariate(1 / 3_000_000)))
            started += 1


def write(mix: Mix, path: Path) -> int:
    """Write the capture (pcap, nanoseconds); the number of packets. A file that exists is whole."""
    unfinished = path.with_suffix(".part")
    count = 0
    batch: list[bytes] = [_PCAP_HEADER]
    with unfinished.open("wb") as out:
        for data in records(mix):
            batch.append(data)
            count += 1
            if len(batch) == 2048:
                out.write(b"".join(batch))
                batch.clear()
        out.write(b"".join(batch))
    unfinished.rename(path)
    return count


# One segment holds the whole server flight and the hello, so that a flow has ten packets.
_COMPACT = tuple(kind for kind in tls.CLIENTS if tls.X25519_MLKEM768 not in kind.shares)
MIXES = {
    "bulk": Mix(1_000_000, 10_000),
    "flows": Mix(1_000_000, 100_000, seed=2, chain_len=(500, 800), clients=_COMPACT),
    "big": Mix(2_000_000, 150_000, seed=4, chain_len=(500, 800), clients=_COMPACT),
    "stalled": Mix(100_000, 10_000, seed=5, stalls=1.0, chain_len=(500, 800), clients=_COMPACT),
    "ten": Mix(10, 1, seed=3, chain_len=(500, 800), clients=_COMPACT),
}


if __name__ == "__main__":
    write(MIXES[sys.argv[1]], Path(sys.argv[2]))
