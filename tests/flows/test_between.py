"""A half has a reader of its own only while something has begun, and nothing beside it that few flows have."""

from itertools import pairwise

from flow_support import (
    CHANGE_CIPHER_SPEC,
    FINISHED,
    SECOND,
    Kept,
    Packet,
    Talk,
    client_hello,
    record,
    server_hello,
    to_segment,
)
from hypothesis import given
from hypothesis import strategies as st
from test_table import between, key_of

from pcapstall.flows.flow import Flow
from pcapstall.flows.rarities import NONE, NONE_OF_HALF
from pcapstall.flows.table import FlowTable

HELLO = client_hello()
FLIGHT = server_hello() + CHANGE_CIPHER_SPEC + record(23, b"c" * 900)
LAST = record(23, b"e" * 100)


def feed(table: FlowTable, packet: Packet, frame: int, number: int) -> None:
    segment = to_segment(packet, frame)
    between(segment, key_of(number, packet.from_client))
    table.add(segment)


def live(talk: Talk) -> Flow:
    """The one flow of ``talk``, as it goes on."""
    table = FlowTable(Kept(), SECOND)
    for frame, packet in enumerate(talk.packets, 1):
        feed(table, packet, frame, 1)
    (flow,) = table._flows.in_order()
    return flow


def shaken() -> Talk:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.server(FLIGHT)
    talk.client(CHANGE_CIPHER_SPEC + FINISHED)
    return talk


def test_an_ordinary_flow_keeps_nothing_of_its_own() -> None:
    talk = shaken()
    talk.client(record(23, b"d" * 100))
    talk.server(LAST)
    flow = live(talk)
    for half in (flow.opener, flow.answerer):
        assert (half.reader, half.head, half.record_end) == (None, None, half.next_offset)
        assert half._rarities is NONE_OF_HALF
    assert flow._rarities is NONE


def test_a_record_goes_on_without_a_reader_and_a_cut_header_with_one() -> None:
    talk = shaken()
    talk.server(LAST[:50])
    half = live(talk).answerer
    assert (half.reader, half.record_end) == (None, len(FLIGHT) + len(LAST))
    talk.server(LAST[50:] + LAST[:3])
    half = live(talk).answerer
    assert half.reader is not None
    assert half.reader.word_len == 3
    talk.server(LAST[3:])
    half = live(talk).answerer
    assert (half.reader, half.record_end) == (None, len(FLIGHT) + 2 * len(LAST))


@given(st.lists(st.integers(1, len(FLIGHT) + len(LAST) - 1), max_size=4), st.booleans())
def test_cuts_leave_the_same_place(cuts: list[int], among_others: bool) -> None:
    """However the server's bytes are cut, and whichever flows are read between its segments."""
    data = FLIGHT + LAST
    bounds = [0, *sorted(set(cuts)), len(data)]
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    for start, end in pairwise(bounds):
        talk.server(data[start:end])
    other = Talk()
    other.handshake()
    other.client(HELLO[:20])
    table = FlowTable(Kept(), SECOND)
    for frame, packet in enumerate(talk.packets, 1):
        feed(table, packet, frame, 1)
        if among_others and frame <= len(other.packets):
            feed(table, other.packets[frame - 1], frame, 2)
    flow = table._flows.in_order()[0]
    assert (flow.answerer.reader, flow.answerer.record_end, flow.answerer.ccs) == (None, len(data), True)
    assert flow.server_hello is not None
    last = sum(cut < len(server_hello()) for cut in set(cuts))
    assert flow.server_hello_last_ns == talk.packets[4 + last].ns
