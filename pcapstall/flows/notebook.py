"""The headers of a handshake's segments, packed in words, so that a note costs no object and lies beside the next one.

Most notes are forgotten unread once the handshake is known to be unremarkable; of the others objects are made. What is
noted of whom, and for how long, is in the module of notes.
"""

from typing import Final

from librt.strings import BytesWriter, read_i32_be, read_i64_be, write_i32_be, write_i64_be
from librt.vecs import extend, vec
from mypy_extensions import i32, i64, mypyc_attr

from pcapstall.core.packed import packed_words, unpacked_words
from pcapstall.core.words import U32
from pcapstall.wire.segment import Segment
from pcapstall.wire.tcp_options import ABSENT, NOP_NOP_TIMESTAMPS, TIMESTAMPS_LEN, timestamps

# What a segment is to its half-flow.
NEW: Final = 0
RETRANSMISSION: Final = 1
COPY: Final = 2
LATE: Final = 3
KEEP_ALIVE: Final = 4

NOTES_MAX: Final = 128
"""Segment headers kept of one handshake: the first `FIRST_NOTES`, and the latest."""
FIRST_NOTES: Final = 64
FEW: Final = 8
"""Notes that there is room for at first: so many has a handshake in which nothing is lost."""

# The words of a note.
_NS: Final = 0
_REF: Final = 1
_OFFSET: Final = 2
_ACK_OFFSET: Final = 3
_HEADER: Final = 4  # kind, whether it is the opener's, flags, IP ID plus 1, payload length
_KIND: Final = 7
_FROM_OPENER: Final = 8
_FLAGS_AT: Final = 4
_IP_ID_AT: Final = 12
_PAYLOAD_AT: Final = 29
_REST: Final = 5  # the first four bytes of the options, window, TTL, length of the options
_WINDOW_AT: Final = 32
_TTL_AT: Final = 48
_OPTIONS_AT: Final = 56
_INTERFACE: Final = 6
_STAMPS: Final = 7  # the eight bytes of options behind the first four
_LAST_OPTIONS: Final = 8  # and the eight behind those
_WORDS: Final = 9

SYN_OPTIONS_LEN: Final = 20
"""Bytes of options that a SYN has with timestamps."""


@mypyc_attr(acyclic=True)
class SegmentNote:
    """The header of one segment of a handshake."""

    def __init__(self) -> None:
        self.from_opener: bool = False
        self.kind: i64 = NEW
        self.flags: i64 = 0
        self.ttl: i64 = 0
        self.ip_id: i64 = 0
        self.window: i64 = 0
        self.payload_len: i64 = 0
        self.interface: i64 = 0
        self.ns: i64 = 0
        self.ref: i64 = 0
        self.offset: i64 = 0
        """Stream offset of its first payload byte: 0 for a SYN's."""
        self.ack_offset: i64 = 0
        """Offset in the peer's stream that it acknowledges; `NEVER` without an ACK."""
        self.options: bytes = b""
        """TCP options as captured; empty where they are timestamps and nothing else."""
        self.tsval: i64 = ABSENT
        """TCP timestamp (RFC 7323); -1 without the option."""
        self.tsecr: i64 = ABSENT
        """The timestamp that it echoes; -1 without the option."""


