"""The options of a noted segment: MSS and SACK blocks, where a walk ends, and lengths that lie."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.diagnose.segments import _options
from pcapstall.flows.flow import Flow, HalfFlow

NOP, END = b"\x01", b"\x00"
MSS = b"\2\4\x05\xb4"


def peer(base_seq: int) -> HalfFlow:
    half = Flow(b"", 1, 0, 0).opener
    half.base_seq = base_seq
    return half


@pytest.mark.parametrize(
    ("options", "mss"),
    [
        (MSS, 1460),
        (NOP + NOP + b"\4\2" + MSS, 1460),
        (b"", -1),
        (END + MSS, -1),
        (b"\2\3\5", -1),
        (b"\2\4\5", -1),
        (b"\x13\x01" + MSS, -1),
    ],
)
def test_the_mss(options: bytes, mss: int) -> None:
    assert _options(options, peer(0)) == (mss, ())


@pytest.mark.parametrize("count", range(1, 5))
def test_sack_blocks_are_offsets_across_the_wrap(count: int) -> None:
    blocks = [(n * 7, n * 7 + 5) for n in range(count)]
    edges = [(edge + 0xFFFFFFFE) % (1 << 32) for block in blocks for edge in block]
    options = NOP + NOP + bytes((5, 2 + 8 * count)) + struct.pack(f">{2 * count}I", *edges)
    assert _options(options, peer(0xFFFFFFFE)) == (-1, tuple(blocks))
    assert _options(options, peer(-1)) == (-1, ()), "nobody knows where the peer's stream begins"


def test_a_sack_of_odd_length_has_whole_blocks() -> None:
    assert _options(bytes((5, 2 + 8 + 5)) + bytes(13), peer(0)) == (-1, ((0, 0),))


@given(st.binary(max_size=40))
def test_any_options_come_to_an_end(options: bytes) -> None:
    mss, sacks = _options(options, peer(0))
    assert -1 <= mss < 1 << 16
    assert len(sacks) <= 4
