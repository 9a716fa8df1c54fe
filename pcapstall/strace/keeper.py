"""The sockets of a strace, and whether anybody will want those that have ended: a trace of many need not keep them all.

Who knows the flows answers; nothing here does.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.strace.sockets import Socket

_FEW: Final = 4096
"""So many are kept whatever they are."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Keeper:
    """Keeps all of them. To be derived from."""

    def keeps(self, socket: Socket) -> bool:
        """Whether ``socket``, which was closed a while ago, will be asked for."""
        return True


class Sockets:
    """Sockets by their numbers, in the order in which they were first seen to be sockets."""

    def __init__(self) -> None:
        self.kept: dict[int, Socket] = {}
        self.keeper: Keeper | None = None
        """Asked now and then; None keeps all."""
        self._count: i64 = 0
        self._asked: i64 = 0
        """Below this number all that had been closed were asked about."""

    def add(self, socket: Socket) -> None:
        """One more."""
        socket.number = self._count
        self.kept[socket.number] = socket
        self._count += 1
        if self.keeper is not None and self._count - self._asked >= 2 * _FEW:
            self._sweep(self.keeper)

    def _sweep(self, keeper: Keeper) -> None:
        # The newest ones may still have an owner whose lines come late: a child that was made before the close.
        until: i64 = self._count - _FEW
        self._asked = until
        for socket in list(self.kept.values()):
            if socket.number < until and socket.closed_line != 0 and not socket.settled:
                socket.settled = True
                if not keeper.keeps(socket):
                    del self.kept[socket.number]
