"""Fragments: any cut and order joins to the same segment, and nothing grows without bound."""

import random
import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packet_support import A4, A6, B4, B6, RAW, Decoded, decode, ethernet, found, ipv4, ipv6, malformed, other, tcp, udp

from pcapstall.wire.decode import Decoder
from pcapstall.wire.fragments import MAX_BYTES, MAX_PENDING, MAX_PIECES, TIMEOUT_NS

PAYLOAD = bytes(range(200))
SECOND = 1_000_000_000


def cut4(payload: bytes, cuts: list[int], ident: int = 7, protocol: int = 6, options: bytes = b"") -> list[bytes]:
    """IPv4 fragments of ``payload``, cut at multiples of 8."""
    edges = [0, *sorted(set(cuts)), len(payload)]
    return [
        ipv4(
            payload[a:b], protocol, fragment=(0 if b == len(payload) else 0x2000) | a // 8, ident=ident, options=options
        )
        for a, b in pairwise(edges)
    ]


def cut6(payload: bytes, cuts: list[int], ident: int = 7, before: bytes = b"") -> list[bytes]:
    """IPv6 fragments; ``before`` is a destination options header that is in each of them."""
    edges = [0, *sorted(set(cuts)), len(payload)]
    fragments = []
    for a, b in pairwise(edges):
        header = struct.pack(">BBHI", 6, 0, a | (0 if b == len(payload) else 1), ident)
        fragments.append(ipv6(before + header + payload[a:b], 60 if before else 44))
    return fragments


def run(packets: list[bytes], decoder: Decoder | None = None, ts_ns: int = 0) -> list[Decoded]:
    decoder = Decoder() if decoder is None else decoder
    return [decode(packet, RAW, decoder=decoder, ts_ns=ts_ns) for packet in packets]


CUTS = st.lists(st.integers(1, 27).map(lambda n: n * 8), min_size=1, max_size=8)


@given(st.data(), CUTS, st.booleans())
def test_any_cut_in_any_order_is_joined_by_the_last(data: st.DataObject, cuts: list[int], v6: bool) -> None:
    fragments = (cut6 if v6 else cut4)(tcp(PAYLOAD), cuts)
    decoder = Decoder()
    got = run(data.draw(st.permutations(fragments)), decoder)
    assert got == [other()] * (len(fragments) - 1) + [found(PAYLOAD, v6=v6)]
    assert decoder.fragments.waiting == decoder.fragments.dropped == 0


@given(st.lists(st.tuples(st.integers(0, 27), st.integers(1, 28)), max_size=12), st.randoms(use_true_random=False))
def test_overlapping_and_repeated_fragments_join_too(extra: list[tuple[int, int]], rng: random.Random) -> None:
    data = tcp(PAYLOAD)
    pieces = cut4(data, [64, 128])
    for first, length in extra:
        a, b = first * 8, min((first + length) * 8, len(data))
        if a < b < len(data):
            pieces.append(ipv4(data[a:b], fragment=0x2000 | first))
    rng.shuffle(pieces)
    got = run(pieces)
    assert found(PAYLOAD) in got
    assert {decoded.outcome for decoded in got} <= {"tcp", "other"}


def test_the_first_of_two_that_overlap_wins() -> None:
    data = tcp(PAYLOAD)
    liar = bytes(b ^ 0xFF for b in data)
    packets = [
        ipv4(data[40:80], fragment=0x2000 | 5),
        ipv4(liar[32:96], fragment=0x2000 | 4),  # new are 32-40 and 80-96
        ipv4(data[:48], fragment=0x2000),  # new are 0-32
        ipv4(data[96:], fragment=12),
    ]
    want = data[:32] + liar[32:40] + data[40:80] + liar[80:96] + data[96:]
    assert run(packets)[-1] == found(want[20:])


def test_the_first_end_wins() -> None:
    data = tcp(PAYLOAD)
    assert run([ipv4(data[160:168], fragment=20), ipv4(data[160:], fragment=20), ipv4(data[:160], fragment=0x2000)])[
        -1
    ] == found(data[20:168])


