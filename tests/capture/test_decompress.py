"""Compressed captures: every method, several members, cuts, bombs, what is missing."""

import bz2
import gzip
import io
import lzma
import sys
import tracemalloc
import zlib
from collections.abc import Callable

import lz4.frame
import pytest
import zstandard
from capture_support import ScriptedSource, pcap, pcap_record, read, records, shb, warned

from pcapstall.capture.decompress import DecompressedSource
from pcapstall.capture.opening import cursor_of
from pcapstall.core.errors import InputError

PLAIN = pcap(*range(1000, 1500), data=bytes(range(200)))
ZSTD: Callable[[bytes], bytes] = zstandard.ZstdCompressor().compress
LZ4: Callable[[bytes], bytes] = lz4.frame.compress
METHODS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": ZSTD,
    "lz4": LZ4,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}
each_method = pytest.mark.parametrize("method", METHODS)
SKIPPABLE = b"\x52\x2a\x4d\x18" + (300).to_bytes(4, "little") + bytes(300)


@each_method
@pytest.mark.parametrize("step", [1, 7, 1000, 1 << 20])
def test_a_packed_capture_reads_like_the_plain_one(method: str, step: int) -> None:
    packed = METHODS[method](PLAIN)
    chunks = [packed[at : at + step] for at in range(0, len(packed), step)]
    cursor = cursor_of(ScriptedSource(chunks))
    assert records(cursor) == read(PLAIN)[0]
    assert cursor.info().compression == method
    assert not cursor.warnings
    assert (cursor.source.bytes_read, cursor.source.total_bytes) == (len(packed), len(packed))


@each_method
@pytest.mark.parametrize("cut", [24, 1000, len(PLAIN) - 1])
def test_members_after_one_another_are_one_stream(method: str, cut: int) -> None:
    pack = METHODS[method]
    packed = pack(PLAIN[:cut]) + pack(b"") + pack(PLAIN[cut:])
    for sizes in [(), (len(pack(PLAIN[:cut])),), (len(pack(PLAIN[:cut])) + 2,)]:
        found, cursor = read(packed, *sizes)
        assert found == read(PLAIN)[0]
        assert not warned(cursor)


