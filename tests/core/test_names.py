"""Frame references, words and endpoints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.endpoints import format_endpoint, parse_endpoint
from pcapstall.core.frames import file_of, frame_of, frame_ref
from pcapstall.core.words import u16_be, u16_le, u24_be, u32_be, u32_le

READERS = [(u16_be, 2, "big"), (u24_be, 3, "big"), (u32_be, 4, "big"), (u16_le, 2, "little"), (u32_le, 4, "little")]


@given(st.integers(0, 2**20), st.integers(1, 2**40 - 1))
def test_a_frame_reference_names_file_and_frame(file_index: int, frame: int) -> None:
    ref = frame_ref(file_index, frame)
    assert (file_of(ref), frame_of(ref)) == (file_index, frame)


@given(st.binary(min_size=4, max_size=12), st.integers(0, 8))
def test_words(data: bytes, offset: int) -> None:
    for read, size, order in READERS:
        if offset + size <= len(data):
            assert read(data, offset) == int.from_bytes(data[offset : offset + size], order)  # type: ignore[arg-type]
        else:
            with pytest.raises(IndexError):
                read(data, offset)


@given(st.one_of(st.binary(min_size=4, max_size=4), st.binary(min_size=16, max_size=16)), st.integers(0, 65535))
def test_endpoint_and_back(address: bytes, port: int) -> None:
    assert parse_endpoint(format_endpoint(address, port)) == (address, port)


@pytest.mark.parametrize("text", ["10.0.0.1", "10.0.0.1:", "10.0.0.1:65536", "2001:db8::1:443", "nowhere:1"])
def test_no_endpoint(text: str) -> None:
    with pytest.raises(ValueError, match=r"ADDRESS:PORT|brackets|does not appear"):
        parse_endpoint(text)
