"""What is kept while hellos are pending: bounded for a flow and for all, counted if it is too much, and given back."""

import pytest
from flow_support import (
    ACK,
    FIN,
    SECOND,
    SYN,
    Kept,
    Packet,
    Talk,
    client_hello,
    only,
    record,
    to_segment,
)
from test_table import feed, key_of

from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.outcome import UNREADABLE, Outcome
from pcapstall.flows.flow import FLAG_LEFT_UNREAD, Flow, HalfFlow
from pcapstall.flows.head import Arrival, Held, StreamHead
from pcapstall.flows.pending import FLOW_MAX
from pcapstall.flows.table import FlowTable

HELLO = client_hello()


def kept_bytes(half: HalfFlow) -> int:
    """All bytes that are kept of one side, and a hundred for each object that keeps them."""
    size = 0
    head, reader = half.head, half.reader
    if head is not None:
        size += len(head.prefix) + sum(100 + len(held.data) for held in head.held) + 50 * len(head.marks)
    if reader is not None and reader.collected is not None:
        size += len(reader.collected)
    return size


def largest(packets: list[Packet]) -> tuple[int, Flow]:
    """The most that is kept of the one flow of ``packets`` at any time, and the flow."""
    sink = Kept()
    table = FlowTable(sink, SECOND)
    most = 0
    for frame, packet in enumerate(packets, 1):
        table.add(to_segment(packet, frame))
        for flow in table._flows.in_order():
            most = max(most, kept_bytes(flow.opener) + kept_bytes(flow.answerer))
    table.finish()
    assert table.limits.pending_len == 0
    (flow,) = sink.flows
    return most, flow


def begun() -> Talk:
    talk = Talk()
    talk.handshake()
    return talk


def long_hello(size: int) -> bytes:
    """The beginning of a ClientHello of ``size`` bytes, in records."""
    message = b"\x01" + size.to_bytes(3, "big") + bytes(size)
    return b"".join(record(22, message[at : at + 16_000]) for at in range(0, len(message), 16_000))


class TestOneFlow:
    def test_tiny_segments_behind_a_hole(self) -> None:
        talk = begun()
        for _ in range(3000):
            talk.client(b"x")
            talk.server(b"y")
        del talk.packets[3:5]
        assert largest(talk.packets)[0] <= FLOW_MAX

    def test_tiny_segments_of_a_hello(self) -> None:
        talk = begun()
        for at in range(len(HELLO)):
            talk.client(HELLO[at : at + 1])
        most, flow = largest(talk.packets)
        assert most <= FLOW_MAX
        assert flow.client_hello is not None

    def test_a_long_talk_before_any_hello(self) -> None:
        talk = begun()
        for _ in range(10):
            talk.server(b"220 " + b"x" * 60_000)
        assert largest(talk.packets)[0] <= FLOW_MAX

    def test_a_hello_that_is_too_long_to_be_read_is_timed(self) -> None:
        talk = begun()
        stream = long_hello(60_000)
        for at in range(0, len(stream), 1400):
            talk.client(stream[at : at + 1400])
        last = len(talk.packets)
        talk.server()
        most, flow = largest(talk.packets)
        assert most <= FLOW_MAX
        assert flow.client_hello is None
        assert (flow.client_hello_first_ref, flow.client_hello_last_ref) == (4, last)
        assert flow.client_hello_acked_ref == last + 1
        assert flow.flags & FLAG_LEFT_UNREAD

    def test_hellos_after_the_handshake_are_not_kept(self) -> None:
        talk = begun()
        talk.client(HELLO)
        talk.server(record(23, b"e" * 100))
        talk.client(record(23, b"d" * 100))
        for _ in range(20):
            talk.client(long_hello(60_000)[:1400])
        assert largest(talk.packets)[0] <= 1400


