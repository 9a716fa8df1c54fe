"""The packets of one connection at both ends, cut into what both ends see as one, and what became of each.

Values only; how pieces find their partners is in `crossings`, how their fates are settled in `fates`.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pcapstall.diagnose.segments import Seg

ARRIVED: Final = "arrived"
LOST: Final = "lost"
MISSED: Final = "missed"
"""The other end has it: its host acknowledged it, or went on from it. Only the capture there lacks it."""
UNNOTED: Final = "unnoted"
"""The other host had it; only its place among that end's notes is not known, for there were too many to keep all."""
UNWATCHED: Final = "unwatched"
"""The other capture did not go on until it must have come, or its packets of that time were not kept."""
COPY: Final = "copy"
"""The same packet once more in one capture: of another interface, or a mirror's."""
FOREIGN: Final = "foreign"
"""It came and never left the end of the side whose name it bears."""


@dataclass(slots=True, eq=False)
class Piece:
    """The part of a segment that both ends see as one."""

    seg: Seg
    start: int
    """Stream offset of its first byte, as the capture at the client counts."""
    end: int
    flags: int
    """SYN, FIN and RST, the last two of their last piece only; whether a RST has an ACK, too."""
    ack: int | None
    """As the capture at the client counts."""
    ip_id: int
    partner: "Piece | None" = None
    """The same piece at the other end."""
    fate: str = ""
    """`ARRIVED`, `LOST`, `MISSED`, `UNNOTED` or `UNWATCHED` for what was sent; `FOREIGN` for what came and surely was
    not, or `UNWATCHED` where it is not certain that the capture at the sender was running; `COPY` for either."""

    @property
    def ns(self) -> int:
        """When it was captured, by the clock there."""
        return self.seg.ns

    @property
    def is_data(self) -> bool:
        """Whether it carries bytes of the stream."""
        return self.end > self.start

    @property
    def is_bare_ack(self) -> bool:
        """Whether it only acknowledges."""
        return not self.is_data and not self.flags


@dataclass(slots=True)
class Direction:
    """Everything that one side sent, at both ends."""

    from_client: bool
    sent: list[Piece]
    """As its own end's capture has them."""
    came: list[Piece]
    """As the other end's capture has them."""
    certain: bool = True
    """Whether each piece was told from its repetitions: by its IP ID or its timestamp."""
    ids_kept: bool = True
    """Whether IP IDs are the same at both ends."""
    stamps_kept: bool = True
    """Whether TCP timestamps are."""

    @property
    def is_one_connection(self) -> bool:
        """Whether headers show that it is the same TCP connection at both ends, not two legs of a proxy."""
        return self.ids_kept or (self.stamps_kept and any(piece.seg.tsval >= 0 for piece in self.sent))

    def foreign(self) -> list[Piece]:
        """What came to the other end and never left this one, as far as its capture tells."""
        return [piece for piece in self.came if piece.partner is None and piece.fate != COPY]

    def lost(self) -> list[Piece]:
        """What left and was lost on its way."""
        return [piece for piece in self.sent if piece.fate == LOST]


class Shift(NamedTuple):
    """What to subtract from offsets of the capture at the server to have those of the one at the client."""

    client: int = 0
    server: int = 0

    def of(self, from_client: bool) -> int:
        """For the stream of one side."""
        return self.client if from_client else self.server


@dataclass(slots=True)
class Crossings:
    """Both directions of one connection."""

    to_server: Direction
    to_client: Direction
    shift: Shift = field(default_factory=Shift)

    @property
    def both(self) -> tuple[Direction, Direction]:
        """What the client sent, and what the server did."""
        return self.to_server, self.to_client

    def of(self, from_client: bool) -> Direction:
        """What one side sent."""
        return self.to_server if from_client else self.to_client
