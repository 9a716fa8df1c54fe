"""One reader serves all flows: of a flow is told what is told of it alone, whoever is read between its segments."""

from dataclasses import replace
from itertools import pairwise
from random import Random

from flow_support import (
    CHANGE_CIPHER_SPEC,
    ENCRYPTED_ALERT,
    FINISHED,
    HELLO_RETRY_RANDOM,
    MS,
    SECOND,
    START_NS,
    Kept,
    Packet,
    Talk,
    client_hello,
    record,
    server_hello,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from test_between import feed
from test_packing import facts

from pcapstall.flows.flow import FLAG_CERTIFICATE, FLAG_UNREADABLE, IGNORED, NEVER, Flow
from pcapstall.flows.table import FlowTable
from pcapstall.wire.tls_hello import ServerHello

Cuts = tuple[tuple[int, int, int], ...]
"""Turn, record in it, byte in that."""

HELLO = client_hello()
DATA = record(23, b"d" * 700)
CERTIFICATE = b"\x0b\0\0\x40" + bytes(64)
DONE = b"\x0e\0\0\0"
KEY_EXCHANGE = record(22, b"\x10\0\0\x21" + bytes(33))
# What is encrypted may look like anything, here like a Certificate.
ENCRYPTED_FINISHED = record(22, b"\x0b\0\0\x24" + bytes(36))
OLD_ALERT = record(21, bytes(26))
SECOND_FLIGHT = CHANGE_CIPHER_SPEC + ENCRYPTED_FINISHED
NO_TLS = b"HTTP/1.1 400 Bad Request\r\n\r\n"
MODERN = (server_hello() + CHANGE_CIPHER_SPEC + DATA, CHANGE_CIPHER_SPEC + FINISHED + DATA, DATA, ENCRYPTED_ALERT)
# What server and client say in turn behind the ClientHello.
KINDS: dict[str, tuple[bytes, ...]] = {
    "1.3": MODERN,
    "1.3, asked again": (
        server_hello(random=HELLO_RETRY_RANDOM) + CHANGE_CIPHER_SPEC, CHANGE_CIPHER_SPEC + HELLO, *MODERN,
    ),
    "1.2": (
        server_hello(0x0303, more=CERTIFICATE + DONE), KEY_EXCHANGE + SECOND_FLIGHT, SECOND_FLIGHT + DATA,
        DATA + OLD_ALERT,
    ),
    "1.2, resumed": (server_hello(0x0303) + SECOND_FLIGHT, SECOND_FLIGHT + DATA, DATA, OLD_ALERT),
    "refused": (record(21, b"\2\x28"),),
    "no TLS": (server_hello(0x0303) + NO_TLS,),
    "no TLS in the end": (*MODERN, NO_TLS),
}  # fmt: skip


def starts_of(stream: bytes) -> list[int]:
    """Where its records begin."""
    starts = [0]
    while starts[-1] + 5 <= len(stream):
        starts.append(starts[-1] + 5 + int.from_bytes(stream[starts[-1] + 3 : starts[-1] + 5], "big"))
    return starts[:-1]


def packets_of(kind: str, cuts: Cuts = (), short: tuple[int, int] = (0, 0)) -> list[Packet]:
    """A flow, cut at these bytes of these records; of one segment (by its number) so many bytes were captured."""
    talk = Talk()
    talk.handshake()
    for turn, data in enumerate((HELLO, *KINDS[kind])):
        starts = starts_of(data)
        places = {starts[number % len(starts)] + within for its_turn, number, within in cuts if its_turn == turn}
        bounds = [0, *sorted(place for place in places if 0 < place < len(data)), len(data)]
        for start, end in pairwise(bounds):
            packet = talk.send(turn % 2 == 0, 0x18, data[start:end])
            if len(talk.packets) == short[0]:
                packet.captured_len = min(end - start, short[1])
    talk.close()
    return talk.packets


def told(flow: Flow) -> tuple[object, ...]:
    hello = flow.server_hello or ServerHello()
    client = flow.client_hello
    refs = (flow.client_hello_last_ref, flow.hello_retry_ref, flow.client_hello2_last_ref, flow.server_hello_last_ref)
    more = (flow.server_flight_last_ref, flow.client_finished_ref, flow.partial_hello_ref, flow.server_hello_end)
    chosen = (hello.length, hello.version, hello.cipher, hello.is_hello_retry, hello.session_id, hello.malformed)
    return facts(flow), refs, more, chosen, client is not None and client.sni


def flows_of(segments: list[tuple[int, int, Packet]]) -> dict[bytes, Flow]:
    """Of segments with the number of their flow and their frame."""
    sink = Kept()
    table = FlowTable(sink, SECOND)
    for number, frame, packet in segments:
        feed(table, packet, frame, number)
    table.finish()
    return {flow.key: flow for flow in sink.flows}


def mix(flows: list[list[Packet]], random: Random) -> list[tuple[int, int, Packet]]:
    """The segments of all flows, each flow's in their order."""
    waiting = {number: list(packets) for number, packets in enumerate(flows, 1)}
    mixed: list[tuple[int, int, Packet]] = []
    while waiting:
        number = random.choice(list(waiting))
        frame = len(mixed) + 1
        mixed.append((number, frame, replace(waiting[number].pop(0), ns=START_NS + frame * MS)))
        if not waiting[number]:
            del waiting[number]
    return mixed


PLACES = st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 12) | st.integers(13, 700))
FLOW = st.tuples(
    st.sampled_from(sorted(KINDS)),
    st.lists(PLACES, max_size=10).map(tuple),
    st.tuples(st.integers(3, 16), st.integers(0, 60)),
)


