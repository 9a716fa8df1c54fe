"""Two readings side by side: which stream is which flow, what is equal, what differs for a known reason or none."""

import pytest
from verify_support import client_hello, handshake, pieces, record, write

from pcapstall.pipeline import Options, analyse
from pcapstall.pipeline.trust.unread_linktypes import unread_linktypes
from pcapstall.report import known_differences
from pcapstall.report.comparison import compare, compare_flow
from pcapstall.report.comparison_model import COMPARED_EVENTS, FlowComparison, Seen, SeenAlert, SeenFlow
from pcapstall.report.comparison_text import seconds_text
from pcapstall.report.flow_model import AlertReport, FlowReport


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> FlowReport:
    """A flow with a handshake and a ClientHello."""
    path = tmp_path_factory.mktemp("capture") / "a.pcap"
    (flow,) = analyse(
        [write(path, handshake() + pieces(record(client_hello()), [(0, 700)]))], Options(all_flows=True)
    ).report.flows
    return flow


@pytest.fixture
def theirs(ours: FlowReport) -> SeenFlow:
    """tshark's reading of it, the same in everything."""
    events = {name: (found := ours.events[name]) and Seen(found.frame, found.ns) for name in COMPARED_EVENTS}
    return SeenFlow((0,), ours.client, ours.server, "syn", ours.first_frame, ours.sni, None, events, {})


def kinds(flow: FlowComparison) -> dict[str, str | None]:
    return {value.name: value.why for value in flow.differences}


def with_event(flow: SeenFlow, name: str, event: Seen | None) -> SeenFlow:
    return flow._replace(events={**flow.events, name: event})


def test_equal(ours: FlowReport, theirs: SeenFlow) -> None:
    found = compare_flow(ours, theirs)
    assert kinds(found) == {}
    assert [value.name for value in found.values] == [
        "endpoints", "sni", "syn", "syn_ack", "ack", "client_hello_first", "client_hello_last",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["syn", "client_hello_last", "server_fin"])
def test_another_frame_and_another_time_are_unexplained(name: str, ours: FlowReport, theirs: SeenFlow) -> None:
    assert kinds(compare_flow(ours, with_event(theirs, name, Seen(99, 5)))) == {name: None}
    event = ours.events[name]
    if event is not None:
        assert kinds(compare_flow(ours, with_event(theirs, name, Seen(event.frame, event.ns + 1)))) == {name: None}


def test_other_words_are_unexplained(ours: FlowReport, theirs: SeenFlow) -> None:
    other = theirs._replace(sni=None, version="TLS 1.2", alerts=[SeenAlert("server", "fatal", "unknown_ca", 7)])
    assert kinds(compare_flow(ours, other)) == {"sni": None, "tls_version": None, "alerts": None}


def test_an_inferred_alert_is_not_compared(ours: FlowReport, theirs: SeenFlow) -> None:
    assert kinds(compare_flow(ours._replace(alerts=[AlertReport("client", None, None, True, 5, 0)]), theirs)) == {}


def test_a_guessed_direction_is_known_and_the_sides_are_compared_after_it(ours: FlowReport, theirs: SeenFlow) -> None:
    fin = Seen(9, 9)
    other = with_event(theirs._replace(client=theirs.server, server=theirs.client), "client_fin", fin)
    mine = ours._replace(events={**ours.events, "server_fin": ours.events["syn"]._replace(frame=9, ns=9)})  # type: ignore[union-attr]
    assert kinds(compare_flow(mine, other._replace(direction_source="first_seen"))) == {
        "endpoints": "midstream_direction"
    }
    assert kinds(compare_flow(mine, other)) == {"endpoints": None}


def test_rejected_syn_data_is_known_only_where_it_was_rejected(ours: FlowReport, theirs: SeenFlow) -> None:
    other = with_event(theirs, "client_hello_first", theirs.events["syn"])
    assert kinds(compare_flow(ours._replace(syn_data="rejected"), other)) == {"client_hello_first": "rejected_syn_data"}
    assert kinds(compare_flow(ours, other)) == {"client_hello_first": None}


def test_a_fin_in_a_reset(ours: FlowReport, theirs: SeenFlow) -> None:
    both = with_event(with_event(theirs, "server_fin", Seen(9, 9)), "server_rst", Seen(9, 9))
    assert kinds(compare_flow(ours, both)) == {"server_fin": "fin_in_rst", "server_rst": None}


