"""Simulated conversations, whose truth is known to the nanosecond, captured at both ends: party, way, parts."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "diagnose"))

import test_verdicts as talks
from hypothesis import given
from hypothesis import strategies as st
from wire_support import ACK, FIN, FLIGHT, HELLO, MS, PSH, SECOND, Road

from pcapstall.capture.source import Stop
from pcapstall.diagnose.thresholds import make_thresholds
from pcapstall.diagnose.two_ends.clock import clock_of
from pcapstall.diagnose.two_ends.judge import judge
from pcapstall.diagnose.two_ends.losses import tally
from pcapstall.diagnose.two_ends.pairing import pair_flows
from pcapstall.diagnose.two_ends.scene import Scene, Span, event_samples
from pcapstall.diagnose.two_ends.verdict import TwoVerdict
from pcapstall.flows.table import FlowTable
from pcapstall.pipeline.findings import Findings
from pcapstall.pipeline.scan.collect import Collector
from pcapstall.report.thresholds import parse_thresholds


def findings(road: Road, at: str, clock: Callable[[int], int]) -> tuple[Findings, Span]:
    segments = road.captured(at)
    collector = Collector(make_thresholds(parse_thresholds(())), True)
    table = FlowTable(collector, collector.thresholds.least())
    for segment in segments:
        segment.ts_ns = clock(segment.ts_ns)
        table.limits.kept_keys.add(segment.key)
        table.add(segment)
    collector.watched_until = [segments[-1].ts_ns]
    table.finish()
    found = Findings(collector, "", frozenset(), True)
    found.settle(Stop())
    return found, Span(segments[0].ts_ns - 10 * SECOND, segments[-1].ts_ns + 10 * SECOND)


def judged(
    road: Road, clock: Callable[[int], int] = int, server_road: Road | None = None
) -> tuple[TwoVerdict | None, Scene]:
    """The verdict on the one connection; the server's capture has another ``clock``, and may show other frames."""
    client, client_span = findings(road, "client", int)
    server, server_span = findings(server_road or road, "server", clock)
    (pair,) = pair_flows(client.flows(), server.flows()).pairs
    scene = Scene(
        pair,
        client.case(pair.client),
        server.case(pair.server),
        clock_of(event_samples(pair)),
        (client_span, server_span),
    )
    verdict = judge(scene)
    if verdict is not None and verdict.parts:
        assert sum(verdict.parts.values()) == scene.case.length_ns
        assert min(verdict.parts.values()) >= 0
    return verdict, scene


def finished_lost() -> Road:
    """The client's Finished is lost twice."""
    road = Road()
    ack = road.handshake()
    hello = ack + 10 * MS
    road.c(hello, PSH | ACK, HELLO)
    road.s(hello + 5 * MS, ack=len(HELLO))
    road.s(hello + 6 * MS, PSH | ACK, FLIGHT, ack=len(HELLO))
    done = hello + 12 * MS
    for at in (done, done + 300 * MS):
        road.c(at, PSH | ACK, talks.FINISHED, offset=len(HELLO), ack=len(FLIGHT), lost_at=0.5)
    talks.finish(road, done + 1500 * MS)
    return road


def hello_cut_in_two() -> Road:
    """The second half of a long hello is written 2 s after the first."""
    road = Road()
    ack = road.handshake()
    hello = talks.client_hello(2000)
    road.c(ack + MS, PSH | ACK, hello[:1000])
    road.s(ack + 6 * MS, ack=1000)
    road.c(ack + 2 * SECOND, PSH | ACK, hello[1000:], offset=1000)
    talks.answer(road, ack + 2 * SECOND, hello=hello)
    return road


def no_answer() -> Road:
    """The server has the hello and never answers; the client leaves after 8 s."""
    road = Road()
    ack = road.handshake()
    road.c(ack + MS, PSH | ACK, HELLO)
    road.s(ack + 6 * MS, ack=len(HELLO))
    road.c(ack + 8 * SECOND, FIN | ACK, offset=len(HELLO))
    road.s(ack + 8 * SECOND + 5 * MS, ack=len(HELLO) + 1)
    return road


def long_talk(joined: bool, finished: bool) -> Road:
    """Sixty commands and STARTTLS, the hello 3 s later; ``joined``: a command's two segments are one frame (GRO)."""
    road = Road(server_port=25)
    now = road.handshake() + MS
    greeting = b"220 hi\r\n"
    road.s(now, PSH | ACK, greeting)
    sent, came = 0, len(greeting)

    def command(text: bytes, answer: bytes) -> None:
        nonlocal now, sent, came
        now += 20 * MS
        if joined:
            road.c(now, PSH | ACK, text, offset=sent, ack=came)
            road._ids[True] += 1
        else:
            road.c(now, PSH | ACK, text[:7], offset=sent, ack=came)
            road.c(now + 10_000, PSH | ACK, text[7:], offset=sent + 7, ack=came)
        sent += len(text)
        now += 20 * MS
        road.s(now, PSH | ACK, answer, offset=came, ack=sent)
        came += len(answer)

    for number in range(60):
        command(b"NOOP %03d.....\r\n" % number, b"250 ok\r\n")
    command(b"STARTTLS......\r\n", b"220 go\r\n")
    road.c(now + 10 * MS, offset=sent, ack=came)
    now += 3 * SECOND
    road.c(now, PSH | ACK, HELLO, offset=sent, ack=came)
    sent += len(HELLO)
    road.s(now + 5 * MS, offset=came, ack=sent)
    if finished:
        road.s(now + 6 * MS, PSH | ACK, FLIGHT, offset=came, ack=sent)
        came += len(FLIGHT)
        road.c(now + 12 * MS, PSH | ACK, talks.FINISHED, offset=sent, ack=came)
    return road


