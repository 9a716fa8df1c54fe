"""Keeps the headers of a handshake's segments, for those who ask later why it was slow.

Bounded for one flow and for all together. How a header is kept is in the module of note books; what it says is read by
the diagnosis.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.flow import FLAG_NOTES_CUT, UNENDED, Flow, HalfFlow
from pcapstall.flows.kept import Limits
from pcapstall.flows.notebook import NOTES_MAX, NoteBook
from pcapstall.wire.segment import Segment

AFTER_MAX: Final = 16
"""Kept of those that follow a slow handshake: they tell how its ends count IP IDs and how fast their clocks tick."""

SPARE_MAX: Final = 4096
"""Books kept for being written in again."""


class Notes:
    """Makes the notes of all flows. One instance; the notes are in the flows."""

    def __init__(self, limits: Limits) -> None:
        self._limits: Limits = limits

    def keep(self, half: HalfFlow, segment: Segment, offset: i64, acked: i64, kind: i64) -> None:
        """Keep the segment's header with its flow while the handshake is pending."""
        flow = half.flow
        limits = self._limits
        if flow.notes_after != UNENDED:
            if flow.notes_after == 0:
                flow.noting = False
                return
            flow.notes_after -= 1
        book = flow.book
        if book is not None and book.count >= NOTES_MAX:
            flow.flags |= FLAG_NOTES_CUT
            if flow.settled:
                # What follows a handshake is noted for its own sake, from the beginning on.
                return
        elif limits.notes >= limits.notes_max:
            limits.crowded = True
            flow.flags |= FLAG_NOTES_CUT
            return
        else:
            limits.notes += 1
        if book is None:
            if len(limits.spare_books) > 0:
                book = limits.spare_books.pop()
            else:
                book = NoteBook()
            flow.book = book
        book.write(half is flow.opener, segment, offset, acked, kind)


def drop_notes(flow: Flow, limits: Limits) -> None:
    """Nobody will ask about this handshake: let its notes be written over."""
    book = flow.book
    if book is None:
        return
    limits.notes -= book.count
    flow.book = None
    if len(limits.spare_books) < SPARE_MAX:
        book.clear()
        limits.spare_books.append(book)
