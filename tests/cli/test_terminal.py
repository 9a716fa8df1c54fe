"""What a person at a terminal sees that a pipe does not: colour, width, progress."""

import io
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli_support import LOST, on_terminal, run

from pcapstall.capture.captures import Captures
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
        narrow, wide = (run("report", LOST, COLUMNS=columns).stdout for columns in ("40", "200"))
        assert narrow == wide
        assert max(len(line) for line in wide.splitlines()) > 120


class TestProgress:
    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
        now = SimpleNamespace(s=100.0)
        monkeypatch.setattr(terminal, "time", SimpleNamespace(monotonic=lambda: now.s))
        return now

    @pytest.fixture
    def screen(self, monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
        screen = io.StringIO()
        screen.isatty = lambda: True  # type: ignore[method-assign]
        monkeypatch.setattr(terminal, "sys", SimpleNamespace(stderr=screen))
        return screen

    def captures(self, bytes_read: int, total_bytes: int | None) -> Captures:
        found: Any = SimpleNamespace(bytes_read=bytes_read, total_bytes=total_bytes)
        return found  # type: ignore[no-any-return]

    def test_only_when_it_takes_long(self, clock: SimpleNamespace, screen: io.StringIO) -> None:
        progress = terminal.Progress()
        clock.s += terminal.PROGRESS_AFTER_S / 2
        progress(self.captures(1000, 4000))
        progress.clear()
        assert screen.getvalue() == ""
        clock.s += terminal.PROGRESS_AFTER_S
        progress(self.captures(2000, 4000))
        assert screen.getvalue() == "\r\x1b[Kread 2.0 kB of 4.0 kB, 50%"
        progress(self.captures(3000, 4000))
        assert "75%" not in screen.getvalue(), "not for each call"
        clock.s += terminal.PROGRESS_EVERY_S
        progress(self.captures(3000, 4000))
        progress.clear()
        assert screen.getvalue().endswith("75%\r\x1b[K"), "and it leaves no trace"

    @pytest.mark.parametrize("stderr", [io.StringIO(), None])
    def test_not_without_a_terminal(
        self, stderr: io.StringIO | None, clock: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(terminal, "sys", SimpleNamespace(stderr=stderr))
        progress = terminal.Progress()
        clock.s += 10
        progress(self.captures(1, 2))
        progress.clear()
        assert stderr is None or stderr.getvalue() == ""

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
