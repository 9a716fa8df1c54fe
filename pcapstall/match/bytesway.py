"""The first way: the ClientHello's random in the bytes that strace showed of a socket's reads or writes.

It holds whatever address translation, clocks, ports and reuse say. Nothing else is looked at here.
"""

from pcapstall.match.ends import End, Ends
from pcapstall.strace.sockets import Direction, Preview, Socket


def ends_by_random(ends: Ends, socket: Socket) -> list[tuple[End, Preview]]:
    """The ends whose hello passed through ``socket``, outwards for the one that sends it, and where it was seen."""
    found: list[tuple[End, Preview]] = []
    for way, sends in ((socket.outbound, True), (socket.inbound, False)):
        for end, preview in _seen(ends, way):
            if end.sends_hello == sends and all(end is not other for other, _ in found):
                found.append((end, preview))
    return found


def _seen(ends: Ends, way: Direction) -> list[tuple[End, Preview]]:
    return [(end, preview) for preview in way.previews for end in ends.with_random_in(preview.data)]
