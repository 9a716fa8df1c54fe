"""Straces and logs under other names: they are read as before, say the same, and hold nothing of before."""

import ipaddress
import os
import re
from pathlib import Path
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.anonymise.free_text import FreeText
from pcapstall.anonymise.log_text import LogText
from pcapstall.anonymise.mapping import Mapping
from pcapstall.anonymise.secret import Secret
from pcapstall.anonymise.strace_strings import decoded, encoded
from pcapstall.anonymise.strace_text import StraceText
from pcapstall.cli.main import main
from pcapstall.core.errors import InputError
from pcapstall.pipeline import Options, analyse
from pcapstall.pipeline.ends.given import GivenFile
from pcapstall.pipeline.extract.anonymised_files import Planned, Rewriter
from pcapstall.report.end_model import LogReport, StraceReport
from pcapstall.report.flow_model import FlowReport
from pcapstall.strace.args import read_string
from pcapstall.strace.family import Lines, open_straces
from pcapstall.strace.syscalls import Syscalls
from pcapstall.strace.tasks import Threads

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
TRACED = sorted(path.parent.name for path in CAPTURES.glob("*/*.strace"))
KEY = "5e" * 16
STALL = CAPTURES / "stalled-client-hello"
GIVEN = [
    *(f"--strace={label}={STALL}/{label}.strace" for label in ("outbound", "inbound")),
    *(f"--log={label}={STALL}/{label}.log" for label in ("outbound", "inbound")),
]


def text_of(hidden: tuple[str, ...] = ()) -> tuple[Mapping, StraceText, LogText]:
    mapping = Mapping(Secret(bytes.fromhex(KEY)))
    free = FreeText(mapping, hidden)
    log = LogText(mapping, free)
    return mapping, StraceText(mapping, free, log.known_line), log


def rewritten(path: Path, out: Path) -> None:
    _, strace, _ = text_of()
    lines = path.read_bytes().split(b"\n")
    bare = [line.removesuffix(b"\r") for line in lines]
    out.write_bytes(b"\n".join(strace.line(b) + line[len(b) :] for b, line in zip(bare, lines, strict=True)))


def read(path: Path) -> list[tuple[object, ...]]:
    """What the reader finds in each line, but for names and strings."""
    found: list[tuple[object, ...]] = []
    lines = Lines(open_straces([str(path)])[0], Threads(), Syscalls())
    while lines.next():
        reader = lines.reader
        name = reader.syscall.name if reader.kind in (1, 2, 3) else b""
        ret = int(reader.body.ret) if reader.kind in (1, 3) else 0
        found.append((int(reader.kind), int(reader.start_ns), int(reader.end_ns), name, ret, int(reader.thread.tid)))
    lines.close()
    return found


def test_every_format_is_read_as_before(lab: Path, tmp_path: Path) -> None:
    files = sorted((lab / "formats").glob("*.strace"))
    assert len(files) > 30
    for path in files:
        try:
            before = read(path)
        except InputError:
            continue  # a table of counts, of which there is nothing to tell
        rewritten(path, tmp_path / "a.strace")
        assert read(tmp_path / "a.strace") == before, path.name


@given(st.binary(max_size=60), st.booleans())
def test_a_string_is_printed_as_strace_does(data: bytes, in_hexadecimal: bool) -> None:
    printed = encoded(data, rb"\x16\x03" if in_hexadecimal else b"abc")
    assert decoded(printed) == data
    quoted = b'"' + printed + b'"'
    assert read_string(quoted, 0, len(quoted), 100)[0] == data


