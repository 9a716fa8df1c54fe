"""pcapng: sections, interfaces and their clocks, the three packet blocks, what is stepped over, damage."""

import struct

import pytest
from capture_support import T0, block, epb, idb, isb, old_packet, option, read, shb, spb, warned

from pcapstall.core.errors import InputError

S = 1_000_000_000
A, B = bytes(range(61)), bytes(range(100, 171))
HEAD = shb() + idb()
FIRST = HEAD + epb(A)


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_three_packet_blocks_in_both_byte_orders(order: str) -> None:
    data = (
        shb(order)
        + idb(order=order)
        + epb(A, order=order)
        + spb(B, order=order)
        + old_packet(B, T0 * 1_000_000 + 5, drops=0xFFFF, order=order)
    )
    found, cursor = read(data)
    assert [(r.ts_ns, r.data, r.origlen, r.frame) for r in found] == [
        (T0 * S, A, 61, 1),
        (T0 * S, B, 71, 2),
        (T0 * S + 5000, B, 71, 3),
    ]
    info = cursor.info()
    assert (info.format, info.byte_order, info.packets, info.unstamped) == (
        "pcapng",
        {"<": "little", ">": "big"}[order],
        3,
        1,
    )
    assert info.warnings == ()


def test_sections_have_their_own_byte_order_and_interfaces() -> None:
    data = (
        shb("<")
        + idb(1)
        + idb(113)
        + epb(A, interface=1)
        + shb(">", length=1000)
        + idb(276, order=">")
        + epb(B, interface=0, order=">")
        + shb("<")
        + idb(101)
        + epb(A, interface=0)
    )
    found, cursor = read(data)
    assert [(r.linktype, r.interface, r.data) for r in found] == [(113, 1, A), (276, 2, B), (101, 3, A)]
    assert cursor.info().linktypes == ("EN10MB", "LINUX_SLL", "LINUX_SLL2", "RAW")
    assert cursor.info().byte_order == "little"


