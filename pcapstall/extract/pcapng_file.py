"""Writes a pcapng file of one section: interfaces as they come, records with comments, statistics at the end.

Follows draft-ietf-opsawg-pcapng; stamps are nanoseconds. Where the bytes go is the caller's matter.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import BinaryIO, Final, NamedTuple

from pcapstall.capture.blocks import (
    IF_DESCRIPTION,
    IF_FILTER,
    IF_NAME,
    IF_TSRESOL,
    ISB_IFDROP,
    ISB_IFRECV,
    OPT_COMMENT,
    OPT_END,
    SHB_USERAPPL,
)
from pcapstall.capture.sections import ENHANCED_PACKET, INTERFACE, SECTION_HEADER, STATISTICS
from pcapstall.core.utf8 import utf8

_NANOSECONDS: Final = b"\x09"
_TEXT_MAX: Final = 65_535
_TICKS: Final = (1 << 64) - 1
_PACKET: Final = struct.Struct("<IIIIIII").pack
_LENGTH: Final = struct.Struct("<I").pack
_ENDS: Final = (b"", b"\0", b"\0\0", b"\0\0\0")

Option = tuple[int, bytes]


class Described(NamedTuple):
    """One interface as it is written. Equal ones of several files are one."""

    linktype: int
    number: int
    """In its file; interfaces of one file stay apart."""
    name: str = ""
    description: str = ""
    filter: str = ""
    snaplen: int = 0
    comments: tuple[str, ...] = ()


class PcapngFile:
    """One pcapng file; the section's header is written at once."""

    def __init__(self, out: BinaryIO, application: str, comments: Iterable[str]) -> None:
        self._out = out
        self._interfaces: dict[Described, int] = {}
        self._last_ns: dict[int, int] = {}
        options = [(OPT_COMMENT, utf8(text)) for text in comments]
        options.append((SHB_USERAPPL, utf8(application)))
        self._block(SECTION_HEADER, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1), options)

    def interface(self, described: Described) -> int:
        """The number of an interface here; described in the file when it is new."""
        number = self._interfaces.get(described)
        if number is None:
            number = self._interfaces[described] = len(self._interfaces)
            texts = ((IF_NAME, described.name), (IF_DESCRIPTION, described.description))
            options = [(code, utf8(text)) for code, text in texts if text]
            if described.filter:
                options.append((IF_FILTER, b"\0" + utf8(described.filter)))
            options += [(OPT_COMMENT, utf8(text)) for text in described.comments]
            options.append((IF_TSRESOL, _NANOSECONDS))
            self._block(INTERFACE, struct.pack("<HHI", described.linktype, 0, described.snaplen), options)
        return number

    def write(self, interface: int, ts_ns: int, data: bytes, origlen: int, options: Sequence[Option] = ()) -> None:
        """One record with its options; a stamp before 1970 is written as the negative number that it is."""
        self._last_ns[interface] = ts_ns
        ticks, caplen = ts_ns & _TICKS, len(data)
        body = caplen + 3 & ~3
        if options:
            head = struct.pack("<IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, caplen, origlen)
            self._block(ENHANCED_PACKET, head + data + bytes(body - caplen), options)
            return
        length = 32 + body
        head = _PACKET(ENHANCED_PACKET, length, interface, ticks >> 32, ticks & 0xFFFFFFFF, caplen, origlen)
        self._out.write(b"".join((head, data, _ENDS[body - caplen], _LENGTH(length))))

    def reached(self, interface: int, ts_ns: int) -> None:
        """Somebody else has written records of ``interface``, the last one with this stamp."""
        self._last_ns[interface] = max(ts_ns, self._last_ns.get(interface, ts_ns))

    def statistics(self, interface: int, received: int | None, dropped: int | None) -> None:
        """What an interface counted, as far as it is known; stamped like its last record."""
        options = [
            (code, count.to_bytes(8, "little"))
            for code, count in ((ISB_IFRECV, received), (ISB_IFDROP, dropped))
            if count is not None
        ]
        if options:
            ticks = self._last_ns.get(interface, 0) & ((1 << 64) - 1)
            self._block(STATISTICS, struct.pack("<III", interface, ticks >> 32, ticks & 0xFFFFFFFF), options)

    def _block(self, kind: int, body: bytes, options: Sequence[Option]) -> None:
        parts = [body]
        for code, value in options:
            value = value[:_TEXT_MAX]
            parts += [struct.pack("<HH", code, len(value)), value, bytes(-len(value) % 4)]
        if options:
            parts.append(struct.pack("<HH", OPT_END, 0))
        length = 12 + sum(map(len, parts))
        self._out.write(b"".join((struct.pack("<II", kind, length), *parts, struct.pack("<I", length))))
