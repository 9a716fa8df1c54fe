"""A process that is forked to do a part of the work, with everything loaded and known, and what it tells afterwards.

It writes into memory that both have, so that it need not wait for whoever reads it; a pipe tells when it is over. What
the work is, is not known here.
"""

import mmap
import os
import pickle
import signal
from collections.abc import Callable
from typing import Final, NamedTuple

from pcapstall.core.errors import PcapstallError

JOBS_MAX: Final = 8
"""Of many more, each would only read what another one follows."""

# How a process ends.
_TOLD: Final = 0
_FAILED: Final = 1
"""And it has told why."""
_SILENT: Final = 2


def cores() -> int:
    """How many processes this one may keep busy."""
    return min(len(os.sched_getaffinity(0)), JOBS_MAX)


class Failure(NamedTuple):
    """What a process says that could not do it."""

    why: str
    """In a line."""
    trace: str
    """The traceback of a fault of pcapstall's own; empty for what may happen to anybody."""


class Paper:
    """What `pickle` writes upon: large pieces come here as they are."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, told: bytes) -> None:
        """All of it."""
        view = memoryview(told)
        while view:
            view = view[os.write(self._fd, view) :]

    def clear(self) -> None:
        """Nothing was written."""
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)


class Forked:
    """The process, from its start on. To be closed in any case."""

    def __init__(self, name: str, work: Callable[[Paper], None]) -> None:
        """Let it do ``work``; whoever hits Ctrl-C means the program, and its first process tells where to stop.

        OSError where no more processes or descriptors are to be had.
        """
        fds = [_memory(name)]
        self._code: int | None = None
        """How it ended: an exit code, or a signal's number below 0."""
        try:
            fds += os.pipe()
            self._pid = os.fork()
        except OSError:
            for fd in fds:
                os.close(fd)
            raise
        # The process alone holds the third, so that the second, a pipe, can be read as soon as it is over.
        self._told_fd, self.end_fd, hold_fd = fds
        if self._pid == 0:
            code = _SILENT
            paper = Paper(self._told_fd)
            try:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                os.close(self.end_fd)
                work(paper)
                code = _TOLD
            except BaseException as error:
                paper.clear()
                pickle.dump(_failure(error), paper)
                code = _FAILED
                raise
            finally:
                # Whatever happened: this is not the program, and nothing of it may be written or removed from here.
                os._exit(code)
        os.close(hold_fd)

    def has_ended(self) -> bool:
        """Whether it is over by now."""
        if self._code is None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code is not None

    def told(self) -> mmap.mmap | Failure:
        """What it has written, or why it has not; waits until it is over."""
        if self._code is None:
            _, status = os.waitpid(self._pid, 0)
            self._code = os.waitstatus_to_exitcode(status)
        if self._code not in (_TOLD, _FAILED) or not os.fstat(self._told_fd).st_size:
            return Failure(f"was ended by signal {-self._code}" if self._code < 0 else "ended without a word", "")
        said = mmap.mmap(self._told_fd, 0, access=mmap.ACCESS_READ)
        if self._code == _TOLD:
            return said
        failure: Failure = pickle.loads(said)
        said.close()
        return failure

    def close(self) -> None:
        """End it if it still runs; nobody waits for it."""
        os.close(self.end_fd)
        os.close(self._told_fd)
        if self._code is None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


def _memory(name: str) -> int:
    """A descriptor of memory that has no name among files; of a file without one where there is no such memory."""
    try:
        return os.memfd_create(name)
    except OSError:
        import tempfile  # some sandboxes know no memfd_create

        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())


def end_with(parent: int) -> None:
    """End this process when ``parent``, which has forked it, is gone: there is nobody left to work for."""
    if os.getppid() != parent:
        os._exit(_SILENT)


def _failure(error: BaseException) -> Failure:
    """What is told of ``error``."""
    import traceback

    said = "".join(traceback.format_exception_only(error)).strip()
    if isinstance(error, (PcapstallError, OSError, MemoryError)):
        return Failure(f"failed ({said})", "")
    return Failure(f"failed, a fault of pcapstall ({said})", "".join(traceback.format_exception(error)).rstrip())
