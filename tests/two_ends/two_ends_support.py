"""Captures with their packets rewritten as middleboxes and other clocks would, and what compare says of them."""

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pcapstall.pipeline import Options
from pcapstall.pipeline.compare.two_ends import read_both
from pcapstall.pipeline.compare.two_ends_report import two_ends
from pcapstall.report.thresholds import parse_thresholds
from pcapstall.report.two_ends_model import PairReport, TwoEnds

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
TWO_SIDED = sorted(folder.name for folder in CAPTURES.iterdir() if (folder / "capture_server.pcap").exists())
_MAGICS = {b"\xd4\xc3\xb2\xa1": 1_000, b"\x4d\x3c\xb2\xa1": 1}
ETHERNET = 1
_FILE_HEADER, _RECORD_HEADER = 24, 16


@dataclass
class Packet:
    """An Ethernet frame with IPv4 and TCP in it, to be changed in place."""

    data: bytearray

    @property
    def tcp(self) -> int:
        """Where the TCP header begins."""
        return 14 + (self.data[14] & 0xF) * 4

    def get(self, at: int, size: int) -> int:
        """A number of the frame."""
        return int.from_bytes(self.data[at : at + size], "big")

    def put(self, at: int, size: int, value: int) -> None:
        """Write a number."""
        self.data[at : at + size] = (value % (1 << (8 * size))).to_bytes(size, "big")

    @property
    def is_tcp(self) -> bool:
        """Whether it is IPv4 and TCP; nothing else is changed."""
        return self.data[12:14] == b"\x08\x00" and self.data[23] == 6

    @property
    def ports(self) -> tuple[int, int]:
        """Source and destination."""
        return self.get(self.tcp, 2), self.get(self.tcp + 2, 2)


Change = Callable[[Packet], None]


@dataclass
class Record:
    """One packet of a capture."""

    ns: int
    packet: Packet
    origlen: int


def read(path: Path) -> list[Record]:
    """The records of a pcap file with Ethernet frames, little-endian."""
    raw = path.read_bytes()
    unit = _MAGICS[raw[:4]]
    assert struct.unpack_from("<I", raw, 20)[0] == ETHERNET
    found: list[Record] = []
    at = _FILE_HEADER
    while at < len(raw):
        seconds, fraction, caplen, origlen = struct.unpack_from("<IIII", raw, at)
        at += _RECORD_HEADER
        found.append(Record(seconds * 10**9 + fraction * unit, Packet(bytearray(raw[at : at + caplen])), origlen))
        at += caplen
    return found


def write(path: Path, records: Iterable[Record]) -> Path:
    """A pcap file with nanosecond stamps."""
    out = bytearray(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 0x40000, ETHERNET))
    for record in records:
        seconds, fraction = divmod(record.ns, 10**9)
        out += struct.pack("<IIII", seconds, fraction, len(record.packet.data), record.origlen) + record.packet.data
    path.write_bytes(out)
    return path


def rewritten(source: Path, target: Path, change: Change | None = None, stamp: Callable[[int], int] = int) -> Path:
    """``source`` with every TCP packet changed and every stamp mapped."""
    records = read(source)
    for record in records:
        record.ns = stamp(record.ns)
        if change is not None and record.packet.is_tcp:
            change(record.packet)
    return write(target, records)


def both(name: str) -> tuple[Path, Path]:
    """The two captures of a folder of captures/."""
    return CAPTURES / name / "capture.pcap", CAPTURES / name / "capture_server.pcap"


def compared(client: Path, server: Path, everything: bool = False, slow: Iterable[str] = ()) -> TwoEnds:
    """What compare says."""
    options = Options(thresholds_ns=parse_thresholds(slow))
    together, unreadable = read_both([str(client)], [str(server)], options, everything)
    assert not unreadable
    assert together is not None
    return two_ends(together, everything)


def essence(pair: PairReport) -> tuple[object, ...]:
    """What no clock, address or order of arguments may change."""
    return (
        pair.id,
        pair.seen_at,
        pair.stalled,
        pair.stalled_ns,
        pair.cause,
        pair.reason,
        pair.confidence,
        pair.to_server,
        pair.to_client,
    )


def check_parts(report: TwoEnds) -> None:
    """Parts add up to the interval, none negative."""
    for pair in report.pairs:
        assert not pair.parts_ns or sum(pair.parts_ns.values()) == pair.stalled_ns
        assert min(pair.parts_ns.values(), default=0) >= 0


def nat(packet: Packet) -> None:
    """Translates the client's address and port, and the server's."""
    tcp = packet.tcp
    to_server = packet.ports[1] < packet.ports[0]
    client, server = (26, 30) if to_server else (30, 26)
    client_port, server_port = (tcp, tcp + 2) if to_server else (tcp + 2, tcp)
    packet.put(client, 4, packet.get(client, 4) ^ 0x0A0B0C0D)
    packet.put(server, 4, packet.get(server, 4) ^ 0x00010203)
    packet.put(client_port, 2, 20_000 + packet.get(client_port, 2) % 40_000)
    packet.put(server_port, 2, 8_443)


def other_sequence_numbers(packet: Packet) -> None:
    """Adds a number of its own to the sequence numbers of each direction, as a firewall does."""
    tcp = packet.tcp
    to_server = packet.ports[1] < packet.ports[0]
    mine, theirs = (111_111_111, 222_222_222) if to_server else (222_222_222, 111_111_111)
    packet.put(tcp + 4, 4, packet.get(tcp + 4, 4) + mine)
    if packet.data[tcp + 13] & 0x10:
        packet.put(tcp + 8, 4, packet.get(tcp + 8, 4) + theirs)


def no_ids(packet: Packet) -> None:
    """Clears the IP ID."""
    packet.put(18, 2, 0)


def no_timestamps(packet: Packet) -> None:
    """Overwrites the timestamps option with NOPs, wherever it is."""
    tcp = packet.tcp
    end = min(tcp + (packet.data[tcp + 12] >> 4) * 4, len(packet.data))
    at = tcp + 20
    while at < end:
        kind = packet.data[at]
        if kind == 0:
            break
        length = 1 if kind == 1 else packet.data[at + 1]
        if kind == 8:
            packet.data[at : at + length] = b"\x01" * length
        at += max(length, 1)
