"""The same report from a Dask cluster, also when it loses a worker in the middle.

Each cluster is started by a process of its own: Dask's threads and warnings stay there.
"""

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from shares_support import CAPTURES, PACKETS

from pcapstall.capture.source import Stop
from pcapstall.core.errors import UsageError
from pcapstall.pipeline.shares import cluster
from pcapstall.pipeline.shares.share import Wanted

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'pcapstall[dask]'")

CAPTURE = CAPTURES / "stalled-client-hello" / "capture.pcap"

LOSING = """
import os, signal, sys
from distributed import Client, LocalCluster, WorkerPlugin
from pcapstall.__main__ import main

path, flag, begun = sys.argv[1:]

class Killer(WorkerPlugin):
    # The first worker that follows its share is killed in the middle of it, and only that one.
    def setup(self, worker):
        from pcapstall.pipeline.shares import cluster, share
        follow = cluster.follow_and_tell
        looks = 0

        def noted(captures, wanted, index):
            self.captures = captures
            with open(begun, "a") as out:
                out.write(f"{index}\\n")
            return follow(captures, wanted, index)

        def killed(_self, now_ns):
            nonlocal looks
            looks += 1
            if looks == 3:
                try:
                    out = os.open(flag, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                except FileExistsError:
                    return
                os.write(out, b"%d" % self.captures.infos()[0].packets)
                os.kill(os.getpid(), signal.SIGKILL)

        cluster.follow_and_tell = noted
        share._Resolver.progress = killed

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        with Client(cluster, set_as_default=False) as client:
            client.register_plugin(Killer())
        sys.argv = ["pcapstall", "report", "-f", "json", "--engine", "dask", "--scheduler",
                    cluster.scheduler_address, "--jobs", "3", path]
        code = main()
    sys.exit(code)
"""


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, timeout=300)


def alone(path: Path) -> str:
    ended = run("-m", "pcapstall", "report", "-f", "json", "--jobs", "1", str(path))
    assert ended.returncode == 0
    return ended.stdout


def test_a_cluster_of_this_host_beside_another() -> None:
    with socket.socket() as taken, contextlib.suppress(OSError):
        taken.bind(("127.0.0.1", 8787))  # where Dask's page is; or it is taken already
        taken.listen()
        test_a_cluster_of_this_host()


def test_a_cluster_of_this_host() -> None:
    ended = run("-m", "pcapstall", "report", "-f", "json", "--engine", "dask", "--jobs", "2", str(CAPTURE))
    assert ended.stderr == ""
    assert ended.stdout == alone(CAPTURE)


def test_a_cluster_that_loses_a_worker_in_the_middle(tmp_path: Path, traffic: Path) -> None:
    script = tmp_path / "losing.py"
    script.write_text(LOSING)
    flag, begun = tmp_path / "killed", tmp_path / "begun"
    ended = run(str(script), str(traffic), str(flag), str(begun))
    assert 1000 < int(flag.read_text()) < PACKETS - 1000
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == alone(traffic)
    indexes = begun.read_text().split()
    assert set(indexes) == {"0", "1", "2"}
    assert len(indexes) > 3, "what was lost was begun anew"


def test_no_more_workers_than_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    def noted(workers: int) -> None:
        raise UsageError(f"{workers} workers")

    monkeypatch.setattr(cluster, "OwnCluster", noted)
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(200)))
    with pytest.raises(UsageError, match=r"^64 workers$"):
        cluster.follow_on_cluster([str(CAPTURE)], Wanted({}, False, 10, 0), "", Stop())
    with pytest.raises(UsageError, match=r"^100 workers$"):
        cluster.follow_on_cluster([str(CAPTURE)], Wanted({}, False, 10, 100), "", Stop())


def test_ctrl_c_before_the_client_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks nothing of the cluster when it does."""
    went_on, ended = threading.Event(), threading.Event()
    asked: list[str] = []
    run_loop = asyncio.run

    def late(main: Any) -> Any:
        went_on.wait(60)
        try:
            return run_loop(main)
        finally:
            ended.set()

    async def ask(address: str, _tasks: Any) -> list[bytes]:
        asked.append(address)
        return []

    monkeypatch.setattr(asyncio, "run", late)
    monkeypatch.setattr(cluster, "ask", ask)
    monkeypatch.setattr(cluster, "_CLOSE_S", 0.01)
    stop = Stop()
    stop.throw()
    with pytest.raises(KeyboardInterrupt):
        cluster._asked("tcp://10.0.0.1:8786", lambda _threads: [], stop)
    went_on.set()
    assert ended.wait(60)
    assert asked == []


def test_what_the_cluster_cannot_read() -> None:
    ended = run("-m", "pcapstall", "report", "--engine", "dask", "--jobs", "2", "nosuch.pcap", str(CAPTURE))
    assert ended.returncode == 3
    assert ended.stderr == "pcapstall: nosuch.pcap: there is no such file\n"
    assert "1 of 11 flows stalled" in ended.stdout


def test_what_only_one_process_has() -> None:
    ended = run("-m", "pcapstall", "report", "--engine", "dask", "memory://ring/a.pcap")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == (
        "pcapstall: --engine dask: memory://ring/a.pcap is in the memory of this process, where no worker can read it:"
        " leave the option out\n"
    )
