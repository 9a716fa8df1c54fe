"""What is no capture is refused by what it is."""

import struct

import pytest
from capture_support import pcap, read, shb

from pcapstall.capture.sniff import why_not_a_capture
from pcapstall.core.compressed import compression_of
from pcapstall.core.errors import InputError

CONVERT = "pcapstall reads pcap and pcapng; convert it with editcap -F pcapng IN OUT"


def erf_record(seconds: int) -> bytes:
    return struct.pack("<IIBBHHH", 0, seconds, 2, 4, int.from_bytes((80).to_bytes(2, "big"), "little"), 0, 60) + bytes(
        64
    )


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"snoop\0\0\0\0\0\0\2\0\0\0\4", f"a snoop capture: {CONVERT}"),
        (b"RTSS\0\1", f"a Microsoft Network Monitor 1 capture: {CONVERT}"),
        (b"GMBU\0\2", f"a Microsoft Network Monitor 2 capture: {CONVERT}"),
        (erf_record(100) + erf_record(101), f"an ERF capture: {CONVERT}"),
        (b"PK\x03\x04\x14", "not a capture: starts with 50 4b 03 04 (a zip archive)"),
        (b"7z\xbc\xaf\x27\x1c\0\4", "not a capture: starts with 37 7a bc af (a 7z archive)"),
        (b"\x7fELF\2\1", "not a capture: starts with 7f 45 4c 46 (a program)"),
        (b"a.pcap" + bytes(251) + b"ustar", "not a capture: a tar archive"),
        (bytes(100), "not a capture: the first 100 bytes are all zero"),
        (b"\x93\x13\x99\x77\x12", "not a capture: starts with 93 13 99 77; pcapstall reads pcap and pcapng"),
        (b"<!DOCTYPE html>\n<html>", "not a capture: an HTML page"),
        (b"  <HTML lang=de>", "not a capture: an HTML page"),
        (b'<?xml version="1.0"?><pdml>', "not a capture: an XML file"),
        (b'{\n  "schema": 1', "not a capture: JSON"),
        (b'[{"a": 1}]', "not a capture: JSON"),
        (b"hello world\nfoo", "not a capture: text ('hello world')"),
        (b"\xef\xbb\xbfhello", "not a capture: text ('hello')"),
        ("grüße".encode()[:-1] + b"\xc3", "not a capture: text ('grüß')"),
        (b"\xff\xfeh\0i\0", "not a capture: text ('hi')"),
        (b" \n \n ", "not a capture: nothing but white space"),
        (b"(", "not a capture: it ends after 1 byte"),
        (b"hi\n", "not a capture: it ends after 3 bytes"),
        (b'execve("/usr/bin/curl", ["curl"], 0x7ffc /* 20 vars */) = 0\n', "strace"),
        (b"4711  17:29:02.123456 socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) = 3\n", "strace"),
        (b"[pid  4711] 1621450142.123456 <... read resumed>) = 5\n", "strace"),
        (b"[pid  4711] 17:29:02 connect(3, {sa_family=AF_INET}, 16) = 0\n", "strace"),
        (b"4711 1621450142.123456 +++ exited with 0 +++\n", "strace"),
        (b"1621450142.123456 futex(0x7f, FUTEX_WAIT, 2, NULL <unfinished ...>\n", "strace"),
        (b'30737 02:50:28.577 (+     0.000000000) execve("./fmt", ["./fmt"], 0x7ffc /* 35 vars */) = 0\n', "strace"),
        (b"30860<strace> 1796007032.297450 brk(NULL) = 0x557ac9876000\n", "strace"),
        (
            b"2026-11-30T07:24:02.083943Z  INFO main\n",
            "text with times ('2026-11-30T07:24:02.083943Z  INFO main'): give a",
        ),
        (b"[    0.019574s]  INFO main inbound\n", "give a log as --log"),
        (b"Nov 30 07:24:02 host nginx: x\n", "give a log as --log"),
        (b"main(int argc)\n", "not a capture: text ('main(int argc)')"),
        (b"12:01:02.123456 IP 10.0.0.1.443 > 10.0.0.2.5000: Flags [S]\n", "what tcpdump prints"),
        (b"    1 0.000000000 10.0.0.1 \xe2\x86\x92 10.0.0.2 TCP 74\n", "what tshark prints"),
    ],
)
def test_the_reason_names_the_thing(head: bytes, reason: str) -> None:
    assert reason in why_not_a_capture(head)


def test_random_bytes_are_not_taken_for_erf() -> None:
    assert "ERF" not in why_not_a_capture(erf_record(100) + erf_record(9_000_000))
    assert "ERF" not in why_not_a_capture(erf_record(100)[:40] + b"\xff" * 50)


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"\x1f\x8b\x08", "gzip"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"\x04\x22\x4d\x18", "lz4"),
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh9", "bzip2"),
        (b"BZhello", None),
        (b"\x50\x2a\x4d\x18", "skippable"),
        (b"\x5f\x2a\x4d\x18", "skippable"),
        (b"\x60\x2a\x4d\x18", None),
        (b"", None),
        (b"\x1f", None),
    ],
)
def test_compression_is_known_by_content(head: bytes, name: str | None) -> None:
    assert compression_of(head) == name


def test_a_refusal_names_the_file_in_one_line() -> None:
    with pytest.raises(InputError, match=r"^scripted: not a capture: text \('hello'\)$"):
        read(b"hello\nworld\n")


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_capture_of_a_few_bytes_is_refused(size: int) -> None:
    for data in (pcap(1), shb()):
        with pytest.raises(InputError):
            read(data[:size])
