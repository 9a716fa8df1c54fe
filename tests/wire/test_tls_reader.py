"""The TLS reader: spans of messages and records, over any cutting of the stream, with holes, and on garbage."""

import ssl
import struct
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tls_support import (
    Found,
    client_hello,
    contexts,
    drain,
    message,
    messages,
    read_all,
    record,
    server_hello,
    shake,
    ssl2_hello,
)

from pcapstall.wire.tls_event import (
    ALERT,
    APP_DATA,
    BAD,
    CHANGE_CIPHER_SPEC,
    ENCRYPTED_ALERT,
    ENCRYPTED_HANDSHAKE,
    HANDSHAKE,
    HANDSHAKE_UNREAD,
    OTHER_RECORD,
    TlsEvent,
)
from pcapstall.wire.tls_hello import parse_client_hello, parse_server_hello
from pcapstall.wire.tls_reader import NEVER, TlsReader

HELLO = client_hello()
CCS = record(20, b"\x01")
CERTIFICATE = message(11, bytes(range(256)) * 12)
FLIGHT = server_hello() + CERTIFICATE + message(14, b"")


def spans(found: list[Found]) -> list[tuple[int, int, int, int]]:
    return [(event.kind, event.type, event.first, event.last) for event in found]


def kinds(found: list[Found]) -> list[int]:
    return [event.kind for event in found]


@pytest.fixture(scope="module")
def legacy() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    client, server = contexts()
    server.maximum_version = ssl.TLSVersion.TLSv1_2
    return client, server


def test_a_hello_spans_its_message_without_the_record_header() -> None:
    assert spans(read_all(record(22, HELLO), client=True)) == [(HANDSHAKE, 1, 5, 4 + len(HELLO))]
    assert read_all(record(22, HELLO), client=True)[0].body == HELLO


def test_a_real_handshake_of_tls_1_3() -> None:
    done, _ = shake(*contexts())
    client = read_all(done.client, client=True)
    server = read_all(done.server, client=False)
    assert kinds(client)[:3] == [HANDSHAKE, CHANGE_CIPHER_SPEC, APP_DATA]
    assert kinds(server)[:3] == [HANDSHAKE, CHANGE_CIPHER_SPEC, APP_DATA]
    assert set(kinds(client)[2:] + kinds(server)[2:]) == {APP_DATA}
    assert client[-1].last == len(done.client) - 1
    assert server[-1].last == len(done.server) - 1


