"""Noted segments that go to another process come out there as they were, every attribute of them."""

import pickle
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pcapstall.flows.packing  # noqa: F401 -- lets pickle pack flows
from pcapstall.flows.flow import Flow
from pcapstall.flows.kept import SegmentNote

NOTE = st.fixed_dictionaries(
    {
        "from_opener": st.booleans(),
        "stamped": st.booleans(),
        "kind": st.integers(0, 255),
        **dict.fromkeys(("flags", "ttl"), st.integers(-(2**15), 2**15 - 1)),
        **dict.fromkeys(("ip_id", "window", "payload_len"), st.integers(-(2**31), 2**31 - 1)),
        **dict.fromkeys(("interface", "ns", "ref", "offset", "ack_offset", "stamps"), st.integers(-(2**63), 2**63 - 1)),
        "options": st.binary(max_size=40),
    }
)


def state(note: SegmentNote) -> dict[str, Any]:
    return {name: value for name, value in note.__getstate__().items() if name != "next"}  # type: ignore[attr-defined]


def flow_with(notes: list[dict[str, Any]], middle: int) -> Flow:
    flow = Flow(bytes(12), 1, 0, 1)
    made = []
    for attributes in notes:
        note = SegmentNote()
        for name, value in attributes.items():
            setattr(note, name, value)
        made.append(note)
    for note, following in pairwise(made):
        note.next = following
    if made:
        flow.first_note, flow.last_note = made[0], made[-1]
        if middle >= 0:
            flow.rare().middle_note = made[middle]
    return flow


@given(st.lists(NOTE, max_size=5), st.integers(-1, 4))
def test_notes_come_out(notes: list[dict[str, Any]], middle: int) -> None:
    middle = min(middle, len(notes) - 1)
    flow = pickle.loads(pickle.dumps(flow_with(notes, middle)))
    assert [state(note) for note in flow.notes()] == notes
    assert (flow.last_note is None) == (not notes)
    if notes:
        assert flow.last_note is flow.notes()[-1]
    assert flow.middle_note is (flow.notes()[middle] if middle >= 0 else None)


@pytest.mark.parametrize("count", [0, 1, 5000])
def test_a_long_chain_is_no_deeper_than_a_short_one(count: int) -> None:
    flow = pickle.loads(pickle.dumps(flow_with([{"ns": number} for number in range(count)], -1)))
    assert [note.ns for note in flow.notes()] == list(range(count))
