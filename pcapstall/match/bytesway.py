"""The first way: the ClientHello's random in the bytes that strace showed of a socket's reads or writes.

It holds whatever address translation, clocks, ports and reuse say. Only where a process passed a hello on, through one
socket in and through another one out, do these tell which of the two is the flow. Compiled like `matching`.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.match.ends import End, Ends
from pcapstall.match.offset import latest_ns
from pcapstall.strace.sockets import Direction, Preview, Socket

Shown = tuple[End, Preview | None]
"""An end, and where its hello was seen."""
_SLACK_NS: Final = 1_000_000
_MOST_THROUGH: Final = 64
"""Sockets that one hello may pass through; more are a trace that was put together of copies."""


def ends_by_random(ends: Ends, socket: Socket) -> list[Shown]:
    """The ends whose hello passed through ``socket``, outwards for the one that sends it, and where it was seen."""
    found: list[Shown] = []
    _seen(ends, socket.outbound, True, found)
    _seen(ends, socket.inbound, False, found)
    return found


def _seen(ends: Ends, way: Direction, sends: bool, found: list[Shown]) -> None:
    at: i64 = 0
    while at < len(way.previews):
        preview = way.previews[at]
        at += 1
        for end in ends.with_random_in(preview.data):
            if end.sends_hello == sends and all(end is not other for other, _ in found):
                found.append((end, preview))


class Relayed:
    """Where a process passed the hello of a flow on."""

    def __init__(self, socket: Socket, written: Preview) -> None:
        self.socket = socket
        self.written = written


def leave_out_relays(shown: dict[int, list[Shown]], sockets: list[Socket], is_epoch: bool) -> dict[int, Relayed]:
    """Take from ``shown``, by the socket's number, what cannot be: that a process which passed a hello on is both ends
    of its flow. It read the hello from one connection before it wrote it to another, and the flow is one of them.

    Returns, by the flow's id, where the hello of a flow that came in went.
    """
    relayed: dict[int, Relayed] = {}
    passing: dict[int, list[Socket]] = {}
    for socket in sockets:
        if socket.number in shown:
            for end, _ in shown[socket.number]:
                passing.setdefault(end.flow.id, []).append(socket)
    for flow_id, through in passing.items():
        if len(through) < 2 or len(through) > _MOST_THROUGH:
            continue
        for inward in through:
            for outward in through:
                read = _entry(shown, inward, flow_id, False)
                written = _entry(shown, outward, flow_id, True)
                if inward is outward or read is None or written is None or not _before(read[1], written[1]):
                    continue
                came_in, went_out = _agrees(inward, read[0]), _agrees(outward, written[0])
                if not came_in and not went_out and is_epoch:
                    came_in, went_out = _by_time(read, written)
                if came_in and not went_out:
                    shown[outward.number].remove(written)
                    where = written[1]
                    if where is not None and flow_id not in relayed:
                        relayed[flow_id] = Relayed(outward, where)
                elif went_out and not came_in:
                    shown[inward.number].remove(read)
    return relayed


def _entry(shown: dict[int, list[Shown]], socket: Socket, flow_id: int, sends: bool) -> Shown | None:
    for item in shown[socket.number]:
        if item[0].flow.id == flow_id and item[0].sends_hello == sends:
            return item
    return None


def _before(read: Preview | None, written: Preview | None) -> bool:
    """Whether a hello had been read whole when it was written."""
    if read is None or written is None:
        return False
    if read.last.end_ns >= 0 and written.call.start_ns >= 0:
        return read.last.end_ns <= written.call.start_ns
    return read.last.end_line < written.call.line


def _agrees(socket: Socket, end: End) -> bool:
    """Whether an address that the process knows is that of this end."""
    return (socket.peer is not None and socket.peer == end.peer) or (
        socket.local is not None and socket.local == end.local and end.is_client
    )


def _by_time(read: Shown, written: Shown) -> tuple[bool, bool]:
    """Whether the hello was on the wire before it was read, and whether after it was written."""
    seen, sent = read[1], written[1]
    if seen is None or sent is None or not read[0].flow.client_hello_first_ref:
        return False, False
    on_wire: i64 = read[0].flow.client_hello_first_ns
    return on_wire <= latest_ns(seen.last) + _SLACK_NS, on_wire >= sent.call.start_ns - _SLACK_NS
