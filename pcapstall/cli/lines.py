"""Lines that are written out at once, and how long whoever reads them kept the program waiting.

A reader that does not read holds up what is written, and with it the reading of a live capture. That is told while it
lasts, and can be ended by signals. What the lines say is not known here.
"""

import io
import os
import select
import time
from collections.abc import Callable
from typing import Final, TextIO

from pcapstall.capture.source import GRACE_S, Stop

PATIENCE_S: Final = 1.0
"""So long a reader may take before it is told of."""
_LOOK_MS: Final = 100
_PIECE: Final = select.PIPE_BUF
"""Bytes that a pipe takes at once when it takes any."""


class Lines:
    """Writes to ``out``; calls ``held`` the first time that a line has waited for `PATIENCE_S`."""

    def __init__(self, out: TextIO, stop: Stop, held: Callable[[], None]) -> None:
        self._out = out
        self._stop = stop
        self._held = held
        self._has_told = False
        self.waited_s = 0.0
        """How long lines waited for their reader, in waits that are worth telling: of `PATIENCE_S` or more."""
        try:
            self._fd = out.fileno()
        except io.UnsupportedOperation:
            self._fd = -1  # no file at all, as where a program reads what `main` writes
        self._poll = select.poll()
        if self._fd >= 0:
            self._poll.register(self._fd, select.POLLOUT)

    def write(self, line: str) -> None:
        """Write ``line`` and its end. KeyboardInterrupt when the end is asked for and nobody reads.

        Asked once, the reader has `GRACE_S` to go on.
        """
        if self._fd < 0:
            self._out.write(f"{line}\n")
            self._out.flush()
            return
        left = f"{line}\n".encode(self._out.encoding, self._out.errors or "strict")
        while left:
            if not self._poll.poll(0):
                self._wait()
            self._out.write("")  # notes that there is a part of the output from now on
            left = left[os.write(self._fd, left[:_PIECE]) :]

    def _wait(self) -> None:
        stop = self._stop
        began_s = time.monotonic()
        while not self._poll.poll(_LOOK_MS):
            now_s = time.monotonic()
            if now_s - began_s >= PATIENCE_S and not self._has_told:
                self._has_told = True
                self._held()
            # Who stops a service sends one signal, and then kills it.
            if stop.count > 1 or (stop.count and now_s - max(began_s, stop.since_s) >= GRACE_S):
                raise KeyboardInterrupt(stop.by)
        waited_s = time.monotonic() - began_s
        if waited_s >= PATIENCE_S:
            self.waited_s += waited_s
