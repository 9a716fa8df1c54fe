"""The pcapng format, record by record: Enhanced, Simple and the obsolete Packet Block; other blocks are stepped over.

Follows draft-ietf-opsawg-pcapng: several sections, each with its own byte order and list of interfaces, each interface
with its own link type and clock. Rarely read parts of blocks are in `blocks`.
"""

from dataclasses import replace
from typing import Final

from mypy_extensions import i64

from pcapstall.capture.blocks import MULTIPLY, OPT_COMMENT, OPT_END, Interface, Options, Texts, u32
from pcapstall.capture.info import CaptureInfo, InterfaceInfo
from pcapstall.capture.reader import DAY_NS, MAX_CAPLEN, MAX_NS, MIN_NS, FileCursor
from pcapstall.capture.source import Source
from pcapstall.core.errors import InputError
from pcapstall.core.words import u16_be, u16_le, u32_be, u32_le

SECTION_HEADER: Final = 0x0A0D0D0A
_INTERFACE: Final = 1
_PACKET: Final = 2
_SIMPLE_PACKET: Final = 3
_STATISTICS: Final = 5
_ENHANCED_PACKET: Final = 6
_DARWIN_PROCESS: Final = 0x80000001
_NAMES: Final = {
    SECTION_HEADER: "Section Header Block",
    _INTERFACE: "Interface Description Block",
    _PACKET: "Packet Block",
    _SIMPLE_PACKET: "Simple Packet Block",
    4: "Name Resolution Block",
    _STATISTICS: "Interface Statistics Block",
    _ENHANCED_PACKET: "Enhanced Packet Block",
    9: "systemd Journal Export Block",
    10: "Decryption Secrets Block",
    0xBAD: "Custom Block",
    0x40000BAD: "Custom Block",
    _DARWIN_PROCESS: "process block",
}
_MIN_LEN: Final = {
    SECTION_HEADER: 28,
    _INTERFACE: 20,
    _PACKET: 32,
    _SIMPLE_PACKET: 16,
    _STATISTICS: 24,
    _ENHANCED_PACKET: 32,
    _DARWIN_PROCESS: 16,
}
"""Blocks that are read, with the least length each can have; all others are stepped over."""

_FRAMES: Final = (9, 0xBAD, 0x40000BAD)
"""Blocks without a packet that Wireshark shows, and numbers, as frames all the same."""
_MAX_BLOCK: Final = (128 << 20) + (128 << 10) + 32
"""Longer blocks are damage; the limit is wiretap's."""
_MAX_LOADED: Final = 16 << 20
"""A block that is read lies in memory as a whole."""
_MAX_INTERFACES: Final = 65536
_ORDER_BIG: Final = b"\x1a\x2b\x3c\x4d"
_ORDER_LITTLE: Final = b"\x4d\x3c\x2b\x1a"
_HIGH_LIMIT: Final = 1 << 29
"""The upper half of a stamp that still fits 62 bits with ease."""
_DROPS_UNKNOWN: Final = 0xFFFF

_EPB_FLAGS: Final = 2
_EPB_DROPCOUNT: Final = 4

# What `_other_block` found.
_END: Final = 0
_NOTHING: Final = 1
_RECORD: Final = 2


