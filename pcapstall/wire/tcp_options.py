"""TCP options of a decoded segment, read only by those who ask for them.

Each function walks the options of one `Segment` anew; they end with the bytes that were captured, and an option whose
length is wrong ends the walk. What an option means for a connection is not here.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be, u32_be
from pcapstall.wire.segment import Segment

# IANA "TCP Option Kind Numbers".
END_OF_OPTIONS: Final = 0
NO_OPERATION: Final = 1
MAXIMUM_SEGMENT_SIZE: Final = 2
WINDOW_SCALE: Final = 3
SACK_PERMITTED: Final = 4
SACK: Final = 5
TIMESTAMPS: Final = 8
MULTIPATH_TCP: Final = 30
FAST_OPEN: Final = 34
EXPERIMENT_1: Final = 253
EXPERIMENT_2: Final = 254

_FAST_OPEN_EXPERIMENT: Final = 0xF989
"""The identifier of TCP Fast Open in the experimental options, from before it had a number (RFC 7413 appendix A)."""

_NOP_NOP_TIMESTAMPS: Final = 0x0101_080A
"""The first four bytes of the options of nearly every segment with timestamps (RFC 7323 appendix A)."""

ABSENT: Final = -1


def timestamps(segment: Segment) -> bool:
    """Set ``segment.tsval`` and ``tsecr`` (RFC 7323 section 3.2); without the option both `ABSENT`, and False.

    TSecr is what the field holds; it means nothing in a segment without ACK.
    """
    buf: bytes = segment.buf
    at: i64 = segment.tcp_offset + 20
    if at + 12 <= segment.options_end and u32_be(buf, at) == _NOP_NOP_TIMESTAMPS:
        at += 2
    else:
        at = _find_exact(segment, TIMESTAMPS, 10)
        if at < 0:
            segment.tsval = ABSENT
            segment.tsecr = ABSENT
            return False
    segment.tsval = u32_be(buf, at + 2)
    segment.tsecr = u32_be(buf, at + 6)
    return True


def find_option(segment: Segment, kind: i64, min_len: i64) -> i64:
    """Offset in ``segment.buf`` of the first option ``kind`` of at least ``min_len`` bytes; `ABSENT` without one.

    ``min_len`` counts the kind and length bytes. The option's bytes are all captured.
    """
    buf: bytes = segment.buf
    at: i64 = segment.tcp_offset + 20
    end: i64 = segment.options_end
    while at + 2 <= end:
        found: i64 = i64(buf[at])
        if found == END_OF_OPTIONS:
            break
        if found == NO_OPERATION:
            at += 1
            continue
        length: i64 = i64(buf[at + 1])
        if length < 2 or at + length > end:
            break
        if found == kind and length >= min_len:
            return at
        at += length
    return ABSENT


def _find_exact(segment: Segment, kind: i64, length: i64) -> i64:
    """`find_option` for an option that has one length only."""
    at: i64 = find_option(segment, kind, length)
    if at >= 0 and i64(segment.buf[at + 1]) != length:
        return ABSENT
    return at


def max_segment_size(segment: Segment) -> i64:
    """The MSS that a SYN announces (RFC 9293 section 3.7.1); `ABSENT` without the option."""
    at: i64 = _find_exact(segment, MAXIMUM_SEGMENT_SIZE, 4)
    if at < 0:
        return ABSENT
    return u16_be(segment.buf, at + 2)


def window_scale(segment: Segment) -> i64:
    """The shift a SYN announces (RFC 7323 section 2.2), 14 at most; `ABSENT` without the option."""
    at: i64 = _find_exact(segment, WINDOW_SCALE, 3)
    if at < 0:
        return ABSENT
    shift: i64 = i64(segment.buf[at + 2])
    if shift > 14:
        return 14
    return shift


def sack_permitted(segment: Segment) -> bool:
    """Whether a SYN offers selective acknowledgments (RFC 2018 section 2)."""
    return _find_exact(segment, SACK_PERMITTED, 2) >= 0


def sack_count(segment: Segment) -> i64:
    """How many SACK blocks the segment has (RFC 2018 section 3): 0 to 4."""
    at: i64 = find_option(segment, SACK, 10)
    if at < 0:
        return 0
    return (i64(segment.buf[at + 1]) - 2) >> 3


def sack_block(segment: Segment, index: i64) -> tuple[i64, i64]:
    """The left and right edge of SACK block ``index`` (from 0), sequence numbers; both `ABSENT` beyond the last one.

    A first block at or below the segment's ACK is a D-SACK (RFC 2883).
    """
    at: i64 = find_option(segment, SACK, 10)
    if at < 0 or index < 0 or 2 + ((index + 1) << 3) > i64(segment.buf[at + 1]):
        return ABSENT, ABSENT
    at += 2 + (index << 3)
    return u32_be(segment.buf, at), u32_be(segment.buf, at + 4)


def fast_open_cookie_len(segment: Segment) -> i64:
    """Length of the TCP Fast Open cookie (RFC 7413 section 4.1.1), 0 for a request; `ABSENT` without the option.

    The experimental options 253 and 254 count too.
    """
    at: i64 = find_option(segment, FAST_OPEN, 2)
    if at >= 0:
        return i64(segment.buf[at + 1]) - 2
    at = find_option(segment, EXPERIMENT_2, 4)
    if at < 0 or u16_be(segment.buf, at + 2) != _FAST_OPEN_EXPERIMENT:
        at = find_option(segment, EXPERIMENT_1, 4)
        if at < 0 or u16_be(segment.buf, at + 2) != _FAST_OPEN_EXPERIMENT:
            return ABSENT
    return i64(segment.buf[at + 1]) - 4


def is_multipath(segment: Segment) -> bool:
    """Whether the segment has a Multipath TCP option (RFC 8684 section 3)."""
    return find_option(segment, MULTIPATH_TCP, 3) >= 0
