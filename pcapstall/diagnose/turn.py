"""A stretch of time in which one side owed the next bytes: whose turn it was, what it owed, and what is known of it.

Records only; `proof` and `rules.turns` fill them, and a case keeps them. Compiled, for every turn is looked at.
"""

from collections.abc import Sequence
from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.verdict import CLIENT_PROCESS, SERVER_PROCESS, side_of

# What proves, or speaks against, that the side sent nothing during its turn.
CAPTURED_THERE: Final = "captured_there"
"""The capture was taken at its host and shows nothing."""
IDS_RUN_ON: Final = "ids_run_on"
"""Its IP IDs go on by one for each segment seen."""
LOST_BEFORE: Final = "lost_before"
"""Its IP IDs say that segments were sent and not seen here."""
NOTHING: Final = "nothing"
"""Neither."""


class Turn:
    """One side's turn, as seen from here."""

    def __init__(self, from_client: bool, start_ns: i64, start_ref: i64, end_ns: i64, sent: Seg | None) -> None:
        self.from_client: bool = from_client
        self.start_ns: i64 = start_ns
        self.start_ref: i64 = start_ref
        """What made it this side's turn."""
        self.end_ns: i64 = end_ns
        self.sent: Seg | None = sent
        """The segment that ended it; None when it never came, or was not noted."""


class Proof:
    """What is known of one turn."""

    def __init__(self, turn: Turn, anchor: Seg | None, last: Seg | None) -> None:
        self.turn: Turn = turn
        self.kind: str = NOTHING
        self.anchor: Seg | None = anchor
        """This side's last segment before its turn, or at its beginning."""
        self.last: Seg | None = last
        """The segment up to which the proof reaches: the one that ended the turn, or a later one of an open turn."""
        self.lost: int = 0
        """Segments sent and not seen. Some stacks count the IDs of all their connections together."""
        self.ids_exact: bool = False
        """Its IP IDs run on, whatever else proves it."""
        self.sender_ns: int | None = None
        """How long it was at the sender from its last segment before ``last`` to ``last``."""
        self.sender_error_ns: int = 0
        self.here_ns: int = 0
        """The same here."""
        self.clock_odd: bool = False
        """Its timestamps fit no rate in use: they do not count the time that went by here."""

    @property
    def clocks_agree(self) -> bool:
        """Whether the sender's clock says that ``last`` left as late as it came."""
        sender_ns = self.sender_ns
        return sender_ns is not None and sender_ns + self.sender_error_ns >= self.here_ns

    @property
    def held_up_ns(self) -> int:
        """For how long ``last`` was on its way, beyond what its predecessor was, for certain; 0 when not known."""
        sender_ns = self.sender_ns
        if sender_ns is None:
            return 0
        return max(0, self.here_ns - sender_ns - self.sender_error_ns)


class Owed:
    """What a side owes in a stage, and what is said of it."""

    def __init__(
        self,
        what: str,
        late_reason: str,
        loss_reason: str,
        turn: Turn,
        marks: Sequence[tuple[int, str]] = (),
        certain: bool = True,
    ) -> None:
        self.what: str = what
        self.late_reason: str = late_reason
        """The reason when the side was late with it."""
        self.loss_reason: str = loss_reason
        """The reason when it was lost."""
        self.turn: Turn = turn
        self.marks: Sequence[tuple[int, str]] = marks
        """Parts of the interval that lie before this turn, for `split`."""
        self.certain: bool = certain
        """Whether it surely was this side's turn: what it waited for had come, to the last byte."""

    @property
    def side(self) -> str:
        """client or server."""
        return side_of(self.turn.from_client)

    @property
    def other_side(self) -> str:
        """The one whose turn it is not."""
        return side_of(not self.turn.from_client)

    @property
    def process(self) -> str:
        """The part that is this side's process's."""
        return CLIENT_PROCESS if self.turn.from_client else SERVER_PROCESS
