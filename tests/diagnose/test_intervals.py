"""Intervals: closed, open, stalled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_support import (
    ACK,
    FIN,
    FINISHED,
    FLIGHT,
    HELLO,
    MS,
    PSH,
    RST,
    SECOND,
    START_NS,
    SYN,
    Road,
    client_hello,
    flows_of,
    record,
    server_hello,
)

from pcapstall.diagnose.further import choose, others_over
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.thresholds import NAMES, make_thresholds
from pcapstall.flows.flow import Flow
from pcapstall.report.thresholds import parse_thresholds


def measured(road: Road, at: str = "client", until_ns: int = 0, slow: tuple[str, ...] = ()) -> Intervals:
    (flow,) = flows_of(road.captured(at))
    intervals = Intervals()
    intervals.measure(flow, START_NS + until_ns if until_ns else flow.last_ns)
    intervals.judge(make_thresholds(parse_thresholds(slow)), 0)
    return intervals


def lengths(intervals: Intervals) -> dict[str, int]:
    return {name: ns for name, ns in intervals.closed().items() if ns is not None}


def test_a_whole_handshake() -> None:
    road = Road()
    ack = road.handshake()
    hello = ack + 20 * MS
    road.c(hello, PSH | ACK, HELLO)
    road.s(hello + 5 * MS, ack=len(HELLO))
    road.s(hello + 8 * MS, PSH | ACK, FLIGHT, ack=len(HELLO))
    road.c(hello + 30 * MS, PSH | ACK, FINISHED, offset=len(HELLO), ack=len(FLIGHT))
    road.c(hello + 40 * MS, FIN | ACK, offset=len(HELLO + FINISHED), ack=len(FLIGHT))
    assert lengths(measured(road)) == {
        "syn_synack": 10_030_000,
        "synack_ack": 30_000,
        "ack_ch": 20 * MS,
        "ch_span": 0,
        "ch_ack": 10 * MS,
        "ch_sh": 13 * MS,
        "sh_cfin": 17 * MS,
        "ch_fin": 40 * MS,
        "ch_close": 40 * MS,
    }
    assert measured(road).open() == {}
    assert measured(road).stalled_name() is None


def test_hello_after_the_servers_fin_ends_ack_ch() -> None:
    """The client is silent for 52 s; that the server closed at 10 s does not make it 10."""
    road = Road()
    ack = road.handshake()
    road.s(ack + 10 * SECOND, FIN | ACK)
    road.c(ack + 10 * SECOND + 5 * MS, ack=1)
    road.c(ack + 52 * SECOND, PSH | ACK, HELLO, ack=1)
    road.s(ack + 52 * SECOND + 5 * MS, RST, offset=1, ack=None)
    intervals = measured(road)
    assert lengths(intervals) == {
        "syn_synack": 10_030_000,
        "synack_ack": 30_000,
        "ack_ch": 52 * SECOND,
        "ch_span": 0,
        "ch_fin": -42 * SECOND + 5 * MS,
        "ch_close": -42 * SECOND + 5 * MS,
        "ack_close": 10 * SECOND + 5 * MS,
    }
    assert intervals.open() == {}
    assert (intervals.stalled_name(), intervals.stalled_is_open) == ("ack_ch", False)


@pytest.mark.parametrize("close", [FIN | ACK, RST | ACK])
def test_without_a_hello_ack_ch_is_open_to_the_close(close: int) -> None:
    road = Road()
    ack = road.handshake()
    road.s(ack + 10 * SECOND, close)
    road.c(ack + 20 * SECOND, FIN | ACK, ack=1)
    intervals = measured(road, until_ns=100 * SECOND)
    assert intervals.open() == {"ack_ch": 10 * SECOND + 5 * MS}
    assert intervals.closed()["ack_close"] == 10 * SECOND + 5 * MS
    assert not intervals.cut_by_capture


def test_open_to_the_end_of_the_capture() -> None:
    road = Road()
    ack = road.handshake()
    intervals = measured(road, until_ns=ack + 60 * SECOND)
    assert intervals.open() == {"ack_ch": 60 * SECOND}
    assert intervals.cut_by_capture
    assert (intervals.stalled_name(), intervals.stalled_ns) == ("ack_ch", 60 * SECOND)


def test_unanswered_hello() -> None:
    road = Road()
    ack = road.handshake()
    road.c(ack, PSH | ACK, HELLO)
    road.s(ack + 5 * MS, ack=len(HELLO))
    road.c(ack + 4 * SECOND, FIN | ACK, offset=len(HELLO))
    intervals = measured(road)
    assert intervals.open() == {"ch_sh": 4 * SECOND}
    assert intervals.closed()["ch_ack"] == 10 * MS


def test_syn_that_nobody_answers_is_open_to_the_last_one() -> None:
    road = Road()
    for at in (0, 1, 3, 7):
        road.c(at * SECOND, SYN)
    intervals = measured(road, until_ns=60 * SECOND)
    assert intervals.open() == {"syn_synack": 7 * SECOND}
    assert not intervals.cut_by_capture
    assert measured(road, until_ns=8 * SECOND).cut_by_capture


def test_missing_first_segment_opens_ch_span_at_the_second() -> None:
    """The first segment of a big hello never comes: that the hello had begun is known, when it began is not."""
    hello = client_hello(1800)
    road = Road()
    ack = road.handshake()
    road.c(ack + 10 * MS, ACK, hello[:1448], lost_at=0.9)
    road.c(ack + 10 * MS, PSH | ACK, hello[1448:], offset=1448)
    road.s(ack + 15 * MS, ack=0, sack=[(1448, len(hello))])
    road.s(ack + 5 * SECOND, FIN | ACK, ack=0)
    intervals = measured(road, "server")
    assert intervals.open() == {"ch_span": 5 * SECOND - 15 * MS}
    assert intervals.closed()["ack_ch"] is None


def test_missing_second_segment_closes_ack_ch() -> None:
    hello = client_hello(1800)
    road = Road()
    ack = road.handshake()
    road.c(ack + 10 * MS, ACK, hello[:1448])
    road.c(ack + 10 * MS, PSH | ACK, hello[1448:], offset=1448, lost_at=0.9)
    road.s(ack + 15 * MS, ack=1448)
    road.s(ack + 5 * SECOND, FIN | ACK, ack=1448)
    intervals = measured(road, "server")
    assert intervals.open() == {"ch_span": 5 * SECOND - 15 * MS}
    assert intervals.closed()["ack_ch"] == 10 * MS


def test_a_server_hello_tells_of_a_hello_that_is_not_whole_in_the_capture() -> None:
    """What came to the close is then no wait for a ClientHello [ndpi tls_missing_ch_frag]."""
    hello = client_hello(1800)
    road = Road()
    ack = road.handshake()
    road.c(ack, ACK, hello[:1448])
    road.s(ack + 15 * MS, PSH | ACK, FLIGHT, ack=len(hello))
    road.c(ack + 5 * SECOND, FIN | ACK, offset=len(hello), ack=len(FLIGHT))
    closed = measured(road, "server").closed()
    assert (closed["ack_ch"], closed["ack_close"]) == (0, None)


def test_hello_retry_has_its_own_intervals() -> None:
    retry = server_hello(retry=True)
    road = Road()
    at = road.handshake()
    road.c(at, PSH | ACK, HELLO)
    road.s(at + 6 * MS, PSH | ACK, retry, ack=len(HELLO))
    road.c(at + 1511 * MS, PSH | ACK, HELLO, offset=len(HELLO), ack=len(retry))
    road.s(at + 3516 * MS, PSH | ACK, FLIGHT, offset=len(retry), ack=2 * len(HELLO))
    intervals = measured(road)
    assert intervals.closed()["ch_sh"] == 11 * MS
    assert intervals.closed()["hrr_ch2"] == 1500 * MS
    assert intervals.closed()["ch2_sh"] == 2010 * MS
    assert intervals.stalled_name() == "ch2_sh"


def late_ack(ack_ns: int, hello_ns: int) -> Intervals:
    road = Road()
    at = road.handshake()
    road.c(at, PSH | ACK, HELLO)
    road.s(at + ack_ns, ack=len(HELLO))
    road.s(at + hello_ns, PSH | ACK, FLIGHT, ack=len(HELLO))
    return measured(road)


def test_ch_ack_beats_the_ch_sh_that_it_explains() -> None:
    assert late_ack(1700 * MS, 1710 * MS).stalled_name() == "ch_ack"
    assert late_ack(1700 * MS, 2600 * MS).stalled_name() == "ch_ack"
    assert late_ack(600 * MS, 2900 * MS).stalled_name() == "ch_sh"
    assert late_ack(400 * MS, 1100 * MS).stalled_name() == "ch_sh"


def others(intervals: Intervals, *slow: str) -> list[str]:
    return [NAMES[which] for which in others_over(intervals, make_thresholds(parse_thresholds(slow)), 0)]


def test_what_else_is_over_its_threshold() -> None:
    assert others(late_ack(1700 * MS, 1710 * MS)) == [], "the late ACK explains the late answer"
    assert others(late_ack(600 * MS, 2900 * MS)) == ["ch_ack"]
    assert others(late_ack(400 * MS, 1100 * MS)) == []
    assert others(late_ack(400 * MS, 1100 * MS), "ch_ack=300ms") == ["ch_ack"]
    assert others(late_ack(1700 * MS, 1710 * MS), "syn_synack=1ms") == ["syn_synack"]


@given(st.integers(0, 4000), st.integers(1, 4000))
def test_choosing_what_was_judged_worst_changes_nothing(ack_ms: int, more_ms: int) -> None:
    intervals = late_ack(ack_ms * MS, (ack_ms + more_ms) * MS)
    worst = intervals.stalled, intervals.stalled_ns, intervals.stalled_is_open
    if intervals.stalled >= 0:
        for which in (*others_over(intervals, make_thresholds(parse_thresholds(())), 0), intervals.stalled):
            choose(intervals, which)
        assert (intervals.stalled, intervals.stalled_ns, intervals.stalled_is_open) == worst


def test_ch_ack_is_measured_beyond_the_round_trip() -> None:
    intervals = late_ack(600 * MS, 610 * MS)
    assert intervals.stalled_name() == "ch_ack"
    assert not intervals.judge(make_thresholds(parse_thresholds(())), 200 * MS)


def test_thresholds_of_the_user() -> None:
    road = Road()
    at = road.handshake()
    road.c(at + 300 * MS, PSH | ACK, HELLO)
    road.s(at + 306 * MS, PSH | ACK, FLIGHT, ack=len(HELLO))
    assert measured(road).stalled_name() is None
    assert measured(road, slow=("ack_ch=200ms",)).stalled_name() == "ack_ch"
    assert make_thresholds(parse_thresholds(("ch_sh=50ms",))).least() == 50 * MS


def test_one_direction_opens_nothing() -> None:
    """A capture of the client's packets only: the server did answer, as the client's ACKs show."""
    road = Road()
    at = road.handshake()
    road.c(at, PSH | ACK, HELLO)
    road.c(at + 30 * SECOND, ACK, offset=len(HELLO), ack=900)
    for sent in road.sent:
        sent.dropped = not sent.from_client
    intervals = measured(road, until_ns=60 * SECOND)
    assert intervals.one_sided
    assert intervals.open() == {}


def test_acknowledged_bytes_that_were_not_captured_open_nothing() -> None:
    road = Road()
    at = road.handshake()
    road.c(at + 10 * MS, PSH | ACK, HELLO, dropped=True)
    road.s(at + 15 * MS, ack=len(HELLO))
    intervals = measured(road, until_ns=60 * SECOND)
    assert intervals.open() == {}


def test_an_alert_ends_the_wait() -> None:
    """A server that refuses the hello and keeps the connection owes nothing more."""
    road = Road()
    at = road.handshake()
    road.c(at, PSH | ACK, HELLO)
    road.s(at + 20 * MS, PSH | ACK, record(21, b"\x02\x28"), ack=len(HELLO))
    intervals = measured(road, until_ns=60 * SECOND)
    assert intervals.open() == {"ch_sh": 25 * MS}


def test_what_is_no_tls_has_no_open_intervals() -> None:
    road = Road()
    at = road.handshake()
    road.c(at, PSH | ACK, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    road.s(at + 6 * MS, PSH | ACK, b"HTTP/1.1 200 OK\r\n\r\n", ack=27)
    assert measured(road, until_ns=60 * SECOND).open() == {}


@given(st.lists(st.integers(0, 40), min_size=12, max_size=12), st.integers(-(10**17), 10**17))
def test_intervals_only_know_differences(steps: list[int], shift: int) -> None:
    """Shifting all events of a flow changes no interval, and each is the sum of what lies between its ends."""

    def flow_at(base: int) -> Flow:
        flow = Flow(b"\0" * 12, 1, base, 1)
        names = (
            "syn", "syn_ack", "ack", "client_hello_first", "client_hello_last", "client_hello_acked", "hello_retry",
            "client_hello2_first", "client_hello2_last", "server_hello_first", "server_hello_last", "client_finished",
        )  # fmt: skip
        ns = base
        for frame, (name, step) in enumerate(zip(names, steps, strict=True), 1):
            ns += step
            owner = flow.rare() if hasattr(flow.rare(), f"{name}_ns") else flow
            setattr(owner, f"{name}_ns", ns)
            setattr(owner, f"{name}_ref", frame)
        flow.last_ns = ns
        return flow

    first, second = Intervals(), Intervals()
    first.measure(flow_at(10**18), 0)
    second.measure(flow_at(10**18 + shift), 0)
    assert first.closed() == second.closed()
    assert first.ack_ch + first.ch_span + first.ch_ack == sum(steps[3:6])
    assert first.sh_cfin == sum(steps[10:12])
    assert ABSENT not in first.closed().values()
