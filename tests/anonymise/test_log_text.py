"""Lines of logs under other names: the stamps that are read stay as they are, the hosts of syslog do not."""

import socket
from pathlib import Path

import pytest
from test_stamps import LINES

from pcapstall.anonymise.free_text import FreeText
from pcapstall.anonymise.log_text import LogText
from pcapstall.anonymise.mapping import Mapping
from pcapstall.anonymise.secret import Secret
from pcapstall.logs.formats import FORMATS

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
KEYS = ["5e" * 16, "07" * 16, "c3" * 16]


def log_of(key: str, hidden: tuple[str, ...] = ()) -> LogText:
    mapping = Mapping(Secret(bytes.fromhex(key)))
    return LogText(mapping, FreeText(mapping, hidden))


def stamp_in(line: bytes) -> tuple[str, bytes]:
    """The format of the first stamp that a line has, and what stands there."""
    for each in FORMATS:
        hit = each.find(line)
        if hit is not None:
            return each.name, line[hit[0] : hit[2]]
    return "", b""


@pytest.mark.parametrize("key", KEYS)
def test_every_stamp_that_is_read_stays(key: str) -> None:
    log = log_of(key)
    seen = set()
    for text, *_ in LINES:
        name, stamp = stamp_in(text.encode())
        assert stamp_in(log.line(text.encode())) == (name, stamp), text
        seen.add(name)
    assert seen >= {each.name for each in FORMATS}


def test_every_stamp_of_the_captures_logs_stays() -> None:
    lines = {line for path in sorted(CAPTURES.glob("*/*.log")) for line in path.read_bytes().splitlines()}
    assert len(lines) > 50
    log = log_of(KEYS[0])
    assert [line for line in lines if stamp_in(log.line(line)) != stamp_in(line)] == []


STAMPS = """
    Nov 30 07:24:11 | Nov  3 07:24:11 | Nov 30 07:24:11.123 | May 19 2026 07:24:11 | Mon Nov 30 07:24:11 2026
    2026-11-30T07:24:11.5Z | 2026-11-30T07:24:11+0000 | 2026-11-30 07:24:11 | 2026-11-30 07:24:11,083
    2026-11-30 07:24:11.083 +0100 | 2026-11-30 07:24:11 UTC | 2026/11/30 07:24:11 | 1796023442.083943
    """
SYSLOG = [stamp.strip() for row in STAMPS.strip().splitlines() for stamp in row.split("|")]
SAYING = ["app[12]: x", "postfix/smtpd[7]: x", "kernel: x", "sshd(pam_unix)[7]: x"]


@pytest.mark.parametrize("stamp", SYSLOG)
def test_the_host_of_syslog_does_not_stay(stamp: str) -> None:
    for said in SAYING:
        for head in (f"{stamp} ", f"<34>{stamp} ", f"<165>1 {stamp} "):
            made = log_of(KEYS[0]).line(f"{head}zqhost {said}".encode()).decode()
            assert made.startswith(head)
            assert made.endswith(f" {said}")
            assert "zqhost" not in made
    made = log_of(KEYS[0]).line(f"<165>1 {stamp} zqhost linkerd 42 ID47 - zqhost went".encode()).decode()
    assert made.startswith(f"<165>1 {stamp} ")
    assert "linkerd 42 ID47 - " in made
    assert "zqhost" not in made


@pytest.mark.parametrize("stamp", ["-", "2026-11-30T07:24:11.123456789-05:00", "yesterday"])
def test_the_host_of_rfc_5424_stands_behind_any_stamp(stamp: str) -> None:
    made = log_of(KEYS[0]).line(f"<165>1 {stamp} zqhost app 42 - - x".encode()).decode()
    assert made.startswith(f"<165>1 {stamp} ")
    assert made.endswith(" app 42 - - x")
    assert "zqhost" not in made


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-30 07:24:02 INFO main: x",
        "2026-11-30T07:24:02Z WARN outbound: x",
        "2026-11-30 07:24:02,083 - root - INFO - x",
        "2026-11-30 07:24:02.083 UTC [7] LOG:  x",
        "<165>1 2026-11-30T07:24:02Z - app 42 - - x",
    ],
)
def test_other_words_stay_where_syslog_has_a_host(line: str) -> None:
    assert log_of(KEYS[0]).line(line.encode()).decode() == line


def test_a_month_that_is_hidden_does_not_stay() -> None:
    made = log_of(KEYS[0], ("may",)).line(b"[19/May/2021:18:49:02 +0000] x")
    assert b"May" not in made


NOTATIONS = """
    0x0a.0x28.0x27.0x2d 0xA.0x28.0x27.0x2d 0012.0050.0047.0055 10.40.39[.]45 10[.]40[.]39[.]45 10(dot)40(dot)39(dot)45
    10.2631469 10.40.10029
    """.split()


@pytest.mark.parametrize("written", NOTATIONS)
def test_an_address_of_other_parts_is_that_of_the_packets(written: str) -> None:
    mapping = Mapping(Secret(bytes.fromhex(KEYS[0])))
    other = mapping.ip(bytes((10, 40, 39, 45)))
    made = LogText(mapping, FreeText(mapping)).line(f"to {written}: x".encode()).decode()
    assert made.startswith("to ")
    assert made.endswith(": x")
    numbers = made[3:-3].replace("[.]", ".").replace("(dot)", ".")
    if written.startswith("0012"):
        numbers = ".".join(str(int(number, 8)) for number in numbers.split("."))
    assert socket.inet_aton(numbers) == other


@pytest.mark.parametrize("number", ["10.2631468", "3.141592", "1.2.345", "0.30.12345"])
def test_a_number_with_decimals_stays(number: str) -> None:
    assert log_of(KEYS[0]).line(f"took {number} s".encode()) == f"took {number} s".encode()
