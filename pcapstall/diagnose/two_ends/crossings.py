"""Matches what left one end with what came to the other, segment by segment, by what a segment keeps on its way.

A frame that is larger than the MSS at one end (offload) is several segments at the other, so segments are cut at every
boundary that either capture shows. What tells two transmissions of the same bytes apart is the IP ID and the TCP
timestamp, where the path leaves them alone.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from pcapstall.diagnose.segments import History, Seg
from pcapstall.diagnose.two_ends.fates import Watch, settle_fates
from pcapstall.diagnose.two_ends.pieces import Crossings, Direction, Piece, Shift
from pcapstall.wire.segment import ACK, FIN, RST, SYN

Floor = Callable[[bool], int | None]
"""For packets to the server (True) or back: the least that the stamp of an arrival can be later than that of its
departure, the difference of the clocks included; None when it is not known."""


def cross(client: History, server: History, shift: Shift, floor_ns: Floor, watch: Watch) -> Crossings:
    """Match the segments of a connection at both ends."""
    directions: list[Direction] = []
    for from_client in (True, False):
        here, there = (client, server) if from_client else (server, client)
        zero = Shift()
        sent_shift, came_shift = (zero, shift) if from_client else (shift, zero)
        cuts = _cuts(here.of(from_client), sent_shift.of(from_client)) | _cuts(
            there.of(from_client), came_shift.of(from_client)
        )
        direction = Direction(
            from_client,
            _pieces(here, from_client, sent_shift, cuts),
            _pieces(there, from_client, came_shift, cuts),
        )
        _match(direction, floor_ns(from_client))
        directions.append(direction)
    found = Crossings(directions[0], directions[1], shift)
    for direction in directions:
        settle_fates(direction, found.of(not direction.from_client), watch)
    return found


def _cuts(segs: Iterable[Seg], shift: int) -> set[int]:
    return {edge - shift for seg in segs if seg.end > seg.offset for edge in (seg.offset, seg.end)}


def _pieces(history: History, from_client: bool, shift: Shift, cuts: set[int]) -> list[Piece]:
    full = history.full_size(from_client)
    own, other = shift.of(from_client), shift.of(not from_client)
    edges = sorted(cuts)
    found: list[Piece] = []
    for seg in history.of(from_client):
        ack = None if seg.ack is None or seg.flags & RST else seg.ack - other
        flags = seg.flags & (SYN | FIN | RST)
        if flags & RST:
            flags |= seg.flags & ACK
        start, end = seg.offset - own, seg.end - own
        if start == end:
            found.append(Piece(seg, start, end, flags, ack, seg.ip_id))
            continue
        at, before = start, 0
        for edge in [edge for edge in edges if start < edge < end] + [end]:
            ip_id = seg.ip_id if seg.ip_id <= 0 else (seg.ip_id + before) & 0xFFFF
            found.append(Piece(seg, at, edge, flags & SYN if edge < end else flags, ack, ip_id))
            # Each was a packet, or several full ones, and has an IP ID of its own: receivers join small ones, too.
            before += -(-(edge - at) // max(full, 1))
            at = edge
    return found


def _plain(piece: Piece) -> tuple[object, ...]:
    return piece.flags, piece.start, piece.end, piece.ack


def _match(direction: Direction, floor_ns: int | None) -> None:
    """Find each piece's partner."""
    _learn(direction)
    with_id, with_stamp = direction.ids_kept, direction.stamps_kept

    def key(piece: Piece) -> tuple[object, ...]:
        stamp = (piece.seg.tsval, piece.seg.tsecr) if with_stamp else ()
        return *_plain(piece), stamp, piece.ip_id if with_id else 0

    came: dict[tuple[object, ...], list[Piece]] = defaultdict(list)
    for piece in direction.came:
        came[key(piece)].append(piece)
    sent: dict[tuple[object, ...], list[Piece]] = defaultdict(list)
    for piece in direction.sent:
        sent[key(piece)].append(piece)
    for value, arrivals in came.items():
        departures = sent.get(value)
        if departures is None:
            continue
        if len(departures) != len(arrivals) and any(not piece.is_bare_ack for piece in departures):
            direction.certain = False
        _join(departures, arrivals, floor_ns)


def _learn(direction: Direction) -> None:
    """Whether IP IDs and timestamps pass the path unchanged, from segments that were sent and came once."""
    once_sent, once_came = _once(direction.sent), _once(direction.came)
    pairs = [(piece, once_came[value]) for value, piece in once_sent.items() if value in once_came]
    ids = [one.ip_id == other.ip_id for one, other in pairs if one.ip_id > 0 or other.ip_id > 0]
    stamps = [
        (one.seg.tsval, one.seg.tsecr) == (other.seg.tsval, other.seg.tsecr)
        for one, other in pairs
        if one.seg.tsval >= 0 or other.seg.tsval >= 0
    ]
    direction.ids_kept = _is_kept(ids) if ids else _share_ids(direction)
    direction.stamps_kept = _is_kept(stamps) if stamps else True


def _is_kept(same: list[bool]) -> bool:
    """Two numbers that are the same are no chance; two that are not may be of two copies, one lost, one dropped."""
    return 4 * sum(same) > len(same)


def _share_ids(direction: Direction) -> bool:
    sent = {piece.ip_id for piece in direction.sent if piece.ip_id > 0}
    came = {piece.ip_id for piece in direction.came if piece.ip_id > 0}
    return bool(sent & came)


def _once(pieces: Sequence[Piece]) -> dict[tuple[object, ...], Piece]:
    counted: dict[tuple[object, ...], list[Piece]] = defaultdict(list)
    for piece in pieces:
        counted[_plain(piece)].append(piece)
    return {value: found[0] for value, found in counted.items() if len(found) == 1}


def _join(departures: list[Piece], arrivals: list[Piece], floor_ns: int | None) -> None:
    """Nothing tells these apart but time: the pairs are those that were on their way for the shortest time."""
    if len(departures) == len(arrivals) or floor_ns is None:
        for sent, came in zip(departures, arrivals, strict=False):
            sent.partner, came.partner = came, sent
        return
    if len(departures) < len(arrivals):
        # Each departure is of the first arrival that is late enough.
        left = list(arrivals)
        for sent in departures:
            late = [came for came in left if came.ns - sent.ns >= floor_ns]
            if late:
                sent.partner, late[0].partner = late[0], sent
                left = left[left.index(late[0]) + 1 :]
        return
    free = list(departures)
    for came in reversed(arrivals):
        early = [sent for sent in free if came.ns - sent.ns >= floor_ns]
        if early:
            early[-1].partner, came.partner = came, early[-1]
            free = free[: free.index(early[-1])]