def test_options_stay_with_the_joined_header() -> None:
    decoder = Decoder()
    packets = cut4(tcp(PAYLOAD), [80], options=b"\x94\4\0\0")
    assert run(packets[::-1], decoder)[-1] == found(PAYLOAD)
    segment = decoder.segment
    assert (segment.ip_offset, segment.tcp_offset, segment.ip_id) == (0, 24, 7)
    header = segment.buf[:24]
    assert header[2:4] == len(segment.buf).to_bytes(2, "big")
    assert header[6:8] == b"\0\0"


def test_extension_headers_before_the_fragment_header_stay() -> None:
    before = b"\x2c\0" + bytes(6)
    decoder = Decoder()
    assert run(cut6(tcp(PAYLOAD), [80, 160], before=before), decoder)[-1] == found(PAYLOAD, v6=True)
    assert decoder.segment.buf[40] == 6, "the destination options name TCP now"
    assert decoder.segment.buf[8:40] == A6 + B6


def test_the_only_fragment_of_ipv6_is_no_fragment() -> None:
    decoder = Decoder()
    assert run([ipv6(b"\6\0\0\0\0\0\0\7" + tcp(), 44)], decoder) == [found(v6=True)]
    assert decoder.fragments.waiting == 0


def test_datagrams_are_kept_apart() -> None:
    one, two = cut4(tcp(b"one" * 9), [24], 1), cut4(tcp(b"two" * 9), [24], 2)
    other_protocol = cut4(udp(bytes(40), 9), [24], 1, 17)
    got = run([one[0], two[0], other_protocol[0], two[1], other_protocol[1], one[1]])
    assert got == [other()] * 3 + [found(b"two" * 9), other(), found(b"one" * 9)]


def test_a_tunnel_may_be_in_fragments() -> None:
    inner = ethernet(ipv6(tcp(PAYLOAD), 6), 0x86DD)
    whole = udp(bytes.fromhex("0800000000002a00") + inner, 4789)
    assert run(cut4(whole, [48, 96], protocol=17))[-1] == found(PAYLOAD, v6=True, tunnel="vxlan:42")
    inside = [ipv4(packet, 4) for packet in cut4(tcp(PAYLOAD), [48])]
    assert run(inside)[-1] == found(PAYLOAD, tunnel="ipip")


def test_fragments_in_fragments_end() -> None:
    packet = ipv4(tcp(PAYLOAD))
    for _ in range(20):
        packet = ipv4(packet, 4)
    assert run(cut4(packet[20:], [160], protocol=4))[-1] == malformed("nested too deep")


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (ipv4(bytes(12), fragment=0x2000), "ip fragment length"),
        (ipv4(bytes(16), fragment=0x1FFF), "ip fragment beyond 65535"),
        (ipv6(struct.pack(">BBHI", 6, 0, 0xFFF8, 1) + bytes(16), 44), "ip fragment beyond 65535"),
        (ipv6(b"\6\0\0\1", 44), "ipv6 extension header cut"),
    ],
)
def test_impossible_fragments_are_malformed(packet: bytes, reason: str) -> None:
    decoder = Decoder()
    assert run([packet], decoder) == [malformed(reason)]
    assert decoder.fragments.waiting == 0


