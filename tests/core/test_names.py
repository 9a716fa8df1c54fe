"""Frame references, words, signals and endpoints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.endpoints import format_endpoint, format_endpoints, parse_endpoint, split_endpoint
from pcapstall.core.frames import file_of, frame_of, frame_ref, frames_by_file
from pcapstall.core.signals import signal_name
from pcapstall.core.words import u16_be, u16_le, u24_be, u32_be, u32_le

READERS = [(u16_be, 2, "big"), (u24_be, 3, "big"), (u32_be, 4, "big"), (u16_le, 2, "little"), (u32_le, 4, "little")]


@given(st.integers(0, 2**20), st.integers(1, 2**40 - 1))
def test_a_frame_reference_names_file_and_frame(file_index: int, frame: int) -> None:
    ref = frame_ref(file_index, frame)
    assert (file_of(ref), frame_of(ref)) == (file_index, frame)


def test_frames_are_listed_once_file_by_file() -> None:
    refs = [frame_ref(1, 7), frame_ref(0, 9), frame_ref(1, 7), frame_ref(1, 2)]
    assert list(frames_by_file(refs).items()) == [(1, [7, 2]), (0, [9])]


def test_every_signal_has_a_name() -> None:
    assert [signal_name(number) for number in (2, 9, 15, 0, 99)] == [
        "SIGINT",
        "SIGKILL",
        "SIGTERM",
        "signal 0",
        "signal 99",
    ]


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


@pytest.mark.parametrize(
    ("key", "client", "server"),
    [
        ("0a000001 0a000002 9c40 01bb", "10.0.0.1:40000", "10.0.0.2:443"),
        (f"{1:032x} {2:032x} ffff 0001", "[::1]:65535", "[::2]:1"),
    ],
)
def test_both_endpoints_of_a_key(key: str, client: str, server: str) -> None:
    assert format_endpoints(bytes.fromhex(key)) == (client, server)


@pytest.mark.parametrize("text", ["10.0.0.1", "10.0.0.1:", "10.0.0.1:65536", "2001:db8::1:443", "nowhere:1", "[]:443"])
def test_no_endpoint(text: str) -> None:
    with pytest.raises(ValueError, match=r"ADDRESS:PORT|brackets|does not appear|is not a port|is not an endpoint"):
        parse_endpoint(text)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("10.0.0.1", "10.0.0.1", None),
        ("10.0.0.1:443", "10.0.0.1", "443"),
        (":443", "", "443"),
        ("[2001:db8::1]", "2001:db8::1", None),
        ("[2001:db8::1]:443", "2001:db8::1", "443"),
        ("2001:db8::1:443", "2001:db8::1:443", None),
        ("::ffff:10.0.0.1", "::ffff:10.0.0.1", None),
        ("::ffff:10.0.0.1:443", "::ffff:10.0.0.1", "443"),
        ("[::ffff:10.0.0.1]:443", "::ffff:10.0.0.1", "443"),
    ],
)
def test_host_and_port(text: str, host: str, port: str | None) -> None:
    assert split_endpoint(text) == (host, port)
