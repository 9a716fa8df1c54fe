"""A tshark that is missing, old, crashes, hangs or prints junk gives one clear line; none is ever left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from verify_support import CAPTURES, PDML, handshake, write

from pcapstall.cli.main import main
from pcapstall.pipeline.tshark.program import Tshark

CAPTURE = str(CAPTURES / "refused" / "capture.pcap")
Fake = Callable[..., Path]


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 3) -> str:
    """The one line on standard error, behind the program's name."""
    assert main(["verify", *arguments]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1, shown.err
    assert shown.err.startswith("pcapstall: ")
    return shown.err.removeprefix("pcapstall: ").rstrip("\n")


def test_no_tshark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = complaint(capsys, CAPTURE)
    assert said.startswith("there is no tshark")
    for hint in ("apt install tshark", "dnf install wireshark-cli", "brew install wireshark"):
        assert hint in said


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("echo 'I am another program'", "does not say its version but 'I am another program', so"),
        ("echo 'tshark: libwireshark.so.16: no such file' >&2; exit 127", "but 'tshark: libwireshark.so.16: no such"),
        ("echo 'TShark (Wireshark) 2.6.20'", "is version 2.6.20; 3.0 or newer is needed"),
        ("exit 1", "does not say its version"),
    ],
)
def test_what_is_no_tshark(version: str, said: str, fake_tshark: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake_tshark("exit 0", version)
    assert said in complaint(capsys, CAPTURE)


def test_a_tshark_that_cannot_be_started(fake_tshark: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake_tshark("exit 0").write_bytes(b"\x7fELF no program")
    assert "cannot be started: Exec format error" in complaint(capsys, CAPTURE)


PACKET = '<packet><proto name="geninfo"><field name="num" show="1"/></proto></packet>'


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("kill -SEGV $$", "crashed (SIGSEGV) after 0 packets"),
        ("echo 'tshark: out of luck' >&2; exit 1", "out of luck"),
        ("exit 7", "ended with exit status 7 after 0 packets"),
        ("echo 'Running as user \"root\" could be dangerous.' >&2; exit 2", "ended with exit status 2"),
        ("echo junk", "printed something else than PDML"),
        ("head -c 300000 /dev/zero", "printed something else than PDML"),
        (f"printf '%s' '{PDML}<packet>junk</packet>'", "printed what pyshark cannot read"),
        (f"printf '%s' '{PDML}<packet><proto/></packet>'", "printed what pyshark cannot read"),
        (f"printf '%s' '{PDML}{PACKET}'", "printed what pyshark cannot read"),
        (f"printf '%s' '{PDML}<packet><proto name='", "ended in the middle of its output, after 0 packets"),
        ("exit 0", "ended in the middle of its output, after 0 packets"),
    ],
)
def test_a_tshark_that_fails(script: str, said: str, fake_tshark: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake_tshark(script)
    found = complaint(capsys, CAPTURE)
    assert found.startswith(f"{CAPTURE}: tshark 4.0.17: ")
    assert said in found


def test_a_packet_without_end(
    fake_tshark: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pcapstall.pipeline.tshark import pdml

    monkeypatch.setattr(pdml, "_PACKET_MAX", 1 << 20)
    fake_tshark("yes '<?xml' | tr -d '\\n' | head -c 3000000")
    assert "printed something else than PDML after 0 packets" in complaint(capsys, CAPTURE)


def endless(step: int) -> str:
    """A script that prints packets for ever, their numbers ``step`` apart."""
    fields = "".join(rf"<field name=\"{name}\" show=\"1\" value=\"1\"/>" for name in ("len", "caplen", "timestamp"))
    time_epoch = r"<proto name=\"frame\"><field name=\"frame.time_epoch\" show=\"1.0\"/></proto>"
    number = r"<field name=\"num\" show=\"%d\"/>"
    packet = rf"<packet><proto name=\"geninfo\">{number}{fields}</proto>{time_epoch}</packet>\n"
    return f"printf '%s' '{PDML}'; awk 'BEGIN {{ for (n = 1; ; n += {step}) printf \"{packet}\", n }}'"


@pytest.mark.parametrize("step", [0, 1])
def test_packets_without_end(step: int, fake_tshark: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    """The same again and again, or more than fit into the file."""
    fake_tshark(endless(step))
    assert "shows packets that are not in the file" in complaint(capsys, CAPTURE)


def test_a_version_without_end(fake_tshark: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake_tshark("exit 0", "exec yes")
    assert "does not say its version" in complaint(capsys, CAPTURE)


def test_a_version_that_does_not_come(
    fake_tshark: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pcapstall.pipeline.tshark import program

    monkeypatch.setattr(program, "START_S", 0.3)
    fake_tshark("exit 0", "exec sleep 1000")
    assert "--version did not answer in 0.3 s" in complaint(capsys, CAPTURE)


def test_what_a_wrapper_has_started_for_the_version_ends_with_it(
    tmp_path: Path, fake_tshark: Fake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pcapstall.pipeline.tshark import program

    monkeypatch.setattr(program, "START_S", 0.5)
    fake_tshark("exit 0", f"sleep 100 & echo $! > {tmp_path}/pid; wait; echo x")
    assert "--version did not answer in 0.5 s" in complaint(capsys, CAPTURE)
    assert is_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(
    "script", ["yes >&2; exit 3", "exec yes", "exec yes '<packet>'", "yes '<?xml' & exec sleep 1000"]
)
def test_what_is_printed_without_end_is_not_kept(
    script: str, tmp_path: Path, fake_tshark: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On either pipe, by tshark or by what it has started: with 700 MB of room, one line says so, and soon."""
    fake_tshark(script)
    command = [sys.executable, "-m", "pcapstall", "verify", CAPTURE, "--timeout", "2s"]
    done = subprocess.run(
        ["sh", "-c", 'ulimit -v 700000; exec "$@"', "sh", *command], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (3, b"", 1), done.stderr[-2000:]
    assert b"tshark 4.0.17: " in done.stderr


def test_a_packet_shown_in_an_unknown_way(fake_tshark: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    general = '<proto name="geninfo">' + "".join(
        f'<field name="{name}" show="1" value="1"/>' for name in ("num", "len", "caplen", "timestamp")
    )
    frame = '<proto name="frame"><field name="frame.time_epoch" show="when it was"/></proto>'
    fake_tshark(f"printf '%s' '{PDML}<packet>{general}</proto>{frame}</packet></pdml>'")
    assert "shows a packet in an unknown way" in complaint(capsys, CAPTURE)


def test_a_tshark_that_hangs_is_given_up(tmp_path: Path, fake_tshark: Fake, capsys: pytest.CaptureFixture[str]) -> None:
    fake_tshark(f"echo $$ > {tmp_path}/pid; exec sleep 1000")
    begun = time.monotonic()
    assert "printed nothing for 0.3 s and was ended" in complaint(capsys, CAPTURE, "--timeout", "300ms")
    assert time.monotonic() - begun < 20
    assert is_gone(int((tmp_path / "pid").read_text()))


def test_a_tshark_that_never_ends_is_killed(
    tmp_path: Path, fake_tshark: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    """It closes its output and goes on."""
    fake_tshark(f"echo $$ > {tmp_path}/pid; printf '%s' '{PDML}</pdml>'; exec sleep 1000 >&- 2>&-")
    assert "closed its output after 0 packets and did not end" in complaint(capsys, CAPTURE, "--timeout", "300ms")
    assert is_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_leaves_no_tshark_behind(number: signal.Signals, tmp_path: Path, fake_tshark: Fake) -> None:
    fake_tshark(f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; exec sleep 1000")
    process = subprocess.Popen(
        [sys.executable, "-m", "pcapstall", "verify", CAPTURE], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        child = wait_for_pid(tmp_path / "pid")
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    name = b"Ctrl-C" if number == signal.SIGINT else number.name.encode()
    assert (process.returncode, out, err) == (130, b"", b"pcapstall: ended by %s: nothing was written\n" % name)
    assert is_gone(child)


@pytest.mark.parametrize("wanted", ["table", "json"])
def test_what_was_done_before_an_interrupt_is_written(wanted: str, tmp_path: Path, fake_tshark: Fake) -> None:
    """The first file's lines at once, in a format that is written line by line; the others are not waited for."""
    done, slow = (write(tmp_path / name, handshake()) for name in ("done.pcap", "slow.pcap"))
    pid = tmp_path / "pid"
    fake_tshark(
        f'case "$*" in *slow.pcap*) echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 1000;; esac\n'
        f"printf '%s' '{PDML}</pdml>'"
    )
    command = [sys.executable, "-m", "pcapstall", "verify", done, slow, "-f", wanted]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        child = wait_for_pid(pid)
        assert process.stdout is not None
        begun = os.read(process.stdout.fileno(), 65536) if wanted == "table" else b""
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, err) == (130, b"pcapstall: ended by Ctrl-C: what was written before is complete\n")
    if wanted == "table":
        assert f"{done}: 1 flow".encode() in b" ".join(begun.split())  # its folder may be long
    else:
        assert [file["file"] for file in json.loads(out)["files"]] == [done]
    assert b"slow.pcap" not in begun + out
    assert is_gone(child)


def test_where_the_end_of_children_is_not_told(fake_tshark: Fake) -> None:
    """SIGCHLD is ignored by whoever has started the program."""
    fake_tshark(f"printf '%s' '{PDML}</pdml>'; echo 'a.pcap appears to be cut short' >&2; exit 2")
    told = []
    for disposition in ("SIG_DFL", "SIG_IGN"):
        start = (
            f"import os, sys; from signal import *; signal(SIGCHLD, {disposition}); os.execv(sys.argv[1], sys.argv[1:])"
        )
        command = [sys.executable, "-c", start, sys.executable, "-m", "pcapstall", "verify", CAPTURE]
        ended = subprocess.run(command, capture_output=True, timeout=60, check=False)
        told.append((ended.returncode, ended.stdout, ended.stderr))
    assert told[0] == told[1]
    assert b"255" not in told[0][2]


def wait_for_pid(path: Path) -> int:
    for _ in range(60_000):
        if path.exists():
            return int(path.read_text())
        time.sleep(0.0005)  # to come as early as can be: while asyncio still starts it
    raise AssertionError("tshark was not started")


def is_gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.usefixtures("tshark")
def test_a_rule_that_tshark_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    """tshark would list some thousand protocols."""
    said = complaint(capsys, CAPTURE, "-d", "udp.port==99,nosuch")
    assert said == f'{CAPTURE}: tshark {Tshark().version}: Unknown protocol -- "nosuch"'


@pytest.mark.usefixtures("tshark")
def test_a_strange_config_ini_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """pyshark would read it, and run whatever it names."""
    (tmp_path / "config.ini").write_text(f"[tshark]\ntshark_path = {tmp_path}/evil\n[dumpcap]\n")
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    evil.chmod(0o755)
    path = write(tmp_path / "a.pcap", handshake())
    found = subprocess.run(
        [sys.executable, "-m", "pcapstall", "verify", path], cwd=tmp_path, capture_output=True, check=False
    )
    assert found.returncode == 0, found.stderr
    assert not (tmp_path / "ran").exists()


def test_standard_input_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "reads a capture twice" in complaint(capsys, "-", code=2)


def test_a_pipe_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "reads a capture twice" in complaint(capsys, str(tmp_path / "pipe"), code=2)


@pytest.mark.parametrize(
    ("name", "said"), [("nothing.pcap", "there is no such file"), ("*.pcap", "there is no such file"), ("", "is not a")]
)
def test_a_file_that_is_not_there(name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in complaint(capsys, str(tmp_path / name))


@pytest.mark.parametrize("timeout", ["soon", "0s", "-1s"])
def test_a_timeout_that_is_none(timeout: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--timeout" in complaint(capsys, CAPTURE, "--timeout", timeout, code=2)


def test_a_format_that_verify_has_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", CAPTURE, "-f", "csv"]) == 2
    assert "'csv' is not one of 'table', 'markdown', 'json'" in capsys.readouterr().err


def test_a_timeout_beyond_all_clocks_is_a_long_one() -> None:
    from pcapstall.cli.verify_command import PATIENCE_MAX_NS, _patience

    assert _patience("9" * 400 + "s") == PATIENCE_MAX_NS / 10**9
