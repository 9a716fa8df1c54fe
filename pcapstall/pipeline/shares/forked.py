"""A process that is forked to do a part of the work, with everything loaded and known, and what it tells afterwards.

It writes into memory that both have, so that it need not wait for whoever reads it; a pipe tells when it is over. What
the work is, is not known here.
"""

import mmap
import os
import pickle
import select
import signal
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from pcapstall.core.errors import PcapstallError
from pcapstall.core.lacking import lack_of
from pcapstall.core.signals import ASKING
from pcapstall.pipeline.shares.paper import Paper

JOBS_MAX: Final = 8
"""Of many more, each would only read what another one follows."""

# What a process marks when it has written all that it had to tell; the memory is made of zeros.
_TOLD: Final = 1
_FAILED: Final = 2
"""Why, that is."""

LOOK_S: Final = 0.5
"""How often it is looked at whether a process that is waited for does anything."""
_IDLE_LOOKS: Final = 20
"""One that did nothing for so many is not waited for: it was stopped (SIGSTOP, a frozen cgroup), or hangs."""
_GONE_MAX_S: Final = 5.0
"""For one that was killed: not even that ends one that waits for a disk or a server in the kernel (state D)."""
_NAP_S: Final = 0.001
_STOPPED: Final = (b"T", b"t")
"""State of such a process (proc(5))."""


def cores() -> int:
    """How many processes this one may keep busy."""
    return min(len(os.sched_getaffinity(0)), JOBS_MAX)


class Failure(NamedTuple):
    """What a process says that could not do it."""

    why: str
    """In a line."""
    trace: str
    """The traceback of a fault of pcapstall's own; empty for what may happen to anybody."""
    held: bool = False
    """Whether it was waited for in vain, which a user will have noticed."""


class ShareRedone(ResourceWarning):
    """A process was ended, or lacked something; its part was done by the first process."""


class ShareHeld(RuntimeWarning):
    """A process did nothing for long; its part was done by the first process."""


class WorkerFault(RuntimeWarning):
    """A process met a fault of pcapstall's own; its part was done by the first process all the same."""

    def __init__(self, message: str, trace: str) -> None:
        super().__init__(message)
        self.trace = trace
        """The traceback, in that process."""


def warn_redone(failure: Failure, number: int, processes: int, instead: str) -> None:
    """Warn of the ``number``-th of so many processes, and say what the first one does instead."""
    said = f"process {number} of {processes} {failure.why}; the first one {instead}"
    plain = ShareHeld if failure.held else ShareRedone
    warnings.warn(WorkerFault(said, failure.trace) if failure.trace else plain(said), stacklevel=1)