def test_a_stamp_beyond_64_bits(ours: FlowReport, theirs: SeenFlow) -> None:
    event = ours.events["syn"]
    assert event is not None
    negative = ours._replace(events={**ours.events, "syn": event._replace(ns=-5)})
    assert kinds(compare_flow(negative, with_event(theirs, "syn", Seen(1, (1 << 64) - 5)))) == {"syn": "unsigned_stamp"}
    assert kinds(compare_flow(ours, with_event(theirs, "syn", Seen(1, (1 << 64) - 5)))) == {"syn": None}


def test_another_copy_of_a_packet(ours: FlowReport, theirs: SeenFlow) -> None:
    event = ours.events["syn_ack"]
    assert event is not None
    copied = ours._replace(flags=[*ours.flags, "copies"])
    near, far = Seen(event.frame - 1, event.ns - 200_000), Seen(event.frame - 1, event.ns - 60_000_000)
    assert kinds(compare_flow(copied, with_event(theirs, "syn_ack", near))) == {"syn_ack": "copies"}
    assert kinds(compare_flow(copied, with_event(theirs, "syn_ack", far))) == {"syn_ack": None}
    assert kinds(compare_flow(ours, with_event(theirs, "syn_ack", near))) == {"syn_ack": None}


def test_a_packet_without_a_stamp(ours: FlowReport, theirs: SeenFlow) -> None:
    event = ours.events["syn"]
    assert event is not None
    assert kinds(compare_flow(ours, with_event(theirs, "syn", Seen(event.frame, 0)))) == {"syn": "no_stamp"}
    assert kinds(compare_flow(ours, with_event(theirs, "syn", Seen(9, 0)))) == {"syn": None}


@pytest.mark.parametrize("kind", [known_differences.ICMP_QUOTE, known_differences.DAMAGED_HEADER])
def test_streams_that_tshark_split(kind: str, ours: FlowReport, theirs: SeenFlow) -> None:
    assert kinds(compare_flow(ours, theirs._replace(streams=(0, 4), strays={kind: 3}))) == {"streams": kind}
    assert kinds(compare_flow(ours, theirs._replace(streams=(0, 4)))) == {"streams": None}


def test_flows_of_the_same_endpoints_are_told_apart_by_their_first_frames(ours: FlowReport, theirs: SeenFlow) -> None:
    rows = [ours._replace(id=number, first_frame=frame) for number, frame in ((1, 1), (2, 20), (3, 30))]
    streams = [theirs._replace(streams=(number,), first_frame=frame) for number, frame in ((0, 1), (1, 20), (2, 31))]
    assert [(flow.ours and flow.ours.id, flow.theirs and flow.theirs.streams) for flow in compare(rows, streams)] == [
        (1, (0,)), (2, (1,)), (3, (2,)),
    ]  # fmt: skip


def test_what_only_one_of_them_has(ours: FlowReport, theirs: SeenFlow) -> None:
    other = theirs._replace(streams=(7,), client="10.0.0.9:1", first_frame=50)
    found = compare([ours], [other])
    assert [(flow.ours is None, flow.theirs is None, kinds(flow)) for flow in found] == [
        (False, True, {"flow": None}),
        (True, False, {"flow": None}),
    ]
    assert kinds(compare([], [other], known_differences.UNKNOWN_LINK_TYPE)[0]) == {"flow": "unknown_link_type"}


def test_a_second_stream_of_one_flow_is_unexplained(ours: FlowReport, theirs: SeenFlow) -> None:
    found = compare([ours], [theirs, theirs._replace(streams=(1,), first_frame=9)])
    assert [kinds(flow) for flow in found] == [{}, {"flow": None}]


def test_every_reason_is_a_sentence() -> None:
    for known in known_differences.KNOWN.values():
        assert known.reason.endswith(".")
        assert len(known.reason) < 260


def test_link_types_that_are_not_read() -> None:
    assert unread_linktypes(["EN10MB", "FDDI", "LINUX_SLL2", "LINKTYPE_4711", "RAW"]) == ["FDDI", "LINKTYPE_4711"]


@pytest.mark.parametrize(
    ("ns", "text"), [(0, "0.000000"), (-1_500_000, "-0.001500"), (1_000_000_001, "1.000000001"), (10**9, "1.000000")]
)
def test_seconds(ns: int, text: str) -> None:
    assert seconds_text(ns) == text
