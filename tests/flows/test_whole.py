"""The quick way through whole records comes to the same as a reader does, whatever the records and however cut.

A half that keeps anything is read by a reader: so each conversation is run a second time with something kept.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import pytest
from flow_support import (
    ACK,
    CHANGE_CIPHER_SPEC,
    ENCRYPTED_ALERT,
    FINISHED,
    HELLO_RETRY_RANDOM,
    MS,
    SECOND,
    Kept,
    Packet,
    Talk,
    client_hello,
    record,
    server_hello,
    to_segment,
)
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.flows.between import wanted_offset
from pcapstall.flows.flow import READING, Flow, HalfFlow
from pcapstall.flows.head import StreamHead
from pcapstall.flows.table import FlowTable

HELLO = client_hello()
CERTIFICATE = b"\x0b\x00\x00\x05" + bytes(5)
DATA = record(23, b"d" * 300)
DONE = b"\x0e\0\0\0"
FLIGHT = server_hello() + CHANGE_CIPHER_SPEC + record(23, b"c" * 900) + FINISHED
OLD_FLIGHT = server_hello(0x0303) + record(22, CERTIFICATE) + record(22, DONE)
OLD_CLIENT = record(22, b"\x10\0\0\x02ab") + CHANGE_CIPHER_SPEC + record(22, b"\xee" * 40)
RECORDS = [
    HELLO, FLIGHT, OLD_FLIGHT, OLD_CLIENT, CHANGE_CIPHER_SPEC, ENCRYPTED_ALERT, FINISHED, FINISHED + CHANGE_CIPHER_SPEC,
    server_hello(), server_hello(0x0303), server_hello(0x0303, more=CERTIFICATE + DONE), record(22, CERTIFICATE),
    server_hello(random=HELLO_RETRY_RANDOM), server_hello(0x7F12), record(22, DONE), record(21, b"\2\x28"),
    record(22, b"\xee" * 40), record(23, b""), record(23, b"d" * 11), record(23, b"d" * 19), record(23, b"d" * 24),
    DATA * 3, record(24, bytes(9)), record(21, bytes(26)), record(22, b"\x63\0\0\1a"),
    record(22, CERTIFICATE[:6]), b"\x17\3\5\0\x28", b"HTTP/1.1 400 Bad Request",
]  # fmt: skip
TURNS = st.lists(st.tuples(st.booleans(), st.lists(st.sampled_from(RECORDS), min_size=1, max_size=4)), max_size=6)
OF_HALF = (
    "alert_candidate", "speaks_as_client", "ccs", "phase", "app_data_ns", "app_data_ref", "ack_watch", "alert_ns",
    "alert_ref", "candidate_ns", "candidate_ref", "next_offset", "watch_offset",
)  # fmt: skip
OF_FLOW = (
    "settled", "noting", "opener_is_client", "tls_client_is_opener", "flags", "notes_after", "client_finished_ns",
    "client_finished_ref", "direction_source", "client_hello_first_ns", "client_hello_first_ref",
    "client_hello_last_ns", "client_hello_last_ref", "client_hello_acked_ns", "client_hello_acked_ref",
    "server_hello_first_ns", "server_hello_first_ref", "server_hello_last_ns", "server_hello_last_ref",
    "server_flight_last_ns", "server_flight_last_ref", "hello_message", "server_hello_end", "server_tls_offset",
    "hello_retry_ns", "hello_retry_ref", "client_hello2_first_ns", "client_hello2_first_ref", "client_hello2_last_ns",
    "client_hello2_last_ref", "partial_hello_ns", "partial_hello_ref", "preamble", "preamble_ns", "answer",
)  # fmt: skip


def written(turns: list[tuple[bool, bytes]]) -> list[Packet]:
    """A connection in which the sides say ``turns``, each in one segment."""
    talk = Talk()
    talk.handshake()
    for from_client, data in turns:
        talk.send(from_client, ACK, data, 40 * MS)
    return talk.packets


def pieces(packet: Packet, cuts: Iterable[int]) -> list[Packet]:
    """``packet`` in pieces that came one after the other."""
    inner = sorted({cut for cut in cuts if cut < len(packet.payload)})
    return [
        replace(packet, ns=packet.ns + at, seq=(packet.seq + start) & 0xFFFFFFFF, payload=packet.payload[start:end])
        for at, (start, end) in enumerate(pairwise([0, *inner, len(packet.payload)]))
    ]


def live(packets: list[Packet], by_readers: bool = False) -> tuple[FlowTable, Flow]:
    """The one flow of ``packets``, as it goes on."""
    table = FlowTable(Kept(), SECOND)
    for frame, packet in enumerate(packets, 1):
        for flow in table._flows.in_order() if by_readers else ():
            half = flow.opener if packet.from_client else flow.answerer
            half.head = half.head or StreamHead()
        table.add(to_segment(packet, frame))
    (flow,) = table._flows.in_order()
    return table, flow


def remembered(packets: list[Packet], by_readers: bool, ends: bool) -> list[object]:
    """What is known of the TLS of the one flow of ``packets``."""
    table, flow = live(packets, by_readers)
    found: list[object] = [half.reader is None for half in (flow.opener, flow.answerer)]
    if ends:
        table.finish()
    for half in (flow.opener, flow.answerer):
        found += of(half, OF_HALF)
        found.append(half.phase == READING and wanted_offset(half))
    found += of(flow, OF_FLOW)
    hello = flow.server_hello
    found.append(hello and (hello.version, hello.cipher, hello.length, hello.is_hello_retry))
    found.append([(alert.level, alert.description, alert.ns, alert.ref) for alert in flow.alerts or []])
    return found


def of(thing: Flow | HalfFlow, names: tuple[str, ...]) -> list[object]:
    return [(name, getattr(thing, name)) for name in names]


def check(turns: list[tuple[bool, bytes]], ends: bool, cuts: Iterable[int] = ()) -> None:
    packets = [piece for packet in written(turns) for piece in pieces(packet, cuts)]
    assert remembered(packets, False, ends) == remembered(packets, True, ends)


@given(TURNS, st.booleans(), st.booleans())
def test_whole_records_tell_what_a_reader_tells(turns: list[tuple[bool, list[bytes]]], begun: bool, ends: bool) -> None:
    opened = [(True, HELLO), (False, FLIGHT)] if begun else []
    check(opened + [(from_client, b"".join(records)) for from_client, records in turns], ends)


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize(
    "turns",
    [
        [(True, HELLO), (False, FLIGHT), (True, CHANGE_CIPHER_SPEC + FINISHED), (False, DATA), (True, DATA)],
        [(True, HELLO), (False, OLD_FLIGHT), (True, OLD_CLIENT), (False, OLD_CLIENT[-51:]), (True, DATA)],
        [(True, HELLO), (False, server_hello() + record(21, b"\2\x28"))],
        [(True, HELLO), (False, FLIGHT), (True, ENCRYPTED_ALERT), (True, ENCRYPTED_ALERT)],
    ],
)
def test_handshakes_tell_what_a_reader_tells(turns: list[tuple[bool, bytes]], ends: bool) -> None:
    check(turns, ends)


@given(TURNS, st.lists(st.integers(1, 1200), max_size=8), st.booleans())
def test_records_cut_anywhere_tell_the_same(turns: list[tuple[bool, list[bytes]]], cuts: list[int], ends: bool) -> None:
    """Records that begin in one segment and end in another, behind others that are whole."""
    check([(True, HELLO), (False, FLIGHT), *((client, b"".join(records)) for client, records in turns)], ends, cuts)


def test_every_segment_of_the_servers_flight_is_looked_at() -> None:
    packets = written([(True, HELLO), (False, FLIGHT + record(23, b"c" * 3000))])
    packets[-1:] = pieces(packets[-1], [len(FLIGHT) + 1000, len(FLIGHT) + 2000])
    _, flow = live(packets)
    assert flow.server_flight_last_ns == packets[-1].ns


def test_a_record_behind_a_hole_waits_for_what_is_before_it() -> None:
    packets = written([(True, HELLO), (False, FLIGHT), (True, CHANGE_CIPHER_SPEC), (True, FINISHED)])
    packets[-2:] = [replace(packets[-1], ns=packets[-2].ns), replace(packets[-2], ns=packets[-1].ns)]
    _, flow = live(packets[:-1])
    assert (flow.client_finished_ref, flow.client().ccs) == (0, False)
    _, flow = live(packets)
    assert (flow.client_finished_ns, flow.client().ccs) == (packets[-2].ns, True)


def test_records_that_the_snap_length_cut_off_are_not_waited_for() -> None:
    packets = written(
        [(True, HELLO), (False, server_hello(0x0303)), (True, DATA + DATA), (True, record(21, b"\2\x28"))]
    )
    packets[-2].captured_len = 60
    _, flow = live(packets)
    assert flow.client().head is None
    assert [alert.ns for alert in flow.alerts or []] == [packets[-1].ns]