def test_a_real_handshake_of_tls_1_2(legacy: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    done, _ = shake(*legacy, close=True)
    client = read_all(done.client, client=True)
    server = read_all(done.server, client=False)
    assert messages(client) == [1, 16]
    assert kinds(client)[2:] == [CHANGE_CIPHER_SPEC, ENCRYPTED_HANDSHAKE, APP_DATA, ENCRYPTED_ALERT]
    assert messages(server) == [2, 11, 12, 14, 4]
    assert kinds(server)[5:] == [CHANGE_CIPHER_SPEC, ENCRYPTED_HANDSHAKE, APP_DATA]
    # What one thing ends, the next begins, but for record headers and tags.
    assert all(before.last < after.first for before, after in pairwise(server))


def test_a_hello_retry_request_leaves_the_second_hello_readable() -> None:
    # The server wants P-384, the client's key share is for another group.
    client, server = contexts()
    server.set_ecdh_curve("secp384r1")
    done, _ = shake(client, server)
    sent = read_all(done.client, client=True)
    answered = read_all(done.server, client=False)
    # The second ClientHello comes behind the client's ChangeCipherSpec, the ServerHello behind the server's.
    assert kinds(sent)[:3] == [HANDSHAKE, CHANGE_CIPHER_SPEC, HANDSHAKE]
    assert kinds(answered)[:3] == [HANDSHAKE, CHANGE_CIPHER_SPEC, HANDSHAKE]
    assert parse_client_hello(sent[2].body).key_share_groups == (24,)
    assert [parse_server_hello(answered[i].body).is_hello_retry for i in (0, 2)] == [True, False]
    for cut in range(sent[0].last, sent[2].last + 2):
        assert read_all(done.client, client=True, cuts=(cut,)) == sent


def test_an_alert_in_the_clear() -> None:
    client, server = contexts()
    server.minimum_version = ssl.TLSVersion.TLSv1_3
    client.maximum_version = ssl.TLSVersion.TLSv1_2
    done, _ = shake(client, server)
    assert done.error
    (alert,) = read_all(done.server, client=False)
    assert (alert.kind, alert.level, alert.description) == (ALERT, 2, 70)
    assert (alert.first, alert.last) == (0, 6)


def test_a_clear_alert_behind_a_compatibility_ccs() -> None:
    # A server may reject the second hello after it has answered the first one with a HelloRetryRequest and a CCS.
    found = read_all(record(22, server_hello()) + CCS + record(21, b"\x02\x28"), client=False)
    assert (found[-1].kind, found[-1].level, found[-1].description) == (ALERT, 2, 40)


@pytest.mark.parametrize(
    ("length", "kind"), [(0, OTHER_RECORD), (1, OTHER_RECORD), (3, ENCRYPTED_ALERT), (26, ENCRYPTED_ALERT)]
)
def test_alerts_of_other_lengths(length: int, kind: int) -> None:
    (found,) = read_all(record(21, bytes(length)), client=True)
    assert (found.kind, found.level, found.length) == (kind, -1, length)


def test_messages_in_one_record_and_over_many() -> None:
    whole = read_all(record(22, FLIGHT), client=False)
    assert messages(whole) == [2, 11, 14]
    assert [(event.first, event.last) for event in whole] == [
        (5, 4 + len(server_hello())),
        (5 + len(server_hello()), 4 + len(FLIGHT) - 4),
        (5 + len(FLIGHT) - 4, 4 + len(FLIGHT)),
    ]


@given(st.lists(st.integers(0, len(FLIGHT)), max_size=12), st.booleans())
def test_any_cutting_into_records_gives_the_same_messages(cuts: list[int], empty: bool) -> None:
    edges = [0, *sorted(cuts), len(FLIGHT)]
    stream, where = b"", []
    for start, end in pairwise(edges):
        if start == end and not empty:
            continue
        where += [len(stream) + 5 + i for i in range(end - start)]
        stream += record(22, FLIGHT[start:end])
    expected = read_all(record(22, FLIGHT), client=False)
    found = read_all(stream, client=False)
    assert [(event.kind, event.type, event.length, event.body) for event in found] == [
        (event.kind, event.type, event.length, event.body) for event in expected
    ]
    assert [(event.first, event.last) for event in found] == [
        (where[event.first - 5], where[event.last - 5]) for event in expected
    ]


STREAMS = {
    "tls 1.2": record(22, FLIGHT) + CCS + record(22, bytes(40)) + record(23, bytes(300)) + record(21, bytes(26)),
    "tls 1.3": record(22, server_hello()) + CCS + record(23, bytes(900)) + record(23, bytes(19)),
    "retry": record(22, server_hello()) + CCS + record(22, server_hello()[:60]) + record(22, server_hello()[60:]),
    "others": record(24, bytes(9))
    + record(22, b"")
    + record(23, b"")
    + record(20, bytes(16))
    + record(21, b"\x01\x00"),
    "bad": record(22, server_hello()) + b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "unknown message": record(22, server_hello() + message(99, bytes(90))) + record(22, message(14, b"")),
    "long message": record(22, message(11, bytes(0))[:1] + b"\x7f\xff\xff" + bytes(60)) + record(21, b"\x02\x50"),
}
CLIENT_STREAMS = {
    "ssl2": ssl2_hello() + record(22, message(16, bytes(64))) + CCS,
    "ssl2 padded": ssl2_hello(0x0002, padding=5) + record(21, b"\x02\x28"),
    "not ssl2": b"\x80\x2b\x01\x03\x01\x00\x10" + bytes(40),
    "http": b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
    "early data": record(22, HELLO) + CCS + record(23, bytes(200)) + record(22, HELLO),
    "dtls": b"\x16\xfe\xfd" + bytes(30),
}
ALL_STREAMS = [(data, False) for data in STREAMS.values()] + [(data, True) for data in CLIENT_STREAMS.values()]
IDS = [*STREAMS, *CLIENT_STREAMS]


@pytest.mark.parametrize(("data", "client"), ALL_STREAMS, ids=IDS)
def test_byte_by_byte_gives_the_same_events(data: bytes, client: bool) -> None:
    assert read_all(data, client=client, cuts=tuple(range(1, len(data)))) == read_all(data, client=client)


@given(st.sampled_from(ALL_STREAMS), st.data())
def test_any_chunking_gives_the_same_events(stream: tuple[bytes, bool], draw: st.DataObject) -> None:
    data, client = stream
    cuts = draw.draw(st.lists(st.integers(0, len(data)), max_size=8))
    assert read_all(data, client=client, cuts=tuple(cuts)) == read_all(data, client=client)


@given(st.sampled_from(ALL_STREAMS), st.data())
def test_a_stream_cut_short_gives_the_first_events_of_the_whole(
    stream: tuple[bytes, bool], draw: st.DataObject
) -> None:
    data, client = stream
    whole = read_all(data, client=client)
    short = read_all(data[: draw.draw(st.integers(0, len(data)))], client=client)
    assert short == whole[: len(short)]


@given(st.sampled_from(ALL_STREAMS), st.data())
def test_what_is_not_wanted_need_not_be_shown(stream: tuple[bytes, bool], draw: st.DataObject) -> None:
    data, client = stream
    reader = TlsReader(client, 0)
    cuts = draw.draw(st.lists(st.integers(0, len(data)), max_size=8))
    found = []
    for start, end in pairwise([0, *sorted(cuts), len(data)]):
        if end > reader.wanted_offset():
            found += drain(reader, data[start:end], start)
    assert found == read_all(data, client=client)


@given(st.sampled_from(ALL_STREAMS), st.data())
def test_bytes_shown_again_change_nothing(stream: tuple[bytes, bool], draw: st.DataObject) -> None:
    data, client = stream
    reader = TlsReader(client, 0)
    found = []
    for end in sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=6))) + [len(data)]:
        start = draw.draw(st.integers(0, min(end, reader.offset)))
        found += drain(reader, data[start:end], start)
    assert found == read_all(data, client=client)


