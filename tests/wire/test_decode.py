"""IPv4, IPv6 and TCP headers: lengths that agree, that disagree, and that the snap length cut."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packet_support import (
    A4,
    B4,
    ETHERNET,
    RAW,
    checksum,
    decode,
    ethernet,
    found,
    ipv4,
    ipv6,
    malformed,
    other,
    tcp,
    udp,
)

from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import TCP

NOP = b"\x01"


def test_ethernet_ipv4_tcp() -> None:
    decoder = Decoder()
    assert decode(ethernet(ipv4(tcp())), decoder=decoder) == found()
    segment = decoder.segment
    assert (segment.ip_id, segment.ttl, segment.window) == (7, 64, 1024)
    assert (segment.ip_offset, segment.tcp_offset, segment.payload_offset) == (5 + 14, 5 + 34, 5 + 54)
    assert segment.link_interface == segment.packet_type == -1


def test_ipv6_has_no_ip_id() -> None:
    decoder = Decoder()
    assert decode(ethernet(ipv6(tcp()), 0x86DD), decoder=decoder) == found(v6=True)
    assert decoder.segment.ip_id == -1


def test_options_of_ip_and_tcp_are_passed_over() -> None:
    assert decode(ethernet(ipv4(tcp(options=NOP * 12), options=NOP * 40))) == found()


def test_ethernet_padding_is_no_payload() -> None:
    assert decode(ethernet(ipv4(tcp(b""))) + bytes(6)) == found(b"")
    assert decode(ethernet(ipv6(tcp(b"")), 0x86DD) + bytes(6)) == found(b"", v6=True)


def test_length_0_of_an_offload_is_the_frames() -> None:
    payload = bytes(70000)
    assert decode(ethernet(ipv4(tcp(payload), total=0))) == found(payload)
    assert decode(ethernet(ipv6(tcp(payload), length=0), 0x86DD)) == found(payload, v6=True)


def test_length_0_with_a_cut_frame_is_the_original_frames() -> None:
    frame = ethernet(ipv4(tcp(bytes(1000)), total=0))
    assert decode(frame[:96], origlen=len(frame)).payload_len == 1000


def test_a_jumbo_payload_option_holds_the_length() -> None:
    payload = bytes(70000)
    segment = tcp(payload)
    jumbo = struct.pack(">BBBBI", 6, 0, 0xC2, 4, 8 + len(segment))
    padded = struct.pack(">BBBBBBI6x", 6, 1, 0, 0, 0xC2, 4, 16 + len(segment))
    for header in (jumbo, padded):
        assert decode(ethernet(ipv6(header + segment, 0, length=0), 0x86DD) + b"trailer") == found(payload, v6=True)


@pytest.mark.parametrize("captured", range(54, 160, 5))
def test_snap_length_cuts_the_payload_not_its_length(captured: int) -> None:
    frame = ethernet(ipv4(tcp(bytes(range(100)))))
    got = decode(frame[:captured], origlen=len(frame))
    assert got.payload == frame[54:captured]
    assert got.payload_len == 100


def test_a_length_beyond_the_frame_is_believed() -> None:
    frame = ethernet(ipv4(tcp(bytes(1000))))
    got = decode(frame[:100])
    assert (got.payload_len, len(got.payload)) == (1000, 100 - 54)


def test_tcp_options_cut_by_the_snap_length() -> None:
    decoder = Decoder()
    frame = ethernet(ipv4(tcp(b"hello", NOP * 12)))
    got = decode(frame[: 54 + 4], origlen=len(frame), decoder=decoder)
    assert (got.payload_len, got.payload) == (5, b"")
    assert decoder.segment.options_end - decoder.segment.tcp_offset == 24


HEADERS = {
    "ipv4": ethernet(ipv4(tcp())),
    "ipv6": ethernet(ipv6(tcp()), 0x86DD),
    "vlan": ethernet(b"\0\1\x08\0" + ipv4(tcp()), 0x8100),
}


@pytest.mark.parametrize("name", HEADERS)
def test_every_cut_is_said_where_it_is(name: str) -> None:
    frame = HEADERS[name]
    ip_at = {"ipv4": 14, "ipv6": 14, "vlan": 18}[name]
    tcp_at = ip_at + (40 if name == "ipv6" else 20)
    for captured in range(len(frame)):
        got = decode(frame[:captured], origlen=len(frame))
        if captured < 14:
            assert got == malformed("ethernet header cut")
        elif captured < ip_at:
            assert got == malformed("bad vlan")
        elif captured < tcp_at:
            assert got == malformed("ip header cut")
        elif captured < tcp_at + 20:
            assert got == malformed("tcp header cut")
        else:
            assert got.outcome == "tcp"
            assert got.payload_len == 5


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (b"\x55" + ipv4(tcp())[1:], "ip version"),
        (b"\x44" + ipv4(tcp())[1:], "ip header length < 20"),
        (b"\x4f" + ipv4(tcp(b""))[1:40], "ip header cut"),
        (ipv4(tcp(), total=19), "ip total length < header"),
        (ipv4(tcp(offset=4)), "tcp offset < 5"),
        (ipv4(tcp(offset=15)), "tcp offset beyond packet"),
        (ipv4(tcp(), total=30), "tcp header cut"),
        (ipv4(b"", total=20) + bytes(26), "tcp header cut"),
        (ipv4(b"\6\1", 51), "ah header cut"),
        (ipv4(b"abc", 17), "udp header cut"),
    ],
)
def test_a_malformed_packet_is_counted_with_its_reason(packet: bytes, reason: str) -> None:
    assert decode(ethernet(packet)) == malformed(reason)


def test_what_is_not_tcp_is_other() -> None:
    assert decode(ethernet(bytes(28), 0x0806)) == other()  # ARP
    assert decode(ethernet(ipv4(b"", 1))) == other()
    assert decode(ethernet(ipv4(bytes(40), 50))) == other()  # ESP
    assert decode(ethernet(ipv6(bytes(40), 50), 0x86DD)) == other()
    assert decode(ethernet(ipv6(b"", 59), 0x86DD)) == other()  # no next header
    assert decode(ethernet(ipv4(udp(b"x", 9), 17))) == other()


def extension(kind: int, following: int, words: int = 0) -> bytes:
    """An IPv6 extension header of ``words`` more than its least length."""
    if kind == 51:
        return bytes((following, words + 1)) + bytes(10 + 4 * words)
    return bytes((following, words)) + bytes(6 + 8 * words)


@given(st.lists(st.tuples(st.sampled_from((0, 43, 51, 60, 135, 139, 140)), st.integers(0, 3)), max_size=8))
def test_ipv6_extension_headers(chain: list[tuple[int, int]]) -> None:
    packet, following = tcp(), 6
    for kind, words in reversed(chain):
        packet, following = extension(kind, following, words) + packet, kind
    assert decode(ethernet(ipv6(packet, following), 0x86DD)) == found(v6=True)


def test_ipv6_extension_headers_end() -> None:
    assert decode(ethernet(ipv6(extension(60, 60) * 40 + tcp(), 60), 0x86DD)) == malformed(
        "more than 32 ipv6 extension headers"
    )
    assert decode(ethernet(ipv6(extension(60, 6, 200)[:40], 60), 0x86DD)) == malformed("ipv6 extension header cut")


def test_authentication_header_hides_nothing() -> None:
    assert decode(ethernet(ipv4(extension(51, 6) + tcp(), 51))) == found()


def test_ip_in_ip_has_an_end() -> None:
    packet = ipv4(tcp())
    for depth in range(2, 20):
        packet = ipv4(packet, 4)
        got = decode(packet, RAW)
        if depth <= 16:
            assert got == found(tunnel="/".join(["ipip"] * (depth - 1)))
        else:
            assert got == malformed("nested too deep")


def test_vlan_tags_have_an_end() -> None:
    tag = b"\0\1\x81\0"
    assert decode(ethernet(tag * 100 + ipv4(tcp()), 0x8100)) == malformed("nested too deep")


def test_dns_is_pointed_at() -> None:
    decoder = Decoder()
    message = bytes(12) + b"\0"
    for packet, addresses in (
        (ethernet(ipv4(udp(message, 53), 17)), A4 + B4),
        (ethernet(ipv6(udp(message, 5, 53), 17), 0x86DD), None),
    ):
        assert decode(packet, decoder=decoder) == other()
        dns = decoder.dns
        assert dns is not None
        assert dns.buf[dns.offset : dns.offset + dns.captured_len] == message
        if addresses is not None:
            assert dns.key == addresses + struct.pack(">HH", 50000, 53)
        else:
            assert (len(dns.key), dns.key[-4:]) == (36, struct.pack(">HH", 53, 5))
    decode(ethernet(ipv4(tcp())), decoder=decoder)
    assert decoder.dns is None
    decode(ethernet(ipv4(udp(message[:11], 53), 17)), decoder=decoder)
    assert decoder.dns is None


LINKTYPES = (
    0,
    1,
    9,
    12,
    14,
    50,
    51,
    100,
    101,
    104,
    105,
    108,
    113,
    117,
    119,
    127,
    147,
    163,
    204,
    219,
    226,
    228,
    229,
    239,
    240,
    258,
    274,
    276,
)


@given(st.binary(max_size=120), st.sampled_from(LINKTYPES))
def test_any_bytes_have_an_outcome(frame: bytes, linktype: int) -> None:
    decode(frame, linktype)


# What makes a walk go on, so that random bytes reach further than the first layer.
SEEDS = st.sampled_from(
    [
        bytes.fromhex(text)
        for text in (
            "4500", "6000000000", "0800", "86dd", "8100", "88a8", "8847", "8864", "1100", "0021", "ff03", "6558",
            "88be", "22eb", "880b", "aaaa03000000", "12b5", "17c1", "0868", "0dd8", "0800000000002a00", "30ff", "2f",
            "29", "04", "06", "11", "3a", "2c", "00", "0000000100", "c204", "5000", "f0",
        )
    ]
)  # fmt: skip


@given(st.lists(st.one_of(SEEDS, st.binary(max_size=14)), max_size=30).map(b"".join), st.sampled_from(LINKTYPES))
def test_bytes_that_look_like_layers_have_an_outcome(frame: bytes, linktype: int) -> None:
    decoder = Decoder()
    for ts_ns in range(3):
        decode(frame, linktype, decoder=decoder, ts_ns=ts_ns)


@given(st.data())
def test_a_damaged_packet_has_an_outcome(data: st.DataObject) -> None:
    frame = bytearray(ethernet(ipv4(udp(bytes.fromhex("0800000000002a00") + ethernet(ipv6(tcp()), 0x86DD), 4789), 17)))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(12, len(frame) - 1))] = data.draw(st.integers(0, 255))
    decode(bytes(frame[: data.draw(st.integers(0, len(frame)))]), origlen=len(frame))


def test_checksums_of_the_builders_are_right() -> None:
    assert checksum(ipv4(b"")[:20]) == 0


def test_nothing_is_carried_over() -> None:
    decoder = Decoder()
    decode(ipv4(ipv4(tcp()), 4), RAW, decoder=decoder)
    assert decoder.segment.tunnel == "ipip"
    sll2 = bytes.fromhex("0800 0000 00000005 0001 04 06 0000000000000000") + ipv4(tcp())
    assert decode(sll2, 276, decoder=decoder).tunnel == ""
    assert (decoder.segment.link_interface, decoder.segment.packet_type) == (5, 4)
    assert decode(ethernet(ipv4(tcp())), ETHERNET, decoder=decoder) == found()
    assert (decoder.segment.link_interface, decoder.segment.packet_type) == (-1, -1)
    assert decoder.decode(ethernet(ipv4(tcp())), 0, 59, 0, ETHERNET) == TCP  # an original length that is none