@pytest.mark.parametrize("finished", [False, True])
def test_segments_that_were_not_noted_are_not_lost(finished: bool) -> None:
    """Both captures leave out their middle, each another one."""
    verdict, scene = judged(long_talk(False, finished), server_road=long_talk(True, finished))
    assert scene.client.history.is_cut
    assert scene.server.history.is_cut
    for direction in (scene.crossings.to_server, scene.crossings.to_client):
        counted = tally(direction)
        assert (counted.lost, counted.missed, counted.foreign) == ((), 0, ())
        assert counted.sent >= 20
    assert verdict is not None
    assert (verdict.cause, verdict.confidence) == ("client_process", "medium")
    assert "of a handshake of so many packets some in the middle are not looked at" in verdict.would_settle
    assert verdict.parts["client_process"] > 3 * SECOND
    # How long which side took between what was noted is not known.
    assert SECOND < verdict.parts["unknown"] < 2 * SECOND


def test_a_loss_behind_what_was_left_out_is_one() -> None:
    road, server_road = long_talk(False, True), long_talk(True, True)
    for each in (road, server_road):
        hello = next(sent for sent in each.sent if sent.payload == HELLO)
        again = replace(hello, ns=hello.ns - 2 * SECOND, ip_id=9999, lost_at=0.5)
        each.sent.insert(each.sent.index(hello), again)
    verdict, scene = judged(road, server_road=server_road)
    assert [piece.end - piece.start for piece in tally(scene.crossings.to_server).lost] == [len(HELLO)]
    assert verdict is not None


ROADS: dict[str, tuple[Callable[..., Road], str]] = {
    "silent client": (talks.silent_client, "client_process"),
    "slow server": (talks.slow_server, "server_process"),
    "hello lost": (talks.lost_hello, "network_to_server"),
    "server hello lost": (talks.lost_server_hello, "network_to_client"),
    "black hole": (talks.black_hole, "network_to_server"),
    "SYN lost": (lambda: talks.lost_syn(False), "network_to_server"),
    "SYN-ACK lost": (lambda: talks.lost_syn(True), "network_to_client"),
    "proxy": (lambda: talks.connect(2 * SECOND, 3 * MS), "server_process"),
    "Finished lost": (finished_lost, "network_to_server"),
    "hello cut in two": (hello_cut_in_two, "client_process"),
    "no answer": (no_answer, "server_process"),
    "silent client, random IDs": (lambda: talks.silent_client(counts_ids=False), "client_process"),
    "slow server, random IDs": (lambda: talks.slow_server(counts_ids=False), "server_process"),
    "server hello lost, random IDs": (lambda: talks.lost_server_hello(counts_ids=False), "network_to_client"),
    "silent client, no timestamps": (lambda: talks.silent_client(timestamps=False), "client_process"),
}


@pytest.mark.parametrize("name", ROADS)
def test_the_party_and_the_way(name: str) -> None:
    make, cause = ROADS[name]
    verdict, scene = judged(make())
    assert verdict is not None
    assert verdict.cause == cause, verdict.sentence
    assert verdict.confidence == "high" or scene.case.is_open, verdict.would_settle
    assert 2 * verdict.parts[cause] > scene.case.length_ns


@given(st.sampled_from(sorted(ROADS)), st.integers(-(10**12), 10**12), st.integers(-80_000, 80_000))
def test_another_clock_names_the_same_party(name: str, offset_ns: int, drift_ppb: int) -> None:
    make, cause = ROADS[name]
    road = make()
    start = road.sent[0].ns
    verdict, _ = judged(road, lambda ns: ns + offset_ns + (ns - start) * drift_ppb // 10**9)
    assert verdict is not None
    assert verdict.cause == cause, verdict.sentence


def repeated_hello() -> Road:
    """The ACK of the hello is lost, so it is sent again."""
    road = Road()
    ack = road.handshake()
    road.c(ack + 10 * MS, PSH | ACK, HELLO)
    road.s(ack + 15 * MS, ack=len(HELLO), lost_at=0.5)
    road.c(ack + SECOND, PSH | ACK, HELLO)
    talks.answer(road, ack + 2 * SECOND)
    return road


LACKING: dict[str, tuple[Callable[[], Road], int]] = {
    "the bare ACK": (talks.silent_client, 2),
    "the bare ACK of a talk": (lambda: long_talk(False, True), 2),
    "the hello": (talks.silent_client, 3),
    "a hello that was repeated": (repeated_hello, 3),
}
"""Which of the segments that were sent the capture at the client lacks."""


@pytest.mark.parametrize("name", LACKING)
def test_what_a_capture_lacks_bounds_no_clock(name: str) -> None:
    """Nothing came before it had left, and nothing took longer than it did."""
    make, lacking = LACKING[name]
    road = make()
    server, _ = findings(road, "server", int)
    road.sent[lacking].dropped = True
    client, _ = findings(road, "client", int)
    (pair,) = pair_flows(client.flows(), server.flows()).pairs
    found = event_samples(pair)
    assert found
    for sample in found:
        assert (sample.server_ns - sample.client_ns) * (1 if sample.to_server else -1) >= road.one_way_ns
