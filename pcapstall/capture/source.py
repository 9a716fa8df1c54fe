"""Bytes of a capture in chunks, from a file, with a way to say "stop"; what comes by a pipe is read in `pipe`.

This module is never compiled: it is entered once a chunk, and that is where signal handlers get their turn. What the
bytes are is not known here.
"""

import errno
import os
import stat
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pcapstall.core.errors import InputError
from pcapstall.core.files import cut_meanwhile

if TYPE_CHECKING:
    from pcapstall.capture.gate import Gate

CHUNK: Final = 128 * 1024
"""Bytes asked for at once. A pipe hands out what is there."""
GRACE_S: Final = 0.3
"""After a stop a pipe is read until it has been silent for this long: whoever hit Ctrl-C waits."""
GRACE_TOTAL_S: Final = 10.0
"""And never longer than this, however busy the writer is."""
STDIN: Final = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
"""Names of standard input. It may be a socket, which has no name that could be opened."""

_REASONS: Final = {
    errno.ENOENT: "there is no such file",
    errno.EACCES: "no permission to read it: ask its owner, or run this as root",
    errno.EPERM: "no permission to read it: ask its owner, or run this as root",
    errno.EMFILE: "too many files are open: raise the limit (ulimit -n)",
    errno.ENXIO: "is a socket or a device that gives nothing to read",
}
"""Why opening failed, where the system's own words do not help."""


class Stop:
    """A switch that ends all reading; it may be thrown from a signal handler or another thread, once or twice.

    Thrown once, files end at once and pipes are drained (see `GRACE_S`): what tcpdump flushes on the same Ctrl-C is
    not lost. Thrown twice, pipes end at once too.
    """

    def __init__(self) -> None:
        self.count = 0
        self.by = ""
        """The signal that has thrown it last, where one did; for KeyboardInterrupt to tell."""
        self.since_s = 0.0
        self.when_silent: Callable[[], None] | None = None
        """Called by the reader itself, between two records, each time that nothing came for ``silent_s``."""
        self.silent_s = 0.1
        self.gate: Gate | None = None
        """Where other processes read the same files: it says then when the end is reached."""
        self.interrupts_at = 0
        """Thrown by so many signals it ends, by KeyboardInterrupt, what cannot ask here; 0: by no number."""
        self._read_fd = -1
        self._write_fd = -1

    def throw(self, by: str = "") -> None:
        """Ask for the end."""
        self.by = by
        if not self.count:
            self.since_s = time.monotonic()
        self.count += 1
        if self._write_fd >= 0:
            try:
                os.write(self._write_fd, b"!")
            except BlockingIOError:
                return  # the pipe is full of wake-ups already

    @property
    def is_reached(self) -> bool:
        """Whether files end now."""
        return self.count > 0 if self.gate is None else self.gate.has_stopped

    def wake_fd(self) -> int:
        """A descriptor that becomes readable when the switch is thrown; made when first asked for."""
        if self._read_fd < 0:
            self._read_fd, self._write_fd = os.pipe()
            os.set_blocking(self._read_fd, False)
            os.set_blocking(self._write_fd, False)
            if self.count:
                os.write(self._write_fd, b"!")
        return self._read_fd

    def drain(self) -> None:
        """Take the wake-ups out of the pipe."""
        try:
            os.read(self._read_fd, 4096)
        except BlockingIOError:
            return

    def close(self) -> None:
        """Give the descriptors back."""
        for fd in (self._read_fd, self._write_fd):
            if fd >= 0:
                os.close(fd)
        self._read_fd = self._write_fd = -1


class Source:
    """Chunks of bytes. Subclasses fill in `_read`; everybody else calls `read` and `peek`."""

    def __init__(self, path: str, stop: Stop | None = None) -> None:
        self.path = path
        self.stop_switch = stop if stop is not None else Stop()
        self.bytes_read = 0
        """Of the file as it lies on disk: compressed ones count compressed."""
        self.total_bytes: int | None = None
        """How many there are in all; None for a pipe."""
        self.compression: str | None = None
        self.trouble = ""
        """What ended the reading early, for a warning; empty when the end was the end."""
        self._pending = b""

    def read(self) -> bytes:
        """The next bytes, as many as are there; ``b""`` at the end."""
        if self._pending:
            chunk, self._pending = self._pending, b""
            return chunk
        return self._read()

    def peek(self, size: int) -> bytes:
        """At least the next ``size`` bytes without taking them; fewer only when the source ends before."""
        parts = [self._pending] if self._pending else []
        have = len(self._pending)
        while have < size:
            chunk = self._read()
            if not chunk:
                break
            parts.append(chunk)
            have += len(chunk)
        self._pending = parts[0] if len(parts) == 1 else b"".join(parts)
        return self._pending

    def stop(self) -> None:
        """Ask for the end; see `Stop`."""
        self.stop_switch.throw()

    @property
    def stopped(self) -> bool:
        """Whether the end was asked for."""
        return self.stop_switch.is_reached

    def rest(self) -> None:
        """Give the descriptor back until there is more to be read, if that can be done."""

    def close(self) -> None:
        """Give the descriptor back."""

    def _read(self) -> bytes:
        raise NotImplementedError


