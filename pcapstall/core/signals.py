"""Signals that ask a program for its end: which ones they are, which of them ask anew, and their names.

Who handles them, and what they end, is not known here.
"""

import signal
from typing import Final

ASKING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU)
"""A person, whoever stops services, a terminal that is closed, and a limit of processor time (``ulimit -S -t``)."""
_TOLD_AGAIN: Final = (signal.SIGHUP, signal.SIGXCPU)
"""These come more than once though nobody insists: of a terminal that is closed first the shell tells, then the kernel
(disassociate_ctty); of a limit the kernel tells each second."""

_heard: set[int] = set()


def asking() -> list[signal.Signals]:
    """Those of `ASKING` that are to be handled: nohup has SIGHUP ignored, and that must stay so."""
    return [number for number in ASKING if number not in _TOLD_AGAIN or signal.getsignal(number) != signal.SIG_IGN]


def asks_anew(number: int) -> bool:
    """Whether the signal that has come now asks for the end, and does not only tell again what was told."""
    if number not in _TOLD_AGAIN:
        return True
    is_first = number not in _heard
    _heard.add(number)
    return is_first


def forget() -> None:
    """A command begins, and nothing has come yet."""
    _heard.clear()


def signal_name(number: int) -> str:
    """``SIGTERM``, or ``signal 35`` of one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
