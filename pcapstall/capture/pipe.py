"""Bytes of a capture from standard input, a FIFO or a socket, as they come, until a stop.

This module is never compiled: signal handlers get their turn here, as in `source`, which has the reading of files and
the switch itself.
"""

import fcntl
import os
import select
import sys
import termios
import time
from typing import Final

from pcapstall.capture.source import CHUNK, GRACE_S, GRACE_TOTAL_S, Source, Stop

_INT_LEN: Final = 4


class PipeSource(Source):
    """Standard input, a FIFO, a socket: waits for data without spinning, and wakes up when it is to stop."""

    def __init__(self, path: str, fd: int, stop: Stop | None = None) -> None:
        super().__init__(path, stop)
        self._fd = fd
        self._silent_since_s = 0.0
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)
        self._poll.register(self.stop_switch.wake_fd(), select.POLLIN)

    def _read(self) -> bytes:
        while self._fd >= 0:
            timeout_ms = self._timeout_ms()
            if timeout_ms == 0:
                return b""
            ready = self._poll.poll(timeout_ms)
            if not ready and self.stop_switch.when_silent is not None:
                self.stop_switch.when_silent()
            if any(fd == self._fd for fd, _ in ready):
                try:
                    chunk = os.read(self._fd, self._readable_len())
                except BlockingIOError:
                    continue
                except OSError as error:
                    self.trouble = f"cannot be read on: {error.strerror}"
                    return b""
                self.bytes_read += len(chunk)
                self._silent_since_s = time.monotonic()
                return chunk
            if ready:
                self.stop_switch.drain()
        return b""

    def _readable_len(self) -> int:
        """How many bytes to ask for: as many as are there.

        More are cut off their buffer afterwards, and the heap cannot use the gaps that this leaves for the next one:
        of a pipe that little comes by at a time, a watch grew by one to two megabytes a minute.
        """
        try:
            there = fcntl.ioctl(self._fd, termios.FIONREAD, bytes(_INT_LEN))
        except OSError:  # a device that does not say
            return CHUNK
        return min(int.from_bytes(there, sys.byteorder), CHUNK) or CHUNK

    def _timeout_ms(self) -> int | None:
        """How long to wait for data: None is for ever, 0 is not at all."""
        count = self.stop_switch.count
        if not count:
            return None if self.stop_switch.when_silent is None else int(self.stop_switch.silent_s * 1000)
        if count > 1:
            return 0
        since = self.stop_switch.since_s
        left = min(max(since, self._silent_since_s) + GRACE_S, since + GRACE_TOTAL_S) - time.monotonic()
        return max(int(left * 1000), 0)

    def close(self) -> None:
        """Close the pipe; standard input stays open."""
        if self._fd > 2:
            os.close(self._fd)
        self._fd = -1
