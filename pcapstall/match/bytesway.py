"""The first way: the ClientHello's random in the bytes that strace showed of a socket's reads or writes.

It holds whatever address translation, clocks, ports and reuse say. Nothing else is looked at here. Compiled like
`matching`.
"""

from mypy_extensions import i64

from pcapstall.match.ends import End, Ends
from pcapstall.strace.sockets import Direction, Preview, Socket


def ends_by_random(ends: Ends, socket: Socket) -> list[tuple[End, Preview | None]]:
    """The ends whose hello passed through ``socket``, outwards for the one that sends it, and where it was seen."""
    found: list[tuple[End, Preview | None]] = []
    _seen(ends, socket.outbound, True, found)
    _seen(ends, socket.inbound, False, found)
    return found


def _seen(ends: Ends, way: Direction, sends: bool, found: list[tuple[End, Preview | None]]) -> None:
    at: i64 = 0
    while at < len(way.previews):
        preview = way.previews[at]
        at += 1
        for end in ends.with_random_in(preview.data):
            if end.sends_hello == sends and all(end is not other for other, _ in found):
                found.append((end, preview))
