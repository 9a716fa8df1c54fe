"""Keys that both directions share, and the short cut past them."""

import struct

from flow_support import ACK, CLIENT, SECOND, SYN, Kept, Talk, between, to_segment
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.flows.flow import Flow
from pcapstall.flows.keys import reverse_key, segment_of, shared_key, v4_key
from pcapstall.flows.table import FlowTable
from pcapstall.wire.segment import Segment

KEYS = st.one_of(st.binary(min_size=12, max_size=12), st.binary(min_size=36, max_size=36))
PORTS = struct.pack(">HH", 40000, 443)


def v6_key(source: tuple[int, ...], destination: tuple[int, ...], ports: bytes = PORTS) -> bytes:
    return struct.pack(">8I", *source, *destination) + ports


# Two addresses whose endpoints are the same number: 1 << 9 in the third word is 1 << 9 in the first one.
TWIN, OTHER_TWIN = (0x20010DB8, 0, 1, 7), (0x20010DB8 ^ 1 << 9, 0, 0, 7)
SERVER_ADDRESS = (0x20010DB8, 0, 0, 0xFFFF)
V4 = CLIENT
FLOWS = (
    V4,
    V4[:3] + b"\xfe" + V4[4:],
    V4[:4] + V4[:4] + b"\x10\x00\x10\x00",
    v6_key(TWIN, SERVER_ADDRESS),
    v6_key(OTHER_TWIN, SERVER_ADDRESS),
    v6_key(SERVER_ADDRESS, SERVER_ADDRESS),
)


def located(key: bytes) -> Segment:
    talk = Talk()
    segment = to_segment(talk.client(flags=SYN), 1)
    between(segment, key)
    return segment


@given(KEYS)
def test_both_directions_share_one_of_their_keys(key: bytes) -> None:
    reverse = reverse_key(key)
    assert reverse_key(reverse) == key
    ways = [(way, segment_of(way)) for way in (key, reverse)]
    shared = {shared_key(way, segment.source, segment.destination) for way, segment in ways}
    assert len(shared) == 1
    assert shared <= {key, reverse}


@given(KEYS)
def test_a_segment_tells_its_key(key: bytes) -> None:
    segment = located(key)
    assert segment.key == key
    if len(key) == 12:
        assert v4_key(segment.source, segment.destination) == key


def test_the_twins_are_none_but_for_their_addresses() -> None:
    ours, theirs = located(FLOWS[3]), located(FLOWS[4])
    assert (ours.source, ours.destination) == (theirs.source, theirs.destination)
    assert ours.key != theirs.key


def facts(flow: Flow) -> tuple[object, ...]:
    return (
        flow.syn_ns, flow.syn_ack_ns, flow.ack_ns, flow.opener.packets, flow.answerer.packets,
        flow.opener.payload_bytes, flow.answerer.payload_bytes, flow.opener.fin_ns, flow.copies,
    )  # fmt: skip


@given(st.lists(st.integers(0, len(FLOWS) - 1), max_size=80), st.sampled_from([0, 2**32 - 3]))
def test_flows_are_the_same_however_they_are_mixed(order: list[int], isn: int) -> None:
    """Each flow finds its own halves, whatever else takes their places."""
    talks = []
    for key in FLOWS:
        talk = Talk(client_isn=isn)
        talk.handshake()
        for size in range(1, 5):
            talk.client(b"q" * size)
            if key[:4] != key[4:8]:
                talk.server(b"a" * size)
        talk.close()
        talks.append(talk)

    def run(turns: list[int]) -> dict[bytes, list[tuple[object, ...]]]:
        sink = Kept()
        table = FlowTable(sink, SECOND)
        sent = [0] * len(FLOWS)
        for number in turns:
            talk, key = talks[number], FLOWS[number]
            if sent[number] == len(talk.packets):
                continue
            packet = talk.packets[sent[number]]
            sent[number] += 1
            segment = to_segment(packet, 7)
            between(segment, key if packet.from_client else reverse_key(key))
            table.add(segment)
        table.finish()
        found: dict[bytes, list[tuple[object, ...]]] = {}
        for flow in sink.flows:
            found.setdefault(flow.key, []).append(facts(flow))
        return found

    assert run(order) == run(sorted(order))


def test_a_place_that_another_took_is_found_by_its_key() -> None:
    sink = Kept()
    table = FlowTable(sink, SECOND)
    twins = [located(FLOWS[3]), located(FLOWS[4])]
    for segment in twins:
        table.add(segment)
    for segment in twins * 2:
        segment.flags = ACK
        segment.seq += 1
        table.add(segment)
    table.finish()
    assert [flow.opener.packets for flow in sink.flows] == [3, 3]
