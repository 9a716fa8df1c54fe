"""What stands between the packets of a pcapng file: sections, interfaces, statistics, and what is stepped over.

Follows draft-ietf-opsawg-pcapng: several sections, each with its own byte order and list of interfaces. The packets
themselves are read by `pcapng`, options by `blocks`.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.capture.blocks import Interface, Options, Texts, u32
from pcapstall.capture.info import CaptureInfo, InterfaceInfo
from pcapstall.capture.reader import FileCursor
from pcapstall.capture.source import Source
from pcapstall.core.words import u16_be, u16_le

SECTION_HEADER: Final = 0x0A0D0D0A
INTERFACE: Final = 1
PACKET: Final = 2
SIMPLE_PACKET: Final = 3
STATISTICS: Final = 5
ENHANCED_PACKET: Final = 6
DARWIN_PROCESS: Final = 0x80000001
_NAMES: Final = {
    SECTION_HEADER: "Section Header Block",
    INTERFACE: "Interface Description Block",
    PACKET: "Packet Block",
    SIMPLE_PACKET: "Simple Packet Block",
    4: "Name Resolution Block",
    STATISTICS: "Interface Statistics Block",
    ENHANCED_PACKET: "Enhanced Packet Block",
    9: "systemd Journal Export Block",
    10: "Decryption Secrets Block",
    0xBAD: "Custom Block",
    0x40000BAD: "Custom Block",
    DARWIN_PROCESS: "process block",
}
_MIN_LEN: Final = {
    SECTION_HEADER: 28,
    INTERFACE: 20,
    PACKET: 32,
    SIMPLE_PACKET: 16,
    STATISTICS: 24,
    ENHANCED_PACKET: 32,
    DARWIN_PROCESS: 16,
}
"""Blocks that are read, with the least length each can have; all others are stepped over."""

_FRAMES: Final = (9, 0xBAD, 0x40000BAD)
"""Blocks without a packet that Wireshark shows, and numbers, as frames all the same."""
_MAX_BLOCK: Final = (128 << 20) + (128 << 10) + 32
"""Longer blocks are damage; the limit is wiretap's."""
MAX_LOADED: Final = 16 << 20
"""A block that is read lies in memory as a whole."""
_MAX_INTERFACES: Final = 16384
_ORDER_BIG: Final = b"\x1a\x2b\x3c\x4d"
_ORDER_LITTLE: Final = b"\x4d\x3c\x2b\x1a"

# What the reading of a block came to.
END: Final = 0
NOTHING: Final = 1
RECORD: Final = 2


