"""TCP options of a decoded segment, read only by those who ask for them.

Each function walks the options of one `Segment` anew; they end with the bytes that were captured, and an option whose
length is wrong ends the walk. What an option means for a connection is not here.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u32_be
from pcapstall.wire.segment import Segment

# IANA "TCP Option Kind Numbers".
END_OF_OPTIONS: Final = 0
NO_OPERATION: Final = 1
MAXIMUM_SEGMENT_SIZE: Final = 2
SACK: Final = 5
TIMESTAMPS: Final = 8

NOP_NOP_TIMESTAMPS: Final = 0x0101_080A
"""The first four bytes of the options of nearly every segment with timestamps (RFC 7323 appendix A)."""
TIMESTAMPS_LEN: Final = 12
"""NOP, NOP and the option: all the options that most segments have, and what they take from the MSS (RFC 6691)."""

ABSENT: Final = -1


def timestamps(segment: Segment) -> bool:
    """Set ``segment.tsval`` and ``tsecr`` (RFC 7323 section 3.2); without the option both `ABSENT`, and False.

    TSecr is what the field holds; it means nothing in a segment without ACK.
    """
    buf: bytes = segment.buf
    at: i64 = segment.tcp_offset + 20
    if at + TIMESTAMPS_LEN <= segment.options_end and u32_be(buf, at) == NOP_NOP_TIMESTAMPS:
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