LINES = [
    (
        rb'7 1.5 connect(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("203.0.113.7")}, 16) = 0',
        rb'7 1.5 connect(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("IP")}, 16) = 0',
    ),
    (rb'connect(3, {sin_addr=inet_addr("\x32\x30\x33\x2e\x30\x2e\x31\x31\x33\x2e\x37")}, 16) = 0', None),
    (rb'connect(3, {sa_family=0x2, sin_port="\x01\xbb", sin_addr="\xcb\x00\x71\x07"}, 16) = 0', None),
    (rb"read(5<TCP:[203.0.113.7:443->203.0.113.7:80]>, 0x7f, 5) = 5", rb"read(5<TCP:[IP:443->IP:80]>, 0x7f, 5) = 5"),
    (rb"close(5<TCPv6:[[::ffff:203.0.113.7]:443]>) = 0", rb"close(5<TCPv6:[[::ffff:IP]:443]>) = 0"),
    (rb'openat(AT_FDCWD, "/etc/resolv.conf", O_RDONLY) = 3</etc/resolv.conf>', None),
    (rb'openat(AT_FDCWD, "/srv/zanzibar/key.pem", O_RDONLY) = 3</srv/zanzibar/key.pem>', None),
    (rb'write(1, "zanzibar says hello", 19) = 19 <0.000007>', None),
    (rb'sendto(4, "\26\3\1\2\0\1\0\1\374\3\3zanzibarzanzibar"..., 517, 0, NULL, 0) = 517', None),
    (rb'sendmsg(4, {msg_iov=[{iov_base="GET /zanzibar HTTP/1.1\r\n", iov_len=24}], msg_iovlen=1}, 0) = 24', None),
    (
        rb'execve("/usr/bin/python3", ["python3", "zanzibar.py", "--to", "203.0.113.7:443"], 0x7ff) = 0',
        None,
    ),
    (rb'<... read resumed>"zanzibar", 8) = 8', None),
    (rb'12<zanzibar> 1.5 prctl(PR_SET_NAME, "zanzibar") = 0', None),
    (rb"zanzibar said something that is no call", None),
    (rb"write(1</dev/pts/0<char 136:0>>, 0x7f, 1) = 1", rb"write(1</dev/pts/0<char 136:0>>, 0x7f, 1) = 1"),
    (rb"bind(3, {sll_halen=6, sll_addr=[0x02, 0x42]}, 20) = 0", rb"bind(3, {sll_halen=6, sll_addr=[0, 0]}, 20) = 0"),
    (rb" | 00000  7a 61 6e 7a 69 62 61 72                           zanzibar         |", None),
    (rb'uname({sysname="Linux", nodename="zanzibar", ...}) = 0', None),
    (rb'connect(3, {sa_family=AF_UNIX, sun_path="/run/zanzibar.sock"}, 110) = 0', None),
    (rb"Script started on 2026-01-01 10:00:00+00:00 [COMMAND=zanzibar]", None),
    (rb"Jan  1 10:00:00 zanzibar strace[12]: close(3) = 0", None),
    (rb"sendfile(5, 8</srv/a b\74c\76,\"zanzibar.txt>(deleted), NULL, 2) = 0 <0.000024>", None),
]


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_a_line(line: bytes, expected: bytes | None) -> None:
    mapping, strace, _ = text_of()
    made = strace.line(line)
    address = ".".join(str(byte) for byte in mapping.ip(bytes((203, 0, 113, 7)))).encode()
    if expected is not None:
        assert made == expected.replace(b"IP", address)
    assert b"zanzibar" not in made
    assert b"203.0.113.7" not in decoded(made)
    assert b"\\xcb\\x00\\x71" not in made
    assert b"7a 61 6e" not in made
    assert made.endswith(line[-5:]) or expected is None
    if b"resolv" in line:
        assert made == line


def test_a_line_of_a_log_is_the_same_where_it_is_written() -> None:
    _, strace, log = text_of()
    line = b"2026-01-01T10:00:00Z INFO peer 203.0.113.7:443 is slow"
    mapped = log.line(line)
    assert b"203.0.113.7" not in mapped
    shown = strace.line(b'write(2, "' + line[:32] + b'"..., 60) = 60')
    assert shown == b'write(2, "' + mapped[:32] + b'"..., 60) = 60'


@pytest.mark.parametrize("host", ["203.0.113.7", "2001:db8::7"])
def test_a_syslog_host_that_is_an_address_is_the_same_everywhere(host: str) -> None:
    mapping, _, log = text_of()
    other = str(ipaddress.ip_address(mapping.ip(ipaddress.ip_address(host).packed)))
    line = f"Jan  1 10:00:00 {host} app[1]: from {host}"
    assert log.line(line.encode()).decode() == line.replace(host, other)