class Forked:
    """The process, from its start on. To be closed in any case."""

    def __init__(self, name: str, work: Callable[[Paper], None]) -> None:
        """Let it do ``work``; whoever hits Ctrl-C means the program, and its first process tells where to stop.

        OSError where no more processes or descriptors are to be had.
        """
        # From its first instant on the process hears none of these.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ASKING)
        try:
            self._start(name, work)
        except BaseException:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            raise
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        except BaseException:  # what came meanwhile is heard here
            self.close()
            raise

    def _start(self, name: str, work: Callable[[Paper], None]) -> None:
        self._over = False
        """It runs no more, and its number may be that of another process."""
        self._signal = 0
        """What has ended it, where that is known."""
        self._held = ""
        """Why it was ended here; empty where it was not."""
        self._looked_s = time.monotonic()
        self._idle_looks = 0
        self._did = -1
        fds = [_memory(name)]
        try:
            fds += os.pipe()
            self._mark = mmap.mmap(-1, 1)
            self._pid = os.fork()
        except OSError:
            for fd in fds:
                os.close(fd)
            raise
        # The process alone holds the third, so that the second, a pipe, can be read as soon as it has told or is over.
        self._told_fd, self.end_fd, hold_fd = fds
        if self._pid == 0:
            paper = Paper(self._told_fd)
            try:
                os.close(self.end_fd)
                work(paper)
                self._mark[0] = _TOLD
            except BaseException as error:
                paper.clear()
                pickle.dump(_failure(error), paper)
                self._mark[0] = _FAILED
                raise
            finally:
                os.close(hold_fd)  # to give back the memory takes some milliseconds, which nobody need wait for
                # Whatever happened: this is not the program, and nothing of it may be written or removed from here.
                os._exit(self._mark[0] != _TOLD)
        os.close(hold_fd)

    def has_ended(self) -> bool:
        """Whether it is over by now."""
        if not self._over:
            self._wait(os.WNOHANG)
        return self._over

    def gives_up(self, did: int = 0) -> bool:
        """Whether it has done nothing for long and was killed for that; to be asked while somebody waits for it.

        ``did`` is anything that grows as it goes on. What counts is how often it was looked at, and not the time, in
        which this process may have been stopped, too.
        """
        now_s = time.monotonic()
        if now_s - self._looked_s < LOOK_S or self.has_ended():
            return bool(self._held)
        self._looked_s = now_s
        state, used = _used(self._pid)
        self._idle_looks = self._idle_looks + 1 if state and self._did == did + used else 0
        self._did = did + used
        if self._idle_looks >= _IDLE_LOOKS:
            why = ", for it was stopped" if state in _STOPPED else ""
            self._held = f"did nothing for {_IDLE_LOOKS * LOOK_S:.3g} s{why}"
            self._kill()
        return bool(self._held)

    def told(self) -> mmap.mmap | Failure:
        """What it has written, or why it has not; waits until it has, or is over."""
        poll = select.poll()
        poll.register(self.end_fd, select.POLLIN)
        while not self._over and not self._held and not poll.poll(LOOK_S * 1000):
            self.gives_up()
        while not self._mark[0] and not self.has_ended() and not self.gives_up():
            time.sleep(_NAP_S)  # it has closed its end without a word, and may be stopped before it is over
        if self._held and not self._mark[0]:
            return Failure(self._held, "", held=True)
        if not self._mark[0] or not os.fstat(self._told_fd).st_size:
            return Failure(f"was ended by signal {self._signal}" if self._signal else "ended without a word", "")
        said = mmap.mmap(self._told_fd, 0, access=mmap.ACCESS_READ)
        if self._mark[0] == _TOLD:
            return said
        failure: Failure = pickle.loads(said)
        said.close()
        return failure

    def close(self) -> None:
        """End it if it still runs; nobody waits for it."""
        os.close(self.end_fd)
        os.close(self._told_fd)
        if not self._over:
            self._kill()
        self._mark.close()

    def _wait(self, options: int) -> None:
        """Where SIGCHLD is ignored, which is inherited, nothing is left of a process to be waited for."""
        try:
            pid, status = os.waitpid(self._pid, options)
        except ChildProcessError:
            self._over = True
            return
        if pid:
            self._over = True
            self._signal = max(-os.waitstatus_to_exitcode(status), 0)

    def _kill(self) -> None:
        """Kill it, and no stranger who has its number since it was over."""
        pidfd = -1
        with suppress(OSError):  # not of every kernel
            pidfd = os.pidfd_open(self._pid)
        try:
            if self.has_ended():
                return
            with suppress(ProcessLookupError):
                if pidfd < 0:
                    os.kill(self._pid, signal.SIGKILL)
                else:
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        finally:
            if pidfd >= 0:
                os.close(pidfd)
        until_s = time.monotonic() + _GONE_MAX_S
        while not self.has_ended() and time.monotonic() < until_s:
            time.sleep(_NAP_S)


def start(name: str, work: Callable[[Paper], None]) -> Forked | Failure:
    """The process that does ``work``, or why there is none."""
    try:
        return Forked(name, work)
    except OSError as error:
        return Failure(f"could not be started ({error.strerror})", "")


def _memory(name: str) -> int:
    """A descriptor of memory that has no name among files; of a file without one where there is no such memory."""
    try:
        return os.memfd_create(name)
    except OSError:
        import tempfile  # some sandboxes know no memfd_create

        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())


def _used(pid: int) -> tuple[bytes, int]:
    """State of a process, and how much it has used: page faults and ticks of processors (proc(5), stat).

    No state where that cannot be known.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, *fields = file.read().rpartition(b") ")[2].split()
    except OSError:
        return b"", 0
    return state, sum(int(fields[number]) for number in (6, 8, 10, 11))


def end_with(parent: int) -> None:
    """End this process when ``parent``, which has forked it, is gone: there is nobody left to work for."""
    if os.getppid() != parent:
        os._exit(1)


def _failure(error: BaseException) -> Failure:
    """What is told of ``error``."""
    import traceback

    said = "".join(traceback.format_exception_only(error)).strip()
    if isinstance(error, (PcapstallError, OSError)) or lack_of(error):
        return Failure(f"failed ({said})", "")
    return Failure(f"failed, a fault of pcapstall ({said})", "".join(traceback.format_exception(error)).rstrip())
