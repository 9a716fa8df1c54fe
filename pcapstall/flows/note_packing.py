"""The noted segments of a flow as bytes, for another process: ten of them are most of what a flow hands over.

Compiled: pickle would ask each of them for each of its attributes by name. What notes say is not known here.
"""

from typing import Final

from librt.strings import (
    BytesWriter,
    read_i16_le,
    read_i32_le,
    read_i64_le,
    write_i16_le,
    write_i32_le,
    write_i64_le,
)
from mypy_extensions import i64, u8

from pcapstall.flows.flow import Flow
from pcapstall.flows.kept import SegmentNote

_STAMPED: Final = 2
_FIXED_LEN: Final = 67
"""Bytes of a note before its options."""


def pack_notes(flow: Flow) -> bytes:
    """The notes of ``flow``; `unpack_notes` is the inverse."""
    writer = BytesWriter()
    note = flow.first_note
    while note is not None:
        bits: i64 = 0
        if note.from_opener:
            bits = 1
        if note.stamped:
            bits += _STAMPED
        write_i64_le(writer, note.ns)
        write_i64_le(writer, note.ref)
        write_i64_le(writer, note.offset)
        write_i64_le(writer, note.ack_offset)
        write_i64_le(writer, note.stamps)
        write_i64_le(writer, note.interface)
        write_i32_le(writer, note.ip_id)
        write_i32_le(writer, note.window)
        write_i32_le(writer, note.payload_len)
        write_i16_le(writer, note.flags)
        write_i16_le(writer, note.ttl)
        writer.append(u8(bits))
        writer.append(note.kind)
        options = note.options
        writer.append(u8(len(options)))
        writer.write(options)
        note = note.next
    return writer.getvalue()


def unpack_notes(flow: Flow, packed: bytes, middle: i64) -> None:
    """Give ``flow`` the notes that `pack_notes` has packed; the ``middle``-th of them, from 0, is its middle note."""
    first: SegmentNote | None = None
    last: SegmentNote | None = None
    at: i64 = 0
    number: i64 = 0
    while at < len(packed):
        note = SegmentNote()
        note.ns = read_i64_le(packed, at)
        note.ref = read_i64_le(packed, at + 8)
        note.offset = read_i64_le(packed, at + 16)
        note.ack_offset = read_i64_le(packed, at + 24)
        note.stamps = read_i64_le(packed, at + 32)
        note.interface = read_i64_le(packed, at + 40)
        note.ip_id = read_i32_le(packed, at + 48)
        note.window = read_i32_le(packed, at + 52)
        note.payload_len = read_i32_le(packed, at + 56)
        note.flags = read_i16_le(packed, at + 60)
        note.ttl = read_i16_le(packed, at + 62)
        bits: i64 = i64(packed[at + 64])
        note.from_opener = bits & 1 != 0
        note.stamped = bits & _STAMPED != 0
        note.kind = u8(packed[at + 65])
        size: i64 = i64(packed[at + 66])
        at += _FIXED_LEN
        note.options = packed[at : at + size]
        at += size
        if last is None:
            first = note
        else:
            last.next = note
        if number == middle:
            flow.rare().middle_note = note
        last = note
        number += 1
    flow.first_note = first
    flow.last_note = last
