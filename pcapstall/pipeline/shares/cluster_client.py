"""The client of a Dask cluster: connects, looks whether the cluster fits, hands tasks out and waits for what they tell.

Everything here has an end, whatever becomes of the cluster, and every end but the good one is a sentence that says what
to do next. What the tasks do is not known here.
"""

import asyncio
import logging
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pcapstall.core.errors import PcapstallError, UsageError
from pcapstall.core.extras import install_words

if TYPE_CHECKING:
    from distributed import Client

INSTALL: Final = install_words("dask")
_LOOK_S: Final = 0.5
"""How often the scheduler is asked how many threads there are."""
_CLOSE_S: Final = 0.5
"""For it to hear that nobody waits any more."""
_LOGGERS: Final = ("asyncio", "distributed", "tornado")
"""They log what is told here, tracebacks and all."""
_ASK: Final = (
    "__import__('pcapstall').__version__, '%d.%d' % __import__('sys').version_info[:2],"
    " __import__('distributed').__version__"
)
"""Evaluated there: what is not the same version cannot even unpickle a question of this package's own."""


_NOT_DASKS: Final = (AssertionError, ImportError, MemoryError, OSError, RuntimeError, TypeError, ValueError)
"""What Dask raises where something else answers: of a page it takes the first letters for a length, say."""


class ClusterError(PcapstallError):
    """The cluster cannot be reached, or cannot do it."""


class OtherDask(RuntimeWarning):
    """The cluster's Dask is of another version: most often that works."""


class Versions(NamedTuple):
    """What one process of the cluster has."""

    pcapstall: str
    python: str
    dask: str


async def ask(address: str, tasks: Callable[[int], list[tuple[Any, ...]]]) -> list[Any]:
    """What came of each task, a function with its arguments, that ``tasks`` makes for so many threads."""
    patience_s = _patience_s()
    with _quiet():
        async with _connected(address, patience_s) as client:
            threads = await _within(patience_s, address, client.nthreads())
            if not threads:
                raise ClusterError(f"the Dask scheduler at {address} has no workers: start some, dask worker {address}")
            await _check_versions(client, address, patience_s)
            futures = [client.submit(*task, pure=False) for task in tasks(sum(threads.values()))]
            found = asyncio.ensure_future(client.gather(futures))
            watched = asyncio.ensure_future(_watch(client, address, patience_s))
            try:
                await asyncio.wait({found, watched}, return_when=asyncio.FIRST_COMPLETED)
                if found.done():
                    return _told(found, address)
                raise ClusterError(watched.result())
            finally:
                found.cancel()
                watched.cancel()


def _patience_s() -> float:
    """How long a scheduler may take for an answer: what Dask is told, by default 30 s."""
    import dask
    from dask.utils import parse_timedelta

    return float(parse_timedelta(dask.config.get("distributed.comm.timeouts.connect", "30s")))


@asynccontextmanager
async def _connected(address: str, patience_s: float) -> "AsyncIterator[Client]":
    from distributed import Client

    await _knock(address, patience_s)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="distributed")  # of versions, which are asked for below
        try:
            client = Client(address, asynchronous=True, set_as_default=False, timeout=patience_s)
            await asyncio.wait_for(client, patience_s)
        except _NOT_DASKS as error:
            raise ClusterError(
                f"no Dask scheduler answers at {address}{_reason(error)}: is that its port (8786 by default), and not"
                " that of its page, and is its Dask of a version like this one's?"
            ) from error
    try:
        yield client
    finally:
        with suppress(TimeoutError, OSError):
            await asyncio.wait_for(client.close(), _CLOSE_S)


async def _knock(address: str, patience_s: float) -> None:
    """ClusterError at once where nobody listens: Dask tries until its patience is over. UsageError for no address."""
    from distributed.comm.addressing import get_address_host_port, normalize_address, parse_address
    from distributed.comm.registry import get_backend

    try:
        scheme, _ = parse_address(normalize_address(address))
        get_backend(scheme)
        if scheme not in ("tcp", "tls"):
            return
        host, port = get_address_host_port(address, strict=True)
    except ValueError as error:
        raise UsageError(f"--scheduler {address}: {error}; an address is like tcp://10.0.0.1:8786") from error
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), patience_s)
        writer.close()
    except TimeoutError as error:
        raise ClusterError(
            f"nothing answers at {address} within {patience_s:.3g} s: is the address right, and is there a firewall"
            " between?"
        ) from error
    except OSError as error:
        raise ClusterError(
            f"nothing listens at {address}{_reason(error)}: is the address right, and does the scheduler run"
            " (dask scheduler)?"
        ) from error


