"""The pcap family: variants, byte orders, headers, damage."""

import struct

import pytest
from capture_support import MICRO, MODIFIED, NANO, T0, pcap, pcap_header, pcap_record, read, warned

from pcapstall.core.errors import InputError

S = 1_000_000_000
A, B = bytes(range(60)), bytes(range(100, 171))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "unit", "name"), [(MICRO, 1000, "pcap-us"), (NANO, 1, "pcap-ns")])
def test_both_clocks_in_both_byte_orders(order: str, magic: int, unit: int, name: str) -> None:
    data = pcap_header(magic, order, link=113) + pcap_record(A, T0, 7, order) + pcap_record(B, T0 + 1, 999_999, order)
    found, cursor = read(data)
    assert [(r.ts_ns, r.data, r.origlen, r.linktype, r.interface, r.frame) for r in found] == [
        (T0 * S + 7 * unit, A, 60, 113, 0, 1),
        (T0 * S + S + 999_999 * unit, B, 71, 113, 0, 2),
    ]
    info = cursor.info()
    assert (info.format, info.byte_order, info.linktypes, info.packets) == (
        name,
        {"<": "little", ">": "big"}[order],
        ("LINUX_SLL",),
        2,
    )
    assert info.warnings == ()


MODIFIED_EXTRA = struct.pack("<IHBB", 3, 0x0800, 4, 0x5A)
SS990915_EXTRA = struct.pack("<IHBBBBBB", 3, 0x0800, 4, 1, 1, 0x5A, 0x5A, 0x5A)
NOKIA_EXTRA = struct.pack("<I", 0x9FBFB601)


@pytest.mark.parametrize(
    ("magic", "extra", "name"),
    [
        (MODIFIED, MODIFIED_EXTRA, "pcap-modified"),
        (MODIFIED, SS990915_EXTRA, "pcap-modified"),
        (MICRO, MODIFIED_EXTRA, "pcap-modified"),
        (MICRO, NOKIA_EXTRA, "pcap-nokia"),
    ],
    ids=["ss991029", "ss990915", "ss990417", "nokia"],
)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_variants_are_told_apart_by_their_records(magic: int, extra: bytes, name: str, count: int) -> None:
    data = pcap_header(magic) + b"".join(pcap_record(A, T0 + n, n, extra=extra) for n in range(count))
    found, cursor = read(data)
    assert [(r.ts_ns, r.data) for r in found] == [((T0 + n) * S + n * 1000, A) for n in range(count)]
    assert cursor.info().format == name
    assert not warned(cursor)


def test_a_modified_file_in_the_other_byte_order() -> None:
    extra = struct.pack(">IHBB", 3, 0x86DD, 0, 0)
    data = (
        pcap_header(MODIFIED, ">") + pcap_record(A, T0, 5, ">", extra=extra) + pcap_record(B, T0, 6, ">", extra=extra)
    )
    found, cursor = read(data)
    assert [r.data for r in found] == [A, B]
    assert cursor.info().byte_order == "big"


@pytest.mark.parametrize("spoil", [{"origlen": 5}, {"fraction": 3_000_000}, {"caplen": 300_000}])
def test_damage_in_the_first_record_is_no_reason_to_believe_in_a_variant(spoil: dict[str, int]) -> None:
    data = pcap_header() + pcap_record(bytes(60), **spoil) + pcap_record(A)
    _, cursor = read(data)
    assert cursor.info().format == "pcap-us"


@pytest.mark.parametrize("version", [(2, 2), (2, 3), (543, 0)])
def test_old_versions_have_the_lengths_in_the_other_order(version: tuple[int, int]) -> None:
    data = pcap_header(version=version) + pcap_record(A, caplen=1500, origlen=60)
    found, cursor = read(data)
    assert [(r.data, r.origlen) for r in found] == [(A, 1500)]
    assert cursor.info().snaplen_cut == 1
    assert not warned(cursor)


def test_version_2_3_may_have_them_in_the_new_order() -> None:
    found, _ = read(pcap_header(version=(2, 3)) + pcap_record(A, origlen=1500))
    assert [(r.data, r.origlen) for r in found] == [(A, 1500)]


def test_aix_writes_its_own_link_types_and_nanoseconds() -> None:
    found, _ = read(pcap_header(version=(2, 2), link=6) + pcap_record(A, T0, 4000))
    assert [(r.ts_ns, r.linktype) for r in found] == [(T0 * S + 4000, 1)]


@pytest.mark.parametrize(("magic", "unit"), [(0x1C0001AB, 1000), (0x1C0001AC, 1)])
def test_ixia_appends_a_length_to_the_file_header(magic: int, unit: int) -> None:
    found, _ = read(pcap_header(magic) + b"\1\2\3\4" + pcap_record(A, T0, 9))
    assert [(r.ts_ns, r.data) for r in found] == [(T0 * S + 9 * unit, A)]


@pytest.mark.parametrize("version", [(1, 4), (0, 0)])
def test_versions_before_2_are_refused(version: tuple[int, int]) -> None:
    with pytest.raises(InputError, match=rf"pcap version {version[0]}\.{version[1]} is not supported"):
        read(pcap_header(version=version) + pcap_record(A))


