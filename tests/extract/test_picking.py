"""Packets that belong to a flow without saying so in their first bytes: fragments, ICMP errors, what is unreadable."""

import struct
from pathlib import Path

import pytest
from packet_support import A4, B4, checksum, ethernet, ipv4, tcp, udp

from pcapstall.capture.captures import open_captures
from pcapstall.cli.main import main
from pcapstall.extract.pcap_file import PcapFile
from pcapstall.extract.records import records
from pcapstall.pipeline.extract.passes import data_of

SECOND = 1_000_000_000
T0 = 1_600_000_000 * SECOND


def write(path: Path, *frames: bytes) -> None:
    with open(path, "wb") as out:
        file = PcapFile(out, True)
        for number, frame in enumerate(frames):
            file.write(T0 + number * SECOND, frame, len(frame), 1)


def extracted(capture: Path, small: Path) -> list[bytes]:
    assert main(["extract", str(capture), "--flow", "1", "-o", str(small)]) == 0
    cursor = open_captures([str(small)])
    return [data_of(record) for record in records(cursor)]


SYN = ethernet(ipv4(tcp(b"", flags=2)))
DATA = ethernet(ipv4(tcp(b"first")))
OTHERS = ethernet(ipv4(tcp(b"not mine"), src=bytes((10, 9, 9, 9))))


def pieces(ident: int = 9, src: bytes = A4) -> list[bytes]:
    datagram = tcp(bytes(range(100)))
    return [
        ethernet(ipv4(datagram[:40], ident=ident, fragment=0x2000, src=src)),
        ethernet(ipv4(datagram[40:80], ident=ident, fragment=0x2005, src=src)),
        ethernet(ipv4(datagram[80:], ident=ident, fragment=0x000A, src=src)),
    ]


def test_all_fragments_come_along(tmp_path: Path) -> None:
    one, two, three = pieces()
    foreign = pieces(src=bytes((10, 9, 9, 9)))
    # In any order, with others between, and a copy afterwards.
    write(tmp_path / "c.pcap", SYN, three, foreign[0], one, OTHERS, foreign[1], two, foreign[2], two, DATA)
    assert extracted(tmp_path / "c.pcap", tmp_path / "s.pcapng") == [SYN, three, one, two, two, DATA]


def test_fragments_of_an_unread_packet_between_the_hosts_come_along(tmp_path: Path) -> None:
    one, two, _ = pieces()
    write(tmp_path / "c.pcap", SYN, one, two, DATA)
    assert extracted(tmp_path / "c.pcap", tmp_path / "s.pcapng") == [SYN, one, two, DATA]


def test_a_malformed_packet_between_the_hosts_comes_along(tmp_path: Path) -> None:
    bad = ethernet(ipv4(tcp(b"", offset=3)))
    other = ethernet(ipv4(tcp(b"", offset=3), src=bytes((10, 9, 9, 9))))
    write(tmp_path / "c.pcap", SYN, bad, other, DATA)
    assert extracted(tmp_path / "c.pcap", tmp_path / "s.pcapng") == [SYN, bad, DATA]


@pytest.mark.parametrize("mine", [True, False])
def test_an_icmp_error_about_the_flow_comes_along(mine: bool, tmp_path: Path) -> None:
    quoted = ipv4(tcp(b""), src=A4 if mine else bytes((10, 9, 9, 9)))[:28]
    body = struct.pack(">BBHI", 3, 13, 0, 0) + quoted
    message = body[:2] + checksum(body).to_bytes(2, "big") + body[4:]
    error = ethernet(ipv4(message, 1, src=B4, dst=A4))
    write(tmp_path / "c.pcap", SYN, error, DATA)
    found = extracted(tmp_path / "c.pcap", tmp_path / "s.pcapng")
    assert found == ([SYN, error, DATA] if mine else [SYN, DATA])


def test_a_tunnel_is_kept_around_its_packets(tmp_path: Path) -> None:
    wrapped = [
        ethernet(ipv4(udp(b"\x08" + bytes(3) + b"\0\0\x2a\0" + frame, 4789), 17, src=bytes((172, 16, 0, 1))))
        for frame in (SYN, DATA)
    ]
    write(tmp_path / "c.pcap", OTHERS, *wrapped)
    assert (
        main(["extract", str(tmp_path / "c.pcap"), "--flow", "tunnel = 'vxlan:42'", "-o", str(tmp_path / "s.pcap")])
        == 0
    )
    cursor = open_captures([str(tmp_path / "s.pcap")])
    assert [data_of(record) for record in records(cursor)] == wrapped
