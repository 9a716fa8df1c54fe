"""TCP options: each that is read, where a walk ends, and lengths that lie."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packet_support import decode, ethernet, ipv4, tcp

from pcapstall.wire import tcp_options
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import Segment

NOP, END = b"\x01", b"\x00"
MSS = b"\2\4\x05\xb4"
SCALE = b"\3\3\7"
SACK_OK = b"\4\2"
STAMPS = struct.pack(">BBII", 8, 10, 0xFFFFFFFE, 17)


def segment(options: bytes, captured: int | None = None) -> Segment:
    """A segment with ``options``, padded; ``captured`` bytes of them came through the snap length."""
    options += bytes(-len(options) % 4)
    frame = ethernet(ipv4(tcp(b"payload", options)))
    decoder = Decoder()
    cut = frame if captured is None else frame[: 54 + captured]
    assert decode(cut, origlen=len(frame), decoder=decoder).outcome == "tcp"
    return decoder.segment


@pytest.mark.parametrize(
    "options",
    [NOP + NOP + STAMPS, STAMPS + NOP + NOP, MSS + SACK_OK + STAMPS + NOP + SCALE, NOP + STAMPS, SCALE + STAMPS],
)
def test_timestamps(options: bytes) -> None:
    s = segment(options)
    assert tcp_options.timestamps(s)
    assert (s.tsval, s.tsecr) == (0xFFFFFFFE, 17)


@pytest.mark.parametrize(
    "options",
    [b"", MSS, END + STAMPS, b"\x13\x01" + STAMPS, *(bytes((8, length)) + STAMPS[2:] for length in (0, 1, 9, 11, 255))],
)
def test_no_timestamps(options: bytes) -> None:
    s = segment(options)
    s.tsval = s.tsecr = 5
    assert not tcp_options.timestamps(s)
    assert (s.tsval, s.tsecr) == (-1, -1)


@pytest.mark.parametrize("captured", range(12))
def test_timestamps_that_were_cut_are_absent(captured: int) -> None:
    assert not tcp_options.timestamps(segment(NOP + NOP + STAMPS, captured))


def test_options_of_a_syn() -> None:
    s = segment(MSS + SACK_OK + STAMPS + NOP + SCALE)
    assert tcp_options.max_segment_size(s) == 1460
    assert tcp_options.window_scale(s) == 7
    assert tcp_options.sack_permitted(s)
    assert not tcp_options.is_multipath(s)
    assert tcp_options.fast_open_cookie_len(s) == tcp_options.ABSENT


def test_options_that_are_not_there() -> None:
    s = segment(b"")
    assert tcp_options.max_segment_size(s) == tcp_options.window_scale(s) == tcp_options.ABSENT
    assert tcp_options.sack_count(s) == 0
    assert tcp_options.sack_block(s, 0) == (-1, -1)
    assert not tcp_options.sack_permitted(s)


def test_a_shift_is_14_at_most() -> None:
    assert tcp_options.window_scale(segment(b"\3\3\xff")) == 14


@pytest.mark.parametrize("count", range(1, 5))
def test_sack_blocks(count: int) -> None:
    blocks = [(0xFFFFFF00 + n, n * 7) for n in range(count)]
    s = segment(NOP + NOP + bytes((5, 2 + 8 * count)) + b"".join(struct.pack(">II", *block) for block in blocks))
    assert tcp_options.sack_count(s) == count
    assert [tcp_options.sack_block(s, n) for n in range(count)] == blocks
    assert tcp_options.sack_block(s, count) == tcp_options.sack_block(s, -1) == (-1, -1)


def test_a_sack_of_odd_length_has_whole_blocks() -> None:
    s = segment(bytes((5, 2 + 8 + 5)) + bytes(13))
    assert tcp_options.sack_count(s) == 1
    assert tcp_options.sack_block(s, 1) == (-1, -1)


@pytest.mark.parametrize(
    ("options", "length"),
    [
        (b"\x22\x02", 0),
        (b"\x22\x0a" + bytes(8), 8),
        (b"\xfe\x04\xf9\x89", 0),
        (b"\xfe\x0c\xf9\x89" + bytes(8), 8),
        (b"\xfd\x08\xf9\x89" + bytes(4), 4),
        (b"\xfe\x04\xe2\xd4\xfd\x04\xf9\x89", 0),
        (b"\xfe\x04\xe2\xd4", tcp_options.ABSENT),
        (b"\xfe\x02", tcp_options.ABSENT),
    ],
)
def test_fast_open(options: bytes, length: int) -> None:
    assert tcp_options.fast_open_cookie_len(segment(options)) == length


def test_multipath() -> None:
    assert tcp_options.is_multipath(segment(b"\x1e\x0c\x01\x81" + bytes(8)))


@given(st.binary(max_size=40).filter(lambda options: len(options) % 4 == 0), st.integers(0, 40))
def test_any_options_come_to_an_end(options: bytes, captured: int) -> None:
    s = segment(options, min(captured, len(options)))
    tcp_options.timestamps(s)
    for kind in range(256):
        at = tcp_options.find_option(s, kind, 2)
        if at >= 0:
            assert s.tcp_offset + 20 <= at
            assert at + s.buf[at + 1] <= s.options_end
    for index in range(-1, 6):
        tcp_options.sack_block(s, index)
    tcp_options.fast_open_cookie_len(s)
    tcp_options.max_segment_size(s)
    tcp_options.window_scale(s)
