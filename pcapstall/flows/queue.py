"""First in, first out, at the speed of a list: what is compiled reaches a deque only through the interpreter.

Nothing here knows what waits.
"""

from typing import Final, Generic, TypeVar

from mypy_extensions import i64

T = TypeVar("T")

TAKEN_MAX: Final = 1024
"""Places at the front that were taken, before the others move up."""


class Queue(Generic[T]):
    """Things that wait for their turn."""

    def __init__(self) -> None:
        self._waiting: list[T] = []
        self._front: i64 = 0
        """Place of the first one; those before it were taken."""

    def append(self, thing: T) -> None:
        """Let ``thing`` wait behind all others."""
        self._waiting.append(thing)

    def first(self) -> T:
        """The one that waits for longest; IndexError when nothing waits."""
        return self._waiting[self._front]

    def popleft(self) -> T:
        """Take the one that waits for longest; IndexError when nothing waits."""
        thing = self._waiting[self._front]
        # Its place holds the last one meanwhile, which is there anyhow: else a thousand that were taken would live on.
        self._waiting[self._front] = self._waiting[len(self._waiting) - 1]
        self._front += 1
        if self._front >= TAKEN_MAX and self._front + self._front >= len(self._waiting):
            del self._waiting[: self._front]
            self._front = 0
        return thing

    def put_back(self, things: list[T]) -> None:
        """Let ``things``, which were taken, wait before all others again."""
        self._waiting[self._front : self._front] = things

    def __len__(self) -> int:
        return len(self._waiting) - self._front