@each_method
def test_a_cut_gives_what_came_before_it(method: str) -> None:
    whole = read(PLAIN)[0]
    packed = METHODS[method](PLAIN)
    for kept in range(len(packed) // 4, len(packed), max(len(packed) // 9, 1)):
        source = DecompressedSource(ScriptedSource([packed[:kept]]), method)
        if not source.peek(1):
            # All of it is one block of the compression, and that is cut.
            assert source.trouble == f"the {method} data is cut"
            continue
        cursor = cursor_of(source)
        found = records(cursor)
        assert found == whole[: len(found)]
        assert any(f"the {method} data is cut" in warning for warning in warned(cursor))


@pytest.mark.parametrize("method", ["gzip", "zstd"])
def test_most_of_a_cut_stream_comes_through(method: str) -> None:
    compressor = {"gzip": zlib.compressobj(0, wbits=31), "zstd": zstandard.ZstdCompressor().compressobj()}[method]
    flush = {"gzip": (zlib.Z_SYNC_FLUSH,), "zstd": (zstandard.COMPRESSOBJ_FLUSH_BLOCK,)}[method]
    packed = compressor.compress(PLAIN) + compressor.flush(*flush)
    assert read(packed)[0] == read(PLAIN)[0]


@each_method
def test_damage_inside_is_told(method: str) -> None:
    first = METHODS[method](PLAIN)
    second = bytearray(METHODS[method](PLAIN[24:]))
    # Deflate decodes almost anything, and what comes out is damage of another kind; but block type 3 is none.
    at = 10 if method == "gzip" else len(second) // 2
    second[at:] = b"\xff" * (len(second) - at)
    found, cursor = read(first + bytes(second))
    assert found[:500] == read(PLAIN)[0]
    assert any(f"the {method} data is damaged" in warning for warning in warned(cursor))


def test_a_wrong_check_sum_loses_nothing() -> None:
    packed = bytearray(gzip.compress(PLAIN))
    packed[-8] ^= 1
    found, cursor = read(bytes(packed))
    assert found == read(PLAIN)[0]
    assert "the gzip data is damaged: Error -3 while decompressing data: incorrect data check" in warned(cursor)[0]


@pytest.mark.parametrize("method", ["zstd", "lz4"])
def test_skippable_frames_are_stepped_over(method: str) -> None:
    pack = METHODS[method]
    packed = SKIPPABLE + SKIPPABLE + pack(PLAIN[:500]) + SKIPPABLE + pack(PLAIN[500:]) + SKIPPABLE
    for sizes in [(), (100,), (3, 3, 305)]:
        found, cursor = read(packed, *sizes)
        assert found == read(PLAIN)[0]
        assert cursor.info().compression == method
        assert not warned(cursor)


def test_a_file_of_skippable_frames_alone_is_refused() -> None:
    with pytest.raises(InputError):
        read(SKIPPABLE)
    with pytest.raises(InputError, match="a skippable frame is cut"):
        read(SKIPPABLE[:-1])


@pytest.mark.parametrize("zeros", [4, 4096])
def test_padding_after_the_last_member_is_no_damage(zeros: int) -> None:
    for pack in (gzip.compress, lzma.compress):
        found, cursor = read(pack(PLAIN) + bytes(zeros))
        assert found == read(PLAIN)[0]
        assert not warned(cursor)
    assert read(lzma.compress(PLAIN[:500]) + bytes(zeros) + lzma.compress(PLAIN[500:]))[0] == read(PLAIN)[0]


def test_something_else_after_the_last_member_is_told() -> None:
    found, cursor = read(gzip.compress(PLAIN) + b"and a word")
    assert found == read(PLAIN)[0]
    assert "something else follows the gzip data" in warned(cursor)[0]


@pytest.mark.parametrize(
    ("method", "mib", "most_mib"),
    [("gzip", 64, 8), ("zstd", 96, 48), ("lz4", 64, 16), ("xz", 32, 16), ("bzip2", 8, 4)],
)
def test_a_bomb_costs_time_and_no_memory(method: str, mib: int, most_mib: int) -> None:
    # Records of nothing, packed to at most a few hundred KiB.
    once = pcap_record(b"") * 65536
    if method == "lz4":
        buffer = io.BytesIO()
        with lz4.frame.open(buffer, "wb") as file:
            for _ in range(mib):
                file.write(once)
        packed = buffer.getvalue()
    else:
        packed = 4 * METHODS[method](once * (mib // 4))
    tracemalloc.start()
    source = DecompressedSource(ScriptedSource([packed]), method)
    size = 0
    while chunk := source.read():
        size += len(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == mib << 20
    assert peak < most_mib << 20


@each_method
def test_an_empty_packed_file_is_refused(method: str) -> None:
    with pytest.raises(InputError, match=f"there is nothing in the {method} file"):
        read(METHODS[method](b""))


def test_a_packed_file_that_holds_no_capture_is_refused_for_what_it_holds() -> None:
    with pytest.raises(InputError, match="not a capture: text"):
        read(gzip.compress(b"hello world\n"))
    with pytest.raises(InputError, match="compressed twice"):
        read(gzip.compress(gzip.compress(PLAIN)))


@pytest.mark.parametrize(
    ("method", "module", "package"), [("zstd", "zstandard", "zstandard"), ("lz4", "lz4.frame", "lz4")]
)
def test_a_missing_package_is_named(method: str, module: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=f"compressed with {method}.*pip install {package}"):
        read(METHODS[method](PLAIN))


def test_pcapng_in_gzip() -> None:
    found, cursor = read(gzip.compress(shb()))
    assert found == []
    assert (cursor.info().format, cursor.info().compression) == ("pcapng", "gzip")
