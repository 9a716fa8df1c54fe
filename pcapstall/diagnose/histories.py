"""The segments of flows, put together once for all who read them.

A flow is judged to be counted, again for its row, and asked about its hosts' clocks in between. Bounded: of the flows
beyond the first ones a history is made each time. Compiled, for it is asked a dozen times for a verdict.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.segments import History
from pcapstall.flows.flow import Flow
from pcapstall.flows.notebook import NoteBook

HISTORIES_MAX: Final = 512
"""Histories that are kept: of 14 segments each they take 2 MB, of the most that are noted 20."""


class _Known:
    """A history, and the notes that it was made of: when two captures are compared, notes are made anew."""

    def __init__(self, flow: Flow) -> None:
        self.book: NoteBook | None = flow.book
        self.count: i64 = flow.note_count
        self.history: History = History(flow)


class Histories:
    """Makes histories, and keeps the first ones."""

    def __init__(self, most: int = 0) -> None:
        self._most: i64 = most
        """How many are kept: 0 where flows still grow."""
        self._known: dict[int, _Known] = {}
        """By the flow's id."""

    def of(self, flow: Flow) -> History:
        """The segments of ``flow``."""
        known = self._known.get(flow.id)
        if known is not None and known.book is flow.book and known.count == flow.note_count:
            return known.history
        made = _Known(flow)
        if known is not None or len(self._known) < self._most:
            self._known[flow.id] = made
        return made.history
