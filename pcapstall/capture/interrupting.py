"""Ctrl-C for work that cannot ask a `Stop`: opening a FIFO, waiting for a server, reading straces and logs.

Captures on this host ask before each chunk and need none of this. Who handles signals is not known here.
"""

from collections.abc import Iterator
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
