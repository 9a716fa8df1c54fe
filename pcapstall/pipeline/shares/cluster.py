"""The shares of a capture on a Dask cluster: one that is started here, or any that runs already.

A task follows a share, and needs nothing but the captures' names; so whatever becomes of a worker, Dask lets another
one do it over, and the result is the same. Dask is an extra of the package.
"""

import asyncio
import os
import pickle
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import nullcontext, suppress
from threading import Event
from typing import Any, Final

import pcapstall
from pcapstall.capture.captures import open_captures
from pcapstall.capture.interrupting import interrupting, unless_stopped
from pcapstall.capture.opening import is_url
from pcapstall.capture.source import STDIN, Stop
from pcapstall.core.errors import UsageError
from pcapstall.core.garbage import without_garbage
from pcapstall.core.lacking import lack_of
from pcapstall.pipeline.shares.cluster_client import INSTALL, ClusterError, ask
from pcapstall.pipeline.shares.own_cluster import OwnCluster
from pcapstall.pipeline.shares.share import Told, Wanted, follow_and_tell

SHARES_MAX: Final = 64
_NAP_S: Final = 0.02
_CLOSE_S: Final = 1.0
"""For the cluster to hear that nobody waits any more."""
_OF_ONE_PROCESS: Final = "memory"
"""The kind of URLs whose files no other process has."""


def follow_on_cluster(paths: Sequence[str], wanted: Wanted, address: str, stop: Stop) -> list[Told]:
    """What came of every share; ``wanted.shares`` of 0 is as many as the cluster has threads.

    ``address`` is the scheduler's, empty for a cluster of this host's. KeyboardInterrupt when ``stop`` is thrown.
    """
    for path in paths:
        if path in STDIN:
            raise UsageError("--engine dask: standard input cannot be read by a cluster, save it to a file first")
        if is_url(path) and path.partition("://")[0] == _OF_ONE_PROCESS:
            raise UsageError(
                f"--engine dask: {path} is in the memory of this process, where no worker can read it:"
                " leave the option out"
            )
    names = [path if is_url(path) or not address else os.path.abspath(path) for path in paths]

    def tasks(threads: int) -> list[tuple[Any, ...]]:
        count = wanted.shares or max(1, min(threads, SHARES_MAX))
        shared = wanted._replace(shares=count)
        return [(_task, names, shared, index, pcapstall.__version__) for index in range(count)]

    workers = wanted.shares or min(len(os.sched_getaffinity(0)), SHARES_MAX)
    with nullcontext() if address else OwnCluster(workers) as own:
        _import_dask(stop)
        return _asked(address if own is None else own.address(stop), tasks, stop)


def _import_dask(stop: Stop) -> None:
    """UsageError where it is not there."""
    try:
        with interrupting(stop, 1):  # it takes a second
            import distributed  # noqa: F401
    except ImportError as error:
        if lack_of(error):
            raise
        raise UsageError(f"--engine dask needs Dask: {INSTALL}") from error


def _task(paths: list[str], wanted: Wanted, index: int, version: str) -> bytes:
    """What a worker of the cluster does; a pickled `Told`, for Dask's own pickling takes another protocol."""
    if version != pcapstall.__version__:
        raise ClusterError(f"the cluster's pcapstall is {pcapstall.__version__}, and this one {version}")
    captures = open_captures(paths)
    try:
        with without_garbage():
            return pickle.dumps(follow_and_tell(captures, wanted, index), pickle.HIGHEST_PROTOCOL)
    finally:
        captures.close()


def _asked(address: str, tasks: Callable[[int], list[tuple[Any, ...]]], stop: Stop) -> list[Told]:
    """What the tasks tell.

    They are asked in a thread, with a loop of its own: this one hears signals, and may run a loop already (Jupyter).
    """
    asking: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []
    unwanted = Event()
    """Set before ``asking`` is looked into, and asked after it was filled: so one of the two ends the asking."""

    async def asked() -> list[bytes]:
        asking.append((asyncio.get_running_loop(), asyncio.current_task()))
        if unwanted.is_set():
            return []
        return await ask(address, tasks)

    executor = ThreadPoolExecutor(1, "client of the cluster")
    told = executor.submit(lambda: asyncio.run(asked()))
    executor.shutdown(wait=False)
    try:
        while not wait([told], _NAP_S).done:
            unless_stopped(stop)
    finally:
        if not told.done():
            unwanted.set()
            for loop, task in asking:
                if task is not None:
                    with suppress(RuntimeError):  # the loop has just come to its end
                        loop.call_soon_threadsafe(task.cancel)
            wait([told], _CLOSE_S)
    return [pickle.loads(said) for said in told.result()]