def test_a_joined_datagram_too_long_for_its_header_is_malformed() -> None:
    decoder = Decoder()
    step = 32768 - 8
    first = [ipv4(bytes(step), fragment=0x2000 | n * step // 8, options=bytes(40)) for n in range(2)]
    last = ipv4(bytes(15), fragment=2 * step // 8)
    assert run([*first, last], decoder) == [other(), other(), malformed("ip fragment beyond 65535")]


def test_a_fragment_that_the_snap_length_cut_is_counted() -> None:
    decoder = Decoder()
    one, two = cut4(tcp(PAYLOAD), [80])
    assert decode(one[:60], RAW, origlen=len(one), decoder=decoder) == other()
    assert run([two], decoder) == [other()]
    assert (decoder.fragments.cut, decoder.fragments.waiting) == (1, 1)


def test_an_old_datagram_is_given_up() -> None:
    decoder = Decoder()
    one, two = cut4(tcp(PAYLOAD), [80])
    run([one], decoder, ts_ns=5 * SECOND)
    assert run([two], decoder, ts_ns=5 * SECOND + TIMEOUT_NS) == [found(PAYLOAD)]
    run([one], decoder, ts_ns=5 * SECOND)
    assert run([two], decoder, ts_ns=5 * SECOND + TIMEOUT_NS + 1) == [other()]
    assert (decoder.fragments.dropped, decoder.fragments.waiting) == (1, 1)
    assert run([one], decoder, ts_ns=0) == [found(PAYLOAD)], "a clock that goes back ends nothing"


def test_few_datagrams_wait() -> None:
    decoder = Decoder()
    firsts, seconds = zip(*(cut4(tcp(PAYLOAD), [80], ident) for ident in range(MAX_PENDING + 1)), strict=True)
    run(list(firsts), decoder)
    assert (decoder.fragments.waiting, decoder.fragments.dropped) == (MAX_PENDING, 1)
    assert run(list(seconds[1:]), decoder) == [found(PAYLOAD)] * MAX_PENDING
    assert run([seconds[0]], decoder) == [other()], "the oldest had to go"


def test_few_bytes_wait() -> None:
    decoder = Decoder()
    for ident in range(40):
        run([ipv4(bytes(64000), fragment=0x2000, ident=ident)], decoder)
    assert decoder.fragments.held_bytes <= MAX_BYTES
    assert decoder.fragments.waiting == MAX_BYTES // 64000
    assert decoder.fragments.dropped == 40 - MAX_BYTES // 64000


def test_few_pieces_wait() -> None:
    decoder = Decoder()
    run([ipv4(bytes(8), fragment=0x2000 | 2 * n) for n in range(MAX_PIECES + 1)], decoder)
    assert (decoder.fragments.waiting, decoder.fragments.held_bytes, decoder.fragments.dropped) == (0, 0, 1)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 6), st.booleans(), st.integers(0, 3)), max_size=30))
def test_any_fragments_leave_the_count_of_bytes_right(packets: list[tuple[int, int, bool, int]]) -> None:
    decoder = Decoder()
    for offset, length, more, ident in packets:
        run([ipv4(bytes(length * 8), fragment=(0x2000 if more else 0) | offset, ident=ident)], decoder)
    held = decoder.fragments.held_bytes
    assert held <= len(packets) * 48
    run([ipv4(bytes(8), fragment=0x2000 | 100, ident=9)], decoder, ts_ns=TIMEOUT_NS + 1)
    assert decoder.fragments.held_bytes == 8


def test_fragments_whose_other_parts_never_came_are_counted() -> None:
    decoder = Decoder()
    for cut in (cut4, cut6):
        first, *rest = cut(tcp(PAYLOAD), [48, 96])
        run([first, first, *rest, *rest], decoder)  # copies of a complete datagram lack nothing
    decoder.fragments.give_up()
    assert decoder.unread.fragments == {}
    for cut in (cut4, cut6):
        run(cut(tcp(PAYLOAD), [48, 96], ident=8)[:2], decoder, ts_ns=SECOND)
    run(cut4(udp(PAYLOAD, 53), [48, 96], ident=9, protocol=17)[1:], decoder)
    decoder.fragments.give_up()
    assert decoder.unread.fragments == {0: 6}
    for one, other_end in ((A4, B4), (B6, A6)):
        (unread,) = decoder.unread.between(one, other_end, 0, SECOND)
        assert (unread.ns, unread.fragments) == (SECOND, 2)
        assert decoder.unread.between(one, other_end, 0, SECOND - 1) == []


def test_a_malformed_segment_is_remembered_by_its_hosts() -> None:
    decoder = Decoder()
    segment = bytearray(tcp(PAYLOAD))
    segment[12] = 0x20
    assert run([ipv4(bytes(segment)), ipv6(bytes(segment))], decoder) == [malformed("tcp offset < 5")] * 2
    assert [unread.fragments for unread in decoder.unread.between(B4, A4, 0, 0)] == [0]
    assert [unread.fragments for unread in decoder.unread.between(A6, B6, 0, 0)] == [0]
