"""The segments of flows, put together once for all who read them.

A flow is judged to be counted, again for its row, and asked about its hosts' clocks in between. Bounded: of the flows
beyond the first ones a history is made each time.
"""

from typing import Final, NamedTuple

from pcapstall.diagnose.segments import History
from pcapstall.flows.flow import Flow
from pcapstall.flows.kept import SegmentNote

HISTORIES_MAX: Final = 512
"""Histories that are kept: of 14 segments each they take 2 MB, of the most that are noted 20."""


class _Known(NamedTuple):
    """A history, and the ends of the notes that it was made of: when two captures are compared, notes are made anew."""

    first: SegmentNote | None
    last: SegmentNote | None
    history: History


class Histories:
    """Makes histories, and keeps the first ones."""

    def __init__(self, most: int = 0) -> None:
        self._most = most
        """How many are kept: 0 where flows still grow."""
        self._known: dict[int, _Known] = {}
        """By the flow's id."""

    def of(self, flow: Flow) -> History:
        """The segments of ``flow``."""
        known = self._known.get(flow.id)
        if known is not None and known.first is flow.first_note and known.last is flow.last_note:
            return known.history
        history = History(flow)
        if known is not None or len(self._known) < self._most:
            self._known[flow.id] = _Known(flow.first_note, flow.last_note, history)
        return history