class PcapngCursor(FileCursor):
    """Records of a pcapng file. The first section header is read when the cursor is made."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.format = "pcapng"
        self._all: list[Interface] = []
        self._texts = Texts()
        self._first_big: bool = False
        self._section_first: i64 = 0
        """Index in ``_all`` of the section's interface 0."""
        self._section_count: i64 = 0
        # Of the interface of the last record, copied out of its Interface:
        self._selected: i64 = -1
        self._tick_ns: i64 = 0
        """Nanoseconds a tick; 0 when it is not as simple as that."""
        self._max_ticks: i64 = 0
        self._fcs_len: i64 = 0
        if not self._refill(28):
            left: i64 = self._end - self._pos
            raise InputError(self.path, f"the pcapng section header is cut: needed 28 bytes, got {left}")
        if self._other_block(SECTION_HEADER) != _NOTHING:
            first = self._damages[0]
            numbers = f": needed {first.needed}, got {first.got}" if first.needed >= 0 else ""
            raise InputError(self.path, f"the pcapng section header is damaged: {first.what}{numbers}")
        self._first_big = self.big_endian

    def next(self) -> bool:
        """Move to the next record; see `RecordCursor.next`."""
        while True:
            pos: i64 = self._pos
            if self._end - pos < 12:
                if not self._refill(12):
                    return self._at_end("cut in a block", 12)
                pos = self._pos
            buf = self.buf
            big = self.big_endian
            kind: i64
            length: i64
            if big:
                kind = u32_be(buf, pos)
                length = u32_be(buf, pos + 4)
            else:
                kind = u32_le(buf, pos)
                length = u32_le(buf, pos + 4)
            if kind != _ENHANCED_PACKET:
                found: i64 = self._other_block(kind)
                if found == _NOTHING:
                    continue
                return found == _RECORD
            # Some writers forget to count the padding.
            total: i64 = (length + 3) & -4
            if total < 32 or total > _MAX_LOADED:
                return self._bad_length(kind, length)
            if self._end - pos < total:
                if not self._refill(total):
                    return self._at_end("cut in an Enhanced Packet Block", total)
                pos = self._pos
                buf = self.buf
            tail: i64 = pos + total - 4
            index: i64
            high: i64
            low: i64
            caplen: i64
            origlen: i64
            trailer: i64
            if big:
                index = u32_be(buf, pos + 8)
                high = u32_be(buf, pos + 12)
                low = u32_be(buf, pos + 16)
                caplen = u32_be(buf, pos + 20)
                origlen = u32_be(buf, pos + 24)
                trailer = u32_be(buf, tail)
            else:
                index = u32_le(buf, pos + 8)
                high = u32_le(buf, pos + 12)
                low = u32_le(buf, pos + 16)
                caplen = u32_le(buf, pos + 20)
                origlen = u32_le(buf, pos + 24)
                trailer = u32_le(buf, tail)
            if trailer != length:
                return self._bad_trailer(kind, length, trailer)
            data_end: i64 = pos + 28 + ((caplen + 3) & -4)
            if index >= self._section_count or caplen > MAX_CAPLEN or data_end > tail:
                return self._bad_packet(index, caplen, tail - pos - 28)
            if index != self._selected:
                self._select(index)
            self._hand_out(pos + 28, caplen, origlen)
            if data_end < tail:
                self._packet_options(data_end, tail)
            ticks: i64 = (high << 32) | low
            if high < _HIGH_LIMIT and ticks <= self._max_ticks:
                self._set_time(ticks * self._tick_ns)
            else:
                self._set_odd_time(high, low)
            self._pos = pos + total
            return True

    def _hand_out(self, start: i64, caplen: i64, origlen: i64) -> None:
        """Fill in the record whose bytes are at ``start``; the interface is the selected one."""
        self.frame += 1
        self.ref += 1
        if caplen != origlen:
            if caplen > origlen:
                self._count("more bytes captured than were on the wire", caplen, origlen)
            else:
                self.cut_count += 1
        self.start = start
        self.caplen = caplen
        self.origlen = origlen
        if self._fcs_len > 0:
            self._drop_fcs(self._fcs_len)

    def _set_time(self, ts_ns: i64) -> None:
        step: i64 = ts_ns - self._prev_ns
        if step < 0 or step > DAY_NS:
            self._stamp(ts_ns)
        elif ts_ns > self.last_ns:
            self.last_ns = ts_ns
        self._prev_ns = ts_ns
        self.ts_ns = ts_ns

    def _set_odd_time(self, high: i64, low: i64) -> None:
        """A stamp in ticks that are no whole number of nanoseconds, or with an offset, or beyond 2116."""
        interface = self._all[self.interface]
        ns = interface.ticks_to_ns(int(high), int(low))
        if ns < 0 or ns > MAX_NS:
            self.absurd += 1
            self._count("a time stamp before 1970 or after 2116", -1, -1)
            ns = min(max(ns, MIN_NS), MAX_NS)
        self._set_time(ns)

    def _select(self, index: i64) -> None:
        """Make interface ``index`` of the section the one that the following records are of."""
        interface = self._all[self._section_first + index]
        self._selected = index
        self.interface = self._section_first + index
        self.linktype = interface.linktype
        self._fcs_len = interface.fcs_len
        self._tick_ns = 0
        self._max_ticks = -1
        if interface.rule == MULTIPLY and interface.offset_s == 0:
            self._tick_ns = interface.scale
            self._max_ticks = interface.max_ticks

    def _drop_fcs(self, fcs_len: i64) -> None:
        """The frame check sequence at the end is not the packet's; a snap length may have cut it already."""
        self.origlen -= fcs_len
        if self.origlen < 0:
            self.origlen = 0
        if self.caplen > self.origlen:
            self.caplen = self.origlen

    def _packet_options(self, at: i64, end: i64) -> None:
        buf = self.buf
        big = self.big_endian
        while at + 4 <= end:
            code: i64 = u16_be(buf, at) if big else u16_le(buf, at)
            size: i64 = u16_be(buf, at + 2) if big else u16_le(buf, at + 2)
            at += 4
            if code == OPT_END:
                return
            if at + size > end:
                self._count("options longer than their block", size, end - at)
                return
            if code == OPT_COMMENT:
                self._texts.add_packet_comment(int(self.frame), buf[at : at + size])
            elif code == _EPB_FLAGS and size == 4:
                # Bits 5 to 8 are the length of the frame check sequence in bytes, 0 when it is not known.
                fcs_len: i64 = (u32(buf, at, big) >> 5) & 0xF
                if fcs_len > 0 and self._fcs_len == 0:
                    self._drop_fcs(fcs_len)
            elif code == _EPB_DROPCOUNT and size == 8:
                lost = int.from_bytes(buf[at : at + 8], "big" if big else "little")
                self._all[self.interface].add_lost(lost)
            at += (size + 3) & -4

    def _other_block(self, kind: i64) -> i64:
        """Read or step over the block at ``_pos`` that is no Enhanced Packet Block."""
        if kind == SECTION_HEADER and not self._find_order():
            return _END
        big = self.big_endian
        length: i64 = u32(self.buf, self._pos + 4, big)
        total: i64 = (length + 3) & -4
        least: i64 = _MIN_LEN.get(int(kind), 12)
        if total < least or total > _MAX_BLOCK or (int(kind) in _MIN_LEN and total > _MAX_LOADED):
            self._bad_length(kind, length)
            return _END
        if int(kind) not in _MIN_LEN:
            return self._step_over(kind, length)
        if not self._refill(total):
            self._at_end(f"cut in {_name(kind)}", total)
            return _END
        trailer: i64 = u32(self.buf, self._pos + total - 4, big)
        if trailer != length:
            self._bad_trailer(kind, length, trailer)
            return _END
        found: i64 = _NOTHING
        if kind == SECTION_HEADER:
            found = self._section(total)
        elif kind == _INTERFACE:
            found = self._describe_interface(total)
        elif kind == _STATISTICS:
            found = self._statistics(total)
        elif kind == _SIMPLE_PACKET:
            found = self._simple_packet(total)
        elif kind == _PACKET:
            found = self._old_packet(total)
        else:
            pid = int(u32(self.buf, self._pos + 8, big))
            self._texts.add_process(pid, self._options(12, total))
        if found != _END:
            self._pos += total
        return found

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
            return _END
        self._texts.add_section(self._options(24, total))
        self._section_first = len(self._all)
        self._section_count = 0
        self._selected = -1
        return _NOTHING

    def _describe_interface(self, total: i64) -> i64:
        at: i64 = self._pos + 8
        linktype = u16_be(self.buf, at) if self.big_endian else u16_le(self.buf, at)
        snaplen = u32(self.buf, at + 4, self.big_endian)
        if len(self._all) >= _MAX_INTERFACES:
            self._damage("more interfaces than any capture has", _MAX_INTERFACES, len(self._all) + 1)
            return _END
        self._all.append(Interface(len(self._all), int(linktype), int(snaplen), self._options(16, total)))
        self._section_count += 1
        return _NOTHING

    def _statistics(self, total: i64) -> i64:
        index: i64 = u32(self.buf, self._pos + 8, self.big_endian)
        if index >= self._section_count:
            self._count("statistics of an interface that the section does not describe", -1, -1)
        else:
            self._all[self._section_first + index].add_statistics(self._options(20, total))
        return _NOTHING

    def _simple_packet(self, total: i64) -> i64:
        origlen: i64 = u32(self.buf, self._pos + 8, self.big_endian)
        caplen: i64 = total - 16
        if caplen > origlen:
            caplen = origlen
        if self._section_count == 0 or caplen > MAX_CAPLEN:
            self._bad_packet(0, caplen, total - 16)
            return _END
        snaplen: i64 = self._all[self._section_first].snaplen
        if 0 < snaplen < caplen:
            caplen = snaplen
        if self._selected != 0:
            self._select(0)
        self._hand_out(self._pos + 12, caplen, origlen)
        self.unstamped += 1
        return _RECORD

    def _old_packet(self, total: i64) -> i64:
        buf = self.buf
        big = self.big_endian
        at: i64 = self._pos + 8
        index: i64 = u16_be(buf, at) if big else u16_le(buf, at)
        lost: i64 = u16_be(buf, at + 2) if big else u16_le(buf, at + 2)
        high: i64 = u32(buf, at + 4, big)
        low: i64 = u32(buf, at + 8, big)
        caplen: i64 = u32(buf, at + 12, big)
        origlen: i64 = u32(buf, at + 16, big)
        data_end: i64 = at + 20 + ((caplen + 3) & -4)
        tail: i64 = self._pos + total - 4
        if index >= self._section_count or caplen > MAX_CAPLEN or data_end > tail:
            self._bad_packet(index, caplen, total - 32)
            return _END
        if index != self._selected:
            self._select(index)
        self._hand_out(at + 20, caplen, origlen)
        if lost not in (0, _DROPS_UNKNOWN):
            self._all[self.interface].add_lost(int(lost))
        if data_end < tail:
            self._packet_options(data_end, tail)
        self._set_odd_time(high, low)
        return _RECORD

    def _step_over(self, kind: i64, length: i64) -> i64:
        total: i64 = (length + 3) & -4
        stepped: i64 = self._skip(total - 4)
        if stepped < total - 4 or not self._refill(4):
            stepped += self._end - self._pos
            self._damage(f"cut in {_name(kind)}", total, stepped)
            return _END
        trailer: i64 = u32(self.buf, self._pos, self.big_endian)
        if trailer != length:
            self._bad_trailer(kind, length, trailer)
            return _END
        self._pos += 4
        if int(kind) in _FRAMES:
            self.frame += 1
            self.ref += 1
            self._not_packets += 1
        return _NOTHING

    def _options(self, start: i64, total: i64) -> Options:
        options = Options(self.buf, self._pos + start, self._pos + total - 4, self.big_endian)
        if options.overrun >= 0:
            self._count("options longer than their block", options.overrun, 0)
        return options

    def _bad_length(self, kind: i64, length: i64) -> bool:
        least = _MIN_LEN.get(int(kind), 12)
        if length < least:
            return self._damage(f"{_name(kind)} with an impossible length", least, length)
        return self._damage(f"{_name(kind)} longer than any is", _MAX_BLOCK, length)

    def _bad_trailer(self, kind: i64, length: i64, trailer: i64) -> bool:
        return self._damage(f"the two lengths of {_name(kind)} differ", length, trailer)

    def _bad_packet(self, index: i64, caplen: i64, room: i64) -> bool:
        if index >= self._section_count:
            return self._damage(
                f"a packet of interface {index}, but the section describes {self._section_count}", -1, -1
            )
        if caplen > MAX_CAPLEN:
            return self._damage("a record longer than any capture has", MAX_CAPLEN, caplen)
        return self._damage("a packet longer than its block", caplen, room)

    def _interfaces(self) -> tuple[InterfaceInfo, ...]:
        return tuple([interface.info() for interface in self._all])

    def info(self) -> CaptureInfo:
        """The summary of what was read so far."""
        texts = self._texts
        return replace(
            super().info(),
            byte_order="big" if self._first_big else "little",
            application=texts.application,
            os=texts.os,
            comments=tuple(texts.comments),
            packet_comments=texts.packet_comments(),
            processes=tuple(texts.processes),
        )


def _name(kind: i64) -> str:
    name = _NAMES.get(int(kind), f"block of unknown type {hex(kind)}")
    return ("an " if name[0] in "IE" else "a ") + name
