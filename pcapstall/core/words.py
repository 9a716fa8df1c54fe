"""Integers out of bytes, both byte orders.

The hot path reads nearly every header field through these few functions: a load and one comparison with the buffer's
length when compiled (librt is mypyc's own library), so that a short buffer is an IndexError and never a wild read. What
every packet has is read with librt in place, which saves the call. Nothing here knows what a field means.
"""

from typing import Final

from librt.strings import BytesWriter, read_i16_be, read_i16_le, read_i32_be, read_i32_le, write_i32_be
from mypy_extensions import i32, i64

U32: Final = 0xFFFF_FFFF
"""Takes a 32-bit word out of what librt reads with a sign."""
V4_KEY_LEN: Final = 12
"""What `write_v4_key` writes."""


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


def write_u32_be(writer: BytesWriter, word: i64) -> None:
    """The low 32 bits of ``word``, big-endian."""
    write_i32_be(writer, i32(((word & U32) ^ 0x8000_0000) - 0x8000_0000))


def write_v4_key(writer: BytesWriter, source: i64, destination: i64) -> None:
    """Two addresses and two ports as they stand in packets, of endpoints as ``address << 16 | port``."""
    write_u32_be(writer, source >> 16)
    write_u32_be(writer, destination >> 16)
    write_u32_be(writer, ((source & 0xFFFF) << 16) | (destination & 0xFFFF))
