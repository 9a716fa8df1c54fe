"""The pcapng format, record by record: Enhanced, Simple and the obsolete Packet Block; other blocks are stepped over.

Follows draft-ietf-opsawg-pcapng. What is between the packets is read by `sections`, options by `blocks`; only what is
done for each packet is here.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.capture.blocks import MULTIPLY, OPT_COMMENT, OPT_END, u32
from pcapstall.capture.reader import DAY_NS, MAX_CAPLEN, MAX_NS, MIN_NS
from pcapstall.capture.sections import (
    END,
    ENHANCED_PACKET,
    INTERFACE,
    MAX_LOADED,
    NOTHING,
    PACKET,
    RECORD,
    SECTION_HEADER,
    SIMPLE_PACKET,
    STATISTICS,
    SectionCursor,
    is_read,
)
from pcapstall.capture.source import Source
from pcapstall.core.errors import InputError
from pcapstall.core.words import u16_be, u16_le, u32_be, u32_le

_HIGH_LIMIT: Final = 1 << 29
"""The upper half of a stamp that still fits 62 bits with ease."""
_DROPS_UNKNOWN: Final = 0xFFFF

_EPB_FLAGS: Final = 2
_EPB_DROPCOUNT: Final = 4


class PcapngCursor(SectionCursor):
    """Records of a pcapng file. The first section header is read when the cursor is made."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        # Of the interface of the last record, copied out of its Interface:
        self._tick_ns: i64 = 0
        """Nanoseconds a tick; 0 when it is not as simple as that."""
        self._max_ticks: i64 = 0
        self._fcs_len: i64 = 0
        if not self._refill(28):
            left: i64 = self._end - self._pos
            raise InputError(self.path, f"the pcapng section header is cut: needed 28 bytes, got {left}")
        if self._other_block(SECTION_HEADER) != NOTHING:
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
            if kind != ENHANCED_PACKET:
                found: i64 = self._other_block(kind)
                if found == NOTHING:
                    continue
                return found == RECORD
            # Some writers forget to count the padding.
            total: i64 = (length + 3) & -4
            if total < 32 or total > MAX_LOADED:
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
        # Each interface has its own order of time: dumpcap writes a batch of each in turns.
        self._all[self.interface].prev_ns = self._prev_ns
        interface = self._all[self._section_first + index]
        self._prev_ns = interface.prev_ns
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
        self.options_ref = self.ref
        self.options_at = at
        self.options_end = end
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
            return END
        if not is_read(kind):
            return self._step_over(kind)
        total: i64 = self._load(kind)
        if total == 0:
            return END
        found: i64 = NOTHING
        if kind == SECTION_HEADER:
            found = self._section(total)
        elif kind == INTERFACE:
            found = self._describe_interface(total)
        elif kind == STATISTICS:
            found = self._statistics(total)
        elif kind == SIMPLE_PACKET:
            found = self._simple_packet(total)
        elif kind == PACKET:
            found = self._old_packet(total)
        else:
            found = self._process(total)
        if found != END:
            self._pos += total
        return found

    def _simple_packet(self, total: i64) -> i64:
        origlen: i64 = u32(self.buf, self._pos + 8, self.big_endian)
        caplen: i64 = total - 16
        if caplen > origlen:
            caplen = origlen
        if self._section_count == 0 or caplen > MAX_CAPLEN:
            self._bad_packet(0, caplen, total - 16)
            return END
        snaplen: i64 = self._all[self._section_first].snaplen
        if 0 < snaplen < caplen:
            caplen = snaplen
        if self._selected != 0:
            self._select(0)
        self._hand_out(self._pos + 12, caplen, origlen)
        self.unstamped += 1
        return RECORD

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
            return END
        if index != self._selected:
            self._select(index)
        self._hand_out(at + 20, caplen, origlen)
        if lost not in (0, _DROPS_UNKNOWN):
            self._all[self.interface].add_lost(int(lost))
        if data_end < tail:
            self._packet_options(data_end, tail)
        self._set_odd_time(high, low)
        return RECORD

    def _bad_packet(self, index: i64, caplen: i64, room: i64) -> bool:
        if index >= self._section_count:
            return self._damage(
                f"a packet of interface {index}, but the section describes {self._section_count}", -1, -1
            )
        if caplen > MAX_CAPLEN:
            return self._damage("a record longer than any capture has", MAX_CAPLEN, caplen)
        return self._damage("a packet longer than its block", caplen, room)
