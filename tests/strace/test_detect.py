"""What is accepted as a strace, how it is wrapped, and what is refused under which name."""

import bz2
import gzip
import lzma
import os
import re
import threading
from pathlib import Path

import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.errors import InputError
from pcapstall.core.textfile import TextSource
from pcapstall.strace.detect import examine, layout_of

STRACE = "".join(f"7 1796007027.{n:06d} close({n}) = 0 <0.000011>\n" for n in range(3, 30))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('[   1:   3] python E futex(0x7f, FUTEX_WAKE, 0x1, null)\n' * 3, "gVisor"),
        ("     0.023 ( 0.004 ms): ls/12345 openat(dfd: CWD) = 3\n" * 3, "perf trace"),
        ("[pid 12] libssl.so.3->SSL_connect(0x1) = 1\n" * 3, "ltrace"),
        ("__libc_start_main(0x1, 1) = 0\n+++ exited (status 0) +++\n", "ltrace"),
        ('strlen("abc") = 3\n' * 6, "ltrace"),
        ('read(3,"\\^V",1024)\t\t = 10 (0xa)\n' * 3, "truss"),
        ('read(3, "..", 8192)\t\t= 100\n' * 3, "truss"),
        ("  1234 ls       CALL  read(0x3,0x7f,0x400)\n" * 3, "kdump"),
        ("12 02:50:26.123456 0 bash (123) > read fd=3\n" * 3, "sysdig"),
        ('{"time": 1, "call": "read(3)"}\n', "JSON"),
        ('[{"time": 1}]\n', "JSON"),
        ("PERFILE2\0\0\0", "perf.data"),
        ("\x7fELF\2\1", "program"),
        ("\0" * 100, "binary"),
        ("Dear all,\n\nthe server is slow.\n", "no strace"),
        ("#include <stdio.h>\nint main(void)\n", "no strace"),
    ],
)  # fmt: skip
def test_others_are_refused_by_name(text: str, name: str) -> None:
    with pytest.raises(InputError, match=re.escape(name)):
        layout_of(text.encode("latin-1"), "x.txt")


def test_a_capture_is_refused_as_one() -> None:
    with pytest.raises(InputError, match="packet capture"):
        layout_of(b"\xd4\xc3\xb2\xa1\2\0\4\0", "x.pcap")


@pytest.mark.parametrize(
    ("prefix", "wrapper"),
    [
        ("", ""),
        ("Nov 30 02:50:26 host strace[4304]: ", "syslog"),
        ("<13>Nov 30 02:50:26 host strace[4304]: ", "syslog"),
        ("2026-11-30T02:50:26.123456+01:00 host strace[4304]: ", "syslog"),
        ("strace[4304]: ", "syslog"),
        ("2026-11-30T02:50:26.123456789Z stderr F ", "container log"),
        ("2026-11-30T02:50:26.123456789Z ", "stamped log"),
        ("Nov 30 02:50:26 ", "ts"),
        ("> ", "quoted mail"),
        ("> > ", "quoted mail"),
    ],
)
def test_wrappers_are_found(prefix: str, wrapper: str) -> None:
    text = "".join(prefix + line + "\n" for line in STRACE.splitlines())
    layout = layout_of(text.encode(), "x")
    assert (layout.wrapper, layout.quoted_printable, layout.names_tids) == (wrapper, False, True)


def test_quoted_printable_is_found() -> None:
    layout = layout_of(STRACE.replace("=", "=3D").encode(), "x")
    assert layout.quoted_printable


def test_a_terminal_log_with_other_output_is_a_strace() -> None:
    assert not layout_of(b"$ strace ls\nclose(3) = 0\na  b  c\nclose(4) = 0\n", "x").names_tids


def test_an_empty_file_is_an_empty_strace() -> None:
    assert layout_of(b"", "x").wrapper == ""


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("", bytes),
        ("gzip", gzip.compress),
        ("bzip2", bz2.compress),
        ("xz", lzma.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("lz4", lz4.frame.compress),
    ],
)
def test_compression_is_told_by_content(tmp_path: Path, name: str, pack) -> None:
    path = tmp_path / "trace.txt"
    path.write_bytes(pack(STRACE.encode()))
    source = TextSource(str(path))
    assert source.compression == name
    for _ in range(2):
        stream = source.open()
        text = b""
        while chunk := stream.read():
            text += chunk
        stream.close()
        assert text == STRACE.encode()
        assert stream.trouble == ""
    assert examine(source).names_tids


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress, lz4.frame.compress])
def test_a_damaged_archive_says_so_and_gives_what_it_has(tmp_path: Path, pack) -> None:
    path = tmp_path / "trace"
    whole = pack(os.urandom(300_000).hex().encode())
    path.write_bytes(whole[: len(whole) // 2])
    stream = TextSource(str(path)).open()
    while stream.read():
        pass
    stream.close()
    assert stream.trouble


@pytest.mark.parametrize(
    ("path", "said"),
    [("/dev/zero", "is a device"), ("/dev/full", "is a device"), ("fifo", "no text: its first 1048576 bytes are")],
)
def test_what_may_have_no_end_is_not_spooled(path: str, said: str, tmp_path: Path) -> None:
    """It would fill the disk."""
    if path != "fifo":
        with pytest.raises(InputError, match=said):
            TextSource(path)
        return
    fifo = tmp_path / path
    os.mkfifo(fifo)
    writer = threading.Thread(target=fifo.write_bytes, args=(bytes(1 << 20),))
    writer.start()
    with pytest.raises(InputError, match=said):
        TextSource(str(fifo))
    writer.join()


def test_a_device_that_gives_nothing_is_empty() -> None:
    source = TextSource("/dev/null")
    assert source.size == 0
    source.close()


def test_a_pipe_is_spooled_and_can_be_read_twice(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(STRACE.encode(),))
    writer.start()
    source = TextSource(str(path))
    writer.join()
    for _ in range(2):
        stream = source.open()
        assert stream.read() == STRACE.encode()
        stream.close()
    source.close()


@pytest.mark.parametrize("name", ["missing", "."])
def test_what_cannot_be_opened(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError):
        TextSource(str(tmp_path / name))


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
def test_any_bytes_are_accepted_or_refused(data: bytes) -> None:
    reason = "is accepted"
    try:
        layout_of(data, "x")
    except InputError as error:
        reason = error.reason
    assert reason.startswith("is ")


def test_the_lab_is_accepted(lab) -> None:
    for path in sorted(lab.glob("*/*.strace*")):
        layout = examine(TextSource(str(path)))
        assert (layout.wrapper, layout.quoted_printable) == ("", False)
    with pytest.raises(InputError, match="no strace"):
        examine(TextSource(str(lab / "formats" / "fmt.c")))
