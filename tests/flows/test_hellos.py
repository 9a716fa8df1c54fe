"""ClientHellos are read when somebody asks, or when too many wait: never with another result."""

import struct

import pytest
from flow_support import SECOND, Kept, Talk, client_hello, only, server_hello
from hypothesis import given
from hypothesis import strategies as st
from test_table import Forgetful, feed

from pcapstall.flows import hellos as module
from pcapstall.flows.flow import Flow
from pcapstall.flows.hellos import UNREAD_ALL_LEN_MAX, UNREAD_LEN_MAX, UnreadHellos
from pcapstall.flows.table import FlowTable
from pcapstall.wire.tls_hello import parse_client_hello

HELLO = client_hello()
MESSAGE = HELLO[5:]


def waiting(hellos: UnreadHellos, number: int, message: bytes = MESSAGE) -> Flow:
    flow = Flow(b"\0" * 12, number, 1, 1)
    hellos.keep(flow, message)
    return flow


def test_a_hello_is_read_when_it_is_asked_for() -> None:
    flow = waiting(UnreadHellos(), 1)
    assert flow.hello_message == MESSAGE
    hello, expected = flow.client_hello, parse_client_hello(MESSAGE)
    assert hello is not None
    assert (hello.sni, hello.ja4, hello.random, hello.length) == (
        expected.sni, expected.ja4, expected.random, expected.length,
    )  # fmt: skip
    assert flow.hello_message == b""
    assert flow.client_hello is hello


SHARES = 1024
"""So many that the bound is reached soon."""
ROOM = UNREAD_ALL_LEN_MAX // SHARES


def test_the_one_that_waits_for_longest_makes_room() -> None:
    hellos = UnreadHellos(SHARES)
    fitting = ROOM // len(MESSAGE)
    flows = [waiting(hellos, number) for number in range(fitting + 2)]
    assert [not flow.hello_message for flow in flows[:3]] == [True, True, False]
    assert sum(len(flow.hello_message) for flow in flows) == fitting * len(MESSAGE)
    assert all(flow.client_hello is not None and flow.client_hello.sni == "flow.example" for flow in flows)


def test_ten_thousand_healthy_flows_at_once_are_never_read() -> None:
    hellos = UnreadHellos()
    flows = [waiting(hellos, number, MESSAGE.ljust(517)) for number in range(10_000)]
    assert all(flow.hello_message for flow in flows)


def test_one_that_waits_for_long_does_not_hold_up_the_others() -> None:
    hellos = UnreadHellos()
    first = waiting(hellos, 0)
    for number in range(module.UNREAD_MAX - 1):
        hellos.let_go(waiting(hellos, number), False)
    assert first.hello_message
    waiting(hellos, 1)
    assert not first.hello_message


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[str, int]]:
    """Messages that come, by their lengths, and flows that go, by their places among those that are there."""
    return draw(
        st.lists(
            st.tuples(st.just("come"), st.integers(len(MESSAGE), UNREAD_LEN_MAX) | st.just(UNREAD_LEN_MAX + 1))
            | st.tuples(st.sampled_from(["go", "kept", "ask"]), st.integers(0, 30)),
            max_size=40,
        )
    )  # fmt: skip


@given(steps(), st.sampled_from([1, SHARES // 2, SHARES]))
def test_who_waits_is_who_came_last_within_the_bound(taken: list[tuple[str, int]], shares: int) -> None:
    """Against a list of those that wait and a walk over it."""
    hellos = UnreadHellos(shares)
    here: list[Flow] = []
    wait: list[tuple[Flow, int]] = []
    for number, (step, value) in enumerate(taken):
        if step == "come":
            here.append(waiting(hellos, number, MESSAGE.ljust(value, b"\0")))
            if value <= UNREAD_LEN_MAX:
                wait.append((here[-1], value))
                while sum(length for _, length in wait) > UNREAD_ALL_LEN_MAX // shares:
                    del wait[0]
        elif here and step == "ask":
            assert here[value % len(here)].client_hello is not None
        elif here:
            gone = here.pop(value % len(here))
            hellos.let_go(gone, step == "kept")
            wait = [(flow, length) for flow, length in wait if flow is not gone]
    asked = {id(flow) for flow in here if not flow.hello_message}
    assert [flow for flow in here if flow.hello_message] == [flow for flow, _ in wait if id(flow) not in asked]
    assert asked >= {id(flow) for flow in here} - {id(flow) for flow, _ in wait}


def test_there_are_more_places_when_they_are_needed() -> None:
    hellos = UnreadHellos()
    flows = [waiting(hellos, number, b"\x01\0\0\0") for number in range(5000)]
    for flow in flows[::2]:
        hellos.let_go(flow, False)
    flows += [waiting(hellos, number, b"\x01\0\0\0") for number in range(5000)]
    assert all(flow.hello_message for flow in flows)
    for flow in flows[5000:]:
        hellos.let_go(flow, True)
    assert not any(flow.hello_message for flow in flows[5000:])
    assert all(flow.hello_message for flow in flows[:5000])


def test_a_long_one_is_read_at_once() -> None:
    flow = waiting(UnreadHellos(), 1, MESSAGE + b"\0" * UNREAD_LEN_MAX)
    assert flow.hello_message == b""
    assert flow.client_hello is not None


def test_what_one_table_kept_of_long_lists_counts_in_no_other() -> None:
    ciphers = b"".join(struct.pack(">H", 0x4000 + number) for number in range(20_000))
    body = b"\x03\x03" + bytes(32) + b"\0" + struct.pack(">H", len(ciphers)) + ciphers + b"\x01\0"

    def kept(hellos: UnreadHellos) -> int:
        hello = waiting(hellos, 1, b"\x01" + len(body).to_bytes(3, "big") + body).client_hello
        assert hello is not None
        return len(hello.cipher_suites)

    one = UnreadHellos()
    first = kept(one)
    assert first > 19_000
    assert [kept(one) for _ in range(30)][-1] == 64
    assert kept(UnreadHellos()) == first


@pytest.mark.parametrize("is_kept", [True, False])
def test_who_is_let_go_waits_no_more(is_kept: bool) -> None:
    hellos = UnreadHellos(SHARES)
    flow = waiting(hellos, 1)
    hellos.let_go(flow, is_kept)
    assert (flow.hello_message == b"") == is_kept
    for number in range(ROOM // len(MESSAGE) + 1):
        waiting(hellos, number)
    assert (flow.hello_message == b"") == is_kept


def test_a_kept_flow_holds_no_message() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.server(server_hello())
    flow = only(talk.packets)
    assert flow.hello_message == b""
    assert flow.client_hello is not None
    assert flow.client_hello.sni == "flow.example"


def test_notes_of_forgotten_flows_are_written_on_again() -> None:
    sink = Forgetful()
    table = FlowTable(sink, SECOND)
    talk = Talk()
    talk.handshake()
    talk.close()
    for number in range(3):
        feed(table, talk, number)
        table.expire(talk.ns + (10 + number) * SECOND)
    assert (sink.forgotten, table.limits.notes) == (3, 0)
    (book,) = table.limits.spare_books
    assert book.count == 0


def test_a_kept_flow_has_its_notes_in_order() -> None:
    sink = Kept()
    table = FlowTable(sink, SECOND)
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    feed(table, talk, 1)
    table.finish()
    (flow,) = sink.flows
    assert [note.ns for note in flow.notes()] == [packet.ns for packet in talk.packets]
    assert [note.from_opener for note in flow.notes()] == [packet.from_client for packet in talk.packets]
