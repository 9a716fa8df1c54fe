"""What is easily forgotten: interfaces, comments, fragments, quotes of ICMP, options, DNS, certificates."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packet_support import A4, B4, checksum, ethernet, gre, ipv4, ipv6, tcp, udp

from pcapstall.anonymise.certificates import Certificates
from pcapstall.anonymise.checksums import carried, internet_sum
from pcapstall.anonymise.hellos import Hellos
from pcapstall.anonymise.mapping import Mapping
from pcapstall.anonymise.secret import Secret
from pcapstall.anonymise.uppers import dns_message
from pcapstall.capture.captures import open_captures
from pcapstall.cli.main import main
from pcapstall.extract.pcap_file import PcapFile
from pcapstall.extract.pcapng_file import Described, PcapngFile
from pcapstall.extract.records import records
from pcapstall.pipeline import Options, analyse
from pcapstall.pipeline.extract.passes import data_of
from pcapstall.report.flow_model import FlowReport

KEY = "77" * 16
MAPPING = Mapping(Secret(bytes.fromhex(KEY)))
NAME = b"zanzibar.example"
T0 = 1_600_000_000_000_000_000


def client_hello(name: bytes = NAME) -> bytes:
    names = struct.pack(">HBH", len(name) + 3, 0, len(name)) + name
    extensions = struct.pack(">HH", 0, len(names)) + names + struct.pack(">HHHBB", 16, 5, 3, 2, 0x68) + b"2"
    body = b"\3\3" + bytes(range(100, 132)) + b"\x20" + bytes(range(32)) + b"\0\2\x13\1\1\0"
    body += struct.pack(">H", len(extensions)) + extensions
    message = b"\1" + len(body).to_bytes(3, "big") + body
    return b"\x16\3\1" + struct.pack(">H", len(message)) + message


def anonymised(path: Path, tmp_path: Path) -> list[bytes]:
    out = tmp_path / "out.pcapng"
    assert main(["extract", str(path), "--flow", "1", "-o", str(out), "--anonymize", "--key", KEY]) == 0
    cursor = open_captures([str(out)])
    return [data_of(record) for record in records(cursor)]


def write(path: Path, *frames: bytes) -> Path:
    with open(path, "wb") as out:
        file = PcapFile(out, True)
        for number, frame in enumerate(frames):
            file.write(T0 + number * 1_000_000, frame, len(frame), 1)
    return path


def flows_of(path: Path) -> list[FlowReport]:
    made: list[FlowReport] = []
    analyse([str(path)], Options(all_flows=True), before_closing=lambda a: made.extend(a.report.flows))
    return made


SYN = tcp(b"", flags=2)
SYN = SYN[:4] + (0xDEADBEEF - 1).to_bytes(4, "big") + SYN[8:]


def test_a_hello_in_fragments(tmp_path: Path) -> None:
    datagram = tcp(client_hello())
    cuts = [(0, 48, 0x2000), (48, 96, 0x2006), (96, len(datagram), 0x000C)]
    pieces = [ethernet(ipv4(datagram[a:b], ident=9, fragment=flags)) for a, b, flags in cuts]
    made = anonymised(write(tmp_path / "c.pcap", ethernet(ipv4(SYN)), pieces[2], pieces[0], pieces[1]), tmp_path)
    assert [len(frame) for frame in made] == [len(ethernet(ipv4(SYN))), len(pieces[2]), len(pieces[0]), len(pieces[1])]
    (row,) = flows_of(tmp_path / "out.pcapng")
    assert row.sni == MAPPING.words(NAME.decode())
    assert row.alpn == ["h2"]
    assert not any(NAME[:6] in frame or A4 + B4 in frame for frame in made)


def test_a_fragment_whose_others_never_came_is_empty(tmp_path: Path) -> None:
    piece = ethernet(ipv4(tcp(client_hello())[:96], ident=9, fragment=0x2000))
    made = anonymised(write(tmp_path / "c.pcap", ethernet(ipv4(SYN)), piece, ethernet(ipv4(tcp(b"x")))), tmp_path)
    assert made[1][34:] == bytes(len(piece) - 34)


def test_what_an_icmp_error_quotes(tmp_path: Path) -> None:
    quoted = ipv4(tcp(client_hello()))
    body = struct.pack(">BBHI", 3, 4, 0, 1400) + quoted
    error = ethernet(
        ipv4(body[:2] + checksum(body + b"\0" * (len(body) % 2)).to_bytes(2, "big") + body[4:], 1, src=B4, dst=A4)
    )
    made = anonymised(write(tmp_path / "c.pcap", ethernet(ipv4(SYN)), error), tmp_path)
    assert made[1][14 + 20 + 8 + 12 : 14 + 20 + 8 + 20] == MAPPING.ip(A4) + MAPPING.ip(B4)
    assert made[1][14 + 20 + 8 + 20 :][:8] == tcp(b"")[:8]
    assert NAME[:6] not in made[1]
    assert set(made[1][14 + 20 + 8 + 28 :]) == {0}


def test_what_an_icmpv6_error_quotes_behind_an_authentication_header(tmp_path: Path) -> None:
    authentication = bytes((6, 4)) + bytes(2) + b"whose this is by key"
    quoted = ipv6(authentication + tcp(client_hello()), 51)
    error = ethernet(ipv6(struct.pack(">BBHI", 1, 1, 0, 0) + quoted, 58), 0x86DD)
    made = anonymised(write(tmp_path / "c.pcap", ethernet(ipv6(SYN), 0x86DD), error), tmp_path)
    behind = made[1][14 + 40 + 8 + 40 :]
    assert behind[:2] == authentication[:2]
    assert behind[len(authentication) :][:8] == tcp(b"")[:8]
    assert set(behind[2 : len(authentication)]) | set(behind[len(authentication) + 8 :]) == {0}


def test_options_tell_no_addresses(tmp_path: Path) -> None:
    route = b"\x07\x07\x04" + A4 + b"\0"
    signature = b"\x13\x12" + b"zanzibar" * 2 + b"\x01\x01"
    frame = ethernet(ipv4(tcp(b"zanzibar", options=signature), options=route))
    made = anonymised(write(tmp_path / "c.pcap", ethernet(ipv4(SYN)), frame), tmp_path)
    assert b"zanzibar" not in made[1]
    assert A4 not in made[1]
    assert made[1][34:37] == b"\x07\x07\x00" or made[1][34:36] == b"\x07\x07"
    assert len(made[1]) == len(frame)


def test_an_ethernet_frame_s_padding_and_addresses(tmp_path: Path) -> None:
    frame = ethernet(ipv4(tcp(b"x"))) + b"zanzibar"
    made = anonymised(write(tmp_path / "c.pcap", ethernet(ipv4(SYN)), frame), tmp_path)
    assert made[1][-8:] == bytes(8)
    assert made[1][:6] == MAPPING.mac(frame[:6])


def test_interfaces_and_comments_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "c.pcapng"
    with open(path, "wb") as out:
        file = PcapngFile(out, "zanzibar capture", ["by zanzibar"])
        number = file.interface(Described(1, 0, "zanzibar0", "at zanzibar", "host 10.0.0.1", comments=("zanzibar",)))
        for frame in (SYN, tcp(b"x")):
            data = ethernet(ipv4(frame))
            file.write(number, T0, data, len(data), [(1, b"pod zanzibar")])
    anonymised(path, tmp_path)
    data = (tmp_path / "out.pcapng").read_bytes()
    assert b"zanzibar" not in data
    assert b"10.0.0.1" not in data


def test_a_dns_message() -> None:
    name = b"\x08zanzibar\x07example\0"
    question = struct.pack(">HHHHHH", 7, 0x8180, 1, 3, 0, 0) + name + b"\0\1\0\1"
    answers = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + A4
    answers += b"\xc0\x0c\0\5\0\1\0\0\0\x3c\0\x0b\x08zanzibar\xc0\x15"
    answers += b"\xc0\x0c\0\x10\0\1\0\0\0\x3c\0\x09\x08zanzibar"
    made = dns_message(question + answers, MAPPING)
    assert len(made) == len(question + answers)
    assert b"zanzibar" not in made
    assert made.count(MAPPING.words("zanzibar").encode()) == 2
    assert MAPPING.ip(A4) in made
    assert made.endswith(bytes(9))


@pytest.mark.parametrize("end", range(0, 160, 3))
def test_a_hello_that_is_cut_anywhere(end: int) -> None:
    body = client_hello()[9:]
    made = Hellos(MAPPING).body(body[:end], True)
    assert len(made) == len(body[:end])
    assert b"zanz" not in made
    assert made[2:34] == MAPPING.blob(bytes(range(100, 132)))[: max(min(end, 34) - 2, 0)]


def test_a_certificate() -> None:
    def der(tag: int, content: bytes) -> bytes:
        return bytes((tag, len(content))) + content

    alternative = der(0x04, der(0x30, der(0x82, NAME) + der(0x87, A4)))
    inner = der(0x06, b"\x55\x04\x03") + der(0x0C, NAME) + der(0x17, b"240131235959Z") + alternative
    body = der(0x30, inner + der(0x02, b"\0" + b"zanzibar"))
    message = (len(body) + 3).to_bytes(3, "big") + len(body).to_bytes(3, "big") + body
    made = Certificates(MAPPING).message(message)
    assert len(made) == len(message)
    assert b"zanzibar" not in made
    assert b"240131" not in made
    assert b"\x55\x04\x03" in made
    assert made.count(MAPPING.words(NAME.decode()).encode()) == 2
    assert MAPPING.ip(A4) in made


def identifier(dotted: str) -> bytes:
    """X.690 section 8.19."""
    first, second, *rest = map(int, dotted.split("."))
    out = b""
    for number in (40 * first + second, *rest):
        digits = [number & 0x7F]
        while number := number >> 7:
            digits.append(number & 0x7F | 0x80)
        out += bytes(reversed(digits))
    return out


def mapped_identifier(dotted: str) -> bytes:
    value = b"\x06" + bytes((len(identifier(dotted)),)) + identifier(dotted)
    body = len(value).to_bytes(3, "big") + value
    made = Certificates(MAPPING).message(len(body).to_bytes(3, "big") + body)
    assert made[:8] == (len(body).to_bytes(3, "big") + body)[:8]
    return made[8:]


@pytest.mark.parametrize(
    "dotted",
    "2.5.4.3 2.5.29.17 1.3.6.1.5.5.7.3.1 1.2.840.113549.1.1.11 1.2.840.10045.3.1.7 1.3.101.112 1.3.132.0.34"
    " 2.16.840.1.101.3.4.2.1 2.23.140.1.2.1 1.3.6.1.4.1.11129.2.4.2 0.9.2342.19200300.100.1.25".split(),
)
def test_identifiers_of_standards_stay(dotted: str) -> None:
    assert mapped_identifier(dotted) == identifier(dotted)


@pytest.mark.parametrize(
    "dotted",
    "1.3.6.1.4.1.6449.1.2 1.3.6.1.4.1.311.21.8.1234567.7654321 1.2.840.113556.1 2.16.840.1.114028.10.1.2"
    " 1.2.276.0.44.1.1 1.3.159.1".split(),
)
def test_identifiers_of_organisations_are_mapped(dotted: str) -> None:
    old, new = identifier(dotted), mapped_identifier(dotted)
    assert len(new) == len(old)
    assert new != old
    assert [byte & 0x80 for byte in new[1:]] == [byte & 0x80 for byte in old[1:]]
    assert 0x80 not in new
    assert new == mapped_identifier(dotted)
    if dotted.startswith("1.3.6.1.4.1."):
        assert new[:5] == old[:5]
        assert new[5:7] != old[5:7]


@given(
    st.binary(max_size=40) | st.sampled_from([b"\xff\xff", b"\xff\xff" * 3, b"\0\0", b"\xff\xfe\0\1"]),
    st.integers(0, 0xFFFF),
)
def test_the_sum_is_that_of_the_words(data: bytes, start: int) -> None:
    padded = data + b"\0" * (len(data) % 2)
    total = start + sum(struct.unpack(f">{len(padded) // 2}H", padded))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    assert internet_sum(data, start) == total


def test_a_checksum_that_a_card_was_to_fill_in_stays_that() -> None:
    old, new = b"\1\2\3\4\0\0\5\6", b"\7\1\3\4\0\0\5\6"
    pseudo, other = b"\x0a\0\0\1\x0a\0\0\2", b"\x0a\0\0\7\x0a\0\0\x09"
    partial = sum(struct.unpack(">4H", pseudo)).to_bytes(2, "big")
    told = carried(old[:4] + partial + old[6:], new, 4, pseudo, other)
    assert told == sum(struct.unpack(">4H", other))
    assert carried(old, new, 4, pseudo, other) == 0
    right = carried(old[:4] + b"\x12\x34" + old[6:], new, 4, pseudo, other)
    whole = new[:4] + right.to_bytes(2, "big") + new[6:] + other
    assert checksum(whole) != 0


def test_a_tunnel_s_outer_addresses(tmp_path: Path) -> None:
    outer = bytes((172, 16, 0, 1)), bytes((172, 16, 0, 2))
    frames = [
        ethernet(
            ipv4(udp(b"\x08" + bytes(3) + b"\0\0\x2a\0" + ethernet(ipv4(each)), 4789), 17, src=outer[0], dst=outer[1])
        )
        for each in (SYN, tcp(client_hello()))
    ]
    made = anonymised(write(tmp_path / "c.pcap", *frames), tmp_path)
    assert not any(address in frame for frame in made for address in (*outer, A4 + B4))
    (row,) = flows_of(tmp_path / "out.pcapng")
    assert row.tunnel == "vxlan:42"
    assert row.sni == MAPPING.words(NAME.decode())


@pytest.mark.parametrize("port", [6081, 9999])
def test_options_of_geneve_are_gone_whatever_the_port(port: int, tmp_path: Path) -> None:
    header = b"\x03\0\x65\x58\0\0\x2a\0"
    option = b"\x01\x02\x80\x02" + b"whose it"
    frames = [
        ethernet(ipv4(udp(header + option + ethernet(ipv4(each)), port), 17)) for each in (SYN, tcp(client_hello()))
    ]
    made = anonymised(write(tmp_path / "c.pcap", *frames), tmp_path)
    assert all(header in frame for frame in made)
    assert not any(b"whose it" in frame for frame in made)
    (row,) = flows_of(tmp_path / "out.pcapng")
    assert row.tunnel == "geneve:42"


def test_extensions_of_gtp_are_gone(tmp_path: Path) -> None:
    header = b"\x34\xff\0\0\0\0\0\x2a\0\0\0\x85"
    extensions = b"\x03\0whose it\0\xc0", b"\x01x\0\0"
    frames = [
        ethernet(ipv4(udp(header + b"".join(extensions) + ipv4(each), 2152), 17)) for each in (SYN, tcp(client_hello()))
    ]
    made = anonymised(write(tmp_path / "c.pcap", *frames), tmp_path)
    emptied = b"\x03" + bytes(10) + b"\xc0\x01" + bytes(3)
    assert all(header + emptied in frame for frame in made)
    (row,) = flows_of(tmp_path / "out.pcapng")
    assert row.tunnel == "gtp:42"


@pytest.mark.parametrize("in_udp", [False, True])
def test_source_routes_of_gre_are_gone(in_udp: bool, tmp_path: Path) -> None:
    route = bytes((198, 51, 100, 7, 198, 51, 100, 8))
    fields = bytes(4) + b"\x08\0\0\x08" + route + bytes(4)
    tunnelled = [gre(ipv4(each), 0x0800, 0x4000, fields) for each in (SYN, tcp(client_hello()))]
    frames = [ethernet(ipv4(udp(each, 4754), 17) if in_udp else ipv4(each, 47)) for each in tunnelled]
    made = anonymised(write(tmp_path / "c.pcap", *frames), tmp_path)
    assert [len(frame) for frame in made] == [len(frame) for frame in frames]
    assert not any(part in frame for frame in made for part in (route[:4], route[4:], NAME[:6]))


def test_a_checksum_of_gre_in_udp_is_right(tmp_path: Path) -> None:
    frames = []
    for each in (SYN, tcp(client_hello())):
        right = checksum(gre(ipv4(each), 0x0800, 0x8000, bytes(4)))
        frames.append(
            ethernet(ipv4(udp(gre(ipv4(each), 0x0800, 0x8000, right.to_bytes(2, "big") + bytes(2)), 4754), 17))
        )
    made = anonymised(write(tmp_path / "c.pcap", *frames), tmp_path)
    assert [checksum(frame[14 + 20 + 8 :]) for frame in made] == [0, 0]
