"""Words of both byte orders: what `int.from_bytes` says, and an error where the buffer is too short."""

from collections.abc import Callable
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from librt.strings import BytesWriter

from pcapstall.core.words import u16_be, u16_le, u24_be, u32_be, u32_le, write_u32_be

READERS: list[tuple[Callable[[bytes, int], int], int, Literal["big", "little"]]] = [
    (u16_be, 2, "big"),
    (u24_be, 3, "big"),
    (u32_be, 4, "big"),
    (u16_le, 2, "little"),
    (u32_le, 4, "little"),
]


@given(st.binary(min_size=4, max_size=12), st.integers(0, 12))
def test_a_word_is_what_its_bytes_say(buf: bytes, offset: int) -> None:
    for read, size, order in READERS:
        if offset + size <= len(buf):
            assert read(buf, offset) == int.from_bytes(buf[offset : offset + size], order)
        else:
            with pytest.raises(IndexError):
                read(buf, offset)


@given(st.binary(max_size=12), st.integers(-12, -1))
def test_nothing_is_read_before_the_buffer(buf: bytes, offset: int) -> None:
    for read, _, _ in READERS:
        with pytest.raises(ValueError, match="negative"):
            read(buf, offset)


@given(st.integers(0, 2**48))
def test_a_written_word_is_its_low_bits(word: int) -> None:
    writer = BytesWriter()
    write_u32_be(writer, word)
    assert writer.getvalue() == (word & 0xFFFF_FFFF).to_bytes(4, "big")