GARBAGE = st.lists(
    st.one_of(
        st.binary(max_size=40),
        st.builds(
            record, st.integers(19, 25), st.binary(max_size=40), st.sampled_from([0x0300, 0x0303, 0x0305, 0xFEFD])
        ),
        st.builds(lambda kind, body: record(22, message(kind, body)), st.integers(0, 30), st.binary(max_size=60)),
        st.sampled_from([CCS, record(22, HELLO), record(22, FLIGHT), ssl2_hello(), b"\x16\x03\x03\xff\xff"]),
    ),
    max_size=8,
).map(b"".join)


STEPS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 60)), min_size=1, max_size=6)


@given(GARBAGE, st.booleans(), STEPS)
def test_garbage_with_holes_never_raises_and_ends(data: bytes, client: bool, steps: list[tuple[int, int]]) -> None:
    reader = TlsReader(client, 0)
    at = last = turn = 0
    while at < len(data):
        hole, shown = steps[turn % len(steps)]
        turn += 1
        at += hole
        end = min(at + shown, len(data))
        for event in drain(reader, data[at:end], at):
            assert event.kind in range(HANDSHAKE, BAD + 1)
            assert last <= event.first <= event.last
            if event.kind == HANDSHAKE:
                last = event.last
                assert event.last < end
        at = max(at, end)
    assert reader.wanted_offset() >= 0


