"""The quick ways over records tell what a reader tells, and leave it as its own way does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tls_support import client_hello, copy_event, drain, message, record, server_hello

from pcapstall.wire.tls_event import APP_DATA, CHANGE_CIPHER_SPEC, ENCRYPTED_HANDSHAKE, HANDSHAKE, TlsEvent
from pcapstall.wire.tls_messages import RECORD_HEADER
from pcapstall.wire.tls_reader import TlsReader
from pcapstall.wire.tls_skim import ORDINARY_LEN, OTHER, read_whole, skim

RECORDS = st.lists(
    st.tuples(
        st.sampled_from([20, 21, 22, 23, 23, 23, 23, 23, 24, 25]),
        st.sampled_from([b"\3\3", b"\3\3", b"\3\3", b"\3\1", b"\3\5"]),
        st.sampled_from([0, 1, 2, 19, ORDINARY_LEN - 1, ORDINARY_LEN, 40, 300]),
    ),
    max_size=8,
)
CUTS = st.lists(st.tuples(st.integers(1, 400), st.booleans()), min_size=1, max_size=30)


def place(reader: TlsReader) -> tuple[object, ...]:
    """Where a reader stands; nobody asks where the record began that lies behind it."""
    begun = None if reader.is_between() else reader.record_offset
    return (
        reader.offset, reader.state, begun, reader.record_end, reader.content_type, reader.message_type,
        reader.ccs, reader.lost, reader.word_len, reader.wanted_offset(), reader.is_between(),
    )  # fmt: skip


def events(reader: TlsReader, data: bytes, start: int, end: int) -> list[tuple[int, int]]:
    event, found = TlsEvent(), []
    while reader.read(data, start, end, start, event):
        found.append((event.kind, event.length))
    return found


@given(RECORDS, CUTS, st.booleans())
def test_both_ways_lead_to_the_same_place(records: list[tuple[int, bytes, int]], cuts: list, client: bool) -> None:  # type: ignore[type-arg]
    """Segments of any length, some of them not shown as long as nobody wants them."""
    data = b"".join(
        bytes([kind]) + version + length.to_bytes(2, "big") + b"\x17" * length for kind, version, length in records
    )
    quick, slow = TlsReader(client, 0), TlsReader(client, 0)
    at = 0
    skimmed = 0
    for size, shown in cuts:
        end = min(len(data), at + size)
        if end == at:
            break
        if shown or end > slow.wanted_offset():
            before = place(quick)
            if skim(quick, data, at, end, at):
                skimmed += 1
                assert all(kind == APP_DATA and length >= ORDINARY_LEN for kind, length in events(slow, data, at, end))
            else:
                assert place(quick) == before
                assert events(quick, data, at, end) == events(slow, data, at, end)
            assert place(quick) == place(slow)
        at = end


def test_data_of_many_records_is_skimmed() -> None:
    data = (b"\x17\3\3\0\x28" + bytes(40)) * 10
    reader = TlsReader(True, 0)
    assert events(reader, data, 0, 45) == [(APP_DATA, 40)]
    assert skim(reader, data, 45, 300, 45)
    assert (reader.offset, reader.record_end) == (300, 315)
    assert skim(reader, data, 305, 450, 305)
    assert reader.offset == 450


def test_what_may_be_an_alert_is_not() -> None:
    data = b"\x17\3\3\0\x28" + bytes(40) + b"\x17\3\3\0\x13" + bytes(19)
    reader = TlsReader(True, 0)
    assert events(reader, data, 0, 45) == [(APP_DATA, 40)]
    assert not skim(reader, data, 45, len(data), 45)


BODIES = st.one_of(
    st.binary(max_size=12),
    st.builds(message, st.sampled_from([*range(26), 67, 99]), st.binary(max_size=50)),
    st.sampled_from([b"\1", b"\1\0", client_hello(), server_hello(), client_hello() + message(11, b"c"), bytes(40)]),
)
VERSIONS = st.sampled_from([0x0303, 0x0303, 0x0303, 0x0301, 0x0305, 0x0203, 0xFEFD])
ANY_RECORD = st.builds(record, st.sampled_from([19, 20, 21, 22, 22, 22, 23, 24, 25, 150]), BODIES, VERSIONS)


def read_like_a_reader(data: bytes, shown: bytes, client: bool, ccs: bool) -> int:
    """Read the record ``data`` of which ``shown`` is there, more may follow; the kind of event if it was read whole."""
    event = TlsEvent()
    event.fill(8, 8, 8, 8, 8)
    event.reason, event.level, event.description = "old", 1, 1
    event.set_body(b"old", 0, 3)
    before = copy_event(event)
    behind = read_whole(b"\x16\3" + shown + b"\x17\3\3\0", 2, 2 + len(shown), 500 - 2, ccs, event)
    if behind == OTHER:
        assert copy_event(event) == before
        return OTHER
    assert behind == 2 + len(data)
    reader = TlsReader(client, 500)
    reader.state, reader.ccs = RECORD_HEADER, ccs
    (found,) = drain(reader, shown[: len(data)], 500)
    assert (found, reader.ccs) == (copy_event(event), ccs or found.kind == CHANGE_CIPHER_SPEC)
    if len(shown) < len(data):
        assert drain(reader, bytes(len(data) - len(shown)), 500 + len(shown)) == []
    assert (reader.offset, reader.state) == (500 + len(data), RECORD_HEADER)
    assert reader.is_between()
    return event.kind


@given(ANY_RECORD, st.binary(max_size=8), st.sampled_from([0, 0, 0, 1, 4, 30]), st.booleans(), st.booleans())
def test_a_whole_record_is_told_like_a_reader_tells_it(
    data: bytes, more: bytes, missing: int, client: bool, ccs: bool
) -> None:
    """Whatever follows it, and whether or not its end is there."""
    shown = data[: max(0, len(data) - missing)] if missing else data + more
    read_like_a_reader(data, shown, client, ccs)


@pytest.mark.parametrize(
    ("data", "ccs", "kind"),
    [
        (record(22, client_hello(), 0x0301), False, HANDSHAKE),
        (record(22, server_hello()), False, HANDSHAKE),
        (record(22, message(11, bytes(900))), False, HANDSHAKE),
        (record(22, message(14, b"")), False, HANDSHAKE),
        (record(20, b"\1"), False, CHANGE_CIPHER_SPEC),
        (record(22, b"\xee" * 40), True, ENCRYPTED_HANDSHAKE),
        (record(23, bytes(16)), True, APP_DATA),
    ],
)
def test_the_records_of_ordinary_handshakes_are_read_whole(data: bytes, ccs: bool, kind: int) -> None:
    assert read_like_a_reader(data, data, client=True, ccs=ccs) == kind


@pytest.mark.parametrize(
    ("data", "ccs"),
    [
        (record(22, message(11, bytes(900)))[:-1], False),
        (record(22, server_hello() + message(14, b"")), False),
        (record(22, server_hello()), True),
        (record(21, b"\2\x28"), False),
        (record(23, bytes(16))[:4], False),
    ],
)
def test_what_needs_a_reader_is_left_to_it(data: bytes, ccs: bool) -> None:
    assert read_like_a_reader(data, data, client=True, ccs=ccs) == OTHER
