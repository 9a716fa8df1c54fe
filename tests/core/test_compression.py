"""Unpacking: what many small members cost, and where one ends and the next begins."""

import bz2
import gzip
import io
import lzma
from collections.abc import Callable

import lz4.frame
import pytest
import zstandard

from pcapstall.core import compression
from pcapstall.core.compression import Unpacker

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "lz4": lz4.frame.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


def unpack(packed: bytes, method: str, chunk: int = 128 * 1024) -> tuple[bytes, str]:
    raw = io.BytesIO(packed)
    unpacker = Unpacker(lambda: raw.read(chunk), "packed", method)
    parts = []
    while part := unpacker.read():
        parts.append(part)
    return b"".join(parts), unpacker.trouble


@pytest.mark.parametrize("method", PACK)
def test_many_empty_members_cost_what_they_are_long(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes handed to members are counted, not seconds: four times the members, four times the bytes."""
    fed = 0
    codec = compression._codec

    def counting(path: str, name: str) -> tuple[Callable[[], compression._Member], tuple[type[Exception], ...]]:
        new, errors = codec(path, name)

        def new_counting() -> compression._Member:
            member = new()
            feed = member.feed

            def count(data: bytes) -> bytes:
                nonlocal fed
                fed += len(data)
                return feed(data)

            monkeypatch.setattr(member, "feed", count)
            return member

        return new_counting, errors

    monkeypatch.setattr(compression, "_codec", counting)
    costs = []
    for count in 500, 2000:
        fed = 0
        packed = PACK[method](b"") * count + PACK[method](b"end")
        assert unpack(packed, method) == (b"end", "")
        assert fed < 8 * len(packed)
        costs.append(fed)
    assert costs[1] < 4.2 * costs[0]


def test_many_skippable_frames() -> None:
    frame = b"\x50\x2a\x4d\x18" + (3).to_bytes(4, "little") + b"abc"
    assert unpack(frame * 20_000 + PACK["zstd"](b"end"), "skippable") == (b"end", "")


@pytest.mark.parametrize("method", PACK)
@pytest.mark.parametrize("chunk", [1, 63, 64, 65, 1000, 1 << 20])
def test_members_end_anywhere_in_what_is_read(method: str, chunk: int) -> None:
    pieces = [bytes(5), b"a" * 70, b"", bytes(range(256)) * 40, b"z"]
    packed = b"".join(map(PACK[method], pieces))
    assert unpack(packed, method, chunk) == (b"".join(pieces), "")
    assert unpack(packed + bytes(1024), method, chunk) == (b"".join(pieces), "")
    assert unpack(packed + b"rest, which is none of it", method, chunk)[0] == b"".join(pieces)


@pytest.mark.parametrize("zeros", [4, 8, 1024, 200_000])
def test_padding_between_xz_streams(zeros: int) -> None:
    packed = lzma.compress(b"first") + bytes(zeros) + lzma.compress(b"second")
    for chunk in 7, 1 << 20:
        assert unpack(packed, "xz", chunk) == (b"firstsecond", "")
