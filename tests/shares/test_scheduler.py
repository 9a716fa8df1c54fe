"""Dask schedulers that do not do what they are asked to: a sentence, an exit status, and an end within bounds.

Each scheduler is a process of its own with one worker in it; how long an answer may take is Dask's own setting.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from shares_support import CAPTURES, in_session

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'pcapstall[dask]'")

CAPTURE = str(CAPTURES / "stalled-client-hello" / "capture.pcap")
_CONNECT = "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"
SHORT = {_CONNECT: "1s"}
"""Where it is silence that ends the program."""
PATIENCE = {_CONNECT: "30s"}
"""Anywhere else, for machines that are slow to answer."""
MAX_S = 60
"""For what takes three seconds on a machine with nothing else to do."""

SCHEDULER = """
import os, sys, time
from distributed import LocalCluster
from pcapstall.pipeline.shares import cluster

if __name__ == "__main__":
    flag = sys.argv[1]

    def held(captures, wanted, index):
        open(flag, "w").close()
        time.sleep(1000)

    cluster.follow_and_tell = held
    local = LocalCluster(
        n_workers={workers}, processes={processes}, protocol="tcp", host="127.0.0.1", dashboard_address=":0",
        silence_logs=50,
    )
    {before}
    print(local.scheduler_address, flush=True)
    sys.stdin.read(1)
    {after}
    sys.stdin.read()
    os._exit(0)
"""


@contextmanager
def scheduler(
    tmp_path: Path, before: str = "", after: str = "", workers: int = 1, processes: bool = False
) -> "Iterator[Scheduler]":
    """One that does ``before`` once it runs, and ``after`` when it is told to."""
    script = SCHEDULER.format(before=before, after=after, workers=workers, processes=processes)
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "begun")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with process:
        try:
            assert process.stdout is not None
            yield Scheduler(process, process.stdout.readline().decode().strip(), tmp_path / "begun")
        finally:
            process.kill()


class Scheduler:
    def __init__(self, process: "subprocess.Popen[bytes]", address: str, flag: Path) -> None:
        self.process = process
        self.address = address
        self.flag = flag

    def tell(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"!")
        self.process.stdin.flush()


def start(*arguments: str, settings: Mapping[str, str] = PATIENCE) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "pcapstall", "report", "--engine", "dask", *arguments, CAPTURE],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | settings, start_new_session=True,
    )  # fmt: skip


def said(process: "subprocess.Popen[str]", code: int = 3) -> str:
    """The one line with which it has ended, without the name."""
    try:
        out, err = process.communicate(timeout=MAX_S)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, out, err.count("\n")) == (code, "", 1), err
    return err.removeprefix("pcapstall: ").rstrip()


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + MAX_S
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_one_that_refuses_the_connection() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    began = time.monotonic()
    assert said(start("--scheduler", address, settings={})) == (
        f"nothing listens at {address} (Connect call failed ('127.0.0.1', {address.rpartition(':')[2]})):"
        " is the address right, and does the scheduler run (dask scheduler)?"
    )
    assert time.monotonic() - began < 29, "Dask itself tries for 30 s"


def test_one_that_cannot_be_reached() -> None:
    """Its queue is full, so that the kernel drops who wants to come in, as firewalls do."""
    with socket.socket() as server, ExitStack() as waiting:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(server.getsockname())
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        assert said(start("--scheduler", address, settings=SHORT)) == (
            f"nothing answers at {address} within 1 s: is the address right, and is there a firewall between?"
        )


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_one_that_is_none(answer: bytes) -> None:
    """A port that takes connections and is silent, and Dask's own page."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"

        def serve() -> None:
            with ExitStack() as held, suppress(OSError):
                while True:
                    held.enter_context(server.accept()[0]).sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        told = said(start("--scheduler", address, settings=SHORT))
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert told.startswith(f"no Dask scheduler answers at {address}")
    assert told.endswith(
        ": is that its port (8786 by default), and not that of its page, and is its Dask of a version like this one's?"
    )


