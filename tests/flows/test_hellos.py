"""ClientHellos are read when somebody asks, or when too many wait: never with another result."""

import struct

import pytest
from flow_support import SECOND, Kept, Talk, client_hello, only, server_hello
from test_table import Forgetful, feed

from pcapstall.flows.flow import Flow
from pcapstall.flows.hellos import UNREAD_LEN_MAX, UNREAD_MAX, UnreadHellos
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


def test_the_one_that_waits_for_longest_makes_room() -> None:
    hellos = UnreadHellos()
    flows = [waiting(hellos, number) for number in range(UNREAD_MAX + 2)]
    assert [not flow.hello_message for flow in flows[:3]] == [True, True, False]
    assert sum(len(flow.hello_message) for flow in flows) <= UNREAD_MAX * len(MESSAGE)
    assert all(flow.client_hello is not None and flow.client_hello.sni == "flow.example" for flow in flows)


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
    hellos = UnreadHellos()
    flow = waiting(hellos, 1)
    hellos.let_go(flow, is_kept)
    assert (flow.hello_message == b"") == is_kept
    for number in range(UNREAD_MAX):
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
    spare, note = 0, table.limits.spare_note
    while note is not None:
        spare, note = spare + 1, note.next
    assert spare == len(talk.packets)


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