@settings(max_examples=max(300, settings().max_examples))
@given(st.lists(FLOW, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_a_flow_among_others_is_told_as_alone(flows: list[tuple[str, Cuts, tuple[int, int]]], random: Random) -> None:
    mixed = mix([packets_of(*flow) for flow in flows], random)
    together = flows_of(mixed)
    assert len(together) == len(flows)
    for number in range(1, len(flows) + 1):
        ((key, alone),) = flows_of([segment for segment in mixed if segment[0] == number]).items()
        assert told(together[key]) == told(alone)


def in_turn(*flows: list[Packet]) -> list[Flow]:
    """Of each a segment, then of each the next."""
    segments: list[tuple[int, int, Packet]] = []
    for at in range(max(map(len, flows))):
        for number, packets in enumerate(flows, 1):
            if at < len(packets):
                segments.append((number, len(segments) + 1, packets[at]))
    return list(flows_of(segments).values())


def test_a_change_cipher_spec_is_of_its_own_flow() -> None:
    """After another flow's, a flight in one record would be taken for encrypted; without one's own, a Finished read."""
    resumed, modern, full = in_turn(*(packets_of(kind) for kind in ("1.2, resumed", "1.3", "1.2")))
    assert [flow.flags & FLAG_CERTIFICATE for flow in (resumed, modern, full)] == [0, 0, FLAG_CERTIFICATE]


def test_a_message_header_with_a_hole_leaves_nothing() -> None:
    """Of one flow's ServerHello seven bytes were captured, of another's the header is cut behind its second byte."""
    flows = in_turn(packets_of("1.2", short=(5, 7)), packets_of("1.2", ((1, 0, 7),)))
    assert [flow.server_hello is not None for flow in flows] == [False, True]


def test_a_lost_record_header_is_lost_in_its_own_flow() -> None:
    """Where one was lost, what is no record is where to look on, as long as the flow goes on, and nowhere else."""
    whole, lost, again = in_turn(*(packets_of("no TLS in the end", short=short) for short in ((0, 0), (5, 60), (0, 0))))
    assert [flow.flags & FLAG_UNREADABLE for flow in (whole, lost, again)] == [FLAG_UNREADABLE, 0, FLAG_UNREADABLE]


def test_a_second_client_hello_is_read_as_a_clients() -> None:
    for flow in in_turn(packets_of("1.3, asked again"), packets_of("1.3, asked again")):
        assert flow.client_hello2_first_ref != 0


def test_what_is_no_tls_keeps_no_reader() -> None:
    talk = Talk()
    talk.handshake()
    talk.client(HELLO)
    talk.server(KINDS["no TLS"][0])
    talk.server(b"more of it")
    table = FlowTable(Kept(), SECOND)
    for frame, packet in enumerate(talk.packets, 1):
        feed(table, packet, frame, 1)
    (flow,) = table._flows.in_order()
    half = flow.answerer
    assert flow.flags & FLAG_UNREADABLE
    assert (half.reader, half.phase, half.watch_offset) == (None, IGNORED, NEVER)
