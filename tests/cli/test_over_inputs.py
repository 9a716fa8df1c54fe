"""No output goes over an input, by whatever name or pattern that was given."""

import os
import shutil
from pathlib import Path

import pytest
from cli_support import CAPTURES, LOST

from pcapstall.cli.main import main

STALLED = CAPTURES / "stalled-client-hello"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a capture, a trace of `strace -ff` and a log, by short names."""
    shutil.copy(LOST, tmp_path / "a.pcap")
    shutil.copy(STALLED / "outbound.strace", tmp_path / "trace.101")
    shutil.copy(STALLED / "inbound.strace", tmp_path / "trace.102")
    shutil.copy(STALLED / "outbound.log", tmp_path / "a.log")
    (tmp_path / "keys").write_text("CLIENT_RANDOM 00 00\n")
    os.symlink("a.log", tmp_path / "link")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("output", "arguments"),
    [
        ("trace.101", ["report", "a.pcap", "--strace", "trace"]),
        ("trace.102", ["report", "a.pcap", "--strace", "server=trace.*"]),
        ("trace.101", ["timeline", "a.pcap", "--flow", "1", "--strace", "trace"]),
        ("trace.102", ["extract", "a.pcap", "--flow", "1", "--strace", "trace"]),
        ("link", ["report", "a.pcap", "--log", "a.l*"]),
        ("a.pcap", ["summary", "*.pcap"]),
        ("keys", ["verify", "a.pcap", "--keylog", "keys"]),
    ],
)
def test_it_is_refused(output: str, arguments: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main([*arguments, "-o", output]) == 2
    assert capsys.readouterr().err == f"pcapstall: -o {output}: that is an input, it would be overwritten\n"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