@pytest.mark.parametrize(
    "argument",
    ["2001:470:1111:1234:5678:9012:1111:2222", "fe80::1234:5678", "[2001:470:1111::1]:443", "203.0.113.7:443"],
)
def test_an_address_among_arguments_is_that_of_the_packets(argument: str) -> None:
    mapping, strace, _ = text_of()
    bare = re.sub(r"\]?:443$|\[", "", argument)
    other = str(ipaddress.ip_address(mapping.ip(ipaddress.ip_address(bare).packed)))
    line = 'execve("/usr/bin/python3", ["%s"], 0x7ff) = 0'
    assert strace.line((line % argument).encode()).decode() == line % argument.replace(bare, other)


@pytest.mark.parametrize("argument", ["1234567", "042", "user:12345", "/srv/12345/7777"])
def test_a_number_among_arguments_may_be_a_password(argument: str) -> None:
    _, strace, _ = text_of()
    made = strace.line(f'execve("/usr/bin/python3", ["{argument}"], 0x7ff) = 0'.encode()).decode()
    assert not set(re.findall(r"\d+", argument)) & set(re.findall(r"\d+", made))
    kernel = b'openat(AT_FDCWD, "/proc/1234567/fd/42", O_RDONLY) = 3'
    assert strace.line(kernel) == kernel


def test_a_log_keeps_what_nobody_knows_to_be_a_name() -> None:
    mapping, _, log = text_of(("Bluebird",))
    mapping.name("influx.metrics.corp.example")
    line = b"<13>Jan  1 10:00:00 node7 app[1]: worker-2 of bluebird: influx.metrics.corp.example down, error=timed out"
    made = log.line(line).decode()
    assert made.startswith("<13>Jan  1 10:00:00 ")
    assert made.endswith(" down, error=timed out")
    assert "app[1]: worker-2 of " in made
    assert not any(word in made for word in ("node7", "bluebird", "influx", "corp"))


def test_a_hidden_word_is_hidden_everywhere() -> None:
    _, strace, log = text_of(("bluebird", "Grün-home", "proxy"))
    for line in (
        b"--- SIGSEGV {si_signo=SIGSEGV} --- bluebird",
        b"close(3<bluebird>) = -1 EBADF (bluebird at 203.0.113.7)",
        b'openat(AT_FDCWD, "/home/x", 0) = 3',
        b'sendto(3, "PROXY TCP4 203.0.113.7 203.0.113.8 1 2\\r\\n", 40, 0, NULL, 0) = 40',
    ):
        made = strace.line(line).lower()
        assert not any(word in made for word in (b"bluebird", b"/home/", b"proxy", b"203.0.113"))
        assert made.split(b" ")[0].startswith((b"---", b"close(3", b"openat(", b"sendto("))
    made = log.line("Die grün gestrichene GRÜN-HOME, unergründlich".encode()).decode()
    assert "grün " not in made.lower()
    assert "home" not in made.lower()
    assert made.endswith("unergründlich")


Said = tuple[list[FlowReport], list[StraceReport], list[LogReport]]


def said(capture: str, straces: list[Path], logs: list[Path]) -> Said:
    made: list[Said] = []
    given = [[GivenFile(str(path), path.name.split(".")[0]) for path in paths] for paths in (straces, logs)]
    analyse(
        [capture],
        Options(all_flows=True, straces=given[0], logs=given[1]),
        before_closing=lambda a: made.append((list(a.report.flows), list(a.report.straces), list(a.report.logs))),
    )
    return made[0]


TOLD = "cause side reason activity confidence match stages_ns parts_ns tcp_outcome tls_outcome would_settle".split()


NAMED = re.compile(r"[^ ]*[.:/_-][^ ]*")
"""What a sentence has of names."""


