"""Sequence arithmetic around the ring."""

from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.seq import RING, seq_diff, to_offset

SEQ = st.integers(0, RING - 1)


@given(SEQ, st.integers(-(2**31), 2**31 - 1))
def test_distance_of_what_was_moved(seq: int, distance: int) -> None:
    assert seq_diff((seq + distance) % RING, seq) == distance


@given(SEQ, st.integers(0, 2**40), st.integers(-(2**31), 2**31 - 1))
def test_offset_near_another(base: int, near: int, distance: int) -> None:
    """A stream of many GiB: the offset is found again from its low 32 bits."""
    offset = near + distance
    assert to_offset((base + offset) % RING, base, near) == offset
