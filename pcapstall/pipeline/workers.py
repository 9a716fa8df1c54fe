"""Several processes of this host, each of which follows a share of the flows; and when that pays.

This process follows one share itself, and any whose worker did not come to its end: one that was killed costs time and
nothing else. The workers are forked, so that they have everything loaded; each opens the files anew.
"""

import os
import pickle
import signal
from collections.abc import Sequence
from typing import Final, Self

from pcapstall.capture.captures import Captures, open_captures
from pcapstall.capture.gate import Board, Gate
from pcapstall.capture.remote import is_url
from pcapstall.capture.source import Stop
from pcapstall.core.garbage import without_garbage
from pcapstall.pipeline.scan import Listener, Scan
from pcapstall.pipeline.share_result import ShareResult, packed
from pcapstall.pipeline.shares import Wanted, follow_share

JOBS_MAX: Final = 8
"""Each reads everything, so that many more would only read."""
_READ_LEN: Final = 1 << 20


def why_alone(captures: Captures) -> str:
    """Why only one process can read these files; empty when several can."""
    infos = captures.infos()
    if any(is_url(info.path) for info in infos):
        return "what is not on this host is read by one process, or with --engine dask by a cluster"
    if any(info.compression is not None for info in infos):
        return "what is compressed is read by one process"
    return ""


def cores() -> int:
    """How many processes this one may keep busy."""
    return min(len(os.sched_getaffinity(0)), JOBS_MAX)


class Workers:
    """The processes, from their start on. To be closed in any case."""

    def __init__(self, paths: Sequence[str], sizes: dict[str, int], wanted: Wanted) -> None:
        self._paths = list(paths)
        self._wanted = wanted
        self._board = Board(wanted.shares, sizes)
        self._running: dict[int, tuple[int, int]] = {}
        """By index: process and the pipe that brings its result."""
        self._ended: set[int] = set()
        self.alone: list[int] = []
        """Those whose share had to be followed here."""
        for index in range(1, wanted.shares):
            self._start(index)

    def gate(self) -> Gate:
        """For the captures that this process reads."""
        return Gate(self._board, 0, self._is_over)

    def results(self, stop: Stop) -> list[ShareResult]:
        """What came of all shares but that of this process, which has read its own to the end."""
        found: list[ShareResult] = []
        for index in range(1, self._wanted.shares):
            result = self._result_of(index, stop)
            if result is None:
                self.alone.append(index)
                result = self._follow_here(index)
            found.append(result)
        return found

    def close(self) -> None:
        """End those that still run; nobody waits for them."""
        for index, (pid, read_fd) in self._running.items():
            os.close(read_fd)
            if index not in self._ended:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        self._running.clear()

    def _start(self, index: int) -> None:
        read_fd, write_fd = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(read_fd)
                _work(self._paths, self._wanted, index, self._board, parent, write_fd)
                code = 0
            finally:
                # Whatever happened: this is not the program, and nothing of it may be written or removed from here.
                os._exit(code)
        os.close(write_fd)
        self._running[index] = pid, read_fd

    def _is_over(self, index: int) -> bool:
        """Whether a worker has ended, or reads nothing any more."""
        if index not in self._ended and self._board.is_done(index):
            return True
        if index not in self._ended:
            pid, _ = os.waitpid(self._running[index][0], os.WNOHANG)
            if pid:
                self._ended.add(index)
        return index in self._ended

    def _result_of(self, index: int, stop: Stop) -> ShareResult | None:
        """What a worker has to tell; None when it was ended before that."""
        _, read_fd = self._running[index]
        parts: list[bytes] = []
        while part := os.read(read_fd, _READ_LEN):
            parts.append(part)
            if stop.count > 1:
                raise KeyboardInterrupt
        pid = self._running[index][0]
        if index not in self._ended:
            os.waitpid(pid, 0)
            self._ended.add(index)
        try:
            found: ShareResult = pickle.loads(b"".join(parts))
        except (EOFError, pickle.UnpicklingError):
            return None
        return found

    def _follow_here(self, index: int) -> ShareResult:
        stop = Stop()
        self._board.restart(index)
        stop.gate = Gate(self._board, index, lambda _leader: False)
        captures = open_captures(self._paths, stop)
        try:
            with without_garbage():
                return follow_share(captures, self._wanted, index, Listener())[0]
        finally:
            captures.close()


class _Orphan(Listener):
    """Ends a worker whose parent is gone."""

    def __init__(self, parent: int) -> None:
        super().__init__()
        self._parent = parent

    def progress(self, now_ns: int) -> None:
        """Reading goes on, if there is anybody to tell of it."""
        if os.getppid() != self._parent:
            os._exit(1)


def _work(paths: list[str], wanted: Wanted, index: int, board: Board, parent: int, write_fd: int) -> None:
    """All that a worker does. Whoever hits Ctrl-C means the program: its first process tells where to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    stop = Stop()
    stop.gate = Gate(board, index, lambda _leader: os.getppid() != parent)
    captures = open_captures(paths, stop)
    with without_garbage():
        result, _ = follow_share(captures, wanted, index, _Orphan(parent))
        board.note_done(index)
        told = pickle.dumps(packed(result), pickle.HIGHEST_PROTOCOL)
    view = memoryview(told)
    while view:
        view = view[os.write(write_fd, view) :]


class Reading:
    """A capture that several processes read: this one, and the workers it has started."""

    def __init__(self, paths: Sequence[str], sizes: dict[str, int], wanted: Wanted, stop: Stop) -> None:
        self._wanted = wanted
        self._stop = stop
        self._workers = Workers(paths, sizes, wanted)
        stop.gate = self._workers.gate()
        self.captures = open_captures(list(paths), stop)
        """What this process reads."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()
        self.captures.close()

    def run(self, listener: Listener) -> tuple[Scan, list[ShareResult]]:
        """Read everything; the scan is that of this process. KeyboardInterrupt when asked for the end twice."""
        with without_garbage():
            own, scan = follow_share(self.captures, self._wanted, 0, listener)
            return scan, [own, *self._workers.results(self._stop)]
