"""What a person at a terminal sees that a pipe does not: colour, width, progress."""

import contextlib
import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli_support import COMMAND, LOST, PATIENCE_S, REFUSED, on_terminal, read_all, run, wait_for

from pcapstall.cli import terminal

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


class TestColour:
    def test_on_a_terminal(self) -> None:
        shown = on_terminal("report", LOST, TERM="xterm", NO_COLOR="", COLUMNS="120")
        assert ESCAPE.search(shown)
        assert "\x1b" not in ESCAPE.sub("", shown)

    @pytest.mark.parametrize("environment", [{"NO_COLOR": "1", "TERM": "xterm"}, {"NO_COLOR": "", "TERM": "dumb"}])
    def test_not_where_it_is_unwanted(self, environment: dict[str, str]) -> None:
        assert "\x1b" not in on_terminal("report", LOST, COLUMNS="120", **environment)

    def test_not_in_a_pipe(self) -> None:
        assert b"\x1b" not in run("report", LOST, TERM="xterm", COLUMNS="120", FORCE_COLOR="1").stdout


class TestWidth:
    @pytest.mark.parametrize("columns", [50, 80, 132])
    def test_nothing_is_wider_than_the_terminal(self, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(Path(LOST).parent)
        shown = ESCAPE.sub("", on_terminal("report", "capture.pcap", "--all", TERM="xterm", COLUMNS=str(columns)))
        too_long = [line for line in shown.splitlines() if len(line) > columns]
        assert too_long == []
        assert len(shown.splitlines()) > 10

    def test_a_pipe_has_no_width(self) -> None:
        wide = run("report", LOST).stdout
        assert max(len(line) for line in wide.splitlines()) > 120
        for unset in ("", "0", "-80", "many", "\u0668\u0660", "9" * 20):
            assert run("report", LOST, COLUMNS=unset).stdout == wide

    @pytest.mark.parametrize("columns", [60, 100])
    def test_but_the_one_that_is_asked_for(self, columns: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.chdir(Path(LOST).parent)
        shown = run("report", "capture.pcap", COLUMNS=str(columns)).stdout.decode()
        assert columns - 12 < max(map(len, shown.splitlines())) <= columns
        assert "others of" not in shown, "still no terminal"
        assert run("report", "capture.pcap", "-o", str(tmp_path / "report.txt"), COLUMNS=str(columns)).returncode == 0
        assert (tmp_path / "report.txt").read_text() == shown

    @pytest.mark.parametrize("wanted", ["json", "csv", "markdown", "parquet"])
    def test_data_has_none(self, wanted: str) -> None:
        assert run("report", LOST, "-f", wanted, COLUMNS="60").stdout == run("report", LOST, "-f", wanted).stdout != b""


class TestClosingLine:
    """As pytest ends: one line that tells what came of it, for a person who scrolled past the rest."""

    def closing(self, shown: str) -> str:
        return ESCAPE.sub("", shown).splitlines()[-1]

    @pytest.mark.parametrize(
        ("capture", "said"),
        [
            (LOST, r"=+ 1 stalled, 3 others of 4 flows in \d+\.\d\d s =+"),
            (REFUSED, r"=+ 0 stalled, 2 failed, 0 others of 2 flows in \d+\.\d\d s =+"),
        ],
    )
    def test_on_a_terminal(self, capture: str, said: str) -> None:
        line = self.closing(on_terminal("report", capture, TERM="xterm", COLUMNS="70"))
        assert re.fullmatch(said, line)
        assert len(line) == 70
        narrow = self.closing(on_terminal("report", capture, TERM="xterm", COLUMNS="40"))
        assert "=" not in narrow
        assert " of " in narrow

    def test_beside_a_report_in_a_file(self, tmp_path: Path) -> None:
        shown = on_terminal("report", LOST, "-o", str(tmp_path / "report.html"), COLUMNS="70")
        assert re.fullmatch(r"=+ 1 stalled, 3 others of 4 flows in \d+\.\d\d s =+", self.closing(shown))
        assert "others of" not in (tmp_path / "report.html").read_text()

    def test_neither_in_a_pipe_nor_in_data(self) -> None:
        ended = run("report", LOST)
        assert b"others of" not in ended.stdout + ended.stderr
        assert "others of" not in on_terminal("report", LOST, "-f", "json")
        assert "others of" not in on_terminal("report", LOST, "--explain", "3")


class TestProgress:
    def watched(self, *arguments: str, until: str, stdin: int) -> tuple[subprocess.Popen[bytes], int, str]:
        """The command on a terminal, and what was written there when ``until`` was."""
        ours, its = pty.openpty()
        process = subprocess.Popen([*COMMAND, *arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=its)
        os.close(its)
        os.set_blocking(ours, False)
        shown = ""

        def seen() -> bool:
            nonlocal shown
            with contextlib.suppress(BlockingIOError):
                shown += os.read(ours, 65536).decode()
            return until in shown

        wait_for(seen, until)
        return process, ours, shown

    def test_a_slow_pipe_shows_it_by_time(self) -> None:
        """One packet, then nothing more: it is no count of packets that shows it."""
        reader, writer = os.pipe()
        os.write(writer, Path(LOST).read_bytes()[:200])
        process, screen, shown = self.watched(
            "report", "-", until="read 200 B; Ctrl-C reports what was read", stdin=reader
        )
        assert shown.startswith("\r\x1b[K"), "nothing else was written there"
        os.close(writer)
        os.close(reader)
        os.set_blocking(screen, True)
        assert read_all(screen).endswith("\r\x1b[K"), "and it leaves no trace"
        os.close(screen)
        assert process.communicate(timeout=PATIENCE_S)[0]
        assert process.returncode == 0

    def test_a_fifo_that_nobody_writes(self, tmp_path: Path) -> None:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        process, screen, _ = self.watched(
            "report", str(fifo), until="nothing has come yet; Ctrl-C ends the waiting", stdin=subprocess.DEVNULL
        )
        process.send_signal(signal.SIGINT)
        os.set_blocking(screen, True)
        assert "fifo: nothing had come when it was stopped" in read_all(screen)
        os.close(screen)
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130

    def test_only_when_it_takes_long(self, tmp_path: Path) -> None:
        assert "\x1b[K" not in on_terminal("report", LOST)

    def test_not_without_a_terminal(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setattr(terminal, "PROGRESS_AFTER_S", 0.01)
        with terminal.Ticker(lambda: "never shown"):
            time.sleep(0.1)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(terminal.sys, "stderr", None)
        with terminal.Ticker(lambda: "never shown"):
            time.sleep(0.1)

    def test_of_a_file(self) -> None:
        captures: Any = SimpleNamespace(bytes_read=1000, total_bytes=4000)
        progress = terminal.Progress()
        progress(captures)
        assert progress._describe() == "read 1.0 kB of 4.0 kB, 25%"

    @pytest.mark.parametrize(
        ("bytes_read", "total_bytes", "text"),
        [
            (0, 100, "read 0 B of 100 B, 0%"),
            (999, 1000, "read 999 B of 1.0 kB, 99%"),
            (812_000_000, 5_200_000_000, "read 812 MB of 5.2 GB, 15%"),
            (12_300_000, None, "read 12.3 MB; Ctrl-C reports what was read"),
            (5, 0, "read 5 B; Ctrl-C reports what was read"),
        ],
    )
    def test_words(self, bytes_read: int, total_bytes: int | None, text: str) -> None:
        assert terminal.describe(bytes_read, total_bytes) == text