@mypyc_attr(acyclic=True)
class NoteBook:
    """The notes of one flow, by their numbers from 0, in the order of the segments."""

    def __init__(self) -> None:
        self.count: i64 = 0
        """How many there are."""
        self._written_over: i64 = 0
        """How many of the latest took the place of an older one: how a long stall ends says more than its middle."""
        self._words: vec[i64] = vec[i64]([0] * (FEW * _WORDS))
        self._options: dict[int, bytes] | None = None
        """By place: options that do not fit in the words."""

    def write(self, from_opener: bool, segment: Segment, offset: i64, acked: i64, kind: i64) -> None:
        """Note the header of ``segment``."""
        place: i64 = self.count
        if place < NOTES_MAX:
            self.count = place + 1
        else:
            place = self._place(FIRST_NOTES)
            self._written_over += 1
        at: i64 = place * _WORDS
        if at >= len(self._words):
            self._words = extend(self._words, self._words)
        words = self._words
        header: i64 = kind | (segment.flags << _FLAGS_AT) | ((segment.ip_id + 1) << _IP_ID_AT)
        if from_opener:
            header |= _FROM_OPENER
        words[at + _NS] = segment.ts_ns
        words[at + _REF] = segment.ref
        words[at + _OFFSET] = offset
        words[at + _ACK_OFFSET] = acked
        words[at + _HEADER] = header | ((segment.payload_len & U32) << _PAYLOAD_AT)
        words[at + _INTERFACE] = segment.interface
        rest: i64 = (segment.window << _WINDOW_AT) | (segment.ttl << _TTL_AT)
        start: i64 = segment.tcp_offset + 20
        length: i64 = segment.options_end - start
        if length > 0:
            rest |= length << _OPTIONS_AT
            if length == TIMESTAMPS_LEN or length == SYN_OPTIONS_LEN:
                rest |= i64(read_i32_be(segment.buf, start)) & U32
                words[at + _STAMPS] = read_i64_be(segment.buf, start + 4)
                if length == SYN_OPTIONS_LEN:
                    words[at + _LAST_OPTIONS] = read_i64_be(segment.buf, start + 12)
            else:
                self._keep_options(place, segment.buf[start : start + length])
        words[at + _REST] = rest

    def note(self, number: i64) -> SegmentNote:
        """The note of that number."""
        place: i64 = self._place(number)
        at: i64 = place * _WORDS
        words = self._words
        header: i64 = words[at + _HEADER]
        rest: i64 = words[at + _REST]
        note = SegmentNote()
        note.kind = header & _KIND
        note.from_opener = header & _FROM_OPENER != 0
        note.flags = (header >> _FLAGS_AT) & 0xFF
        note.ip_id = ((header >> _IP_ID_AT) & 0x1_FFFF) - 1
        note.payload_len = header >> _PAYLOAD_AT
        note.ttl = (rest >> _TTL_AT) & 0xFF
        note.window = (rest >> _WINDOW_AT) & 0xFFFF
        note.interface = words[at + _INTERFACE]
        note.ns = words[at + _NS]
        note.ref = words[at + _REF]
        note.offset = words[at + _OFFSET]
        note.ack_offset = words[at + _ACK_OFFSET]
        length: i64 = rest >> _OPTIONS_AT
        if length == TIMESTAMPS_LEN and rest & U32 == NOP_NOP_TIMESTAMPS:
            note.tsval = (words[at + _STAMPS] >> 32) & U32
            note.tsecr = words[at + _STAMPS] & U32
        elif length > 0:
            note.options = self._options_at(place, length)
            _read_timestamps(note)
        return note

    def notes(self) -> list[SegmentNote]:
        """All of them."""
        found: list[SegmentNote] = []
        number: i64 = 0
        while number < self.count:
            found.append(self.note(number))
            number += 1
        return found

    def original(self, ref: i64) -> i64:
        """The number of the note that the last one is a copy of, if that is of frame ``ref``; -1 for none."""
        words = self._words
        last: i64 = self._place(self.count - 1) * _WORDS
        header: i64 = words[last + _HEADER]
        if words[last + _REF] != ref or header & _KIND != COPY:
            return -1
        number: i64 = self.count - 2
        while number >= 0:
            other: i64 = words[self._place(number) * _WORDS + _HEADER]
            if other & _KIND != COPY and other | _KIND == header | _KIND:
                break
            number -= 1
        return number

    def swap(self, number: i64) -> None:
        """The last note, which is of a copy, becomes the one that counts, and that of ``number`` the copy's."""
        words = self._words
        at: i64 = self._place(number) * _WORDS
        last: i64 = self._place(self.count - 1) * _WORDS
        words[last + _HEADER] = words[at + _HEADER]
        words[last + _ACK_OFFSET] = words[at + _ACK_OFFSET]
        words[at + _HEADER] = (words[at + _HEADER] & ~_KIND) | COPY

    def clear(self) -> None:
        """Nobody will ask for the notes: others will be written here, and little room is kept for them."""
        self.count = 0
        self._written_over = 0
        self._options = None
        if len(self._words) > FEW * _WORDS:
            self._words = vec[i64]([0] * (FEW * _WORDS))

    def packed(self) -> tuple[bytes, dict[int, bytes] | None, int]:
        """All of it, for another process; `unpacked` is the inverse."""
        return packed_words(memoryview(self._words)[: self.count * _WORDS]), self._options, self._written_over

    def _place(self, number: i64) -> i64:
        """Where the note of that number is."""
        if number < FIRST_NOTES or self._written_over == 0:
            return number
        return FIRST_NOTES + (number - FIRST_NOTES + self._written_over) % (NOTES_MAX - FIRST_NOTES)

    def _keep_options(self, place: i64, options: bytes) -> None:
        if self._options is None:
            self._options = {}
        self._options[place] = options

    def _options_at(self, place: i64, length: i64) -> bytes:
        if length != TIMESTAMPS_LEN and length != SYN_OPTIONS_LEN:
            options = self._options
            if options is None:
                return b""
            return options[place]
        at: i64 = place * _WORDS
        writer = BytesWriter()
        first: i64 = self._words[at + _REST] & U32
        write_i32_be(writer, i32((first ^ 0x8000_0000) - 0x8000_0000))
        write_i64_be(writer, self._words[at + _STAMPS])
        if length == SYN_OPTIONS_LEN:
            write_i64_be(writer, self._words[at + _LAST_OPTIONS])
        return writer.getvalue()


def unpacked(packed: bytes, options: dict[int, bytes] | None, written_over: i64) -> NoteBook:
    """What `NoteBook.packed` has packed."""
    book = NoteBook()
    book._words = unpacked_words(packed)
    book._options = options
    book._written_over = written_over
    book.count = len(book._words) // _WORDS
    return book


def _read_timestamps(note: SegmentNote) -> None:
    """Those among other options."""
    segment = Segment()
    segment.buf = note.options
    segment.tcp_offset = -20
    segment.options_end = len(note.options)
    timestamps(segment)
    note.tsval = segment.tsval
    note.tsecr = segment.tsecr
