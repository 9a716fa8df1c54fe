"""Two captures given as one: of both ends when they show the same packets, but not when packets are sent again."""

from collections.abc import Callable
from pathlib import Path

import pytest
from two_ends_support import Change, Packet, Record, both, nat, no_ids, no_timestamps, read, rewritten, write

from pcapstall.pipeline import analyse

SECOND = 1_000_000_000


def are_both_ends(*files: Path) -> bool:
    return any("show the same packets" in notice for notice in analyse([str(file) for file in files]).report.warnings)


def is_syn(record: Record) -> bool:
    return record.packet.is_tcp and record.packet.data[record.packet.tcp + 13] == 2


def is_hello(record: Record) -> bool:
    packet = record.packet
    return packet.is_tcp and packet.data[packet.tcp + (packet.data[packet.tcp + 12] >> 4) * 4 :][:1] == b"\x16"


def again(path: Path, records: list[Record], change: Change) -> Path:
    """Sent again a second later: with another timestamp, and an IP ID that ``change`` sets."""
    for record in records:
        packet = record.packet
        record.ns += SECOND
        change(packet)
        at = packet.data.index(b"\x08\x0a", packet.tcp + 20)
        packet.put(at + 2, 4, packet.get(at + 2, 4) + 1000)
    return write(path, records)


def other_id(packet: Packet) -> None:
    packet.put(18, 2, packet.get(18, 2) + 0x1234)


@pytest.mark.parametrize("change", [other_id, no_ids])
@pytest.mark.parametrize("which", [is_syn, is_hello])
def test_sent_again_over_the_boundary_of_a_ring(
    which: Callable[[Record], bool], change: Change, tmp_path: Path
) -> None:
    source, _ = both("slow-server")
    first = write(tmp_path / "ring1.pcap", [record for record in read(source) if which(record)][:3])
    assert len(read(first)) == 3
    second = again(tmp_path / "ring2.pcap", read(first), change)
    for record in (records := read(second)):
        record.ns += 10 * SECOND
    assert not are_both_ends(first, second)
    assert not are_both_ends(first, write(second, records)), "nor when the files are further apart"


def test_sent_again_with_nothing_to_tell_it_by(tmp_path: Path) -> None:
    def bare(packet: Packet) -> None:
        no_ids(packet)
        no_timestamps(packet)

    source, _ = both("slow-server")
    first = rewritten(write(tmp_path / "syns.pcap", filter(is_syn, read(source))), tmp_path / "ring1.pcap", bare)
    assert len(read(first)) > 1
    late = read(first)[-1].ns - read(first)[0].ns + SECOND
    assert not are_both_ends(first, rewritten(first, tmp_path / "ring2.pcap", stamp=lambda ns: ns + late))


def test_few_shared_packets_are_not_enough(tmp_path: Path) -> None:
    """A mirror port may show a few packets of another capture."""
    source, other = both("slow-server")
    records = sorted(read(source)[:-1], key=lambda record: record.ns)
    for number, record in enumerate(records):
        if number % 5 and record.packet.is_tcp:
            other_id(record.packet)
    assert not are_both_ends(write(tmp_path / "other.pcap", records), other)


@pytest.mark.parametrize("off_ns", [-300 * SECOND, -SECOND, 3 * SECOND, 40 * SECOND, 600 * SECOND])
@pytest.mark.parametrize("name", ["slow-server", "stalled-client-hello", "syn-lost"])
def test_clocks_far_apart(name: str, off_ns: int, tmp_path: Path) -> None:
    client, server = both(name)
    assert are_both_ends(client, rewritten(server, tmp_path / "server.pcap", nat, lambda ns: ns + off_ns))
