"""One of several tables that follow a capture's connections between them: which are its own, and when things happen.

Each reads every record, so that all look for finished flows at the same moments. What a table does because of a bound
that all flows have in common it cannot know alone: here it is noted what must hold for its share to be what a single
table makes of it. Nothing is merged here.
"""

from array import array
from typing import Final

from mypy_extensions import i64

from pcapstall.wire.spread import SPREAD_BITS

# Phases of a moment, in the order in which flows are handed on after one record.
RECORD: Final = 0
CLOSING: Final = 1
DONE: Final = 2
GIVEN_UP: Final = 3
THE_END: Final = 4
_PHASES: Final = 8
_QUEUED_BITS: Final = 31


class Share:
    """The one with ``index`` of ``count`` shares; the only one when that is 1, and then nothing is noted."""

    def __init__(self, index: i64 = 0, count: i64 = 1) -> None:
        self.index: i64 = index
        self.count: i64 = count
        self._first: i64 = _begin(index, count)
        """The numbers of its connections (wire.spread): from this one on,"""
        self._beyond: i64 = _begin(index + 1, count)
        """and below this one."""
        self.record: i64 = 0
        """How many records were read, those of other shares' flows too."""
        self.phase: i64 = RECORD
        self.ticks: i64 = 0
        """Looks for finished flows so far."""
        self.opened: array[int] = array("q")
        """The records that opened flows."""
        self.live: array[int] = array("q")
        """After each look: how many flows there are."""
        self.opened_by: array[int] = array("q")
        """How many were opened by then."""
        self.buried: array[int] = array("q")
        """How many graves were dug by then."""
        self.sweeps: list[tuple[int, int, int]] = []
        """Looks at which half-open flows were looked for, for how many flows it was time, and how many there were."""
        self.consulted: dict[int, int] = {}
        """By look: the oldest look of which a grave was found after it."""

    def is_own(self, spread: i64) -> bool:
        """Whether a connection of that number (wire.spread) belongs to this share."""
        return self._first <= spread < self._beyond

    def open(self) -> i64:
        """A flow is opened; its id, which grows like that of a single table."""
        self.opened.append(self.record)
        return self.record

    def moment(self) -> i64:
        """Where in the course of the reading this is: the same in all shares, and growing."""
        return self.record * _PHASES + self.phase

    def queued(self, before: i64) -> i64:
        """Where in a queue of finished flows one is that is put there now; ``before`` is where it was, or 0."""
        return (self.record << _QUEUED_BITS) | (before >> _QUEUED_BITS)

    def consult(self, buried_at: i64) -> None:
        """A grave that was dug at that look was found."""
        if self.count == 1:
            return
        oldest = self.consulted.get(self.ticks)
        if oldest is None or buried_at < oldest:
            self.consulted[self.ticks] = buried_at

    def swept(self, most: i64, live: i64) -> None:
        """Half-open flows are looked for among ``live``, as a single table would that had ``most`` or fewer."""
        if self.count > 1:
            self.sweeps.append((self.ticks, most, live))

    def tick(self, live: i64, buried: i64) -> None:
        """A look for finished flows is over."""
        self.phase = RECORD
        self.ticks += 1
        if self.count > 1:
            self.live.append(live)
            self.opened_by.append(len(self.opened))
            self.buried.append(buried)


def phase_of(moment: i64) -> i64:
    """The phase of a `Share.moment`."""
    return moment % _PHASES


def _begin(index: i64, count: i64) -> i64:
    """The first number of a share."""
    return ((index << SPREAD_BITS) + count - 1) // count
