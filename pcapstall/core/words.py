"""Integers out of bytes, both byte orders.

The hot path reads nearly every header field through these few functions: plain indexing, so that a short buffer is an
IndexError and never a wild read, and compiled to a handful of instructions. Nothing here knows what a field means.
"""

from typing import Final

from mypy_extensions import i64

FAR: Final = 1 << 40
"""Beyond every buffer. Where the C compiler sees that an offset lies between 0 and this, it need not ask for each byte
behind it whether that one's offset is negative. So the few headers that every packet has are read in place, after
asking once.
"""


def u16_be(buf: bytes, offset: i64) -> i64:
    """The 16-bit big-endian word at ``offset``."""
    return (i64(buf[offset]) << 8) | i64(buf[offset + 1])


def u24_be(buf: bytes, offset: i64) -> i64:
    """The 24-bit big-endian word at ``offset``."""
    return (i64(buf[offset]) << 16) | (i64(buf[offset + 1]) << 8) | i64(buf[offset + 2])


def u32_be(buf: bytes, offset: i64) -> i64:
    """The 32-bit big-endian word at ``offset``."""
    return (i64(buf[offset]) << 24) | (i64(buf[offset + 1]) << 16) | (i64(buf[offset + 2]) << 8) | i64(buf[offset + 3])


def u16_le(buf: bytes, offset: i64) -> i64:
    """The 16-bit little-endian word at ``offset``."""
    return i64(buf[offset]) | (i64(buf[offset + 1]) << 8)


def u32_le(buf: bytes, offset: i64) -> i64:
    """The 32-bit little-endian word at ``offset``."""
    return i64(buf[offset]) | (i64(buf[offset + 1]) << 8) | (i64(buf[offset + 2]) << 16) | (i64(buf[offset + 3]) << 24)