def test_a_reader_begins_where_it_is_told() -> None:
    reader = TlsReader(True, 100)
    assert spans(drain(reader, bytes(20) + record(22, HELLO), 80)) == [(HANDSHAKE, 1, 105, 104 + len(HELLO))]


def test_a_hole_in_application_data_is_passed_over() -> None:
    stream = record(23, bytes(1000)) + record(23, bytes(50))
    reader = TlsReader(False, 0)
    assert spans(drain(reader, stream[:100], 0)) == [(APP_DATA, 23, 0, 1004)]
    assert reader.wanted_offset() == 1005
    assert spans(drain(reader, stream[900:], 900)) == [(APP_DATA, 23, 1005, 1059)]
    assert not reader.lost


def test_a_hello_with_a_hole_is_never_complete() -> None:
    stream = record(22, HELLO) + CCS
    reader = TlsReader(True, 0)
    assert drain(reader, stream[:30], 0) == []
    assert (reader.message_type, reader.message_offset) == (1, 5)
    found = drain(reader, stream[40:], 40)
    assert spans(found)[0] == (HANDSHAKE_UNREAD, 1, 5, 4 + len(HELLO))
    assert found[0].body == HELLO[:25]
    assert kinds(found) == [HANDSHAKE_UNREAD, CHANGE_CIPHER_SPEC]
    assert reader.message_type == -1


def test_a_hole_in_a_certificate_leaves_its_extent_known() -> None:
    stream = record(22, FLIGHT)
    reader = TlsReader(False, 0)
    found = drain(reader, stream[:200], 0) + drain(reader, stream[2000:], 2000)
    assert found == read_all(stream, client=False)


def test_a_hole_over_a_message_header_skips_the_rest_of_the_record() -> None:
    stream = record(22, FLIGHT) + CCS
    reader = TlsReader(False, 0)
    hole = 5 + len(server_hello()) + 2
    found = drain(reader, stream[:hole], 0) + drain(reader, stream[hole + 10 :], hole + 10)
    assert kinds(found) == [HANDSHAKE, CHANGE_CIPHER_SPEC]
    assert not reader.lost


def test_a_hole_over_a_record_header_is_found_out_of_again() -> None:
    stream = record(22, server_hello()) + CCS + record(23, bytes(500)) + record(23, bytes(20))
    edge = 5 + len(server_hello())
    reader = TlsReader(False, 0)
    found = drain(reader, stream[:edge], 0)
    # In the middle of a record, no header: not taken for one.
    found += drain(reader, stream[edge + 100 : edge + 200], edge + 100)
    assert reader.lost
    assert kinds(found) == [HANDSHAKE]
    # The next segment begins with a record.
    tail = len(stream) - 25
    found = drain(reader, stream[tail:], tail)
    assert spans(found) == [(APP_DATA, 23, tail, tail + 24)]


def test_a_lost_reader_reads_on_after_a_wrong_guess() -> None:
    reader = TlsReader(False, 0)
    drain(reader, record(23, bytes(5)), 0)
    # A record that a guess found ends where none begins: no BAD, but another guess.
    assert kinds(drain(reader, b"\x17\x03\x03\x00\x04abcdzzzzzz", 30)) == [APP_DATA]
    assert kinds(drain(reader, record(23, bytes(9)), 45)) == [APP_DATA]


def test_a_hole_that_nothing_follows_can_be_told() -> None:
    # The snap length cut the segment: the rest of the record is a hole, the next segment begins with a header.
    stream = record(23, bytes(1443)) + record(23, bytes(100))
    reader = TlsReader(False, 0)
    drain(reader, stream[:60], 0)
    assert drain(reader, b"", 1448) == []
    assert reader.wanted_offset() == 1448
    assert spans(drain(reader, stream[1448:], 1448)) == [(APP_DATA, 23, 1448, 1552)]
    assert not reader.lost