@pytest.mark.parametrize("address", ["10.0.0.1", "nosuch://10.0.0.1:8786", "tcp://10.0.0.1:x"])
def test_what_is_no_address(address: str) -> None:
    told = said(start("--scheduler", address), code=2)
    assert told.startswith(f"--scheduler {address}: ")
    assert told.endswith("; an address is like tcp://10.0.0.1:8786")


@pytest.mark.parametrize(
    ("before", "there"),
    [
        ("sys.modules['pcapstall'].__version__ = '9.9'", "2 of 2 processes with pcapstall 9.9 and Python {python}"),
        ("sys.version_info = (3, 99, 0, 'final', 0)", "2 of 2 processes with pcapstall {version} and Python 3.99"),
        ("sys.modules['pcapstall'] = None", "2 of 2 processes without pcapstall"),
    ],
)
def test_one_with_other_versions(tmp_path: Path, before: str, there: str) -> None:
    import pcapstall

    own = {"version": pcapstall.__version__, "python": "{}.{}".format(*sys.version_info)}
    with scheduler(tmp_path, before) as at:
        told = said(start("--scheduler", at.address))
    assert told == (
        f"the Dask cluster at {at.address} does not fit: {there.format(**own)}, and here is pcapstall {own['version']}"
        f" with Python {own['python']}; install the same there: pip install '.[dask]' in a clone"
        " (from an index 'pcapstall[dask]')"
    )


def test_another_dask_is_said_and_does_not_matter(tmp_path: Path) -> None:
    change = "import distributed; distributed.__version__ = '2024.1'; from pcapstall.pipeline.shares import share;"
    with scheduler(tmp_path, change + "cluster.follow_and_tell = share.follow_and_tell") as at:
        process = start("--scheduler", at.address)
        out, err = process.communicate(timeout=MAX_S)
    assert (process.returncode, err.count("\n")) == (0, 1)
    assert err.startswith("pcapstall: the cluster has Dask 2024.1, and this host ")
    assert "1 of 11 flows stalled" in out


def test_one_without_workers(tmp_path: Path) -> None:
    with scheduler(tmp_path, workers=0) as at:
        told = said(start("--scheduler", at.address))
    assert told == f"the Dask scheduler at {at.address} has no workers: start some, dask worker {at.address}"


def test_one_with_a_worker_that_is_stopped(tmp_path: Path) -> None:
    stop = "held = next(iter(local.workers.values())).pid; os.kill(held, 19)"
    with scheduler(tmp_path, stop, after="os.kill(held, 9)", processes=True) as at:
        told = said(start("--scheduler", at.address, settings=SHORT))
        at.tell()
    assert told == (
        f"not all workers of the Dask cluster at {at.address} answered within 1 s: end those that do not (its page"
        " tells which), and call again"
    )


def test_one_that_loses_all_workers_in_the_middle(tmp_path: Path) -> None:
    with scheduler(tmp_path, after="local.scale(0)") as at:
        process = start("--scheduler", at.address, settings=SHORT)
        wait_until(at.flag.exists)
        at.tell()
        told = said(process)
    assert told == f"the Dask scheduler at {at.address} had no workers for 1 s: start some, and call again"


@pytest.mark.parametrize(
    ("number", "so"),
    [
        (
            signal.SIGKILL,
            "the connection to the Dask scheduler at {} was lost: when it runs again, call the same command again",
        ),
        (
            signal.SIGSTOP,
            "the Dask scheduler at {} has not answered for 1 s: look whether it, and its host, still runs",
        ),
    ],
)
def test_one_that_is_gone_in_the_middle(tmp_path: Path, number: signal.Signals, so: str) -> None:
    with scheduler(tmp_path) as at:
        process = start("--scheduler", at.address, settings=SHORT)
        wait_until(at.flag.exists)
        at.process.send_signal(number)
        assert said(process) == so.format(at.address)


