"""Copies of a packet at several interfaces, or on both sides of a router: one place is measured, never a mix."""

import pytest
from flow_support import (
    CHANGE_CIPHER_SPEC,
    FINISHED,
    HELLO_RETRY_RANDOM,
    MS,
    Kept,
    Talk,
    client_hello,
    record,
    server_hello,
    to_segment,
)

from pcapstall.core.frames import frame_of
from pcapstall.flows.flow import Flow
from pcapstall.flows.notebook import COPY
from pcapstall.flows.table import FlowTable
from pcapstall.wire.segment import Segment

POD, BRIDGE, NODE = 2, 4, 3
EVENTS = (
    "syn", "syn_ack", "ack", "client_hello_first", "client_hello_last", "client_hello_acked", "hello_retry",
    "client_hello2_first", "client_hello2_last", "server_hello_first", "server_hello_last", "server_flight_last",
    "client_finished",
)  # fmt: skip
HALF_EVENTS = ("app_data", "alert", "fin", "rst")


def conversation() -> Talk:
    talk = Talk()
    talk.handshake()
    hello = client_hello()
    talk.client(hello[:200])
    talk.client(hello[200:])
    talk.server()
    talk.server(server_hello(random=HELLO_RETRY_RANDOM))
    talk.client(CHANGE_CIPHER_SPEC + hello)
    flight = server_hello() + CHANGE_CIPHER_SPEC + record(23, b"c" * 900)
    talk.server(flight[:60])
    talk.server(flight[60:])
    talk.client(CHANGE_CIPHER_SPEC + FINISHED)
    talk.client(record(23, b"d" * 100))
    talk.server(record(23, b"e" * 100))
    talk.close()
    return talk


def copied(talk: Talk, places: tuple[int, ...], ttl_only: bool) -> list[Segment]:
    """Each packet at all ``places``: the client's in this order, the server's in the other one, a router behind."""
    found: list[Segment] = []
    for packet in talk.packets:
        way = places if packet.from_client else places[::-1]
        for step, place in enumerate(way):
            segment = to_segment(packet, len(found) + 1)
            segment.ts_ns += 5000 * step
            segment.interface = 0 if ttl_only else place
            segment.ttl = 64 - step
            found.append(segment)
    return found


def follow(segments: list[Segment]) -> Flow:
    sink = Kept()
    table = FlowTable(sink, MS)
    for segment in segments:
        table.add(segment)
    table.finish()
    (flow,) = sink.flows
    return flow


def events(flow: Flow) -> dict[str, tuple[int, int]]:
    found = {name: (getattr(flow, name + "_ns"), getattr(flow, name + "_ref")) for name in EVENTS}
    for side, half in ("client", flow.client()), ("server", flow.server()):
        found |= {f"{side}_{name}": (getattr(half, name + "_ns"), getattr(half, name + "_ref")) for name in HALF_EVENTS}
    return {name: event for name, event in found.items() if event[1]}


@pytest.mark.parametrize("places", [(POD, NODE), (POD, BRIDGE, NODE)])
@pytest.mark.parametrize("ttl_only", [False, True])
def test_all_events_are_those_of_the_place_nearest_the_client(places: tuple[int, ...], ttl_only: bool) -> None:
    talk = conversation()
    segments = copied(talk, places, ttl_only)
    near = []
    for index, segment in enumerate(segments):
        place = index % len(places)
        from_client = talk.packets[index // len(places)].from_client
        if place == (0 if from_client else len(places) - 1):
            near.append(segment)
    alone, all_of_them = follow(near), follow(segments)
    expected = {name: (ns, frame_of(ref)) for name, (ns, ref) in events(alone).items()}
    assert {name: (ns, frame_of(ref)) for name, (ns, ref) in events(all_of_them).items()} == expected
    assert len(expected) > 14
    assert all_of_them.copies == len(segments) - len(near)
    notes = all_of_them.notes()
    counted = {frame_of(note.ref) for note in notes if note.kind != COPY}
    assert counted <= {frame_of(segment.ref) for segment in near}
    assert [note.ns for note in notes] == sorted(note.ns for note in notes)


def test_a_mirror_that_doubles_packets_changes_nothing() -> None:
    """Both copies have one interface and one TTL: the first counts."""
    talk = conversation()
    segments = copied(talk, (POD, POD), ttl_only=True)
    for segment in segments:
        segment.ttl = 64
    assert events(follow(segments)) == events(follow(segments[::2]))


def test_a_flow_without_its_syn_is_measured_by_first_copies() -> None:
    talk = conversation()
    talk.packets = talk.packets[3:]
    segments = copied(talk, (POD, NODE), ttl_only=False)
    assert events(follow(segments)) == events(follow(segments[::2]))


def test_what_has_no_copy_is_measured_where_it_was_seen() -> None:
    """The client's interface lacks the server's direction."""
    talk = conversation()
    segments = [s for s in copied(talk, (POD, NODE), False) if s.interface == NODE or s.key[-2:] == b"\x01\xbb"]
    assert len(events(follow(segments))) == len(events(follow(copied(talk, (POD, NODE), False))))


def test_a_place_that_only_the_end_of_a_flow_passes_is_not_measured() -> None:
    """A router that sends a server's FIN on, and nothing before it."""
    talk = conversation()
    segments = [s for s in copied(talk, (POD, NODE), ttl_only=True) if s.ttl == 64 or s.flags & 1]
    first = [s for s in segments if s.ttl == 64]
    assert events(follow(segments)) == events(follow(first))
