"""TCP sequence arithmetic, the only copy of it.

Sequence numbers live in a ring of 2**32 (RFC 9293 section 3.4). Everything above this module works with stream
offsets: 64-bit, never wrapping, 0 for the first payload byte, negative for what came before it.
"""

from typing import Final

from mypy_extensions import i64

RING: Final = 0x1_0000_0000
_HALF: Final = 0x8000_0000
_MASK: Final = 0xFFFF_FFFF


def seq_diff(a: i64, b: i64) -> i64:
    """How far sequence number ``a`` lies beyond ``b``: -2**31 to 2**31 - 1."""
    d: i64 = (a - b) & _MASK
    if d >= _HALF:
        return d - RING
    return d


def to_offset(seq: i64, base_seq: i64, near_offset: i64) -> i64:
    """The stream offset of ``seq``, the one that is nearest to ``near_offset``.

    ``base_seq`` is the sequence number of offset 0. A stream of any length stays unambiguous as long as a segment is
    less than 2 GiB away from the one before it.
    """
    return near_offset + seq_diff(seq, base_seq + near_offset)
