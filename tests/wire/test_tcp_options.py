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


@given(st.binary(max_size=40).filter(lambda options: len(options) % 4 == 0), st.integers(0, 40))
def test_any_options_come_to_an_end(options: bytes, captured: int) -> None:
    s = segment(options, min(captured, len(options)))
    tcp_options.timestamps(s)
    for kind in range(256):
        at = tcp_options.find_option(s, kind, 2)
        if at >= 0:
            assert s.tcp_offset + 20 <= at
            assert at + s.buf[at + 1] <= s.options_end
