"""What is remembered of a flow while it is watched, what can be told of it, and who is told.

When something is told is decided in `flows`, what is said of it in `verdicts`.
"""

from collections.abc import Callable
from typing import Final, Protocol

from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.outcome import Outcome
from pcapstall.diagnose.thresholds import NAMES, NONE
from pcapstall.flows.flow import Flow

STALLED: Final = "stalled"
"""An interval is open and has become too long."""
WENT_ON: Final = "went_on"
"""It has ended."""
FAILED: Final = "failed"
"""The flow has failed, whether it had stalled or not."""
ENDED: Final = "ended"
"""The flow is over, or not followed any more, and what stalled in it never ended."""


class Teller(Protocol):
    """Who tells what is found."""

    def tell(self, kind: str, ns: int, flow: Flow, intervals: Intervals, outcome: Outcome, gone: str | None) -> bool:
        """Something happened at ``ns``; what stalled, if anything, is `Intervals.stalled`. Whether it was told.

        ``gone`` names a stall that was told, and of which nothing can be measured any more.
        """
        ...

    def lost_race(self, flow: Flow, meet_all: Callable[[], None]) -> bool:
        """Whether another attempt of the same client connected first; ``meet_all`` lets all connections be known."""
        ...


class Story:
    """What is known of a flow whose handshake is not done, or of which something was told."""

    __slots__ = ("due_ns", "failed", "flow", "is_asked", "is_counted", "met", "open", "seen_ref", "since_ns", "told")

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.seen_ref = 0
        """Its last segment when it was looked at last."""
        self.due_ns = 0
        """When it is to be looked at again though nothing may have come; 0 for never."""
        self.is_asked = False
        """Whether it is among those of which it is asked whether anything has come."""
        self.told = 0
        """A bit for each position in `NAMES` of which a stall was told."""
        self.open = NONE
        """The one that was told last and has not been seen to end."""
        self.since_ns = 0
        """When that began."""
        self.failed = False
        """Whether that was told."""
        self.is_counted = False
        """Whether it is counted as stalled."""
        self.met = False
        """Whether the others may learn from it."""


def point_out(intervals: Intervals, which: int) -> None:
    """Let ``which``, a position in `NAMES`, be what stalled; `NONE` when it has no length (any more)."""
    intervals.calm()
    if which == NONE:
        return
    closed_ns: int = getattr(intervals, NAMES[which])
    open_ns: int = getattr(intervals, "open_" + NAMES[which])
    if closed_ns == ABSENT and open_ns == ABSENT:
        return
    intervals.stalled = which
    intervals.stalled_is_open = closed_ns == ABSENT
    intervals.stalled_ns = open_ns if closed_ns == ABSENT else closed_ns


def is_closed(intervals: Intervals) -> bool:
    """Whether what stalled was seen to end."""
    return intervals.stalled != NONE and not intervals.stalled_is_open
