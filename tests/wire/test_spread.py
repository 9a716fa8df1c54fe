"""The number that shares connections out: a glance finds what the decoder finds, and both directions have the same."""

from pathlib import Path

import pytest

from pcapstall.capture.captures import open_captures
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import TCP
from pcapstall.wire.spread import NOT_PLAIN, SPREAD_BITS, glance, spread_of, spread_of_key

CAPTURES = Path(__file__).parent.parent.parent / "captures"
FILES = sorted(str(path) for path in CAPTURES.rglob("*.pcap*"))


def spreads(path: str) -> tuple[int, int]:
    """Segments, and how many of them a glance is enough for; fails where it says something else than the decoder."""
    decoder = Decoder()
    cursor = open_captures([path])
    by_ends: dict[frozenset[bytes], int] = {}
    plain = segments = 0
    while cursor.next():
        seen = glance(cursor.buf, cursor.start, cursor.caplen, cursor.linktype)
        outcome = decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype)
        if outcome != TCP:
            assert seen == NOT_PLAIN
            continue
        segments += 1
        found = spread_of(decoder.segment)
        assert 0 <= found < 1 << SPREAD_BITS
        assert seen in (NOT_PLAIN, found)
        plain += seen != NOT_PLAIN
        key = decoder.segment.key
        assert spread_of_key(key) == found
        half = (len(key) - 4) // 2
        ends = frozenset((key[:half] + key[-4:-2], key[half:-4] + key[-2:]))
        assert by_ends.setdefault(ends, found) == found
    cursor.close()
    return segments, plain


@pytest.mark.parametrize("path", FILES, ids=[str(Path(path).relative_to(CAPTURES)) for path in FILES])
def test_a_glance_agrees_with_the_decoder(path: str) -> None:
    segments, plain = spreads(path)
    assert plain <= segments


def test_a_glance_is_enough_for_most() -> None:
    """Else several processes would decode everything between them, each of them."""
    totals = [spreads(path) for path in FILES]
    assert sum(plain for _, plain in totals) > 0.8 * sum(segments for segments, _ in totals)


@pytest.mark.parametrize("cut", range(60))
def test_a_cut_record_is_left_to_the_decoder(cut: int) -> None:
    cursor = open_captures([str(CAPTURES / "stalled-client-hello" / "capture.pcap")])
    decoder = Decoder()
    for _ in range(20):
        assert cursor.next()
        whole = decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype) == TCP
        seen = glance(cursor.buf, cursor.start, min(cut, cursor.caplen), cursor.linktype)
        decoded = decoder.decode(cursor.buf, cursor.start, min(cut, cursor.caplen), cursor.origlen, cursor.linktype)
        assert seen == NOT_PLAIN or (whole and decoded == TCP)
    cursor.close()


def test_connections_are_spread_evenly() -> None:
    """Ports one after the other, from few hosts to one server."""
    counts = [0] * 8
    for host in range(4):
        for port in range(32768, 33768):
            frame = bytes(12) + b"\x08\x00" + b"\x45\x00\x00\x28" + bytes(4) + b"\x40\x06\0\0"
            frame += bytes([10, 0, 0, host, 10, 0, 1, 1]) + port.to_bytes(2, "big") + b"\x01\xbb"
            frame += bytes(8) + b"\x50\x10" + bytes(6)
            counts[glance(frame, 0, len(frame), 1) * 8 >> SPREAD_BITS] += 1
    assert min(counts) > 350
    assert max(counts) < 650
