"""Noted segments come out of their book as they went in: from one that was used before, and in another process, too."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pcapstall.flows.packing  # noqa: F401 -- lets pickle pack flows
from pcapstall.flows.flow import Flow
from pcapstall.flows.notebook import COPY, FEW, FIRST_NOTES, KEEP_ALIVE, NEW, NOTES_MAX, NoteBook, SegmentNote
from pcapstall.wire.segment import Segment
from pcapstall.wire.tcp_options import timestamps

STAMPED = bytes.fromhex("0101080a")
NUMBER = st.integers(-(2**63), 2**63 - 1)
NOTE = st.fixed_dictionaries(
    {
        "from_opener": st.booleans(),
        "kind": st.integers(NEW, KEEP_ALIVE),
        "flags": st.integers(0, 255),
        "ttl": st.integers(0, 255),
        "ip_id": st.integers(-1, 2**16 - 1),
        "window": st.integers(0, 2**16 - 1),
        "payload_len": st.integers(0, 2**32 - 1),
        **dict.fromkeys(("interface", "ns", "ref", "offset", "ack_offset"), NUMBER),
        "options": st.binary(max_size=40)
        | st.sampled_from([12, 20]).flatmap(lambda size: st.binary(min_size=size, max_size=size))
        | st.binary(min_size=8, max_size=8).map(STAMPED.__add__),
    }
)


def write(book: NoteBook, note: dict[str, Any]) -> None:
    segment = Segment()
    segment.buf = b"..." + bytes(20) + note["options"] + b"..."
    segment.tcp_offset, segment.options_end = 3, 23 + len(note["options"])
    segment.ts_ns = note["ns"]
    for name in ("flags", "ttl", "ip_id", "window", "payload_len", "interface", "ref"):
        setattr(segment, name, note[name])
    book.write(note["from_opener"], segment, note["offset"], note["ack_offset"], note["kind"])


def state(note: SegmentNote) -> dict[str, Any]:
    found: Any = note.__getstate__()  # type: ignore[attr-defined]
    return dict(found)


def expected(note: dict[str, Any]) -> dict[str, Any]:
    segment = Segment()
    segment.buf, segment.tcp_offset, segment.options_end = note["options"], -20, len(note["options"])
    timestamps(segment)
    is_stamped = len(note["options"]) == 12 and note["options"].startswith(STAMPED)
    told = {**note, "tsval": segment.tsval, "tsecr": segment.tsecr}
    return {**told, "options": b""} if is_stamped else told


@given(st.lists(st.lists(NOTE, max_size=FEW + 3), max_size=3))
def test_notes_come_out(several: list[list[dict[str, Any]]]) -> None:
    flow = Flow(bytes(12), 1, 0, 1)
    flow.book = NoteBook()
    for notes in several:
        flow.book.clear()
        for note in notes:
            write(flow.book, note)
        assert [state(note) for note in flow.notes()] == [expected(note) for note in notes]
        assert flow.note_count == len(notes)
        again = pickle.loads(pickle.dumps(flow))
        assert [state(note) for note in again.notes()] == [expected(note) for note in notes]


def plain(number: int, **others: Any) -> dict[str, Any]:
    names = ("kind", "flags", "ttl", "ip_id", "window", "payload_len", "interface", "offset", "ack_offset", "ref")
    options = bytes(number % 41)
    return {**dict.fromkeys(names, 0), "from_opener": True, "ns": number, "options": options, **others}


@pytest.mark.parametrize("count", [NOTES_MAX - 1, NOTES_MAX, NOTES_MAX + 1, NOTES_MAX + 64, 1000])
def test_of_very_many_the_first_and_the_latest_are_kept(count: int) -> None:
    book = NoteBook()
    for number in range(count):
        write(book, plain(number))
    flow = Flow(bytes(12), 1, 0, 1)
    flow.book = book
    latest = range(max(FIRST_NOTES, count - (NOTES_MAX - FIRST_NOTES)), count)
    kept = [*range(FIRST_NOTES), *latest]
    for notes in (book.notes(), pickle.loads(pickle.dumps(flow)).notes()):
        assert [note.ns for note in notes] == kept
        assert [note.options for note in notes] == [bytes(number % 41) for number in kept]


@pytest.mark.parametrize("more", [0, 200])
def test_a_copy_takes_the_place_of_its_original(more: int) -> None:
    book = NoteBook()
    for number in range(2 + more):
        write(book, plain(number, ref=number, ip_id=number + 1, ack_offset=number))
    number = book.count - 2
    wanted = book.note(number)
    assert book.original(wanted.ref + 1) == -1, "the last one is no copy"
    write(book, plain(5, ref=9000, ip_id=wanted.ip_id, kind=COPY, ack_offset=-1))
    number = book.original(9000)
    assert book.original(9001) == -1
    assert book.note(number).ref == wanted.ref
    book.swap(number)
    assert (book.note(number).kind, book.note(book.count - 1).kind) == (COPY, NEW)
    assert book.note(book.count - 1).ack_offset == wanted.ack_offset


@pytest.mark.parametrize(
    "other", [{"from_opener": False}, {"flags": 1}, {"ip_id": 8}, {"payload_len": 1}, {"kind": COPY}]
)
def test_a_copy_of_something_else_has_no_original(other: dict[str, Any]) -> None:
    book = NoteBook()
    write(book, plain(0, **other))
    write(book, plain(1, ref=3, kind=COPY))
    assert book.original(3) == -1
    write(book, plain(2, ref=4))
    write(book, plain(3, ref=5, kind=COPY))
    assert book.original(5) == 2


def test_a_book_with_room_for_many_is_none_for_few() -> None:
    book = NoteBook()
    for number in range(100):
        write(book, plain(number))
    book.clear()
    assert len(book._words) == len(NoteBook()._words)
