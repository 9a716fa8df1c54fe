"""Workers that end before their time, a program that is to stop, and nothing left running."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from shares_support import CAPTURES, PACKETS, children, cut_after, report, told

from pcapstall.capture.captures import Captures
from pcapstall.capture.source import Stop
from pcapstall.cli.terminal import ctrl_c_stops
from pcapstall.core.errors import InputError
from pcapstall.pipeline import Analysis, Options, analyse
from pcapstall.pipeline.shares import forked, workers
from pcapstall.pipeline.shares.forked import Failure, Forked, ShareHeld, ShareRedone, WorkerFault
from pcapstall.pipeline.shares.paper import Paper


@pytest.fixture(autouse=True)
def no_child_is_left() -> Iterator[None]:
    """But for those of other tests."""
    others = children()
    yield
    assert children() <= others


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The shares that had to be followed by the first process."""
    found: list[int] = []
    follow = workers.Workers._follow_here

    def note(self: workers.Workers, index: int, stop: Stop) -> Any:
        found.append(index)
        return follow(self, index, stop)

    monkeypatch.setattr(workers.Workers, "_follow_here", note)
    return found


def test_a_worker_that_is_killed_in_the_middle(
    traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: Any, now_ns: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(workers._Orphan, "progress", killed)
    with pytest.warns(ShareRedone, match=r"process \d of 3 was ended by signal 9; the first one did its share"):
        several = report(traffic, jobs=3)
    assert told(several) == told(report(traffic))
    assert alone == [1, 2]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that does nothing is given up after a second, not ten."""
    monkeypatch.setattr(forked, "LOOK_S", 0.05)
    monkeypatch.setattr(workers, "LOOK_S", 0.05)


HELD = r"process 2 of 2 did nothing for \S+ s, for it was stopped; the first one did its share"


@pytest.mark.usefixtures("soon")
def test_a_worker_that_is_stopped_in_the_middle(
    traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers._Orphan, "progress", lambda _self, _now_ns: os.kill(os.getpid(), signal.SIGSTOP))
    with pytest.warns(ShareHeld, match=HELD):
        several = report(traffic, jobs=2)
    assert told(several) == told(report(traffic))
    assert alone == [1]


@pytest.mark.usefixtures("soon")
def test_a_worker_that_is_stopped_while_it_tells(
    traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(_result: Any) -> Any:
        os.kill(os.getpid(), signal.SIGSTOP)

    parent, pack = os.getpid(), workers.packed
    monkeypatch.setattr(workers, "packed", lambda result: pack(result) if os.getpid() == parent else stopped(result))
    with pytest.warns(ShareHeld, match=HELD):
        several = report(traffic, jobs=2)
    assert told(several) == told(report(traffic))
    assert alone == [1]


@pytest.mark.usefixtures("soon")
def test_a_stopped_worker_does_not_hold_up_ctrl_c(traffic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all stop is told by where each of them is."""
    stop, looks = Stop(), 0

    def asked(_captures: Captures) -> None:
        nonlocal looks
        looks += 1
        if looks == 3:
            stop.throw()

    monkeypatch.setattr(workers._Orphan, "progress", lambda _self, _now_ns: os.kill(os.getpid(), signal.SIGSTOP))
    with pytest.warns(ShareHeld, match=HELD):
        several = analyse([str(traffic)], Options(jobs=2), stop=stop, progress=asked)
    (capture,) = several.report.captures
    assert 0 < capture.packets < PACKETS
    assert any("reading was stopped after" in said for said in several.report.warnings)


@pytest.mark.usefixtures("soon")
def test_one_that_works_for_long_is_waited_for(
    traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It neither reads nor tells anything meanwhile, but it uses the processor."""
    parent, pack = os.getpid(), workers.packed

    def slow(result: Any) -> Any:
        used = time.process_time()
        while os.getpid() != parent and time.process_time() - used < 2:
            pass
        return pack(result)

    monkeypatch.setattr(workers, "packed", slow)
    assert told(report(traffic, jobs=2)) == told(report(traffic))
    assert alone == []


def fail_with(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def failing(self: Any, now_ns: int) -> None:
        raise error

    monkeypatch.setattr(workers._Orphan, "progress", failing)


@pytest.mark.parametrize(
    ("error", "said"),
    [(MemoryError(), "MemoryError"), (OSError(24, "Too many open files"), r"OSError: \[Errno 24\] Too")],
)
def test_a_worker_that_lacks_something(
    traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    fail_with(monkeypatch, error)
    with pytest.warns(ShareRedone, match=rf"process 2 of 2 failed \({said}"):
        several = report(traffic, jobs=2)
    assert told(several) == told(report(traffic))
    assert alone == [1]


def test_no_worker_can_be_started(traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    fork, left = os.fork, 1

    def limited() -> int:
        nonlocal left
        left -= 1
        if left < 0:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return fork()

    descriptors = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fork", limited)
        with pytest.warns(
            ShareRedone, match=r"process 3 of 3 could not be started \(Resource temporarily unavailable\)"
        ):
            several = report(traffic, jobs=3)
    assert told(several) == told(report(traffic))
    assert alone == [2]
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_where_memory_cannot_be_shared_without_a_file(
    traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_name: str) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "memfd_create", unknown)
    assert told(report(traffic, jobs=2)) == told(report(traffic))
    assert alone == []


def test_a_fault_of_our_own_in_a_worker_is_said(
    traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    fail_with(monkeypatch, IndexError("no such look"))
    with pytest.warns(WorkerFault, match=r"a fault of pcapstall \(IndexError: no such look\)") as warned:
        several = report(traffic, jobs=2)
    (warning,) = warned
    assert isinstance(warning.message, WorkerFault)
    assert "test_workers.py" in warning.message.trace
    assert told(several) == told(report(traffic))
    assert alone == [1]
    assert capfd.readouterr() == ("", "")


def test_without_somebody_who_expects_it_a_fault_ends_the_test(traffic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, IndexError("no such look"))
    with pytest.raises(WorkerFault):
        report(traffic, jobs=2)


FAILING = """
import sys
import os
from pcapstall.__main__ import main
from pcapstall.pipeline.shares import forked, workers

def failing(self, now_ns):
    raise {error}

forked.LOOK_S = workers.LOOK_S = 0.05

workers._Orphan.progress = failing
sys.argv = ["pcapstall", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    ("error", "debug", "said", "more"),
    [
        ("MemoryError", False, "", False),
        ("MemoryError", True, "pcapstall: debug: process 2 of 2 failed (MemoryError); the first one did", False),
        ("os.kill(os.getpid(), 19)", False, "pcapstall: process 2 of 2 did nothing for 1 s, for it was stopped", False),
        ("KeyError(7)", False, "pcapstall: process 2 of 2 failed, a fault of pcapstall (KeyError: 7)", False),
        ("KeyError(7)", True, "pcapstall: debug: process 2 of 2 failed, a fault of pcapstall (KeyError: 7)", True),
    ],
)
def test_what_the_program_says_of_it(traffic: Path, error: str, debug: bool, said: str, more: bool) -> None:
    options = ["--debug"] if debug else []
    ended = subprocess.run(
        [sys.executable, "-c", FAILING.format(error=error), "report", *options, "--jobs", "2", str(traffic)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0
    assert (said in ended.stderr) if said else (ended.stderr == "")
    assert ("Traceback" in ended.stderr) == more


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
    with pytest.warns(ShareRedone, match="was ended by signal 9"):
        several = report(traffic, jobs=2)
    assert told(several) == told(report(traffic))
    assert alone == [1]


@pytest.mark.parametrize("change", [-3000, 3000])
def test_a_file_that_changes_its_size_when_reading_begins(
    traffic: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: int
) -> None:
    """What grows is read as far as it was at first, by all; what is cut, as far as it is there."""
    data = traffic.read_bytes()
    size = len(data) - 3001
    path = tmp_path / "changing.pcap"
    path.write_bytes(data[: min(size, size + change)])
    expected = report(path)
    path.write_bytes(data[:size])
    start = workers.Workers._start

    def change_first(self: workers.Workers, index: int) -> None:
        if index == 1:
            path.write_bytes(data[: size + change])
        start(self, index)

    monkeypatch.setattr(workers.Workers, "_start", change_first)
    several = report(path, jobs=3)
    assert not several.alone
    assert several.report.captures == expected.report.captures
    assert list(several.report.flows) == list(expected.report.flows)
    assert several.report.totals == expected.report.totals


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
    packets = several.report.captures[0].packets
    assert packets > 0 or calls == 1  # the first call is before the first packet
    alone = report(cut_after(traffic, packets, tmp_path / "part.pcap"), all_flows=True)
    assert [flow._replace(verdict=None) for flow in several.report.flows] == [
        flow._replace(verdict=None) for flow in alone.report.flows
    ]
    assert several.report.totals == alone.report.totals
    assert packets == PACKETS or any("reading was stopped" in warning for warning in several.report.warnings)


def test_a_killed_worker_s_share_stops_where_the_others_did(
    tmp_path: Path, traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers._Orphan, "progress", lambda _self, _now_ns: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.warns(ShareRedone):
        several = stopped_after(traffic, 2, 3)
    assert alone == [1]
    part = cut_after(traffic, several.report.captures[0].packets, tmp_path / "part.pcap")
    assert several.report.totals == report(part, all_flows=True).report.totals


LOST = CAPTURES / "client-hello-lost" / "capture.pcap"
LACKS = [MemoryError(), OSError(12, "Cannot allocate memory"), OSError(24, "Too many open files")]


def lacking(error: Exception) -> Callable[..., Any]:
    def lacks(*_: Any, **__: Any) -> Any:
        raise error

    return lacks


@pytest.mark.parametrize("error", LACKS)
@pytest.mark.parametrize("name", ["Workers.results", "Forked.told", "open_captures"])
def test_what_is_not_enough_for_several_may_be_for_one(
    error: Exception, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process holds what all have told; it goes on alone, with less."""
    alone = told(report(LOST))
    holder, _, function = name.rpartition(".")
    of = getattr(workers, holder) if holder else workers
    monkeypatch.setattr(of, function, lacking(error))
    if name == "open_captures":
        monkeypatch.setattr(workers, "_work", lambda *_: None)
    several = report(LOST, jobs=2)
    assert several.alone.startswith("there was not enough for several (")
    assert told(several) == alone


def test_another_error_is_no_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers.Workers, "results", lacking(OSError(5, "Input/output error")))
    with pytest.raises(OSError, match="Input/output"):
        report(LOST, jobs=2)


def test_where_one_does_it_over_it_stops_where_all_had(
    tmp_path: Path, traffic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And does not end before the first packet, as the end was asked for already."""
    monkeypatch.setattr(workers.Workers, "results", lacking(MemoryError()))
    stopped = stopped_after(traffic, 2, 3)
    assert stopped.alone
    packets = stopped.report.captures[0].packets
    part = cut_after(traffic, packets, tmp_path / "part.pcap")
    assert stopped.report.totals == report(part, all_flows=True).report.totals
    assert packets > 0


def test_what_is_read_afterwards_knows_nothing_of_the_others() -> None:
    stop = Stop()
    analyse([str(LOST)], Options(jobs=2), stop=stop)
    assert stop.gate is None


def test_a_file_that_is_cut_while_they_read_it(tmp_path: Path, traffic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first process has seen packets that the other one has not: both are of the file as it is then."""
    path = tmp_path / "cut.pcap"
    path.write_bytes(traffic.read_bytes())
    result = workers.Workers.results

    def waited(self: workers.Workers, stop: Stop) -> Any:
        for worker in self._running.values():
            os.kill(worker._pid, signal.SIGCONT)
        return result(self, stop)

    def cut(captures: Captures, wanted: Any, index: int, listener: Any) -> Any:
        if index:
            os.kill(os.getpid(), signal.SIGSTOP)
            os.truncate(path, 300_000)
        return follow(captures, wanted, index, listener)

    follow = workers.follow_share
    monkeypatch.setattr(workers, "follow_share", cut)
    monkeypatch.setattr(workers.Workers, "results", waited)
    several = report(path, jobs=2)
    assert several.alone == "a file has changed while they read it"
    assert told(several) == told(report(path))


@pytest.mark.usefixtures("soon")
def test_one_that_falls_silent_and_is_stopped_is_not_waited_for() -> None:
    """It has closed its end of the pipe, has marked nothing, and is not over."""

    def mute(paper: Paper) -> None:
        for fd in range(3, 256):
            if stat.S_ISFIFO(mode_of(fd)):
                os.close(fd)
        os.kill(os.getpid(), signal.SIGSTOP)

    worker = Forked("mute", mute)
    try:
        said = worker.told()
    finally:
        worker.close()
    assert isinstance(said, Failure)
    assert said.held


def mode_of(fd: int) -> int:
    try:
        return os.fstat(fd).st_mode
    except OSError:
        return 0


def test_stopped_twice(traffic: Path) -> None:
    stop = Stop()

    def progress(_captures: Captures) -> None:
        stop.throw()
        stop.throw()

    with pytest.raises(KeyboardInterrupt):
        analyse([str(traffic)], Options(jobs=2), stop=stop, progress=progress)


def wait_until(holds: Callable[[], bool]) -> None:
    patience = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < patience
        time.sleep(0.01)


def is_asleep(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


class TestASlowWorker:
    """It has followed its share and takes very long to tell, while the first process waits for it."""

    @pytest.fixture
    def slow(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
        """Lets the worker send so many signals to the first process as soon as that one waits."""
        flag = tmp_path / "waits"
        results, pack, parent = workers.Workers.results, workers.packed, os.getpid()

        def waiting(self: workers.Workers, stop: Stop) -> Any:
            flag.touch()
            return results(self, stop)

        def make(signals: int) -> None:
            def packing(result: Any) -> Any:
                wait_until(flag.exists)
                for _ in range(signals):
                    wait_until(lambda: is_asleep(parent))
                    os.kill(parent, signal.SIGINT)
                    time.sleep(0.1)  # two of them at once are one
                if signals > 1:
                    time.sleep(20)
                return pack(result)

            monkeypatch.setattr(workers.Workers, "results", waiting)
            monkeypatch.setattr(workers, "packed", packing)

        return make

    def test_asked_twice_the_program_ends_at_once(self, traffic: Path, slow: Callable[[int], None]) -> None:
        slow(2)
        began = time.monotonic()
        with ctrl_c_stops() as stop, pytest.raises(KeyboardInterrupt):
            analyse([str(traffic)], Options(jobs=2), stop=stop)
        assert time.monotonic() - began < 15

    def test_asked_once_what_was_read_is_reported(self, traffic: Path, slow: Callable[[int], None]) -> None:
        """The first process has read everything, and so the other one was to do as well."""
        slow(1)
        with ctrl_c_stops() as stop:
            several = analyse([str(traffic)], Options(jobs=2), stop=stop)
        assert stop.count == 1
        assert told(several) == told(report(traffic))


def test_asked_twice_while_the_first_process_follows_a_lost_share(
    traffic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = Stop()
    follow = workers.Workers._follow_here

    def asked(self: workers.Workers, *arguments: Any) -> Any:
        stop.throw()
        stop.throw()
        return follow(self, *arguments)

    monkeypatch.setattr(workers._Orphan, "progress", lambda _self, _now_ns: os.kill(os.getpid(), signal.SIGKILL))
    monkeypatch.setattr(workers.Workers, "_follow_here", asked)
    with pytest.warns(ShareRedone), pytest.raises(KeyboardInterrupt):
        analyse([str(traffic)], Options(jobs=2), stop=stop)


@pytest.mark.usefixtures("nobody_waits_for_children")
def test_where_nobody_is_told_of_the_end_of_children(traffic: Path, alone: list[int]) -> None:
    several = report(traffic, jobs=3)
    assert not several.alone
    assert told(several) == told(report(traffic))
    assert alone == []


@pytest.mark.usefixtures("nobody_waits_for_children")
def test_killed_where_nobody_is_told_of_it(traffic: Path, alone: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers._Orphan, "progress", lambda _self, _now_ns: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.warns(ShareRedone, match=r"process 2 of 2 ended without a word"):
        several = report(traffic, jobs=2)
    assert told(several) == told(report(traffic))
    assert alone == [1]


@pytest.mark.usefixtures("nobody_waits_for_children")
def test_one_that_is_over_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its number may be that of a stranger."""
    forked = Forked("nothing", lambda _paper: None)
    wait_until(lambda: not Path(f"/proc/{forked._pid}").exists())
    monkeypatch.setattr(os, "kill", None)
    monkeypatch.setattr(signal, "pidfd_send_signal", None)
    forked.close()


@pytest.mark.parametrize("has_pidfd", [True, False])
def test_one_that_runs_is_ended(monkeypatch: pytest.MonkeyPatch, has_pidfd: bool) -> None:
    def unknown(_pid: int) -> int:
        raise OSError(38, "Function not implemented")

    if not has_pidfd:
        monkeypatch.setattr(os, "pidfd_open", unknown)
    descriptors = len(os.listdir("/proc/self/fd"))
    forked = Forked("long", lambda _paper: time.sleep(60))
    forked.close()
    assert not Path(f"/proc/{forked._pid}").exists()
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_one_that_not_even_sigkill_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits in the kernel: it is let go of, and what it was to tell counts as not told."""
    monkeypatch.setattr(forked, "_GONE_MAX_S", 0.1)
    held = Forked("held", lambda _paper: time.sleep(60))
    with monkeypatch.context() as unkillable:
        unkillable.setattr(signal, "pidfd_send_signal", lambda *_: None)
        unkillable.setattr(forked, "_IDLE_LOOKS", 1)
        unkillable.setattr(forked, "LOOK_S", 0.05)
        began_s = time.monotonic()
        said = held.told()
        assert time.monotonic() - began_s < 30
    assert isinstance(said, Failure)
    assert said.held
    held.close()


ASKED_AT_ONCE = """
import os, signal, sys
from pcapstall.pipeline import Options, analyse

fork = os.fork

def asked():
    pid = fork()
    if not pid:
        os.kill(os.getpid(), signal.{number})
    return pid

os.fork = asked
signal.signal(signal.SIGINT, signal.default_int_handler)
analyse([sys.argv[1]], Options(jobs=2))
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGHUP", "SIGXCPU"])
def test_a_worker_hears_no_signal_from_its_first_instant_on(traffic: Path, number: str) -> None:
    """Ctrl-C goes to every process of the terminal; the first one tells the others where to stop."""
    ended = subprocess.run(
        [sys.executable, "-W", "always", "-c", ASKED_AT_ONCE.format(number=number), str(traffic)],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")


class TestCommand:
    """The program in a process of its own; Ctrl-C goes to its workers as well."""

    HELD = """
import os, sys, time
from pcapstall.__main__ import main
from pcapstall.pipeline import follow
from pcapstall.pipeline.shares import workers

folder, endless = sys.argv.pop(1), sys.argv.pop(1)
calls = 0
look = follow._Ears.progress

def held(self, now_ns):
    # In the middle of the capture the first process waits for the test to do what it wants to do then.
    global calls
    calls += 1
    if calls == 3:
        open(folder + "/reads", "x").close()
        while not os.path.exists(folder + "/go-on"):
            time.sleep(0.01)
    look(self, now_ns)

def in_circles(self, now_ns):
    while True:
        is_left(self, now_ns)
        time.sleep(0.01)

follow._Ears.progress = held
if endless:
    is_left = workers._Orphan.progress
    workers._Orphan.progress = in_circles
sys.argv[0] = "pcapstall"
main()
"""

    def start(self, folder: Path, path: Path, endless: str = "") -> "subprocess.Popen[str]":
        """The program, when it has read a part of ``path``; ``endless`` workers never come to an end of theirs."""
        process = subprocess.Popen(
            [sys.executable, "-c", self.HELD, str(folder), endless, "report", "-f", "json", "--jobs", "3", str(path)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        wait_until((folder / "reads").exists)
        return process

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
    def test_ctrl_c_reports_what_was_read(self, number: signal.Signals, tmp_path: Path, traffic: Path) -> None:
        process = self.start(tmp_path, traffic)
        os.killpg(process.pid, number)
        (tmp_path / "go-on").touch()
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0
        assert err == ""
        said = json.loads(out)
        assert said["flows"]
        assert 0 < said["captures"][0]["packets"] <= PACKETS
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)

    def test_ctrl_c_twice_ends_it_with_nothing(self, tmp_path: Path, traffic: Path) -> None:
        process = self.start(tmp_path, traffic)
        for _ in range(2):
            os.killpg(process.pid, signal.SIGINT)
            wait_until(lambda: "SigPnd:\t0000000000000000" in Path(f"/proc/{process.pid}/status").read_text())
            time.sleep(0.1)  # its handler runs as soon as it wakes up, which it does every 10 ms
        (tmp_path / "go-on").touch()
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (130, "", "pcapstall: ended by Ctrl-C: nothing was written\n")
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)

    def test_workers_end_with_the_program(self, tmp_path: Path, traffic: Path) -> None:
        process = self.start(tmp_path, traffic, "endless")
        process.kill()
        process.communicate()

        def is_gone() -> bool:
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return True
            return False

        wait_until(is_gone)

    def test_what_it_cannot_do_is_said(self, tmp_path: Path, traffic: Path) -> None:
        with traffic.open("rb") as piped:
            ended = subprocess.run(
                [sys.executable, "-m", "pcapstall", "report", "--jobs", "2", "-"],
                stdin=piped, capture_output=True, text=True, check=False,
            )  # fmt: skip
        assert ended.stderr == "pcapstall: --jobs 2: one process did it, for a pipe is read by one process\n"
        assert ended.returncode == 0


class TestAStartThatFails:
    """Whatever it is, no worker is left that was started before."""

    @pytest.fixture(autouse=True)
    def busy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(workers, "_work", lambda *_: time.sleep(60))

    def test_ctrl_c_between_two_of_them(self, traffic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        started: list[str] = []

        def interrupted(name: str, work: Callable[[Paper], None]) -> Forked | Failure:
            if started:
                raise KeyboardInterrupt
            started.append(name)
            return forked.start(name, work)

        before = children()
        monkeypatch.setattr(workers, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            report(traffic, jobs=3)
        assert started == ["share 1"]
        assert children() <= before

    def test_the_captures_cannot_be_opened(self, traffic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def gone(paths: list[str], _stop: Stop) -> Captures:
            raise InputError(paths[0], "there is no such file")

        before = children()
        monkeypatch.setattr(workers, "open_captures", gone)
        with pytest.raises(InputError):
            report(traffic, jobs=3)
        assert children() <= before


def test_nobody_waits_for_memory_that_is_given_back() -> None:
    """What a process has told is there before it is over."""

    def work(paper: Paper) -> None:
        paper.write(b"all that there is")
        os._exit = lambda _code: time.sleep(60)  # type: ignore[assignment,return-value]

    began_s = time.monotonic()
    forked = Forked("slow to end", work)
    said = forked.told()
    assert not isinstance(said, Failure)
    assert said[:] == b"all that there is"
    assert not forked.has_ended()
    said.close()
    forked.close()
    assert time.monotonic() - began_s < 30
    assert not Path(f"/proc/{forked._pid}").exists()
