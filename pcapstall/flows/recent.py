"""The half-flows that segments came from lately, found by one look into a list instead of a dictionary of bytes.

Only a short cut: two places hold the two halves that were put there last, and a half that is not there is found by its
key. So nothing here can fail, and no sender of segments can make it slow.
"""

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from pcapstall.flows.flow import NOBODY, NOWHERE, HalfFlow
from pcapstall.wire.segment import V6_ENDPOINT, Segment

PLACES: Final = 16384
WAY: Final = 2
"""Places of the two directions, side by side."""
_FOLDED: Final = 0x7FFF_FFFF


class RecentHalves:
    """Half-flows by the endpoints of their segments."""

    def __init__(self) -> None:
        self._places: vec[HalfFlow] = vec[HalfFlow]([NOBODY.opener] * PLACES)

    def find(self, segment: Segment) -> HalfFlow:
        """The half that sent ``segment``; that of `NOBODY` when it is not here."""
        place: i64 = _place(segment.source, segment.destination)
        half = self._places[place]
        if half.source != segment.source or half.destination != segment.destination:
            half = self._places[place + WAY]
            if half.source != segment.source or half.destination != segment.destination:
                return NOBODY.opener
        if segment.source >= V6_ENDPOINT and half.key() != segment.key:
            return NOBODY.opener
        return half

    def put(self, half: HalfFlow, source: i64, destination: i64) -> None:
        """Let ``half`` be found by its segments' endpoints; who was found in its place is found beside it."""
        half.source = source
        half.destination = destination
        place: i64 = _place(source, destination)
        before = self._places[place]
        if before is not NOBODY.opener:
            self._places[place + WAY] = before
        self._places[place] = half

    def remove(self, half: HalfFlow) -> None:
        """Let ``half`` be found no more."""
        if half.source != NOWHERE:
            place: i64 = _place(half.source, half.destination)
            half.source = NOWHERE
            if self._places[place] is not half:
                place += WAY
            if self._places[place] is half:
                self._places[place] = NOBODY.opener


def _place(source: i64, destination: i64) -> i64:
    """The first of the two places to look at, `WAY` apart; beside it is that of the other direction.

    So what goes both ways finds its halves in one line of memory. Every intermediate result fits 62 bits, so that both
    builds agree.
    """
    here: i64 = source * 0x1F35
    there: i64 = destination * 0x1F35
    mixed: i64 = ((here ^ (here >> 23)) + (there ^ (there >> 23))) & _FOLDED
    return (((mixed * 0x2545_F491) >> 47) & (PLACES - 2 * WAY)) + i64(source < destination)
