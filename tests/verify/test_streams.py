"""From tshark's segments to its flows, without tshark: who is the client, which ACK it was, what belongs together."""

import pytest

from pcapstall.pipeline.tshark.messages import CLIENT_HELLO, SERVER_HELLO, Message
from pcapstall.pipeline.tshark.packets import (
    DAMAGED_HEADER,
    ICMP_QUOTE,
    TsharkSegment,
    TsharkStray,
    epoch_ns,
)
from pcapstall.pipeline.tshark.second_opinion import _late_filters
from pcapstall.pipeline.tshark.streams import Streams
from pcapstall.report.comparison_model import Seen, SeenFlow

A, B = "10.0.0.1:40000", "10.0.0.2:443"
SYN, SYN_ACK, ACK, FIN, RST = 0x02, 0x12, 0x10, 0x11, 0x04


def sent(
    frame: int, source: str, flags: int, seq: int = 0, ack: int = 0, *messages: Message, stream: int = 0
) -> TsharkSegment:
    return TsharkSegment(frame, frame * 1000, stream, source, B if source == A else A, flags, seq, ack, messages)


def collect(*found: TsharkSegment | TsharkStray) -> Streams:
    streams = Streams()
    for each in found:
        streams.add(each)
    return streams


def only_flow(*found: TsharkSegment | TsharkStray) -> SeenFlow:
    (flow,) = collect(*found).flows()
    return flow


def frames(flow: SeenFlow) -> dict[str, int]:
    return {name: event.frame for name, event in flow.events.items() if event is not None}


def test_a_handshake() -> None:
    flow = only_flow(
        sent(1, A, SYN, 10), sent(2, B, SYN_ACK, 90, 11), sent(3, A, ACK, 11, 91), sent(4, B, FIN), sent(5, A, RST)
    )
    assert (flow.client, flow.server, flow.direction_source, flow.streams) == (A, B, "syn", (0,))
    assert frames(flow) == {"syn": 1, "syn_ack": 2, "ack": 3, "server_fin": 4, "client_rst": 5}
    assert flow.events["ack"] == Seen(3, 3000)


def test_the_syn_ack_is_the_one_that_was_acknowledged() -> None:
    flow = only_flow(sent(1, B, SYN_ACK, 50, 11), sent(2, B, SYN_ACK, 90, 11), sent(3, A, ACK, 11, 91))
    assert flow.direction_source == "syn_ack"
    assert frames(flow) == {"syn_ack": 2, "ack": 3}


def test_without_an_ack_the_first_syn_ack_counts() -> None:
    assert frames(only_flow(sent(1, B, SYN_ACK, 50, 11), sent(2, B, SYN_ACK, 90, 11)))["syn_ack"] == 1


def test_sequence_numbers_wrap() -> None:
    flow = only_flow(sent(1, A, SYN, 10), sent(2, B, SYN_ACK, 0xFFFFFFFF, 11), sent(3, A, ACK, 11, 0))
    assert frames(flow)["ack"] == 3


@pytest.mark.parametrize("flags", [RST, RST | ACK])
def test_a_reset_completes_no_handshake(flags: int) -> None:
    assert "ack" not in frames(only_flow(sent(1, A, SYN, 10), sent(2, B, SYN_ACK, 90, 11), sent(3, A, flags, 11, 91)))


def test_hellos_retried() -> None:
    flow = only_flow(
        sent(1, A, ACK, 0, 0, Message(1, 1, CLIENT_HELLO, sni="a.example")),
        sent(2, B, ACK, 0, 0, Message(2, 2, SERVER_HELLO, 0x0304, retry=True)),
        sent(4, A, ACK, 0, 0, Message(3, 4, CLIENT_HELLO, sni="a.example")),
        sent(3, A, ACK),
        sent(5, B, ACK, 0, 0, Message(5, 5, SERVER_HELLO, 0x0304)),
        sent(6, A, ACK, 0, 0, Message(6, 6, level=2, description=48)),
    )
    assert flow.direction_source == "client_hello"
    assert frames(flow) == {
        "client_hello_first": 1, "client_hello_last": 1, "hello_retry": 2, "client_hello2_first": 3,
        "client_hello2_last": 4, "server_hello_first": 5, "server_hello_last": 5,
    }  # fmt: skip
    assert flow.events["client_hello2_first"] == Seen(3, 3000)
    assert (flow.sni, flow.version) == ("a.example", "TLS 1.3")
    assert [(alert.side, alert.level, alert.description) for alert in flow.alerts] == [
        ("client", "fatal", "unknown_ca")
    ]


