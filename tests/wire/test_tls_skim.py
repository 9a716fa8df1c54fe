"""The quick way past application data leaves the reader as its own way does."""

from hypothesis import given
from hypothesis import strategies as st

from pcapstall.wire.tls_event import APP_DATA, TlsEvent
from pcapstall.wire.tls_reader import TlsReader
from pcapstall.wire.tls_skim import ORDINARY_LEN, skim

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
    return (
        reader.offset, reader.state, reader.record_offset, reader.record_end, reader.content_type, reader.message_type,
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
