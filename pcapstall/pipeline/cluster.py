"""The shares of a capture on a Dask cluster: one that is started here, or any that runs already.

A task follows a share, and needs nothing but the captures' names; so whatever becomes of a worker, Dask lets another
one do it over, and the result is the same. Dask is an extra of the package.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import pcapstall
from pcapstall.capture.captures import open_captures
from pcapstall.capture.opening import is_url
from pcapstall.capture.source import STDIN, Stop
from pcapstall.core.errors import PcapstallError, UsageError
from pcapstall.core.extras import install_words
from pcapstall.core.garbage import without_garbage
from pcapstall.pipeline.shares import Told, Wanted, follow_and_tell

if TYPE_CHECKING:
    from distributed import Client

INSTALL: Final = install_words("dask")
SHARES_MAX: Final = 64
NAP_S: Final = 0.02
PATIENCE_S: Final = 30
"""For a scheduler to answer."""


class ClusterError(PcapstallError):
    """The cluster cannot be reached, or cannot do it."""


def follow_on_cluster(paths: Sequence[str], wanted: Wanted, address: str, stop: Stop) -> list[Told]:
    """What came of every share; ``wanted.shares`` of 0 is as many as the cluster has threads.

    ``address`` is the scheduler's, empty for a cluster of this host's. KeyboardInterrupt when ``stop`` is thrown.
    """
    if any(path in STDIN for path in paths):
        raise UsageError("--engine dask: standard input cannot be read by a cluster, save it to a file first")
    names = [path if is_url(path) or not address else os.path.abspath(path) for path in paths]
    with _connected(address, wanted.shares) as client:
        threads = sum(client.nthreads().values())
        count = wanted.shares or max(1, min(threads, SHARES_MAX))
        wanted = wanted._replace(shares=count)
        tasks = [
            client.submit(_task, names, wanted, index, pcapstall.__version__, pure=False) for index in range(count)
        ]
        return _gathered(client, tasks, stop)


def _task(paths: list[str], wanted: Wanted, index: int, version: str) -> Told:
    """What a worker of the cluster does."""
    if version != pcapstall.__version__:
        raise ClusterError(f"the cluster's pcapstall is {pcapstall.__version__}, and this one {version}")
    captures = open_captures(paths)
    try:
        with without_garbage():
            return follow_and_tell(captures, wanted, index)
    finally:
        captures.close()


@contextmanager
def _connected(address: str, workers: int) -> "Iterator[Client]":
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise UsageError(f"--engine dask needs Dask: {INSTALL}") from error
    if address:
        try:
            client = Client(address, timeout=PATIENCE_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(f"no Dask scheduler answers at {address}: {error}") from error
        try:
            if not client.nthreads():
                raise ClusterError(f"the Dask scheduler at {address} has no workers")
            yield client
        finally:
            client.close()
        return
    cores = workers or len(os.sched_getaffinity(0))
    # Any port for Dask's own page: of its usual one, which another cluster of this host's may have, it would warn.
    with (
        LocalCluster(n_workers=cores, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _gathered(client: "Client", tasks: Sequence[Any], stop: Stop) -> list[Told]:
    """The results of ``tasks``; asked for now and then, so that Ctrl-C is heard."""
    from distributed.scheduler import KilledWorker

    while not all(task.done() for task in tasks):
        if stop.count:
            client.cancel(tasks)
            raise KeyboardInterrupt(stop.by)
        time.sleep(NAP_S)
    try:
        found: list[Told] = [task.result() for task in tasks]
    except KilledWorker as error:
        raise ClusterError("the cluster lost its workers again and again: do they have enough memory?") from error
    except ImportError as error:
        raise ClusterError(f"the cluster's workers lack something: {error} (there: {INSTALL})") from error
    return found
