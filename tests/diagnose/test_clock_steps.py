"""Captures whose clock is set while they run, and what else looks so: slow clocks, silence, packets held up."""

import pytest
from test_verdicts import HELLO, WHERE, answer, found, merged, silent_client, verdict
from wire_support import ACK, MS, PSH, SECOND, Road, reports

from pcapstall.report.flow_model import FlowReport
from pcapstall.wire.segment import Segment

STEPPED = ("ack_ch", "capture", "clock_step", "medium")


def prompt(**road: object) -> Road:
    """A client that says hello 20 ms after the handshake, and no stall."""
    made = Road(**road)  # type: ignore[arg-type]
    ack = made.handshake()
    made.c(ack + 20 * MS, PSH | ACK, HELLO)
    answer(made, ack + 20 * MS)
    return made


def set_forward(segments: list[Segment], by_ns: int = 5 * SECOND) -> list[Segment]:
    """The clock is set before each first hello of a client."""
    hellos = [segment.ts_ns for segment in segments if segment.payload_len == len(HELLO)]
    for segment in segments:
        if segment.ts_ns >= hellos[0]:
            segment.ts_ns += by_ns
    return segments


def one(segments: list[Segment]) -> FlowReport:
    (row,) = reports(segments)
    return row


@pytest.mark.parametrize("at", WHERE)
def test_the_timestamps_of_both_hosts_tell_a_step(at: str) -> None:
    row = one(set_forward(prompt().captured(at)))
    assert found(row) == STEPPED
    assert row.side is None
    parts = row.parts_ns["ack_ch"]
    assert set(parts) == {"unknown", "capture"}
    assert parts["capture"] > 9 * parts["unknown"]
    assert len(row.evidence) == 2
    assert row.would_settle == "a capture whose clock did not step"


@pytest.mark.parametrize("at", WHERE)
def test_no_step_of_less_than_the_threshold_makes_a_stall(at: str) -> None:
    assert one(set_forward(prompt().captured(at), 500 * MS)).stalled is None


def test_a_step_shorter_than_the_silence_leaves_it_a_silence_but_not_for_certain() -> None:
    row = one(set_forward(silent_client().captured("client"), 2 * SECOND))
    assert found(row) == ("ack_ch", "client_process", "client_silent", "medium")
    assert row.would_settle == "a capture whose clock did not step"


def test_without_timestamps_a_step_is_a_silence() -> None:
    """Nothing in the packets tells them apart: docs/undecided.md says so."""
    row = one(set_forward(prompt(timestamps=False).captured("client")))
    assert found(row) == ("ack_ch", "client_process", "client_silent", "high")


def test_without_timestamps_another_connection_tells() -> None:
    bare = prompt(timestamps=False, client=bytes([10, 0, 0, 3])).captured("client")
    stamped = prompt(client_port=40500).captured("client")
    for segment in stamped:
        segment.ts_ns += MS
    first, second = reports(set_forward(merged(bare, stamped)))
    assert found(first) == found(second) == STEPPED
    assert first.verdict is not None
    assert first.verdict.endswith("of another connection")
    assert first.evidence[0].frames == second.evidence[0].frames


def test_a_connection_at_another_time_tells_nothing() -> None:
    bare = prompt(timestamps=False, client=bytes([10, 0, 0, 3])).captured("client")
    stamped = set_forward(prompt(client_port=40500).captured("client"))
    for segment in stamped:
        segment.ts_ns += 20 * SECOND
    first, second = reports(merged(set_forward(bare), stamped))
    assert found(first) == ("ack_ch", "client_process", "client_silent", "high")
    assert found(second) == STEPPED


def test_a_slow_clock_that_nothing_else_tells_of_may_be_a_step() -> None:
    """A hundred ticks a second are also what the usual clock makes if nine tenths of the time did not go by."""
    slow = silent_client(tick_hz=100).captured("client")[:6]
    assert found(one(slow)) == ("ack_ch", "client_process", "client_silent", "medium")
    assert found(one(silent_client(tick_hz=100).captured("client")))[3] == "high", "later segments tell its rate"


def test_timestamps_that_stand_still_are_no_clock() -> None:
    road = silent_client()
    for sent in road.sent:
        if sent.from_client:
            sent.tsval = 7
    row = verdict(road, "client")
    assert found(row) == ("ack_ch", "client_process", "client_silent", "medium")
