"""Workers that end before their time, a program that is to stop, and nothing left running."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from shares_support import PACKETS, cut_after, report, told

from pcapstall.capture.captures import Captures
from pcapstall.capture.source import Stop
from pcapstall.pipeline import Analysis, Options, analyse, workers


def assert_no_child_is_left() -> None:
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The shares that had to be followed by the first process."""
    found: list[int] = []
    follow = workers.Workers._follow_here

    def note(self: workers.Workers, index: int) -> Any:
        found.append(index)
        return follow(self, index)

    monkeypatch.setattr(workers.Workers, "_follow_here", note)
    return found


def test_a_worker_that_is_killed_in_the_middle(
    traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: Any, now_ns: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(workers._Orphan, "progress", killed)
    assert told(report(traffic, jobs=3)) == told(report(traffic))
    assert alone == [1, 2]
    assert_no_child_is_left()


def test_a_worker_that_fails(
    traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def failing(self: Any, now_ns: int) -> None:
        raise MemoryError

    monkeypatch.setattr(workers._Orphan, "progress", failing)
    assert told(report(traffic, jobs=2)) == told(report(traffic))
    assert alone == [1]
    assert capfd.readouterr() == ("", "")
    assert_no_child_is_left()


def test_a_worker_that_is_killed_while_it_tells(
    traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    parent = os.getpid()

    def half(fd: int, data: Any) -> int:
        if os.getpid() == parent:
            return write(fd, data)
        write(fd, data[: len(data) // 2])
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    monkeypatch.setattr(os, "write", half)
    assert told(report(traffic, jobs=2)) == told(report(traffic))
    assert alone == [1]
    assert_no_child_is_left()


def stopped_after(path: Path, jobs: int, calls: int) -> Analysis:
    """The report of ``path``, whose reading is stopped at a sign of progress."""
    stop = Stop()
    left = calls

    def progress(_captures: Captures) -> None:
        nonlocal left
        left -= 1
        if not left:
            stop.throw()

    return analyse([str(path)], Options(jobs=jobs, all_flows=True), stop=stop, progress=progress)


@pytest.mark.parametrize("jobs", [2, 4])
@pytest.mark.parametrize("calls", [1, 2, 4])
def test_all_stop_at_the_same_packet(tmp_path: Path, traffic: Path, jobs: int, calls: int) -> None:
    several = stopped_after(traffic, jobs, calls)
    packets = several.captures[0].packets
    if packets == 0:
        assert calls == 1
        return
    alone = report(cut_after(traffic, packets, tmp_path / "part.pcap"), all_flows=True)
    assert [flow._replace(verdict=None) for flow in several.flows] == [
        flow._replace(verdict=None) for flow in alone.flows
    ]
    assert several.totals == alone.totals
    assert packets == PACKETS or any("reading was stopped" in warning for warning in several.warnings)
    assert_no_child_is_left()


def test_a_killed_worker_s_share_stops_where_the_others_did(
    tmp_path: Path, traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers._Orphan, "progress", lambda _self, _now_ns: os.kill(os.getpid(), signal.SIGKILL))
    several = stopped_after(traffic, 2, 3)
    assert alone == [1]
    part = cut_after(traffic, several.captures[0].packets, tmp_path / "part.pcap")
    assert several.totals == report(part, all_flows=True).totals


def test_stopped_twice(traffic: Path) -> None:
    stop = Stop()

    def progress(_captures: Captures) -> None:
        stop.throw()
        stop.throw()

    with pytest.raises(KeyboardInterrupt):
        analyse([str(traffic)], Options(jobs=2), stop=stop, progress=progress)
    assert_no_child_is_left()


@pytest.fixture
def large(tmp_path: Path, traffic: Path) -> Path:
    """The same traffic again and again: longer to read than any test waits."""
    data = traffic.read_bytes()
    path = tmp_path / "large.pcap"
    with path.open("wb") as out:
        out.write(data)
        for _ in range(40):
            out.write(data[24:])
    return path


class TestCommand:
    """The program in a process of its own; Ctrl-C goes to its workers as well."""

    @staticmethod
    def start(path: Path, *options: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "pcapstall", "report", "-f", "json", *options, str(path)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    @staticmethod
    def wait_for_workers(process: "subprocess.Popen[str]") -> None:
        """Until it has started them, or is over."""
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        patience = time.monotonic() + 30
        while process.poll() is None and not children.read_text() and time.monotonic() < patience:
            time.sleep(0.01)
        time.sleep(0.1)

    def test_ctrl_c_reports_what_was_read(self, large: Path) -> None:
        process = self.start(large, "--jobs", "2")
        self.wait_for_workers(process)
        with contextlib.suppress(ProcessLookupError):  # so fast that it is over
            os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert "Traceback" not in err
        if process.returncode == 130:
            assert not out  # so early that nothing had been read
        else:
            assert process.returncode == 0
            assert '"flows"' in out
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)

    def test_workers_end_with_the_program(self, large: Path) -> None:
        process = self.start(large, "--jobs", "3")
        self.wait_for_workers(process)
        process.kill()
        process.communicate()
        patience = time.monotonic() + 30
        while time.monotonic() < patience:
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.05)
        pytest.fail("workers go on though nobody is there")

    def test_what_it_cannot_do_is_said(self, tmp_path: Path, traffic: Path) -> None:
        with traffic.open("rb") as piped:
            ended = subprocess.run(
                [sys.executable, "-m", "pcapstall", "report", "--jobs", "2", "-"],
                stdin=piped, capture_output=True, text=True, check=False,
            )  # fmt: skip
        assert ended.stderr == "pcapstall: --jobs 2: one process did it, for a pipe is read by one process\n"
        assert ended.returncode == 0
