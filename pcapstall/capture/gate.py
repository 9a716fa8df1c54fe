"""Lets several processes read the same files to the same place, though somebody asks for the end on the way.

Each asks here before every chunk, and all of them read the same chunks in the same order. What they share is a page of
numbers. What is read, and how the processes are started, is not known here.
"""

import mmap
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pcapstall.capture.source import FileSource, Stop

_SLOT_LEN: Final = 8
_ORDER_AT: Final = 0
_LIMIT_AT: Final = 1
_FIRST_AT: Final = 2
_PAUSE: Final = 1
"""An order of 0, which is what a page begins with, is none."""
_GO_ON: Final = 2
"""To the limit."""
_NAP_S: Final = 0.001

# What a process does.
_READS: Final = 0
_WAITS: Final = 1
_DONE: Final = 2


class Board:
    """What the processes tell each other: an order, a limit, and of each how many chunks it asked for, its state, and
    what it has read in the end."""

    def __init__(self, count: int, sizes: Mapping[str, int]) -> None:
        self.count = count
        self.sizes = sizes
        """Bytes of each file that are read: one that grows must be as long for all."""
        self.slots = memoryview(mmap.mmap(-1, _SLOT_LEN * (_FIRST_AT + 3 * count))).cast("q")
        """All of it; read and written without a call, since that is done for every chunk."""

    def restart(self, index: int) -> None:
        """It begins anew."""
        self.slots[self.asked_at(index)] = 0
        self.slots[_FIRST_AT + self.count + index] = _READS

    @property
    def has_limit(self) -> bool:
        """Whether it is decided where all stop."""
        return self.slots[_ORDER_AT] == _GO_ON

    def asked_at(self, index: int) -> int:
        """The slot in which process ``index`` counts the chunks that it asks for."""
        return _FIRST_AT + index

    def asked(self, index: int) -> int:
        """How many chunks it asked for."""
        return self.slots[self.asked_at(index)]

    def is_waiting(self, index: int) -> bool:
        """Whether it waits, and has not read the last chunk that it asked for."""
        return self.slots[_FIRST_AT + self.count + index] == _WAITS

    def note_waiting(self, index: int, waits: bool) -> None:
        """It begins to wait or goes on."""
        self.slots[_FIRST_AT + self.count + index] = _WAITS if waits else _READS

    def is_done(self, index: int) -> bool:
        """Whether it asks for nothing any more."""
        return self.slots[_FIRST_AT + self.count + index] == _DONE

    def note_done(self, index: int, bytes_read: int) -> None:
        """It has read everything, which were so many bytes."""
        self.slots[_FIRST_AT + 2 * self.count + index] = bytes_read
        self.slots[_FIRST_AT + self.count + index] = _DONE

    def all_read(self, bytes_read: int) -> bool:
        """Whether all but the first process have read so many bytes."""
        first = _FIRST_AT + 2 * self.count
        return all(self.slots[first + index] == bytes_read for index in range(1, self.count))


class Gate:
    """The one of the process with ``index``; that of the process with 0 decides where all stop.

    ``is_over(other)`` tells it which of the others will ask for nothing any more. The others call it with 0 while they
    wait for what it decides: when that one is gone it is to end the process, or to raise.
    """

    def __init__(self, board: Board, index: int, is_over: Callable[[int], bool]) -> None:
        self._board = board
        self._index = index
        self._is_over = is_over
        self._asked = 0
        self._asked_at = board.asked_at(index)
        self.has_stopped = False
        """Whether the end was reached because somebody had asked for it."""
        board.restart(index)

    def allowance(self, stop: "Stop", source: "FileSource", most: int) -> int:
        """How many bytes of ``source`` may be read now; 0 for the end. KeyboardInterrupt when asked for it twice."""
        if self.has_stopped:
            return 0
        board = self._board
        self._asked += 1
        board.slots[self._asked_at] = self._asked
        # All that is done for each chunk; there is something to wait for once in a run, if at all.
        if (stop.count or board.slots[_ORDER_AT]) and self._is_beyond_the_end(stop):
            self.has_stopped = True
            return 0
        size = board.sizes.get(source.path)
        if size is None or size - source.bytes_read >= most:
            return most
        return max(size - source.bytes_read, 0)

    def _is_beyond_the_end(self, stop: "Stop") -> bool:
        """Whether the chunk that is asked for is not to be read, when that is decided."""
        board = self._board
        if stop.count > 1:
            raise KeyboardInterrupt(stop.by)
        if stop.count and not self._index:
            self._decide(stop)
        while board.slots[_ORDER_AT] == _PAUSE:
            board.note_waiting(self._index, True)
            self._is_over(0)
            time.sleep(_NAP_S)
        board.note_waiting(self._index, False)
        return board.slots[_ORDER_AT] == _GO_ON and self._asked > board.slots[_LIMIT_AT]

    def _decide(self, stop: "Stop") -> None:
        """Let all go on to where the first of them is now, and no further."""
        board = self._board
        if board.slots[_ORDER_AT] == _GO_ON:
            return
        board.slots[_ORDER_AT] = _PAUSE
        limit = self._asked - 1
        for other in range(1, board.count):
            while not board.is_waiting(other) and not self._is_over(other):
                if stop.count > 1:
                    raise KeyboardInterrupt(stop.by)
                time.sleep(_NAP_S)
            limit = max(limit, board.asked(other) - int(board.is_waiting(other)))
        board.slots[_LIMIT_AT] = limit
        board.slots[_ORDER_AT] = _GO_ON
