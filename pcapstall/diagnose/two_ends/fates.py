"""What became of each packet: it came, was lost, or only a capture lacks it; and what came without having left.

A capture can be wrong by what it dropped, and says nothing of the time before it began and after it ended, nor of that
of which no segments were kept. Only what none of this explains was lost by the network.
"""

from typing import Final, Protocol

from pcapstall.diagnose.two_ends.pieces import (
    ARRIVED,
    COPY,
    FOREIGN,
    LOST,
    MISSED,
    UNNOTED,
    UNWATCHED,
    Direction,
    Piece,
)
from pcapstall.wire.segment import ACK, RST, SYN

COPY_NS: Final = 1_000_000
"""A copy of a packet without an IP ID comes within this time."""
_NEIGHBOURS: Final = 8
RETRANSMITTED_NS: Final = 1_500_000_000
"""A host that has sent nothing again for so long has an ACK for what it sent."""


class Watch(Protocol):
    """When the captures were running, as far as both clocks tell."""

    def had_begun(self, at_client: bool, ns: int, by_client: bool) -> bool:
        """Whether the capture at one end had begun at a time, by the clock of the client's end or the server's; False
        when that is not known."""

    def goes_on(self, at_client: bool, ns: int, by_client: bool, way: bool) -> bool:
        """Whether it went on until then; with ``way`` until what left the other end then must have come."""

    def leaves_out(self, at_client: bool, ns: int, by_client: bool) -> bool:
        """Whether what left the other end at a time, or came there then, may not have been noted at this one."""


def settle_fates(direction: Direction, back: Direction, watch: Watch) -> None:
    """Settle what became of each piece; ``back`` is the other direction of the same connection."""
    sender, receiver = direction.from_client, not direction.from_client
    covered = _first_arrivals(direction)
    seen_from = _seen_from(direction, back)
    last = _last_matched(direction.sent)
    for index, piece in enumerate(direction.sent):
        if piece.partner is not None:
            piece.fate = ARRIVED
        elif _is_copy(piece, index, direction.sent):
            piece.fate = COPY
        elif watch.leaves_out(receiver, piece.ns, sender):
            piece.fate = UNNOTED if _was_had(piece, direction, back, covered) else UNWATCHED
        elif _was_had(piece, direction, back, covered):
            piece.fate = MISSED
        else:
            begun = piece.ns >= seen_from or watch.had_begun(receiver, piece.ns, sender)
            goes_on = index < last or watch.goes_on(receiver, piece.ns, sender, True)
            piece.fate = LOST if begun and goes_on else UNWATCHED
    first, last = _first_matched(direction.came), _last_matched(direction.came)
    for index, piece in enumerate(direction.came):
        if piece.partner is None and _is_copy(piece, index, direction.came):
            piece.fate = COPY
        elif piece.partner is None and watch.leaves_out(sender, piece.ns, receiver):
            piece.fate = UNWATCHED
        elif piece.partner is None:
            begun = index > first or watch.had_begun(sender, piece.ns, receiver)
            goes_on = index < last or watch.goes_on(sender, piece.ns, receiver, False)
            piece.fate = FOREIGN if begun and goes_on else UNWATCHED


def _is_copy(piece: Piece, index: int, pieces: list[Piece]) -> bool:
    """Whether a neighbour, an earlier one or one that has a partner, is the same packet for all that tells packets
    apart."""
    first = max(0, index - _NEIGHBOURS)
    return any(
        abs(other.ns - piece.ns) <= COPY_NS and other is not piece and _looks(other) == _looks(piece)
        for at, other in enumerate(pieces[first : index + _NEIGHBOURS + 1], first)
        if other.partner is not None or at < index
    )


def _looks(piece: Piece) -> tuple[object, ...]:
    seg = piece.seg
    return piece.flags, piece.start, piece.end, piece.ack, piece.ip_id, seg.ttl, seg.tsval, seg.tsecr, seg.window


def _first_matched(pieces: list[Piece]) -> int:
    return next((at for at, piece in enumerate(pieces) if piece.partner is not None), len(pieces))


def _last_matched(pieces: list[Piece]) -> int:
    return max((at for at, piece in enumerate(pieces) if piece.partner is not None), default=-1)


def _seen_from(direction: Direction, back: Direction) -> int:
    """Since when, by the sender's clock, the capture at the receiver is known to have this connection."""
    there = [piece.ns for piece in direction.sent if piece.partner is not None]
    there += [piece.partner.ns for piece in back.sent if piece.partner is not None]
    return min(there, default=1 << 63)


def _was_heeded(piece: Piece, direction: Direction, back: Direction) -> bool:
    """Whether the other host behaved as if it had an ACK: without one it would have sent its bytes again, at the latest
    after a second (RFC 6298 section 2.4 has that as the least timeout)."""
    ack = piece.ack
    if ack is None:
        return False
    sent = [other for other in back.sent if other.is_data and other.start < ack <= other.end]
    heard = next((other.ns for other in direction.came if other.ack is not None and other.ack >= ack), None)
    if not sent or heard is None:
        return False
    before = [other.ns for other in sent if other.ns < heard]
    return len(before) == 1 and heard - before[0] > RETRANSMITTED_NS


def _first_arrivals(direction: Direction) -> dict[tuple[int, int], int]:
    """By the piece's bytes: when the first copy came."""
    first: dict[tuple[int, int], int] = {}
    for piece in direction.came:
        if piece.is_data:
            first.setdefault((piece.start, piece.end), piece.ns)
    return first


def _was_had(piece: Piece, direction: Direction, back: Direction, covered: dict[tuple[int, int], int]) -> bool:
    """Whether the other host shows, by what it sent, that it had the piece though its capture has no copy in time."""
    if piece.flags & RST:
        return False
    if piece.is_bare_ack:
        return _was_heeded(piece, direction, back)
    if piece.flags & SYN:
        acked = next((other.ns for other in back.sent if other.seg.flags & ACK and not other.flags & RST), None)
        came_ns = next((other.ns for other in direction.came if other.flags & SYN), None)
    elif piece.is_data:
        acked = next((other.ns for other in back.sent if other.ack is not None and other.ack >= piece.end), None)
        came_ns = covered.get((piece.start, piece.end))
    else:
        return False
    return acked is not None and (came_ns is None or came_ns > acked)
