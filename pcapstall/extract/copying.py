"""Writes records to a pcapng file as they are, those of which nothing else is to be said: most of a long extract.

Compiled. Stops at any other record, for whoever knows what is to be said of it; what a file holds besides packets is in
`pcapng_file`.
"""

from array import array
from typing import BinaryIO, Final

from librt.strings import BytesWriter, write_i32_le, write_i64_le
from mypy_extensions import i32, i64

from pcapstall.capture.reader import FileCursor
from pcapstall.capture.sections import ENHANCED_PACKET
from pcapstall.extract.records import FrameSet, Records

_LINKTYPE_BITS: Final = 16
_INTERFACE_BITS: Final = 24
_PIECE_LEN: Final = 128 * 1024
"""Written at once."""
_AROUND_LEN: Final = 32
"""Bytes of an enhanced packet block besides the packet (draft-ietf-opsawg-pcapng, section 4.3)."""


class Copying:
    """Goes through ``found`` and writes to ``out`` what is neither in ``special`` nor has options of its own."""

    def __init__(self, found: Records, out: BinaryIO, special: FrameSet) -> None:
        self._found = found
        self._out = out
        self._special = special
        self._numbers: dict[int, int] = {}
        """The interface in the new file, by where a record is from."""
        self.last_ns: dict[int, int] = {}
        """The stamp of the last record written here, by the number of its interface."""
        self.refs: array[int] = array("q")
        """The frames that were written, in their order; whoever writes one adds it."""

    def know(self, cursor: FileCursor, number: i64) -> None:
        """Records from where ``cursor``'s is are of interface ``number`` in the new file."""
        self._numbers[_source(cursor)] = number

    def next(self) -> FileCursor | None:
        """Write up to a record that is not for here; None when all were written."""
        found, special, refs = self._found, self._special, self.refs
        writer = BytesWriter()
        source: i64 = -1
        number: i64 = -1
        last_ns: i64 = 0
        cursor = found.next()
        while cursor is not None:
            ref: i64 = cursor.ref
            if cursor.options_ref == ref or special.has(ref):
                break
            own: i64 = _source(cursor)
            if own != source:
                if number >= 0:
                    self.last_ns[number] = last_ns
                source = own
                number = self._numbers.get(own, -1)
                if number < 0:
                    break
            last_ns = cursor.ts_ns
            _put(writer, number, cursor)
            refs.append(ref)
            if len(writer) > _PIECE_LEN:
                self._out.write(writer.getvalue())
                writer = BytesWriter()
            cursor = found.next()
        if number >= 0:
            self.last_ns[number] = last_ns
        if len(writer):
            self._out.write(writer.getvalue())
        return cursor


def _source(cursor: FileCursor) -> i64:
    """Where a record is from: the file, the interface of it and the link type in one number."""
    file_index: i64 = cursor.file_index
    interface: i64 = cursor.interface
    linktype: i64 = cursor.linktype
    return (((file_index << _INTERFACE_BITS) | interface) << _LINKTYPE_BITS) | linktype


def _put(writer: BytesWriter, number: i64, cursor: FileCursor) -> None:
    """The record as an enhanced packet block; a stamp before 1970 is written as the negative number that it is."""
    caplen: i64 = cursor.caplen
    origlen: i64 = cursor.origlen
    ts_ns: i64 = cursor.ts_ns
    start: i64 = cursor.start
    missing: i64 = -caplen & 3
    length: i64 = _AROUND_LEN + caplen + missing
    # Two words of 32 bits each time.
    write_i64_le(writer, (length << 32) | ENHANCED_PACKET)
    write_i64_le(writer, ((ts_ns >> 32) << 32) | number)
    write_i64_le(writer, (caplen << 32) | (ts_ns & 0xFFFFFFFF))
    writer.append(origlen & 0xFF)
    writer.append((origlen >> 8) & 0xFF)
    writer.append((origlen >> 16) & 0xFF)
    writer.append((origlen >> 24) & 0xFF)
    writer.write(cursor.buf[start : start + caplen])
    while missing > 0:
        writer.append(0)
        missing -= 1
    write_i32_le(writer, i32(length))