def test_a_server_hello_tells_the_server() -> None:
    flow = only_flow(sent(1, B, ACK), sent(2, B, ACK, 0, 0, Message(2, 2, SERVER_HELLO, 0x0303)))
    assert (flow.client, flow.direction_source) == (A, "server_hello")
    assert frames(flow) == {"server_hello_first": 2, "server_hello_last": 2}


def test_what_was_decrypted_is_no_event() -> None:
    flow = only_flow(
        sent(1, A, ACK, 0, 0, Message(1, 1, CLIENT_HELLO)),
        sent(2, B, ACK, 0, 0, Message(2, 2, 20, decrypted=True), Message(2, 2, level=1, description=0, decrypted=True)),
    )
    assert flow.alerts == []
    assert [(each.side, each.what) for each in flow.decrypted] == [
        ("server", "finished"),
        ("server", "alert warning close_notify"),
    ]


@pytest.mark.parametrize("kind", [ICMP_QUOTE, DAMAGED_HEADER])
def test_a_stream_that_a_stray_began_goes_on_with_the_one_before(kind: str) -> None:
    flow = only_flow(
        sent(1, A, SYN, 10),
        sent(2, B, SYN_ACK, 90, 11),
        TsharkStray(3, 1, kind, A, B),
        sent(4, A, ACK, 11, 91, stream=1),
        sent(5, B, FIN, stream=1),
    )
    assert (flow.streams, flow.strays) == ((0, 1), {kind: 3})
    assert frames(flow) == {"syn": 1, "syn_ack": 2, "ack": 4, "server_fin": 5}


def test_a_new_connection_after_a_stray_is_a_new_one() -> None:
    flows = collect(sent(1, A, SYN, 10), TsharkStray(2, 1, ICMP_QUOTE), sent(3, A, SYN, 500, stream=1)).flows()
    assert [flow.streams for flow in flows] == [(0,), (1,)]


def test_an_icmp_error_alone_is_no_flow_but_a_damaged_header_is_one_of_tsharks() -> None:
    assert collect(TsharkStray(1, 0, ICMP_QUOTE)).flows() == []
    flow = only_flow(TsharkStray(1, 0, DAMAGED_HEADER, A, B))
    assert (flow.client, flow.strays, frames(flow)) == (A, {DAMAGED_HEADER: 1}, {})


def test_an_icmp_error_within_a_stream_changes_nothing() -> None:
    assert only_flow(sent(1, A, SYN, 10), TsharkStray(2, 0, ICMP_QUOTE), sent(3, A, SYN, 10)).strays == {}


def test_what_has_to_be_asked_for_later() -> None:
    streams = collect(
        sent(1, A, SYN, 10),
        sent(2, B, SYN_ACK, 90, 11),
        sent(9, A, ACK, 700, 1500, Message(7, 9, CLIENT_HELLO)),
    )
    assert _late_filters(streams) == [
        "frame.number in {7}",
        "tcp.stream in {0} && tcp.flags.ack == 1 && tcp.flags.syn == 0 && tcp.flags.reset == 0",
    ]
    streams.add_late(sent(7, A, ACK, 11, 91))
    streams.add_late(sent(7, A, ACK, 11, 91))
    (flow,) = streams.flows()
    assert flow.events["ack"] == flow.events["client_hello_first"] == Seen(7, 7000)
    assert _late_filters(collect(sent(1, A, SYN, 10), sent(2, B, SYN_ACK, 90, 11), sent(3, A, ACK, 11, 91))) == []


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1737577691.633804000", 1_737_577_691_633_804_000),
        ("18446744073204.160194000", 18_446_744_073_204_160_194_000),
        ("-2.500000000", -2_500_000_000),
        ("-0.500000000", -500_000_000),
        ("3", 3_000_000_000),
    ],
)
def test_stamps(text: str, ns: int) -> None:
    assert epoch_ns(text) == ns


def test_the_ack_is_looked_for_where_syn_acks_differ() -> None:
    """tshark counts from the latest SYN-ACK then, and its filter finds another segment first, or none."""
    begun = [sent(1, A, SYN, 10), sent(2, B, SYN_ACK, 90, 11), sent(3, B, SYN_ACK, 700, 11)]
    streams = collect(*begun, sent(5, A, ACK, 11, 91))
    assert streams.unacknowledged() == [0]
    streams.add_late(sent(4, A, ACK, 11, 91))
    assert frames(streams.flows()[0])["ack"] == 4
    assert collect(*begun[:2], sent(5, A, ACK, 11, 91)).unacknowledged() == []