class SectionCursor(FileCursor):
    """The sections and interfaces of a pcapng file as far as it was read."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.format = "pcapng"
        self._all: list[Interface] = []
        """The interfaces of all sections so far."""
        self._texts = Texts()
        self._first_big: bool = False
        self._section_first: i64 = 0
        """Index in ``_all`` of the section's interface 0."""
        self._section_count: i64 = 0
        self._selected: i64 = -1
        """The section's interface that the last record was of; -1 at the start of a section."""

    def _find_order(self) -> bool:
        """Set the byte order from the section header at ``_pos``: until then its length cannot be read."""
        if not self._refill(28):
            return self._at_end("cut in a Section Header Block", 28)
        order = self.buf[self._pos + 8 : self._pos + 12]
        if order not in (_ORDER_BIG, _ORDER_LITTLE):
            return self._damage(f"byte-order magic {order.hex(' ')} is none", -1, -1)
        self.big_endian = order == _ORDER_BIG
        return True

    def _section(self, total: i64) -> i64:
        at: i64 = self._pos + 12
        major = u16_be(self.buf, at) if self.big_endian else u16_le(self.buf, at)
        minor = u16_be(self.buf, at + 2) if self.big_endian else u16_le(self.buf, at + 2)
        if major != 1 or minor not in (0, 2):
            self._damage(f"pcapng version {major}.{minor} is not supported", -1, -1)
            return END
        self._texts.add_section(self._options(24, total))
        self._section_first = len(self._all)
        self._section_count = 0
        self._selected = -1
        return NOTHING

    def _describe_interface(self, total: i64) -> i64:
        at: i64 = self._pos + 8
        linktype = u16_be(self.buf, at) if self.big_endian else u16_le(self.buf, at)
        snaplen = u32(self.buf, at + 4, self.big_endian)
        if len(self._all) >= _MAX_INTERFACES:
            self._damage("more interfaces than any capture has", _MAX_INTERFACES, len(self._all) + 1)
            return END
        self._all.append(Interface(len(self._all), int(linktype), int(snaplen), self._options(16, total)))
        self._section_count += 1
        return NOTHING

    def _statistics(self, total: i64) -> i64:
        index: i64 = u32(self.buf, self._pos + 8, self.big_endian)
        if index >= self._section_count:
            self._count("statistics of an interface that the section does not describe", -1, -1)
        else:
            self._all[self._section_first + index].add_statistics(self._options(20, total))
        return NOTHING

    def _process(self, total: i64) -> i64:
        """Apple's process block: the pid, then options."""
        pid = int(u32(self.buf, self._pos + 8, self.big_endian))
        self._texts.add_process(pid, self._options(12, total))
        return NOTHING

    def _load(self, kind: i64) -> i64:
        """Have the whole block at ``_pos`` in ``buf``; its length there, 0 when it is damaged or cut."""
        length: i64 = u32(self.buf, self._pos + 4, self.big_endian)
        total: i64 = (length + 3) & -4
        if total < i64(_MIN_LEN[int(kind)]) or total > MAX_LOADED:
            self._bad_length(kind, length)
            return 0
        if not self._refill(total):
            self._at_end(f"cut in {_name(kind)}", total)
            return 0
        trailer: i64 = u32(self.buf, self._pos + total - 4, self.big_endian)
        if trailer != length:
            self._bad_trailer(kind, length, trailer)
            return 0
        return total

    def _step_over(self, kind: i64) -> i64:
        """Go to the end of the block at ``_pos`` without keeping it."""
        length: i64 = u32(self.buf, self._pos + 4, self.big_endian)
        total: i64 = (length + 3) & -4
        if total < 12 or total > _MAX_BLOCK:
            self._bad_length(kind, length)
            return END
        stepped: i64 = self._skip(total - 4)
        if stepped < total - 4 or not self._refill(4):
            stepped += self._end - self._pos
            self._damage(f"cut in {_name(kind)}", total, stepped)
            return END
        trailer: i64 = u32(self.buf, self._pos, self.big_endian)
        if trailer != length:
            self._bad_trailer(kind, length, trailer)
            return END
        self._pos += 4
        if int(kind) in _FRAMES:
            self.frame += 1
            self.ref += 1
            self._not_packets += 1
        return NOTHING

    def _options(self, start: i64, total: i64) -> Options:
        options = Options(self.buf, self._pos + start, self._pos + total - 4, self.big_endian)
        if options.overrun >= 0:
            self._count("options longer than their block", options.overrun, 0)
        return options

    def _bad_length(self, kind: i64, length: i64) -> bool:
        least = _MIN_LEN.get(int(kind), 12)
        if length < least:
            return self._damage(f"{_name(kind)} with an impossible length", least, length)
        limit = MAX_LOADED if is_read(kind) else _MAX_BLOCK
        return self._damage(f"{_name(kind)} longer than any is", limit, length)

    def _bad_trailer(self, kind: i64, length: i64, trailer: i64) -> bool:
        return self._damage(f"the two lengths of {_name(kind)} differ", length, trailer)

    def interface_count(self) -> int:
        """How many interfaces were described so far, in all sections."""
        return len(self._all)

    def _interfaces(self) -> tuple[InterfaceInfo, ...]:
        return tuple([interface.info() for interface in self._all])

    def info(self) -> CaptureInfo:
        """The summary of what was read so far."""
        texts = self._texts
        return (
            super()
            .info()
            ._replace(
                byte_order="big" if self._first_big else "little",
                application=texts.application,
                os=texts.os,
                comments=tuple(texts.comments),
                packet_comments=texts.packet_comments(),
                processes=tuple(texts.processes),
            )
        )


def is_read(kind: i64) -> bool:
    """Whether the contents of blocks of this type matter; all others are stepped over."""
    return int(kind) in _MIN_LEN


def _name(kind: i64) -> str:
    name = _NAMES.get(int(kind), f"block of unknown type {hex(kind)}")
    return ("an " if name[0] in "IE" else "a ") + name