def _reason(error: BaseException) -> str:
    """``error``, in brackets and on one line, where it says anything."""
    said = getattr(error, "strerror", None) or " ".join(str(error).split())
    return f" ({said})" if said else ""


async def _within(patience_s: float, address: str, answer: Any, silent: str = "") -> Any:
    """The scheduler's ``answer``; ClusterError where it does not come, ``silent`` if that is another's fault."""
    try:
        return await asyncio.wait_for(answer, patience_s)
    except TimeoutError as error:
        raise ClusterError(
            silent
            or f"the Dask scheduler at {address} has not answered for {patience_s:.3g} s: look whether it, and its"
            " host, still runs"
        ) from error
    except OSError as error:
        raise ClusterError(_lost(address)) from error


def _lost(address: str) -> str:
    return (
        f"the connection to the Dask scheduler at {address} was lost: when it runs again, call the same command again"
    )


async def _check_versions(client: "Client", address: str, patience_s: float) -> None:
    """ClusterError unless all processes of the cluster have this pcapstall and this Python."""
    import pcapstall

    own = Versions(*eval(_ASK))
    silent = (
        f"not all workers of the Dask cluster at {address} answered within {patience_s:.3g} s: end those that do not"
        " (its page tells which), and call again"
    )
    found: dict[str, Any] = await _within(patience_s, address, client.run(eval, _ASK, on_error="return"), silent)
    with suppress(ImportError):  # it is told as that of workers
        found["the scheduler"] = None
        found["the scheduler"] = await _within(patience_s, address, client.run_on_scheduler(eval, _ASK))
    others = _others(own, found)
    if others:
        raise ClusterError(
            f"the Dask cluster at {address} does not fit: {others}, and here is pcapstall {pcapstall.__version__} with"
            f" Python {own.python}; install the same there: {INSTALL}"
        )
    dasks = sorted({there.dask for there in map(_versions, found.values()) if there is not None} - {own.dask})
    if dasks:
        warnings.warn(OtherDask(f"the cluster has Dask {', '.join(dasks)}, and this host {own.dask}"), stacklevel=1)


def _others(own: Versions, found: Mapping[str, Any]) -> str:
    """What is elsewhere not as here, of how many; empty when all is the same."""
    counted: Counter[str] = Counter()
    for answer in found.values():
        there = _versions(answer)
        if there is None:
            counted["without pcapstall"] += 1
        elif there[:2] != own[:2]:
            counted[f"with pcapstall {there.pcapstall} and Python {there.python}"] += 1
    return ", ".join(f"{count} of {len(found)} processes {what}" for what, count in counted.items())


def _versions(answer: Any) -> Versions | None:
    return Versions(*answer) if isinstance(answer, (tuple, list)) else None


async def _watch(client: "Client", address: str, patience_s: float) -> str:
    """Why nothing will come of the tasks, as soon as that is known."""
    loop = asyncio.get_running_loop()
    had_workers_s = loop.time()
    while True:
        await asyncio.sleep(_LOOK_S)
        if client.status != "running":
            return _lost(address)
        try:
            if await _within(patience_s, address, client.nthreads()):
                had_workers_s = loop.time()
        except ClusterError as error:
            return str(error)
        if loop.time() - had_workers_s > patience_s:
            return f"the Dask scheduler at {address} had no workers for {patience_s:.3g} s: start some, and call again"


def _told(found: "asyncio.Future[list[Any]]", address: str) -> list[Any]:
    """What the tasks told; ClusterError for what a cluster may do to them."""
    from distributed.scheduler import KilledWorker

    try:
        return found.result()
    except KilledWorker as error:
        raise ClusterError("the cluster lost its workers again and again: do they have enough memory?") from error
    except ImportError as error:
        raise ClusterError(f"the cluster's workers lack something: {error} (there: {INSTALL})") from error
    except (CancelledError, asyncio.CancelledError, OSError) as error:  # so Dask gives up where the scheduler is gone
        raise ClusterError(_lost(address)) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Nothing is logged by Dask and what it stands on."""
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in _LOGGERS]
    before = {name: logging.getLogger(name).level for name in {*names, *_LOGGERS}}
    for name in before:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
