"""Segments of which only the beginning was captured: their bytes came all the same, and so did the messages in them."""

from dataclasses import replace

import pytest
from flow_support import (
    ACK,
    CHANGE_CIPHER_SPEC,
    FIN,
    FINISHED,
    HELLO_RETRY_RANDOM,
    Talk,
    client_hello,
    only,
    record,
    server_hello,
)

from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.outcome import ESTABLISHED, Outcome
from pcapstall.flows.flow import FLAG_SNAPLEN_CUT, Flow

HELLO = client_hello()
EVENTS = (
    "client_hello_first", "client_hello_last", "client_hello_acked", "hello_retry", "client_hello2_first",
    "client_hello2_last", "server_hello_first", "server_hello_last", "client_finished",
)  # fmt: skip


def data_both_ways(talk: Talk) -> None:
    talk.client(record(23, b"d" * 100))
    talk.server(record(23, b"e" * 100))


def modern(talk: Talk, cuts: tuple[int, ...]) -> None:
    talk.handshake()
    for begin, end in zip((0, *cuts), (*cuts, len(HELLO)), strict=True):
        talk.client(HELLO[begin:end])
    talk.server()
    talk.server(server_hello(random=HELLO_RETRY_RANDOM))
    talk.client(CHANGE_CIPHER_SPEC + HELLO)
    talk.server(server_hello() + CHANGE_CIPHER_SPEC + record(23, b"c" * 900))
    talk.server(record(23, b"c" * 900))
    talk.client(CHANGE_CIPHER_SPEC + FINISHED)
    data_both_ways(talk)


def legacy(talk: Talk) -> None:
    talk.handshake()
    talk.client(HELLO)
    talk.server(server_hello(0x0303, more=b"\x0b\x00\x03\x00" + bytes(768)))
    talk.server(record(22, b"\x0e\x00\x00\x00"))
    talk.client(record(22, b"\x10\x00\x00\x02\x00\x00"))
    talk.client(CHANGE_CIPHER_SPEC + record(22, b"\x99" * 40))
    talk.server(CHANGE_CIPHER_SPEC + record(22, b"\x98" * 40))
    data_both_ways(talk)


def events(flow: Flow) -> dict[str, tuple[int, int]]:
    return {name: (getattr(flow, name + "_ns"), getattr(flow, name + "_ref")) for name in EVENTS}


def outcome_of(flow: Flow) -> tuple[Outcome, Intervals]:
    intervals, outcome = Intervals(), Outcome()
    intervals.measure(flow, flow.last_ns)
    outcome.judge(flow, intervals)
    return outcome, intervals


@pytest.mark.parametrize("captured_len", [18, 30, 60])
@pytest.mark.parametrize("shape", ["modern", "two segments", "legacy"])
def test_hellos_have_the_times_of_their_bytes(shape: str, captured_len: int) -> None:
    talk = Talk()
    if shape == "legacy":
        legacy(talk)
    else:
        modern(talk, (200,) if shape == "two segments" else ())
    whole = only(talk.packets)
    cut = only([replace(packet, captured_len=captured_len) for packet in talk.packets])
    expected = events(whole)
    if captured_len == 18 and shape != "legacy":
        # Three bytes of a random do not tell a HelloRetryRequest from a ServerHello.
        expected = {name: event for name, event in expected.items() if name.startswith("client_hello_")}
    assert {name: event for name, event in events(cut).items() if name in expected} == expected
    assert cut.flags & FLAG_SNAPLEN_CUT
    assert cut.client_hello is None
    outcome, intervals = outcome_of(cut)
    assert (outcome.tls, outcome.snaplen_cut) == (ESTABLISHED, True)
    assert intervals.open() == {}


def test_a_hello_with_a_lost_segment_is_partial_all_the_same() -> None:
    talk = Talk()
    talk.handshake()
    for begin in range(0, len(HELLO), 100):
        talk.client(HELLO[begin : begin + 100])
    talk.server(flags=FIN | ACK)
    del talk.packets[4]
    flow = only([replace(packet, captured_len=30) for packet in talk.packets])
    assert flow.client_hello_first_ref == 0
    assert flow.partial_hello_ref == 4


def test_what_was_cut_off_is_not_owed() -> None:
    """Nothing of a record is there, yet the side that owes one has sent something."""
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.server(server_hello() + record(23, b"c" * 900))
    talk.client(CHANGE_CIPHER_SPEC + FINISHED)
    talk.client(flags=FIN | ACK, after=60_000_000_000)
    for captured_len, hellos in (2, 0), (10, 1):
        flow = only([replace(packet, captured_len=captured_len) for packet in talk.packets])
        assert (flow.client_hello_first_ref != 0) == bool(hellos)
        assert outcome_of(flow)[1].open() == {}
