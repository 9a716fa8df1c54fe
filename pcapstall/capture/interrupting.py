"""Ctrl-C for work that cannot ask a `Stop`: opening a FIFO, waiting for a server, reading straces and logs.

Captures on this host ask before each chunk and need none of this. Who handles signals is not known here.
"""

from collections.abc import Iterable, Iterator
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


class Ended:
    """What became of work that may be ended."""

    def __init__(self) -> None:
        self.early = False


@contextmanager
def ending(stop: Stop) -> Iterator[Ended]:
    """Let the next signal end what is done meanwhile, and go on behind it: whoever works there says what is missing."""
    ended = Ended()
    try:
        with interrupting(stop, 1):
            yield ended
    except KeyboardInterrupt:
        ended.early = True


def not_read(names: Iterable[str]) -> list[str]:
    """What to say of files whose reading was ended; nothing of none."""
    said = ", ".join(names)
    return [f"reading was stopped: nothing of {said} is in this report"] if said else []
