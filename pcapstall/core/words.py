"""Integers out of bytes, both byte orders.

The hot path reads nearly every header field through these few functions: a load and one comparison with the buffer's
length when compiled (librt is mypyc's own library), so that a short buffer is an IndexError and never a wild read. What
every packet has is read with librt in place, which saves the call. Nothing here knows what a field means.
"""

from typing import Final

from librt.strings import read_i16_be, read_i16_le, read_i32_be, read_i32_le
from mypy_extensions import i64

U32: Final = 0xFFFF_FFFF
"""Takes a 32-bit word out of what librt reads with a sign."""


def u16_be(buf: bytes, offset: i64) -> i64:
    """The 16-bit big-endian word at ``offset``."""
    return i64(read_i16_be(buf, offset)) & 0xFFFF


def u24_be(buf: bytes, offset: i64) -> i64:
    """The 24-bit big-endian word at ``offset``."""
    return (u16_be(buf, offset) << 8) | i64(buf[offset + 2])


def u32_be(buf: bytes, offset: i64) -> i64:
    """The 32-bit big-endian word at ``offset``."""
    return i64(read_i32_be(buf, offset)) & U32


def u16_le(buf: bytes, offset: i64) -> i64:
    """The 16-bit little-endian word at ``offset``."""
    return i64(read_i16_le(buf, offset)) & 0xFFFF


def u32_le(buf: bytes, offset: i64) -> i64:
    """The 32-bit little-endian word at ``offset``."""
    return i64(read_i32_le(buf, offset)) & U32