def test_an_alert_that_was_not_captured() -> None:
    reader = TlsReader(False, 0)
    drain(reader, record(21, b"\x02\x28")[:5], 0)
    (alert,) = drain(reader, record(23, bytes(3)), 7)[:1]
    assert (alert.kind, alert.level, alert.description, alert.last) == (ALERT, -1, -1, 6)


def test_a_message_is_not_kept_over_a_change_of_ciphers() -> None:
    found = read_all(record(22, HELLO[:20]) + CCS + record(22, bytes(40)), client=True)
    assert kinds(found) == [CHANGE_CIPHER_SPEC, ENCRYPTED_HANDSHAKE]


def test_other_records_between_the_parts_of_a_message() -> None:
    found = read_all(record(22, HELLO[:20]) + record(21, b"\x01\x5a") + record(22, HELLO[20:]), client=True)
    assert [(event.kind, event.first) for event in found] == [(ALERT, 25), (HANDSHAKE, 5)]
    assert found[1].body == HELLO


def test_a_finished_behind_ccs_is_not_taken_for_a_hello() -> None:
    # An explicit nonce that begins like a ClientHello: the length must fit the record, the version must be there.
    nonces = (
        b"\x01\x00\x00\x24\x03\x02",
        b"\x01\x00\x00\x23\x03\x03",
        b"\x01\x00\x40\x24\x00\x01",
        b"\x02\x00\x00\x24\x03\x03",
    )
    for nonce in nonces:
        found = read_all(CCS + record(22, nonce + bytes(40 - len(nonce))), client=True)
        assert kinds(found) == [CHANGE_CIPHER_SPEC, ENCRYPTED_HANDSHAKE], nonce


def test_a_hello_that_is_too_long_is_measured_only() -> None:
    length = 70_000
    stream = message(1, bytes(length))
    cut = b"".join(record(22, stream[at : at + 16_384]) for at in range(0, len(stream), 16_384))
    (found,) = read_all(cut, client=True, cuts=tuple(range(1448, len(cut), 1448)))
    assert (found.kind, found.length, found.body) == (HANDSHAKE_UNREAD, length, b"")
    assert found.last == len(cut) - 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (struct.pack("!BHH", 22, 0x0303, 16_384 + 2049), "length"),
        (b"\x16\xfe\xfd\x00\x00", "dtls"),
        (b"\x16\x04\x00\x00\x05", "version"),
        (b"HTTP/", "content type"),
        (b"\x19\x03\x03\x00\x05", "content type"),
    ],
)
def test_what_is_not_tls(data: bytes, reason: str) -> None:
    reader = TlsReader(False, 7)
    (found,) = drain(reader, data + bytes(50), 7)
    assert (found.kind, found.first, found.reason) == (BAD, 7, reason)
    assert reader.wanted_offset() == NEVER
    assert drain(reader, record(22, server_hello()), 7 + len(data) + 50) == []


def test_the_longest_record_is_one() -> None:
    assert kinds(read_all(record(23, bytes(16_384 + 2048)), client=False)) == [APP_DATA]


def test_an_ssl2_hello_is_a_client_hello() -> None:
    hello = ssl2_hello()
    (found,) = read_all(hello, client=True)
    assert (found.kind, found.type, found.first, found.last, found.body) == (HANDSHAKE, 1, 0, len(hello) - 1, hello)


def test_only_a_client_says_hello_in_ssl2() -> None:
    assert kinds(read_all(ssl2_hello(), client=False)) == [BAD]


def test_an_event_is_reset_for_the_next() -> None:
    event = TlsEvent()
    reader = TlsReader(True, 0)
    data = record(22, HELLO) + record(21, b"\x02\x28") + record(23, bytes(7))
    assert reader.read(data, 0, len(data), 0, event)
    assert reader.read(data, 0, len(data), 0, event)
    assert (event.body, event.level) == (b"", 2)
    assert reader.read(data, 0, len(data), 0, event)
    assert (event.level, event.description) == (-1, -1)
