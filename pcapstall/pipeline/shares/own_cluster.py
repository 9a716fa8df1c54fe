"""A Dask cluster of this host's for one run: a scheduler and workers, in a group of processes that is killed after it.

The group hears no Ctrl-C: who started it says when it is over, and when that one is gone, in whatever way, it ends
itself. What the cluster is to do is not known here.
"""

import json
import multiprocessing
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from pcapstall.capture.interrupting import unless_stopped
from pcapstall.capture.source import Stop
from pcapstall.pipeline.shares.cluster_client import ClusterError

START_MAX_S: Final = 60.0
"""For it to start: it imports Dask twice."""
_GONE_MAX_S: Final = 0.3
"""For processes that were killed to be gone."""
_LOOK_MS: Final = 200
# As `multiprocessing` does, the process looks for modules where this one does.
_SERVE: Final = (
    "import json, sys; path, *given = json.loads(sys.argv[1]); sys.path[:] = path;"
    "from pcapstall.pipeline.shares.own_cluster import serve; serve(*given)"
)


class OwnCluster:
    """The cluster, from its start on. To be closed in any case."""

    def __init__(self, workers: int) -> None:
        try:
            self._folder = tempfile.TemporaryDirectory(prefix="pcapstall-", ignore_cleanup_errors=True)
        except OSError as error:
            raise ClusterError(f"a Dask cluster needs a temporary folder (TMPDIR): {error.strerror}") from error
        self._log = Path(self._folder.name, "log")
        self._address_fd, write_fd = os.pipe()
        try:
            with self._log.open("wb") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _SERVE, json.dumps([sys.path, workers, self._folder.name, write_fd])],
                    stdin=subprocess.PIPE, stdout=log, stderr=log, pass_fds=[write_fd], process_group=0,
                )  # fmt: skip
        except OSError as error:
            os.close(self._address_fd)
            self._folder.cleanup()
            raise ClusterError(f"no Dask cluster can be started on this host: {error.strerror}") from error
        finally:
            os.close(write_fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def address(self, stop: Stop) -> str:
        """The scheduler's, as soon as it has one. KeyboardInterrupt when ``stop`` is thrown."""
        poll = select.poll()
        poll.register(self._address_fd, select.POLLIN)
        poll.register(stop.wake_fd(), select.POLLIN)
        until_s = time.monotonic() + START_MAX_S
        while self._address_fd not in [fd for fd, _ in poll.poll(_LOOK_MS)]:
            unless_stopped(stop)
            if time.monotonic() > until_s:
                raise ClusterError(f"no Dask cluster has started on this host within {START_MAX_S:.0f} s{self._why()}")
        address = os.read(self._address_fd, 1000).decode()
        if not address:
            raise ClusterError(f"no Dask cluster can be started on this host{self._why()}")
        return address

    def close(self) -> None:
        """End all of it at once: what it was to tell is told."""
        # Its number is its own until it was waited for, and so is that of its group.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):  # one in state D is not ended by that
            self._process.wait(_GONE_MAX_S)
        os.close(self._address_fd)
        until_s = time.monotonic() + _GONE_MAX_S
        with suppress(ProcessLookupError):
            while time.monotonic() < until_s:
                os.killpg(self._process.pid, 0)
                time.sleep(0.01)
        self._folder.cleanup()

    def _why(self) -> str:
        """What it said last."""
        said = self._log.read_text(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(said) if line.strip()), "")
        return f": {last}" if last else ""


def serve(workers: int, folder: str, address_fd: int) -> None:
    """What the process does that leads the group: it starts the others, and ends all when its standard input ends."""
    threading.Thread(target=_end_with_starter, args=(folder,), daemon=True).start()
    from distributed import LocalCluster

    # Any port for Dask's own page: its usual one may be that of another cluster of this host's.
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", local_directory=folder)
    os.write(address_fd, str(cluster.scheduler_address).encode())
    os.close(address_fd)
    threading.Event().wait()


def _end_with_starter(folder: str) -> None:
    """End all when nobody is left who would, nor would remove the folder."""
    os.read(0, 1)
    try:
        for worker in multiprocessing.active_children():
            worker.kill()  # so that none writes there any more
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.killpg(os.getpid(), signal.SIGKILL)