class TestAllFlows:
    @pytest.mark.parametrize("kind", ["hellos", "holes", "greetings", "syn data"])
    def test_there_is_one_bound(self, kind: str) -> None:
        sink = Kept()
        table = FlowTable(sink, SECOND)
        table.limits.pending_max = 100_000
        most = 0
        for number in range(60):
            talk = Talk()
            if kind == "syn data":
                talk.client(b"x" * 8000, flags=SYN)
            else:
                talk.handshake()
            if kind == "hellos":
                talk.client(long_hello(15_000)[:8000])
            elif kind == "holes":
                talk.client(b"lost")
                talk.client(b"x" * 8000)
                del talk.packets[3]
            elif kind == "greetings":
                talk.server(b"220 " + b"x" * 8000)
            feed(table, talk, number)
            flows = table._flows.in_order()
            most = max(most, sum(kept_bytes(flow.opener) + kept_bytes(flow.answerer) for flow in flows))
        assert most <= 110_000
        assert table.limits.left_unread > 30
        table.finish()
        assert table.limits.pending_len == 0
        assert sum(bool(flow.flags & FLAG_LEFT_UNREAD) for flow in sink.flows) == table.limits.left_unread

    def test_the_longest_idle_are_left_unread_first(self) -> None:
        sink = Kept()
        table = FlowTable(sink, SECOND)
        table.limits.pending_max = 100_000
        for number in range(11):
            talk = begun()
            talk.ns += number * SECOND
            talk.client(long_hello(15_000)[:8000])
            feed(table, talk, number)
        assert table.limits.left_unread == 0
        table.expire(talk.ns)
        assert 50_000 - 8100 < table.limits.pending_len <= 50_000
        table.finish()
        unread = [flow.flags & FLAG_LEFT_UNREAD != 0 for flow in sink.flows]
        assert unread == sorted(unread, reverse=True)
        assert any(unread)

    def test_a_flow_that_is_left_unread_keeps_its_tcp_measures_and_is_no_failure(self) -> None:
        talk = begun()
        talk.client(long_hello(15_000)[:8000])
        talk.server()
        sink = Kept()
        table = FlowTable(sink, SECOND)
        table.limits.pending_max = 1000
        feed(table, talk, 1)
        talk.packets = []
        talk.server(flags=FIN | ACK, after=10 * SECOND)
        feed(table, talk, 1)
        table.finish()
        (flow,) = sink.flows
        assert flow.key == key_of(1, True)
        intervals, outcome = Intervals(), Outcome()
        intervals.measure(flow, talk.ns)
        outcome.judge(flow, intervals)
        assert (outcome.tcp, outcome.tls, outcome.failed, outcome.closed_by) == (
            "connected", UNREADABLE, False, "server",
        )  # fmt: skip
        assert intervals.synack_ack > 0
        assert intervals.open() == {}


class Counting(list):  # type: ignore[type-arg]
    """Counts how often it is looked into."""

    looks = 0

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        Counting.looks += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("step", [-1, 1])
def test_steps_for_a_waiting_segment_grow_with_the_logarithm(step: int) -> None:
    head = StreamHead()
    Counting.looks = 0
    try:
        head.held = Counting()
    except TypeError:
        pytest.skip("the compiled one takes plain lists only")
    for offset in range(4000)[::step]:
        head.hold(Held(Arrival(10 + 2 * offset, 0, 0, 0), b"x", 0))
    if Counting.looks == 0:
        pytest.skip("compiled code does not ask the list")
    assert Counting.looks < 4000 * 20
    assert [held.arrival.offset for held in head.held] == [10 + 2 * offset for offset in range(4000)]


def test_bytes_are_read_on_behind_a_hole_that_never_closes() -> None:
    """Segments of one byte, the last first: what was lost of them at the bound is lost, and nothing hangs."""
    talk = begun()
    packets = [talk.client(HELLO[at : at + 1]) for at in range(len(HELLO))]
    talk.packets = talk.packets[:3] + packets[::-1]
    flow = only(talk.packets)
    assert flow.client().payload_bytes == len(HELLO)
