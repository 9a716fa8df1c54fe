"""Reading a log: lines that belong to others, what is kept, what is refused, and any text at all."""

import bz2
import gzip
import lzma
import tempfile
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from logs_support import Naming, read_bytes, read_lines

from pcapstall.core.errors import InputError
from pcapstall.logs import reader

T = "2026-11-30T07:24:02.083943Z"


def test_every_line_is_counted_once(tmp_path: Path) -> None:
    file = read_lines(["banner", "", f"{T} a", "  at b", "", f"{T} c"], tmp_path)
    assert (file.lines, file.stamped, file.continued, file.unread) == (6, 2, 2, 1)
    assert file.first_unread == (1, "banner")
    assert file.formats == ["ISO 8601"]
    assert [(line.number, line.says(), line.more, line.more_lines) for line in file.kept] == [
        (1, "banner", [], 0),
        (2, "", [], 0),
        (3, "a", ["  at b"], 1),
        (6, "c", [], 0),
    ]


def test_a_long_stack_trace_is_counted(tmp_path: Path) -> None:
    file = read_lines([f"{T} a", *(f"  at {at}" for at in range(100)), f"{T} b"], tmp_path)
    assert (file.kept[0].more_lines, len(file.kept[0].more)) == (100, 10)


def test_only_what_is_wanted_is_kept(tmp_path: Path) -> None:
    file = read_lines([f"{T} a", f"{T} 1.2.3.4:80 b", "  more", f"{T} c", "  other"], tmp_path, Naming())
    assert [(line.number, line.more) for line in file.kept] == [(2, ["  more"])]


def test_a_line_of_a_container_runtime_in_parts_is_one(tmp_path: Path) -> None:
    parts = [f"{T} stdout P from 1.2.", f"{T} stdout P 3.4:8", f"{T} stdout F 0 x", f"{T} stderr F y"]
    file = read_lines(parts, tmp_path)
    assert [(line.number, line.says(), line.endpoints) for line in file.kept] == [
        (1, "from 1.2.3.4:80 x", ((b"\1\2\3\4", 80),)),
        (4, "y", ()),
    ]


def test_a_last_part_that_does_not_come_is_kept(tmp_path: Path) -> None:
    assert [line.says() for line in read_lines([f"{T} stdout P a"], tmp_path).kept] == ["a"]


def test_a_line_in_parts_ends_where_another_line_comes(tmp_path: Path) -> None:
    file = read_lines([f"{T} stdout P a", f"{T} 1.2.3.4:80 b", f"{T} stdout F c"], tmp_path)
    assert [(line.number, line.says()) for line in file.kept] == [(1, "a"), (2, "1.2.3.4:80 b"), (3, "c")]
    assert (file.lines, file.stamped, file.unread) == (3, 3, 0)


def test_each_stream_of_a_container_has_its_own_parts(tmp_path: Path) -> None:
    parts = ["stdout P a", "stderr P x", "stdout P b", "stderr F y", "stderr F z", "stdout F c", "stderr P p"]
    file = read_lines([f"{T} {part}" for part in parts], tmp_path)
    assert [(line.number, line.says()) for line in file.kept] == [(1, "abc"), (2, "xy"), (5, "z"), (7, "p")]


def test_what_json_says(tmp_path: Path) -> None:
    lines = [
        '{"log":"worker 1.2.3.4:80 closed\\n","stream":"stdout","time":"2026-11-30T07:24:02Z"}',
        '{"ts":1796023442.5,"msg":"closed","peer":"1.2.3.4:80","n":1,"err":"timed out"}',
        '{"ts":1796023442.5,"message":" "}',
        '{"ts":1796023442.5,',
    ]
    assert [line.says() for line in read_lines(lines, tmp_path).kept] == [
        "worker 1.2.3.4:80 closed",
        "closed peer=1.2.3.4:80 err=timed out",
        lines[2],
        lines[3],
    ]


def test_colours_and_carriage_returns_go(tmp_path: Path) -> None:
    file = read_bytes(b"\x1b[2m2026-11-30T07:24:02Z\x1b[0m \x1b[32mINFO\x1b[0m a\r\n", tmp_path)
    assert [line.says() for line in file.kept] == ["INFO a"]


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "lz4": lz4.frame.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
}


@pytest.mark.parametrize("method", PACKED)
def test_compressed(method: str, tmp_path: Path) -> None:
    plain = "".join(f"{T} line {number}\n" for number in range(5000)).encode()
    file = read_bytes(PACKED[method](plain), tmp_path)
    assert (file.lines, file.stamped, file.trouble) == (5000, 5000, "")
    assert [line.number for line in file.kept] == list(range(1, 5001))
    if method == "bzip2":
        return  # a block of 900 kB is read as a whole or not at all
    cut = read_bytes(PACKED[method](plain)[:-12], tmp_path)
    assert cut.trouble


def test_a_file_may_change_its_format(tmp_path: Path) -> None:
    first = "".join(f"{T} {number:0100d}\n" for number in range(3000))
    second = "".join(f"I1130 07:24:02.083943       1 c.go:7] {number:0100d}\n" for number in range(6000))
    file = read_bytes((first + second).encode(), tmp_path)
    assert file.formats == ["ISO 8601", "klog"]
    assert file.stamped > 6000


def test_an_endless_line_is_cut(tmp_path: Path) -> None:
    file = read_bytes(f"{T} a".encode() + b"x" * 1_000_000 + b"\n" + f"{T} b\n".encode(), tmp_path)
    assert (file.lines, len(file.kept[0].text), file.kept[1].says()) == (2, 1000, "b")


def test_what_is_kept_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_KEPT", 10)
    file = read_lines([f"{T} a"] * 25, tmp_path)
    assert (len(file.kept), file.left_out, file.stamped) == (10, 15, 25)


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("a\n".encode("utf-16"), "UTF-16 text: convert it to UTF-8"),
        (b"\xd4\xc3\xb2\xa1" + bytes(100), "is a packet capture"),
        (b"\x0a\x0d\x0d\x0a" + bytes(100), "is a packet capture"),
        (b"LPKSHHRH" + bytes(100), "journalctl"),
        (b"\x01\0\0\0" * 100, "no text"),
    ],
)
def test_what_is_no_log_is_refused(head: bytes, why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=why):
        read_bytes(head, tmp_path)


def test_an_empty_file_is_a_log(tmp_path: Path) -> None:
    assert read_bytes(b"", tmp_path).lines == 0


pieces = st.one_of(
    st.binary(max_size=40),
    st.sampled_from(
        [b"\n", b"\r\n", T.encode(), b"[ 1.5s] ", b'{"time":"', b"1.2.3.4:80", b" stdout P ", b"\x1b[1m", b"\0"]
    ),
    st.sampled_from(
        [b"Nov 30 07:24:02 ", b"I1130 07:24:02.08 ", b"1796023442.5 ", b"30/Nov/2026:07:24:02 +0000", b"Feb 29 "]
    ),
)


@given(st.lists(pieces, max_size=30))
@settings(max_examples=300)
def test_any_bytes_are_read_or_refused(parts: list[bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            file = read_bytes(b"".join(parts), Path(folder))
        except InputError:
            return
    assert file.stamped + file.continued + file.unread <= file.lines
    for line in file.kept:
        line.says()


@pytest.mark.parametrize("zone", ["z", "Z", "+02", "+0200", "+02:00"])
def test_the_zone_is_no_part_of_what_is_said(zone: str, tmp_path: Path) -> None:
    (line,) = read_lines([f"2026-11-30 07:24:02{zone} said"], tmp_path).kept
    assert line.says() == "said"
