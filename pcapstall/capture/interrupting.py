"""Ctrl-C for work that cannot ask a `Stop`: opening a FIFO, waiting for a server, reading straces and logs.

Captures on this host ask before each chunk and need none of this. Who handles signals is not known here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pcapstall.capture.source import Stop


@contextmanager
def interrupting(stop: Stop, count: int) -> Iterator[None]:
    """Let the next signal end what is done meanwhile by KeyboardInterrupt, but none before the one that is ``count``
    in all."""
    before = stop.interrupts_at
    stop.interrupts_at = max(count, stop.count + 1)
    try:
        yield
    finally:
        stop.interrupts_at = before


def unless_stopped(stop: Stop) -> None:
    """KeyboardInterrupt when ``stop`` was thrown, for whoever can make nothing of half a reading."""
    if stop.count:
        raise KeyboardInterrupt(stop.by)


def ending(stop: Stop, work: Callable[[], object]) -> None:
    """Do ``work``, which the next signal ends, and go on behind it.

    A signal may come with the last of it done: what is missing is told by what there is, and never by the signal. No
    context manager: one that comes between the end of its block and ``__exit__`` would go past it.
    """
    before = stop.interrupts_at
    try:
        with interrupting(stop, 1):
            work()
    except KeyboardInterrupt:
        pass
    finally:
        stop.interrupts_at = before  # it may have come just before it was set
