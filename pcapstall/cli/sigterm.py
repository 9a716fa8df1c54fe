"""SIGTERM and its like in a command, where nothing asks whether the end was asked for: something is made, written, or
tshark runs.

Readings have a switch of their own (`terminal.ctrl_c_stops`). Imports nothing that reads captures.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pcapstall.core.signals import asking, asks_anew, signal_name


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """SIGTERM, SIGHUP and SIGXCPU end by KeyboardInterrupt what is done meanwhile, as Ctrl-C does, so that nothing is
    left behind.

    The exception tells the name. Where somebody handles one already, or it is ignored, that stays so.
    """

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if asks_anew(number):
            raise KeyboardInterrupt(signal_name(number))

    unheard = [number for number in asking() if signal.getsignal(number) == signal.SIG_DFL]
    for number in unheard:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in unheard:
            signal.signal(number, signal.SIG_DFL)