def told(row: FlowReport) -> list[object]:
    threads = [(each.pid, each.tid, each.label, len(each.calls), each.longest_ns) for each in row.threads or ()]
    lines = [([os.path.basename(line) for line in fact.strace], NAMED.sub("", fact.text)) for fact in row.evidence]
    logs = [(os.path.basename(line.where), line.ns) for line in row.logs or ()]
    return [*(getattr(row, each) for each in TOLD), threads, lines, logs]


def bare(log: LogReport) -> LogReport:
    return log._replace(file="", first_unread=None, first_unread_text=None)


def compare_reports(capture: Path, out: Path, straces: list[Path], logs: list[Path]) -> None:
    command = ["extract", str(capture), "--flow", "syn_retries >= 0", "--anonymize", "--key", KEY, "-o", f"{out}/"]
    for kind, paths in (("--strace", straces), ("--log", logs)):
        command += [part for path in paths for part in (kind, f"{path.name.split('.')[0]}={path}")]
    assert main(command) == 0
    before = said(str(capture), straces, logs)
    after = said(str(out / "capture.pcapng"), sorted(out.glob("*.strace")), sorted(out.glob("*.log")))
    assert [told(row) for row in after[0]] == [told(row) for row in before[0]]
    for old, new in zip(before[1], after[1], strict=True):
        assert (new.lines, new.unread, new.processes) == (old.lines, old.unread, old.processes)
        assert (new.clock_offset_ns, new.clock_error_ns) == (old.clock_offset_ns, old.clock_error_ns)
    for earlier, later in zip(before[2], after[2], strict=True):
        assert bare(later) == bare(earlier)


@pytest.mark.parametrize("folder", sorted(set(TRACED)))
def test_straces_and_logs_say_the_same(folder: str, tmp_path: Path) -> None:
    place = CAPTURES / folder
    compare_reports(
        place / "capture.pcap", tmp_path / "out", sorted(place.glob("*.strace")), sorted(place.glob("*.log"))
    )


@pytest.mark.parametrize(
    "run", ["b1_no_epoll_wait", "e1_dns", "m7_server_forks", "n4_edge_lost", "o3_stderr_pid_prefix", "q1_dnat"]
)
def test_straces_of_the_lab_say_the_same(run: str, lab: Path, tmp_path: Path) -> None:
    place = lab / run
    for number, capture in enumerate(sorted(place.glob("*.pcap"))):
        compare_reports(capture, tmp_path / str(number), sorted(place.glob("*.strace")), [])


ORDINARY = set(
    "archive libcrypto libexpat liblzma libssl locale modules nsswitch openssl preload required resolv server zoneinfo"
    .split()
)  # fmt: skip
"""Words of system paths and protocols in these straces."""
ADDRESS = re.compile(rb"\b(?!127\.|0\.)\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b")


@pytest.mark.parametrize("folder", sorted(set(TRACED)))
def test_nothing_of_a_strace_is_left(folder: str, tmp_path: Path) -> None:
    for path in (CAPTURES / folder).glob("*.strace"):
        old = path.read_bytes()
        rewritten(path, tmp_path / "a.strace")
        new = (tmp_path / "a.strace").read_bytes()
        assert new.count(b"\n") == old.count(b"\n")
        assert not set(ADDRESS.findall(old)) & set(ADDRESS.findall(new))
        strings = b" ".join(re.findall(rb'"((?:[^"\\]|\\.)*)"', old))
        outside = re.sub(rb'"((?:[^"\\]|\\.)*)"', b"", old)
        words = {word for word in re.findall(rb"(?<!\\)\b[a-z]{6,}\b", strings) if word not in outside}
        words = {word for word in words if word.decode() not in ORDINARY}
        assert len(words) > 10
        assert [word for word in words if re.search(rb"\b" + word + rb"\b", new)] == []


