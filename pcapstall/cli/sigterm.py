"""SIGTERM in a command, where nothing asks whether the end was asked for: something is made, written, or tshark runs.

Readings have a switch of their own (`terminal.ctrl_c_stops`). Imports nothing that reads captures.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pcapstall.core.signals import signal_name


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """SIGTERM ends by KeyboardInterrupt what is done meanwhile, as Ctrl-C does, so that nothing is left behind.

    The exception tells its name. Where somebody handles the signal already, or it is ignored, that stays so.
    """
    if signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def interrupt(number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt(signal_name(number))

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