def test_ctrl_c_leaves_the_scheduler_of_others_running(tmp_path: Path) -> None:
    with scheduler(tmp_path) as at:
        process = start("--scheduler", at.address)
        wait_until(at.flag.exists)
        process.send_signal(signal.SIGINT)
        assert said(process, code=130) == "ended by Ctrl-C: nothing was written"
        assert at.process.poll() is None


class TestOwnCluster:
    """That of this host's, which ends with the program."""

    HELD = """
import os, signal, sys, time
from pcapstall.pipeline.shares import cluster, own_cluster

def held(captures, wanted, index):
    open({flag!r}, "w").close()
    while True:
        pass

cluster.follow_and_tell = held
"""

    def started(self, folder: Path) -> "subprocess.Popen[str]":
        """The program, when a worker has its share and comes to no end."""
        (folder / "sitecustomize.py").write_text(
            "import sys\n"
            "if 'spawn_main' in ' '.join(sys.orig_argv):\n"
            f"    exec({self.HELD.format(flag=str(folder / 'begun'))!r})\n"
        )
        path = os.pathsep.join([str(folder), os.environ["PYTHONPATH"]])
        process = subprocess.Popen(
            [sys.executable, "-m", "pcapstall", "report", "--engine", "dask", "--jobs", "2", CAPTURE],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env=os.environ | {"PYTHONPATH": path, "TMPDIR": str(folder)},
        )  # fmt: skip
        wait_until(lambda: (folder / "begun").exists() or process.poll() is not None)
        return process

    def left(self, folder: Path, process: "subprocess.Popen[str]") -> list[str]:
        return [*in_session(process.pid), *(path.name for path in folder.glob("pcapstall-*"))]

    @pytest.mark.parametrize(("number", "name"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
    def test_ctrl_c_ends_all_of_it_at_once(self, tmp_path: Path, number: signal.Signals, name: str) -> None:
        process = self.started(tmp_path)
        assert len(in_session(process.pid)) >= 4
        began = time.monotonic()
        os.killpg(process.pid, number)
        assert said(process, code=130) == f"ended by {name}: nothing was written"
        assert time.monotonic() - began < 20, "one second, where nobody else wants the machine"
        wait_until(lambda: self.left(tmp_path, process) == [])

    def test_ctrl_c_while_it_starts(self, tmp_path: Path) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "pcapstall", "report", "--engine", "dask", "--jobs", "2", CAPTURE],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
            env=os.environ | {"TMPDIR": str(tmp_path)},
        )  # fmt: skip
        wait_until(lambda: len(in_session(process.pid)) >= 2)
        os.killpg(process.pid, signal.SIGINT)
        assert said(process, code=130) == "ended by Ctrl-C: nothing was written"
        wait_until(lambda: self.left(tmp_path, process) == [])

    def test_it_ends_with_a_program_that_is_killed(self, tmp_path: Path) -> None:
        process = self.started(tmp_path)
        process.kill()
        process.communicate()
        wait_until(lambda: in_session(process.pid) == [])
        assert self.left(tmp_path, process) == []

    def test_one_that_cannot_start(self, tmp_path: Path) -> None:
        (tmp_path / "sitecustomize.py").write_text(
            "import sys\nif 'own_cluster' in ' '.join(sys.orig_argv): sys.modules['distributed'] = None\n"
        )
        path = os.pathsep.join([str(tmp_path), os.environ["PYTHONPATH"]])
        ended = subprocess.run(
            [sys.executable, "-m", "pcapstall", "report", "--engine", "dask", CAPTURE],
            capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}, timeout=MAX_S, check=False,
        )  # fmt: skip
        assert (ended.returncode, ended.stdout) == (3, "")
        assert ended.stderr == (
            "pcapstall: no Dask cluster can be started on this host: ModuleNotFoundError: import of distributed halted;"
            " None in sys.modules\n"
        )
