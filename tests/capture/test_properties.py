"""What must hold for any input: any chunking, any cut, any bytes."""

import bz2
import gzip
import lzma
import struct
import time

import lz4.frame
import pytest
import zstandard
from capture_support import (
    MODIFIED,
    NANO,
    ScriptedSource,
    block,
    epb,
    idb,
    isb,
    old_packet,
    option,
    pcap_header,
    pcap_record,
    read,
    records,
    shb,
    spb,
)
from hypothesis import example, given
from hypothesis import strategies as st

from pcapstall.capture.opening import cursor_of
from pcapstall.core.errors import InputError

BODIES = [bytes(range(n)) for n in (60, 0, 71, 3, 200)]
EXTRA = struct.pack("<IHBB", 2, 0x0800, 0, 0)
SAMPLES = {
    "micro": pcap_header() + b"".join(pcap_record(body, 1000 + n) for n, body in enumerate(BODIES)),
    "nano, big": pcap_header(NANO, ">") + b"".join(pcap_record(b, 1000, 5, ">", origlen=999) for b in BODIES),
    "modified": pcap_header(MODIFIED) + b"".join(pcap_record(b, 1000 + n, extra=EXTRA) for n, b in enumerate(BODIES)),
    "pcapng": (
        shb(options=option(1, b"hello"))
        + idb(options=option(9, b"\x09"))
        + b"".join(epb(body, 10**18 + n, options=option(1, b"c")) for n, body in enumerate(BODIES))
        + block(4, bytes(50))
        + shb(">")
        + idb(113, order=">")
        + spb(BODIES[0], order=">")
        + block(0xBAD, bytes(77), ">")
        + old_packet(BODIES[2], order=">")
        + isb(0, option(5, bytes(8), ">"), ">")
    ),
}
PACKERS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "lz4": lz4.frame.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}
samples = st.sampled_from(sorted(SAMPLES))


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_read_without_a_word(name: str) -> None:
    found, cursor = read(SAMPLES[name])
    assert len(found) >= 5
    assert not cursor.warnings


@given(samples, st.lists(st.integers(1, 120), max_size=40), st.booleans())
def test_any_chunking_gives_the_same(name: str, sizes: list[int], pipe: bool) -> None:
    data = SAMPLES[name]
    expected, whole = read(data)
    chunks = []
    for size in sizes:
        chunks.append(data[:size])
        data = data[size:]
    cursor = cursor_of(ScriptedSource([*chunks, data], pipe=pipe))
    assert records(cursor) == expected
    assert cursor.info() == whole.info()


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 16])
def test_drops_of_bytes_give_the_same(name: str, size: int) -> None:
    data = SAMPLES[name]
    assert read(data, *[size] * (len(data) // size))[0] == read(data)[0]


@pytest.mark.parametrize("name", SAMPLES)
def test_any_cut_gives_a_prefix_and_a_word(name: str) -> None:
    data = SAMPLES[name]
    expected = read(data)[0]
    silent = 0
    # A modified file of one record and four bytes is a whole file of the other modified variant.
    ambiguous = len(pcap_header()) + len(pcap_record(BODIES[0], extra=EXTRA)) + 4 if name == "modified" else -1
    for size in set(range(len(data))) - {ambiguous}:
        try:
            found, cursor = read(data[:size], 50)
        except InputError:
            assert size < 60, "only a cut in the first header is refused"
            continue
        assert found == expected[: len(found)]
        if not cursor.warnings:
            silent += 1
        assert len(cursor.warnings) <= 1
    # Silent are the cuts between records or blocks; these are few.
    assert silent <= 18


def bounded(data: bytes) -> None:
    """Read ``data`` whatever it is: an InputError, or records that lie in the buffer."""
    before = time.process_time()
    try:
        found, cursor = read(data, 7)
    except InputError as refusal:
        words = [str(refusal)]
    else:
        info = cursor.info()
        assert info.packets <= len(data)
        assert all(-(1 << 61) <= record.ts_ns < 1 << 62 for record in found)
        words = [str(warning) for warning in info.warnings]
    assert time.process_time() - before < 5
    assert not any("\n" in word for word in words)


@given(st.binary(max_size=2000))
@example(b"\0" * 600)
@example(b"\xff" * 600)
def test_any_bytes(data: bytes) -> None:
    bounded(data)


HEADS = st.sampled_from(
    [
        pcap_header(),
        pcap_header(NANO, ">"),
        pcap_header(MODIFIED),
        shb(),
        shb(">"),
        shb() + idb() + idb(options=option(9, b"\x8a")),
        *[pack(b"")[:4] for pack in PACKERS.values()],
        b"\x50\x2a\x4d\x18",
    ]
)


@given(HEADS, st.binary(max_size=600))
def test_any_bytes_behind_a_good_start(head: bytes, data: bytes) -> None:
    bounded(head + data)


WORDS = st.one_of(
    st.integers(0, 80), st.sampled_from([0, 12, 28, 0x0A0D0D0A, 0x80000001, 0xBAD, 0x7FFFFFFF, 0xFFFFFFFF, 262144])
)


@given(HEADS, st.lists(WORDS, max_size=60), st.sampled_from("<>"))
def test_any_words_behind_a_good_start(head: bytes, words: list[int], order: str) -> None:
    bounded(head + struct.pack(f"{order}{len(words)}I", *words))


@given(samples, st.data())
def test_any_spoiled_bytes(name: str, data: st.DataObject) -> None:
    spoiled = bytearray(SAMPLES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        spoiled[data.draw(st.integers(0, len(spoiled) - 1))] = data.draw(st.integers(0, 255))
    bounded(bytes(spoiled))


@given(st.sampled_from(sorted(PACKERS)), st.data())
def test_any_spoiled_packed_bytes(packer: str, data: st.DataObject) -> None:
    spoiled = bytearray(PACKERS[packer](SAMPLES["pcapng"]))
    for _ in range(data.draw(st.integers(1, 3))):
        spoiled[data.draw(st.integers(0, len(spoiled) - 1))] = data.draw(st.integers(0, 255))
    bounded(bytes(spoiled) + data.draw(st.sampled_from([b"", bytes(5), b"junk", bytes(spoiled)])))