def test_the_folder_holds_everything_under_other_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["extract", str(STALL / "capture.pcap"), "--flow", "6", "--anonymize", "-o", str(out), *GIVEN]) == 0
    names = ["capture.pcapng", "inbound.log", "inbound.strace", "outbound.log", "outbound.strace"]
    assert sorted(path.name for path in out.iterdir()) == names
    shown = capsys.readouterr().out
    command = shown.splitlines()[-1]
    assert command.startswith(f"pcapstall report {out}/capture.pcapng --strace outbound={out}/outbound.strace")
    assert main(command.split()[1:]) == 0
    report = capsys.readouterr().out
    assert "no thread waited on the socket's epoll set, thread 12170 was in futex for 52.2 s, high confidence" in report
    assert "TLS detection timed out [inbound.log:8]" in report
    for path in out.iterdir():
        data = path.read_bytes()
        assert not any(each in data for each in (b"10.40.39.45", b"10.40.42.129", b"influxdb", b"outbound_proxy"))


def test_files_without_a_label_get_numbers(tmp_path: Path) -> None:
    files = [f"--strace={STALL}/outbound.strace", f"--log={STALL}/inbound.log"]
    out = tmp_path / "out"
    assert main(["extract", str(STALL / "capture.pcap"), "--flow", "6", "--anonymize", "-o", f"{out}/", *files]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["1.log", "1.strace", "capture.pcapng"]


def test_a_family_of_files_stays_one(lab: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    family = lab / "formats" / "ff"
    command = ["extract", str(STALL / "capture.pcap"), "--flow", "6", "--anonymize", "-o", f"{out}/"]
    assert main([*command, f"--strace={family}"]) == 0
    threads = sorted(path.suffix for path in family.parent.glob("ff.*"))
    assert sorted(path.name for path in out.glob("1.strace*")) == [f"1.strace{thread}" for thread in threads]


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("x.pcapng", "name a folder, -o extract/"),
        ("-", "name a folder"),
        ("nowhere/deep/out/", "no folder can be made in"),
    ],
)
def test_several_files_need_a_folder(
    output: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["extract", str(STALL / "capture.pcap"), "--flow", "6", "--anonymize", "-o", output, *GIVEN]) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_only_for_several_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extract", str(STALL / "capture.pcap"), "--flow", "6", "-o", str(tmp_path)]) == 2
    assert "is a folder: name a file in it" in capsys.readouterr().err


def test_what_is_in_the_folder_would_be_passed_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["extract", str(STALL / "capture.pcap"), "--flow", "6", "--anonymize", "-o", f"{tmp_path}/out"]
    assert main([*command, f"--strace=other={STALL}/outbound.strace"]) == 0
    assert main([*command, f"--strace=other={STALL}/inbound.strace"]) == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    capsys.readouterr()
    assert main([*command, f"--strace={STALL}/outbound.strace"]) == 2
    assert "there is something else in it, other.strace, that would be passed on" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_no_input_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    strace = tmp_path / "outbound.strace"
    strace.write_bytes((STALL / "outbound.strace").read_bytes())
    command = ["extract", str(STALL / "capture.pcap"), "--flow", "6", "--anonymize", "-o", str(tmp_path)]
    assert main([*command, f"--strace=outbound={strace}"]) == 2
    assert "that is an input" in capsys.readouterr().err
    assert strace.read_bytes() == (STALL / "outbound.strace").read_bytes()


def test_a_key_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    command = ["extract", str(STALL / "capture.pcap"), "--flow", "6", "--anonymize", "--key", str(key), "-o", str(key)]
    assert main(command) == 2
    assert "that is an input" in capsys.readouterr().err
    assert key.read_bytes() == bytes(range(32))


@pytest.mark.parametrize("is_there", [False, True])
def test_a_folder_that_fails_holds_nothing(is_there: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    if is_there:
        out.mkdir()
    command = ["extract", str(STALL / "capture.pcap"), "--flow", "6", "--anonymize", "-o", f"{out}/"]
    reached: list[str] = []

    def fails(_self: Rewriter, planned: Planned, out: BinaryIO) -> int:
        reached.append(planned.name)
        out.write(b"half")
        raise InputError(planned.source, "cannot be read")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rewriter, "write", fails)
        assert main([*command, f"--strace={STALL}/outbound.strace"]) == 3
    assert reached == ["1.strace"]
    assert out.exists() == is_there
    assert not is_there or list(out.iterdir()) == []
