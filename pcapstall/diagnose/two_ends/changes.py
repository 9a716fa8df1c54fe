"""What the path changed in the packets: addresses, sequence numbers, the TTL, IP IDs, timestamps, the MSS.

Plain observations, the same sentence for every connection that shows the same, so that they can be counted.
"""

from collections.abc import Sequence

from pcapstall.core.endpoints import format_address
from pcapstall.diagnose.knowledge import client_address, client_key, server_address
from pcapstall.diagnose.two_ends.pairing import UNKNOWN, Pair, signature
from pcapstall.diagnose.two_ends.pieces import Crossings, Direction, Piece
from pcapstall.diagnose.verdict import side_of
from pcapstall.wire.segment import SYN


def translations(pair: Pair) -> list[str]:
    """Addresses, ports and sequence numbers that are others at the server's end."""
    here, there = client_key(pair.client), client_key(pair.server)
    found: list[str] = []
    for name, address in (("client", client_address), ("server", server_address)):
        if address(here) != address(there):
            found.append(
                f"the {name} is {format_address(address(there))} at the server's end, {format_address(address(here))} "
                f"at the client's"
            )
    if here[-4:-2] != there[-4:-2]:
        found.append("the client's port is another one at the server's end")
    if here[-2:] != there[-2:]:
        found.append(
            f"the server's port is {int.from_bytes(there[-2:], 'big')} at the server's end, "
            f"{int.from_bytes(here[-2:], 'big')} at the client's"
        )
    mine, theirs = signature(pair.client), signature(pair.server)
    if any(
        UNKNOWN not in (one, other) and one != other
        for one, other in ((mine.client_isn, theirs.client_isn), (mine.server_isn, theirs.server_isn))
    ):
        found.append("initial sequence numbers are others at the server's end")
    return found


def rewrites(crossings: Crossings) -> list[str]:
    """What headers and options show, from segments that were captured at both ends."""
    found = _hops(crossings)
    for direction in crossings.both:
        way = _way(direction)
        both = [(piece, piece.partner) for piece in direction.sent if piece.partner is not None]
        if both and not direction.ids_kept and any(one.ip_id > 0 for one, _ in both):
            found.append(f"IP IDs are rewritten on the way {way}")
        if both and not direction.stamps_kept and any(one.seg.tsval >= 0 for one, _ in both):
            found.append(f"TCP timestamps are {'removed' if _stripped(both) else 'rewritten'} on the way {way}")
        for one, other in both:
            if one.flags & SYN and one.seg.mss != other.seg.mss and one.seg.mss > 0:
                found.append(f"the MSS is lowered from {one.seg.mss} to {other.seg.mss} on the way {way}")
                break
    return found


def _hops(crossings: Crossings) -> list[str]:
    """How many routers there are, by how much the TTL falls."""
    ways: dict[str, str] = {}
    for direction in crossings.both:
        falls = {
            piece.seg.ttl - piece.partner.seg.ttl
            for piece in direction.sent
            if piece.partner is not None and piece.seg.ttl > 0 and piece.partner.seg.ttl > 0
        }
        if falls and falls != {0}:
            ways[_way(direction)] = _fall(sorted(falls))
    if len(ways) == 2 and len(set(ways.values())) == 1:
        return [f"{next(iter(ways.values()))} each way, by the TTL"]
    return [f"{said} on the way {way}, by the TTL" for way, said in ways.items()]


def _way(direction: Direction) -> str:
    return f"to the {side_of(not direction.from_client)}"


def _fall(falls: list[int]) -> str:
    if falls[0] < 0:
        return "a new TTL"
    if len(falls) > 1:
        return f"{' or '.join(map(str, falls))} routers (more than one path)"
    return "1 router" if falls[0] == 1 else f"{falls[0]} routers"


def _stripped(both: Sequence[tuple[Piece, Piece]]) -> bool:
    return all(other.seg.tsval < 0 for one, other in both if one.seg.tsval >= 0)
