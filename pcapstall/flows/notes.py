"""Keeps the headers of a handshake's segments, for those who ask later why it was slow.

Bounded for one flow and for all together. What the headers say is read by the diagnosis.
"""

from typing import Final

from librt.strings import read_i32_be, read_i64_be
from mypy_extensions import i16, i32, i64, u8

from pcapstall.flows.flow import FLAG_NOTES_CUT, UNENDED, Flow, HalfFlow
from pcapstall.flows.kept import Limits, SegmentNote
from pcapstall.wire.segment import Segment
from pcapstall.wire.tcp_options import NOP_NOP_TIMESTAMPS, TIMESTAMPS_LEN

NOTES_MAX: Final = 128
"""Segment headers kept of one handshake: the first `FIRST_NOTES`, and the latest."""
FIRST_NOTES: Final = 64
AFTER_MAX: Final = 16
"""Kept of those that follow a slow handshake: they tell how its ends count IP IDs and how fast their clocks tick."""


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
        note: SegmentNote | None = None
        if flow.note_count >= NOTES_MAX:
            flow.flags |= FLAG_NOTES_CUT
            if flow.settled:
                # What follows a handshake is noted for its own sake, from the beginning on.
                return
            note = _oldest_of_latest(flow)
        elif limits.notes >= limits.notes_max:
            limits.crowded = True
            flow.flags |= FLAG_NOTES_CUT
            return
        else:
            limits.notes += 1
            flow.note_count += 1
            note = limits.spare_note
            if note is not None:
                limits.spare_note = note.next
        if note is None:
            note = SegmentNote()
        note.next = None
        last = flow.last_note
        if last is None:
            flow.first_note = note
        else:
            last.next = note
        flow.last_note = note
        if flow.note_count == FIRST_NOTES and flow.middle_note is None:
            flow.rare().middle_note = note
        note.from_opener = half is flow.opener
        note.ns = segment.ts_ns
        note.ref = segment.ref
        note.offset = offset
        note.ack_offset = acked
        note.kind = u8(kind)
        note.payload_len = i32(segment.payload_len)
        note.flags = i16(segment.flags)
        note.window = i32(segment.window)
        note.interface = segment.interface
        note.ttl = i16(segment.ttl)
        note.ip_id = i32(segment.ip_id)
        start: i64 = segment.tcp_offset + 20
        end: i64 = segment.options_end
        note.stamped = end - start == TIMESTAMPS_LEN and i64(read_i32_be(segment.buf, start)) == NOP_NOP_TIMESTAMPS
        note.options = b""
        if note.stamped:
            note.stamps = read_i64_be(segment.buf, start + 4)
        elif end > start:
            note.options = segment.buf[start:end]


def _oldest_of_latest(flow: Flow) -> SegmentNote | None:
    """Take the note behind the first ones out of the chain: how a long stall ends says more than its middle."""
    middle = flow.middle_note
    if middle is None:
        return None
    oldest = middle.next
    if oldest is not None:
        middle.next = oldest.next
    return oldest


def drop_notes(flow: Flow, limits: Limits) -> None:
    """Nobody will ask about this handshake: let its notes be written on again."""
    last = flow.last_note
    if last is None:
        return
    limits.notes -= i64(flow.note_count)
    last.next = limits.spare_note
    limits.spare_note = flow.first_note
    flow.forget_notes()
