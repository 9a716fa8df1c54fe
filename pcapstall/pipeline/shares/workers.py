"""Several processes of this host, each of which follows a share of the flows; and when that pays.

This process follows one share itself, and any whose worker did not come to its end: that costs time and nothing else,
but it is told as a warning of Python's. The workers are forked, so that they have everything loaded; each opens the
files anew.
"""

import os
import select
from collections.abc import Callable, Sequence
from typing import Self

from pcapstall.capture.captures import Captures, open_captures
from pcapstall.capture.gate import Board, Gate
from pcapstall.capture.opening import is_url
from pcapstall.capture.source import Stop
from pcapstall.core.garbage import without_garbage
from pcapstall.pipeline.scan.loop import Listener, Scan
from pcapstall.pipeline.shares.forked import LOOK_S, Failure, Forked, end_with, start, warn_redone
from pcapstall.pipeline.shares.paper import Paper, heard, tell
from pcapstall.pipeline.shares.result import ShareResult, packed
from pcapstall.pipeline.shares.share import Wanted, follow_share


def why_alone(captures: Captures) -> str:
    """Why only one process can read these files; empty when several can."""
    infos = captures.infos()
    if any(is_url(info.path) for info in infos):
        return "what is not on this host is read by one process, or with --engine dask by a cluster"
    if any(info.compression is not None for info in infos):
        return "what is compressed is read by one process"
    return ""


class Workers:
    """The processes, from their start on. To be closed in any case."""

    def __init__(self, paths: Sequence[str], sizes: dict[str, int], wanted: Wanted) -> None:
        self._paths = list(paths)
        self._wanted = wanted
        self._board = Board(wanted.shares, sizes)
        self._running: dict[int, Forked] = {}
        """By index."""
        self._unstarted: dict[int, Failure] = {}
        """Likewise, why not."""
        try:
            for index in range(1, wanted.shares):
                self._start(index)
        except BaseException:  # Ctrl-C between two of them
            self.close()
            raise

    def gate(self) -> Gate:
        """For the captures that this process reads."""
        return Gate(self._board, 0, self._is_over)

    def gate_once_more(self) -> Gate | None:
        """For whoever reads them all over, alone: up to where all had stopped, if they had."""
        return Gate(self._board, 0, lambda _other: True) if self._board.has_limit else None

    def has_changed(self, bytes_read: int) -> bool:
        """Whether the shares are not of the same packets, as this process has read so many bytes."""
        return not self._board.all_read(bytes_read)

    def results(self, stop: Stop) -> list[ShareResult]:
        """What came of all shares but that of this process, which has read its own to the end."""
        found: list[ShareResult] = []
        for index in range(1, self._wanted.shares):
            told = self._told_by(index, stop)
            if isinstance(told, Failure):
                warn_redone(told, index + 1, self._wanted.shares, "did its share")
                told = self._follow_here(index, stop)
            found.append(told)
        return found

    def close(self) -> None:
        """End those that still run; nobody waits for them."""
        for worker in self._running.values():
            worker.close()
        self._running.clear()

    def _start(self, index: int) -> None:
        parent = os.getpid()

        def work(paper: Paper) -> None:
            _work(self._paths, self._wanted, index, self._board, parent, paper)

        started = start(f"share {index}", work)
        if isinstance(started, Failure):
            self._unstarted[index] = started
        else:
            self._running[index] = started

    def _is_over(self, index: int) -> bool:
        """Whether a worker has ended, or reads nothing any more."""
        if index in self._unstarted or self._board.is_done(index):
            return True
        worker = self._running[index]
        return worker.gives_up(self._board.asked(index)) or worker.has_ended()

    def _told_by(self, index: int, stop: Stop) -> ShareResult | Failure:
        """What a worker has to tell. KeyboardInterrupt when asked for the end twice, however long it takes."""
        if index in self._unstarted:
            return self._unstarted[index]
        worker = self._running[index]
        poll = select.poll()
        poll.register(worker.end_fd, select.POLLIN)
        poll.register(stop.wake_fd(), select.POLLIN)
        # A signal may come just before the waiting begins; so late it is heard then.
        while worker.end_fd not in (ready := [fd for fd, _ in poll.poll(LOOK_S * 1000)]):
            if ready:
                stop.drain()
            if stop.count > 1:
                raise KeyboardInterrupt(stop.by)
            if worker.gives_up(self._board.asked(index)):
                break
        said = worker.told()
        if isinstance(said, Failure):
            return said
        with said:
            told: ShareResult = heard(said)
        return told

    def _follow_here(self, index: int, stop: Stop) -> ShareResult:
        """Read it all again; that is to the end, or to where all had stopped."""
        self._board.restart(index)
        own, stop.gate = stop.gate, Gate(self._board, index, lambda _leader: False)
        captures = open_captures(self._paths, stop)
        try:
            with without_garbage():
                found, _ = follow_share(captures, self._wanted, index, Listener())
            self._board.note_done(index, captures.bytes_read)
            return found
        finally:
            captures.close()
            stop.gate = own


class _Orphan(Listener):
    """Ends a worker whose parent is gone."""

    def __init__(self, parent: int) -> None:
        super().__init__()
        self._parent = parent

    def progress(self, now_ns: int) -> None:
        """Reading goes on, if there is anybody to tell of it."""
        self.is_over(0)

    def is_over(self, _leader: int) -> bool:
        """Ends this process when nobody is left to work for."""
        end_with(self._parent)
        return False


def _work(paths: list[str], wanted: Wanted, index: int, board: Board, parent: int, paper: Paper) -> None:
    """All that a worker does."""
    orphan = _Orphan(parent)
    stop = Stop()
    stop.gate = Gate(board, index, orphan.is_over)
    captures = open_captures(paths, stop)
    with without_garbage():
        result, _ = follow_share(captures, wanted, index, orphan)
        board.note_done(index, captures.bytes_read)
        tell(packed(result), paper)


class Reading:
    """A capture that several processes read: this one, and the workers it has started."""

    def __init__(self, paths: Sequence[str], sizes: dict[str, int], wanted: Wanted, stop: Stop) -> None:
        self._wanted = wanted
        self._stop = stop
        self._workers = Workers(paths, sizes, wanted)
        stop.gate = self._workers.gate()
        try:
            self.captures = open_captures(list(paths), stop)
            """What this process reads."""
        except BaseException:
            self._workers.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()
        self.captures.close()
        self._stop.gate = self._workers.gate_once_more()

    def why_over(self) -> str:
        """Why all that was read is to be read over; empty where it is not."""
        return "a file has changed while they read it" if self._workers.has_changed(self.captures.bytes_read) else ""

    def run(self, listener: Listener, meanwhile: Callable[[], None]) -> tuple[Scan, list[ShareResult]]:
        """Read everything; the scan is that of this process. KeyboardInterrupt when asked for the end twice.

        ``meanwhile`` is called if flows are to be shown, before the other processes are waited for.
        """
        with without_garbage():
            own, scan = follow_share(self.captures, self._wanted, 0, listener)
            if own.kept:
                meanwhile()
            return scan, [own, *self._workers.results(self._stop)]