@pytest.mark.parametrize(
    ("options", "ticks", "ns"),
    [
        (b"", T0 * 10**6 + 7, T0 * S + 7000),
        (option(9, b"\x06"), T0 * 10**6 + 7, T0 * S + 7000),
        (option(9, b"\x09"), T0 * S + 7, T0 * S + 7),
        (option(9, b"\x00"), T0, T0 * S),
        (option(9, b"\x0c"), 1_600_000 * 10**12 + 7999, 1_600_000 * S + 7),
        (option(9, b"\x80"), T0, T0 * S),
        (option(9, b"\x8a"), (T0 << 10) + 512, T0 * S + S // 2),
        (option(9, b"\xa0"), (T0 << 32) + (1 << 30), T0 * S + S // 4),
        (option(9, b"\xff"), (1 << 64) - 1 >> 1, 0),
        (option(9, b"\x7f"), (1 << 64) - 1 >> 1, 0),
        (option(14, struct.pack("<q", 1000)), T0 * 10**6, (T0 + 1000) * S),
        (option(14, struct.pack("<q", -1000)), T0 * 10**6 + 1, (T0 - 1000) * S + 1000),
        (option(9, b"\x8a") + option(14, struct.pack("<q", -1)), (T0 << 10) + 512, T0 * S - S // 2),
        # An option of the wrong size is as good as none.
        (option(14, b"\1\2\3"), T0 * 10**6, T0 * S),
        (option(9, b""), T0 * 10**6, T0 * S),
    ],
)
def test_resolutions_and_offsets(options: bytes, ticks: int, ns: int) -> None:
    found, cursor = read(shb() + idb(options=options) + epb(A, ticks) + old_packet(A, ticks))
    assert [r.ts_ns for r in found] == [ns, ns]
    assert cursor.info().absurd_stamps == 0


@pytest.mark.parametrize(
    ("options", "ticks", "ns"),
    [
        # -5 s in microseconds, as a writer that knows no sign puts it.
        (b"", (1 << 64) - 5_000_000, -5 * S),
        (b"", 1 << 63, -(1 << 61)),
        (b"", (1 << 63) - 1, (1 << 62) - 1),
        (option(9, b"\x09"), (1 << 62) + 5, (1 << 62) - 1),
        (option(9, b"\x00"), (1 << 63) - 1, (1 << 62) - 1),
        (option(14, struct.pack("<q", (1 << 63) - 1)), T0, (1 << 62) - 1),
        (option(14, struct.pack("<q", -(1 << 63))), T0, -(1 << 61)),
    ],
)
def test_absurd_stamps_stay_in_64_bits_and_are_counted(options: bytes, ticks: int, ns: int) -> None:
    found, cursor = read(shb() + idb(options=options) + epb(A, ticks) + epb(A, ticks))
    assert [r.ts_ns for r in found] == [ns, ns]
    info = cursor.info()
    assert (info.absurd_stamps, info.first_ns, info.last_ns) == (2, ns, ns)
    offset = len(shb()) + len(idb(options=options))
    assert f"frame 1, offset {offset}: a time stamp before 1970 or after 2116" in warned(cursor)[0]


def test_the_last_stamp_that_fits_is_not_absurd() -> None:
    found, cursor = read(shb() + idb(options=option(9, b"\x09")) + epb(A, (1 << 62) - 1))
    assert found[0].ts_ns == (1 << 62) - 1
    assert cursor.info().absurd_stamps == 0


@pytest.mark.parametrize(
    ("snaplen", "stored", "origlen", "expected"),
    [
        (0, 60, 60, 60),
        (40, 40, 60, 40),
        # The snap length rules even when the block has room for more: padding, in the end.
        (39, 40, 60, 39),
        (0, 60, 1500, 60),
        (65535, 60, 58, 58),
    ],
)
def test_the_length_of_a_simple_packet(snaplen: int, stored: int, origlen: int, expected: int) -> None:
    found, cursor = read(shb() + idb(snaplen=snaplen) + spb(bytes(stored), origlen))
    assert [(len(r.data), r.origlen, r.ts_ns) for r in found] == [(expected, origlen, 0)]
    info = cursor.info()
    assert (info.unstamped, info.first_ns, info.snaplen_cut) == (1, None, int(expected < origlen))


def test_simple_packets_are_of_the_first_interface_of_their_section() -> None:
    data = shb() + idb(1) + idb(113) + epb(A, interface=1) + spb(A) + shb() + idb(276) + spb(A)
    found, _ = read(data)
    assert [(r.linktype, r.interface) for r in found] == [(113, 1), (1, 0), (276, 2)]


@pytest.mark.parametrize(
    "skipped",
    [
        block(4, bytes(40)),
        block(10, bytes(100)),
        block(0x1234, b"?"),
        block(0x8000_0BAD, bytes(3_000_00)),
        block(0xFFFF_FFFF, b""),
    ],
)
def test_other_blocks_are_stepped_over(skipped: bytes) -> None:
    found, cursor = read(FIRST + skipped + epb(B), 100, 5)
    assert [(r.data, r.frame) for r in found] == [(A, 1), (B, 2)]
    assert not warned(cursor)


@pytest.mark.parametrize("kind", [9, 0xBAD, 0x40000BAD])
def test_blocks_that_wireshark_numbers_take_a_frame_number(kind: int) -> None:
    found, cursor = read(FIRST + block(kind, bytes(24)) + epb(B))
    assert [(r.data, r.frame) for r in found] == [(A, 1), (B, 3)]
    assert cursor.info().packets == 2
    assert cursor.ref == 3


def test_losses_are_the_statistics_or_the_packets_own_counts() -> None:
    def drops(count: int) -> bytes:
        return option(4, struct.pack("<Q", count))

    def statistics(code: int, count: int) -> bytes:
        return option(code, struct.pack("<Q", count))

    data = (
        shb()
        + idb()
        + idb()
        + idb()
        + idb()
        # Totals: the last word counts. 4 is isb_ifrecv, 5 isb_ifdrop, 7 isb_osdrop.
        + isb(0, statistics(5, 3) + statistics(7, 2) + statistics(4, 100))
        + isb(0, statistics(5, 7) + statistics(7, 4) + statistics(4, 200))
        # The packets' own counts are of the same losses: not added to the totals.
        + epb(A, interface=0, options=drops(5))
        + epb(A, interface=1, options=drops(5))
        + epb(A, interface=1, options=drops(6))
        + old_packet(A, interface=2, drops=9)
        + old_packet(A, interface=2, drops=0xFFFF)
    )
    info = read(data)[1].info()
    assert [i.dropped for i in info.interfaces] == [11, 11, 9, None]
    assert [i.received for i in info.interfaces] == [200, None, None, None]
    assert info.dropped == 31


def test_losses_are_unknown_when_nothing_is_said() -> None:
    info = read(FIRST + isb(0, option(2, bytes(8))))[1].info()
    assert info.dropped is None


def test_what_a_file_says_in_words_is_kept() -> None:
    data = (
        shb(options=option(1, b"of the section") + option(3, b"Linux 6.1") + option(4, b"Dumpcap\0") + option(0, b""))
        + idb(
            options=option(2, b"eth0")
            + option(3, "für alle".encode())
            + option(11, b"\0tcp port 443")
            + option(1, b"of the interface")
        )
        + epb(A, options=option(1, b"curl 42"))
        + epb(A, options=option(2, bytes(4)) + option(1, b"nginx 7"))
        + epb(A, options=option(1, b"curl 42"))
        + isb(0, option(1, b"of the statistics"))
        + block(0x80000001, struct.pack("<I", 42) + option(2, b"curl"))
    )
    info = read(data)[1].info()
    assert (info.comments, info.os, info.application) == (("of the section",), "Linux 6.1", "Dumpcap")
    interface = info.interfaces[0]
    assert (interface.name, interface.description, interface.filter) == ("eth0", "für alle", "tcp port 443")
    assert interface.comments == ("of the interface", "of the statistics")
    assert [(c.frame, c.text, c.records) for c in info.packet_comments] == [(1, "curl 42", 2), (2, "nginx 7", 1)]
    assert info.processes == ("curl (42)",)
    assert info.warnings == ()


def test_text_is_bounded_and_fit_for_a_terminal() -> None:
    options = option(1, b"\x1b[31mred\xff\nline") + 100 * option(1, b"y" * 5000)
    packets = b"".join(epb(A, options=option(1, b"%d" % n)) for n in range(300))
    info = read(shb(options=options) + idb() + packets)[1].info()
    assert info.comments[0] == "\ufffd[31mred\ufffd\nline"
    assert max(map(len, info.comments)) == 1024
    assert len(info.comments) == 64
    assert len(info.packet_comments) == 256


@pytest.mark.parametrize("bits", [32, 4])
def test_the_frame_check_sequence_of_an_interface(bits: int) -> None:
    found, cursor = read(shb() + idb(options=option(13, bytes([bits]))) + epb(A + b"FCS!") + epb(A, origlen=100))
    assert [(r.data, r.origlen) for r in found] == [(A, 61), (A, 96)]
    assert not warned(cursor)


def test_the_frame_check_sequence_of_a_packet() -> None:
    found, _ = read(HEAD + epb(A + b"FCS!", options=option(2, struct.pack("<I", 4 << 5))) + epb(A))
    assert [(r.data, r.origlen) for r in found] == [(A, 61), (A, 61)]


def test_more_captured_than_on_the_wire_is_counted_and_handed_out() -> None:
    found, cursor = read(HEAD + epb(A, origlen=5) + epb(B))
    assert [(r.data, r.origlen) for r in found] == [(A, 5), (B, 71)]
    assert "frame 1, offset 48: more bytes captured than were on the wire: needed 61, got 5" in warned(cursor)[0]


def test_a_length_without_the_padding_is_understood() -> None:
    found, cursor = read(HEAD + epb(A, length=93, trailer=93) + epb(B))
    assert [r.data for r in found] == [A, B]
    assert not warned(cursor)


AT = len(FIRST)
LATER = epb(B)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (epb(A, trailer=999), "the two lengths of an Enhanced Packet Block differ: needed 96, got 999"),
        (epb(A, length=92), "the two lengths of an Enhanced Packet Block differ: needed 92, got 60"),
        (epb(A, length=8), "an Enhanced Packet Block with an impossible length: needed 32, got 8"),
        (epb(A, length=0x7FFFFFFF), "an Enhanced Packet Block longer than any is: needed 16777216, got 2147483647"),
        (epb(A, length=0xFFFFFFFF), "an Enhanced Packet Block longer than any is: needed 16777216, got 4294967295"),
        (epb(A, caplen=5000), "a packet longer than its block: needed 5000, got 64"),
        (epb(A, caplen=0xFFFFFFFF), "a record longer than any capture has: needed 262144, got 4294967295"),
        (epb(bytes(262148)), "a record longer than any capture has: needed 262144, got 262148"),
        (epb(A, interface=1), "a packet of interface 1, but the section describes 1"),
        (epb(A, interface=0xFFFFFFFF), "a packet of interface 4294967295, but the section describes 1"),
        (shb() + epb(A), "a packet of interface 0, but the section describes 0"),
        (shb() + spb(A), "a packet of interface 0, but the section describes 0"),
        (shb() + old_packet(A), "a packet of interface 0, but the section describes 0"),
        (spb(bytes(262148)), "a record longer than any capture has: needed 262144, got 262148"),
        (shb(version=(2, 0)), "pcapng version 2.0 is not supported"),
        (shb().replace(b"\x4d\x3c\x2b\x1a", b"\1\2\3\4"), "byte-order magic 01 02 03 04 is none"),
        (block(0x0A0D0D0A, b"\x4d\x3c\x2b\x1a" + bytes(12), length=24), "a Section Header Block with an impossible"),
        (block(1, b""), "an Interface Description Block with an impossible length: needed 20, got 12"),
        (block(4, b"", length=0), "a Name Resolution Block with an impossible length: needed 12, got 0"),
        (block(4, b"", length=0x10000000), "a Name Resolution Block longer than any is: needed 134348832"),
        (block(10, b"abcd", trailer=12), "the two lengths of a Decryption Secrets Block differ: needed 16, got 12"),
        (bytes(64), "a block of unknown type 0x0 with an impossible length: needed 12, got 0"),
        (b"\xff" * 64, "a block of unknown type 0xffffffff longer than any is"),
    ],
)
def test_damage_ends_the_reading_and_is_named(damage: bytes, what: str) -> None:
    found, cursor = read(FIRST + damage + LATER)
    assert [r.data for r in found] == [A]
    (warning,) = cursor.warnings
    assert what in str(warning)
    assert warning.frame == 2
    assert AT <= warning.offset <= AT + len(damage)


@pytest.mark.parametrize("body", [epb(B), block(4, bytes(60)), block(0xBAD, bytes(60)), idb(), isb(), shb(), spb(B)])
def test_a_cut_is_told_wherever_it_is(body: bytes) -> None:
    for left in range(1, len(body)):
        found, cursor = read(FIRST + body[:left])
        assert [r.data for r in found] == [A]
        (warning,) = cursor.warnings
        assert "cut in" in warning.what
        assert warning.got == left
        assert warning.needed in (12, 28, len(body))


@pytest.mark.parametrize("where", ["packet", "interface", "section", "statistics"])
def test_options_longer_than_their_block_are_told_and_do_not_end_the_reading(where: str) -> None:
    bad = struct.pack("<HH", 1, 500) + b"abcd"
    data = {
        "packet": HEAD + epb(A, options=bad),
        "interface": shb() + idb(options=bad) + epb(A),
        "section": shb(options=bad) + idb() + epb(A),
        "statistics": HEAD + isb(0, bad) + epb(A),
    }[where]
    found, cursor = read(data + epb(B))
    assert [r.data for r in found] == [A, B]
    assert "options longer than their block" in warned(cursor)[0]


def test_statistics_of_no_interface_are_told() -> None:
    found, cursor = read(FIRST + isb(3) + epb(B))
    assert len(found) == 2
    assert "statistics of an interface that the section does not describe" in warned(cursor)[0]


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (shb()[:20], "section header is cut: needed 28 bytes, got 20"),
        (shb(version=(1, 3)), r"damaged: pcapng version 1\.3 is not supported"),
        (shb().replace(b"\x4d\x3c\x2b\x1a", b"\1\2\3\4"), "byte-order magic 01 02 03 04 is none"),
        (shb()[:-4] + b"\0\1\0\0", "the two lengths of a Section Header Block differ: needed 28, got 256"),
    ],
)
def test_a_first_section_header_that_cannot_be_read_is_refused(head: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read(head + (idb() if len(head) > 27 else b""))


def test_version_1_2_is_the_same_as_1_0() -> None:
    assert len(read(shb(version=(1, 2)) + idb() + epb(A))[0]) == 1


def test_a_file_of_sections_without_packets_is_a_capture() -> None:
    found, cursor = read(shb() + idb() + shb() + shb(">"))
    assert found == []
    assert cursor.info().packets == 0
    assert not warned(cursor)


def test_more_interfaces_than_any_capture_has_end_the_reading() -> None:
    _, cursor = read(shb() + 16385 * idb())
    assert "more interfaces than any capture has" in warned(cursor)[0]


def test_each_interface_has_its_own_order_of_time() -> None:
    """dumpcap writes a batch of each interface in turns; a step back within one is a step all the same."""
    batches = [(1, 30), (1, 31), (0, 10), (0, 11), (1, 40), (0, 35)]
    data = shb() + idb() + idb() + b"".join(epb(b"x", T0 * 1_000_000 + at, number) for number, at in batches)
    clock = read(data)[1].info().clock
    assert (clock.backward, clock.forward) == (0, 0)
    data += epb(b"x", T0 * 1_000_000 + 20)
    info = read(data)[1].info()
    assert (info.clock.backward, info.clock.backward_max_ns) == (1, 15_000)
    assert (info.first_ns, info.last_ns) == (T0 * 10**9 + 10_000, T0 * 10**9 + 40_000)