class FileSource(Source):
    """A regular file (or a block device) that is read as fast as it goes."""

    def __init__(self, path: str, fd: int, total_bytes: int, stop: Stop | None = None) -> None:
        super().__init__(path, stop)
        self._fd = fd
        self.total_bytes = total_bytes
        self._resting: tuple[int, int, int] | None = None
        """Device, inode and position of a file whose descriptor was given back."""

    def _read(self) -> bytes:
        stop = self.stop_switch
        if self._resting is not None and not stop.is_reached:
            self._wake(*self._resting)
        # `Stop.is_reached` without a call: with the slots, 15,200 instructions a chunk became 8,000 (without the copy).
        if self._fd < 0 or (stop.count if stop.gate is None else stop.gate.has_stopped):
            return b""
        size = CHUNK if stop.gate is None else stop.gate.allowance(stop, self, CHUNK)
        try:
            chunk = os.read(self._fd, size)
        except OSError as error:
            self.trouble = f"cannot be read on: {error.strerror}"
            return b""
        self.bytes_read += len(chunk)
        if size and not chunk:  # the oldest file of a ring is emptied before it is written anew (tcpdump -C -W)
            self.trouble = cut_meanwhile(self.bytes_read, self.total_bytes or 0)
        return chunk

    def rest(self) -> None:
        """Close the file; reading opens it again and goes on at the same place. Standard input cannot do that."""
        if self._fd > 2 and self.path not in STDIN:
            status = os.fstat(self._fd)
            self._resting = status.st_dev, status.st_ino, os.lseek(self._fd, 0, os.SEEK_CUR)
            os.close(self._fd)
            self._fd = -1

    def _wake(self, device: int, inode: int, position: int) -> None:
        self._resting = None
        try:
            self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            os.lseek(self._fd, position, os.SEEK_SET)
        except OSError as error:
            self.trouble = f"cannot be read on: {error.strerror}"
            return
        status = os.fstat(self._fd)
        if (status.st_dev, status.st_ino) != (device, inode):
            self.trouble = "cannot be read on: another file has its name now"
            self.close()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        self._resting = None
        if self._fd > 2:
            os.close(self._fd)
        self._fd = -1


def open_source(path: str, stop: Stop | None = None) -> Source:
    """The source of ``path``; ``-`` is standard input. InputError says why it cannot be read."""
    if path in STDIN:
        fd = 0
    else:
        try:
            # A FIFO whose writer is not there yet must not hold up the opening: a stop could not end that.
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise InputError(path, _REASONS.get(error.errno or 0, error.strerror or "cannot be opened")) from error
    try:
        status = os.fstat(fd)
    except OSError as error:
        raise InputError(path, "standard input is closed") from error
    if stat.S_ISREG(status.st_mode):
        at = os.lseek(fd, 0, os.SEEK_CUR)
        return FileSource(path, fd, max(status.st_size - at, 0), stop)
    reason = ""
    if stat.S_ISDIR(status.st_mode):
        reason = f"is a directory: name the captures in it, {os.path.join(path, '*')}"
    elif os.isatty(fd):
        reason = "is a terminal: pipe a capture into it (tcpdump -U -w - | pcapstall report -)"
    if reason:
        if fd > 2:
            os.close(fd)
        raise InputError(path, reason)
    from pcapstall.capture.pipe import PipeSource  # a file needs none

    return PipeSource(path, fd, stop)


def can_be_read_again(path: str) -> bool:
    """Whether ``path`` is no pipe, whose bytes are gone once they were read. A pattern's files count as files."""
    return path not in STDIN and (not os.path.exists(path) or stat.S_ISREG(os.stat(path).st_mode))