def test_reserved_bits_of_the_link_type_are_refused() -> None:
    with pytest.raises(InputError, match="reserved bits"):
        read(pcap_header(link=0x00010001))


def test_a_frame_check_sequence_is_not_the_packet() -> None:
    link = 1 | 0x04000000 | 2 << 28
    data = (
        pcap_header(link=link) + pcap_record(A + b"FCS!") + pcap_record(A, origlen=1504) + pcap_record(b"", origlen=2)
    )
    found, cursor = read(data)
    assert [(r.data, r.origlen, r.linktype) for r in found] == [(A, 60, 1), (A, 1500, 1), (b"", 0, 1)]
    assert cursor.info().snaplen_cut == 2


def test_an_fcs_length_without_its_flag_means_nothing() -> None:
    found, _ = read(pcap_header(link=1 | 2 << 28) + pcap_record(A))
    assert found[0].data == A


def test_more_captured_than_on_the_wire_is_counted_and_handed_out() -> None:
    found, cursor = read(pcap_header() + pcap_record(A) + 3 * pcap_record(A, origlen=44))
    assert [(len(r.data), r.origlen) for r in found] == [(60, 60), *[(60, 44)] * 3]
    what = "frame 2, offset 100: more bytes captured than were on the wire: needed 60, got 44"
    assert warned(cursor) == [f"scripted: {what} (3 records, this is the first)"]


def test_a_fraction_of_more_than_a_second_is_counted_and_carried_over() -> None:
    found, cursor = read(pcap_header() + pcap_record(A, T0) + pcap_record(A, T0, 5_000_001))
    assert found[1].ts_ns == (T0 + 5) * S + 1000
    assert "frame 2, offset 100: a time stamp with a fraction of more than a second" in warned(cursor)[0]


@pytest.mark.parametrize("spoiled", range(1, 5))
def test_a_record_longer_than_any_ends_the_reading(spoiled: int) -> None:
    parts = [pcap_record(A, T0 + n) for n in range(4)]
    parts[spoiled - 1] = pcap_record(A, caplen=262145)
    found, cursor = read(pcap_header() + b"".join(parts))
    assert len(found) == spoiled - 1
    place = f"frame {spoiled}, offset {24 + 76 * (spoiled - 1)}"
    what = "a record longer than any capture has: needed 262144, got 262145"
    assert warned(cursor) == [f"scripted: {place}: {what}"]


def test_the_longest_record_is_read() -> None:
    data = bytes(range(256)) * 1024
    found, cursor = read(pcap_header(snaplen=0) + pcap_record(data) + pcap_record(A), 1000, 70_000)
    assert [r.data for r in found] == [data, A]
    assert not warned(cursor)


def test_a_cut_tail_is_told_with_what_was_needed_and_got() -> None:
    data = pcap(1, 2)
    for left, expected in [
        (10, "frame 2, offset 100: cut in a record header: needed 16, got 10"),
        (16, "frame 2, offset 100: cut in a record: needed 76, got 16"),
        (75, "frame 2, offset 100: cut in a record: needed 76, got 75"),
    ]:
        found, cursor = read(data[: 24 + 76 + left])
        assert len(found) == 1
        assert warned(cursor) == [f"scripted: {expected}"]


@pytest.mark.parametrize("size", [4, 10, 23])
def test_a_cut_file_header_is_refused(size: int) -> None:
    with pytest.raises(InputError, match=f"needed 24 bytes, got {size}"):
        read(pcap_header()[:size])


def test_a_file_without_records_is_a_capture() -> None:
    found, cursor = read(pcap_header())
    assert found == []
    assert (cursor.info().packets, cursor.info().first_ns, cursor.info().last_ns) == (0, None, None)


def test_zeros_after_the_records_are_records_of_nothing_as_in_tshark() -> None:
    found, _ = read(pcap(1) + bytes(48))
    assert [(r.frame, len(r.data)) for r in found] == [(1, 60), (2, 0), (3, 0), (4, 0)]


def test_the_clock_of_the_last_second_that_fits() -> None:
    found, _ = read(pcap_header() + pcap_record(A, 0xFFFFFFFF, 999_999) + pcap_record(A, 0xFFFFFFFF, 0xFFFFFFFF))
    assert found[0].ts_ns == 4_294_967_295_999_999_000
    assert found[1].ts_ns < 1 << 62


def test_steps_of_the_clock_are_counted() -> None:
    day = 86_400
    cursor = read(pcap(1000, 1000, 990, 995, 995 + day, 1000 + 3 * day, 5))[1]
    info = cursor.info()
    assert (info.first_ns, info.last_ns) == (5 * S, (1000 + 3 * day) * S)
    assert (info.clock.backward, info.clock.backward_max_ns) == (2, (995 + 3 * day) * S)
    assert (info.clock.forward, info.clock.forward_max_ns) == (1, (5 + 2 * day) * S)


def test_a_clock_that_only_goes_back_has_both_ends() -> None:
    info = read(pcap(30, 20, 10))[1].info()
    assert (info.first_ns, info.last_ns) == (10 * S, 30 * S)
