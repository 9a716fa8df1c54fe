"""The pcap format and its relatives, record by record.

Microsecond and nanosecond stamps, both byte orders, the record headers with extra fields that Kuznetzov's patches and
Nokia's boxes write, the old order of the two lengths (draft-ietf-opsawg-pcap; variants as wiretap tells them apart).
Which variant a file is, is decided once, by looking at the first records.
"""

from typing import Final

from librt.strings import read_i64_le
from mypy_extensions import i64

from pcapstall.capture.reader import DAY_NS, MAX_CAPLEN, FileCursor
from pcapstall.capture.source import Source
from pcapstall.core.errors import InputError
from pcapstall.core.words import U32, u16_be, u16_le, u32_be, u32_le

FILE_HEADER: Final = 24
_IXIA_EXTRA: Final = 4
"""Ixia's lcap appends the length of all records to the file header."""
RECORD_HEADER: Final = 16
_NOKIA_HEADER: Final = 20
_MODIFIED_HEADER: Final = 24
_SS990915_HEADER: Final = 28
_RECORDS_TO_TRY: Final = 4
_BYTES_TO_TRY: Final = 16384
_MAX_ORIGLEN: Final = 128 << 20
"""More on the wire than this only counts against a variant."""
_YEAR_S: Final = 366 * 86400
_AIX_LINKTYPES: Final = {6: 1, 9: 6, 15: 10, 24: 0}
"""AIX writes version 2.2 and RFC 1573 ifType numbers (and nanoseconds): ethernet, token ring, FDDI, loopback."""

_MICRO: Final = "micro"
_NANO: Final = "nano"
_MODIFIED: Final = "modified"
MAGICS: Final = {
    0xA1B2C3D4: _MICRO,
    0xA1B23C4D: _NANO,
    0xA1B2CD34: _MODIFIED,
    0x1C0001AB: _MICRO,
    0x1C0001AC: _NANO,
}


def pcap_magic(head: bytes) -> bool:
    """Whether ``head`` starts like a pcap file of either byte order."""
    return len(head) >= 4 and (u32_le(head, 0) in MAGICS or u32_be(head, 0) in MAGICS)


class PcapCursor(FileCursor):
    """Records of a pcap file. The file header is read, and the variant found, when the cursor is made."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._header_len: i64 = RECORD_HEADER
        self._fraction_ns: i64 = 1000
        self._fraction_limit: i64 = 1_000_000
        self._swapped: bool = False
        """The length on the wire comes before that of what was captured."""
        self._maybe_swapped: bool = False
        self._fcs_len: i64 = 0
        self._snaplen: i64 = 0
        self._read_file_header()

    def next(self) -> bool:
        """Move to the next record; see `RecordCursor.next`."""
        pos: i64 = self._pos
        header_len: i64 = self._header_len
        if self._end - pos < header_len:
            if not self._refill(header_len):
                return self._at_end("cut in a record header", header_len)
            pos = self._pos
        buf = self.buf
        seconds: i64
        fraction: i64
        caplen: i64
        origlen: i64
        if self.big_endian:
            seconds = u32_be(buf, pos)
            fraction = u32_be(buf, pos + 4)
            caplen = u32_be(buf, pos + 8)
            origlen = u32_be(buf, pos + 12)
        else:
            pair: i64 = read_i64_le(buf, pos)
            seconds = pair & U32
            fraction = (pair >> 32) & U32
            pair = read_i64_le(buf, pos + 8)
            caplen = pair & U32
            origlen = (pair >> 32) & U32
        if caplen != origlen and (self._swapped or (self._maybe_swapped and caplen > origlen)):
            swap: i64 = caplen
            caplen = origlen
            origlen = swap
        if caplen > MAX_CAPLEN:
            return self._damage("a record longer than any capture has", MAX_CAPLEN, caplen)
        if self._end - pos < header_len + caplen:
            if not self._refill(header_len + caplen):
                return self._at_end("cut in a record", header_len + caplen)
            pos = self._pos
        self.frame += 1
        self.ref += 1
        if caplen != origlen or fraction >= self._fraction_limit:
            if fraction >= self._fraction_limit:
                self._count("a time stamp with a fraction of more than a second", self._fraction_limit - 1, fraction)
            if caplen > origlen:
                self._count("more bytes captured than were on the wire", caplen, origlen)
            elif caplen < origlen:
                self.cut_count += 1
        self._pos = pos + header_len + caplen
        if self._fcs_len > 0:
            # The frame check sequence at the end is not the packet's; a snap length may have cut it already.
            origlen -= self._fcs_len
            if origlen < 0:
                origlen = 0
            if caplen > origlen:
                caplen = origlen
        ts_ns: i64 = seconds * 1_000_000_000 + fraction * self._fraction_ns
        step: i64 = ts_ns - self._prev_ns
        if step < 0 or step > DAY_NS:
            self._stamp(ts_ns)
        elif ts_ns > self.last_ns:
            self.last_ns = ts_ns
        self._prev_ns = ts_ns
        self.ts_ns = ts_ns
        self.start = pos + header_len
        self.caplen = caplen
        self.origlen = origlen
        return True

    def _read_file_header(self) -> None:
        if not self._refill(FILE_HEADER):
            left: i64 = self._end - self._pos
            raise InputError(self.path, f"the pcap file header is cut: needed {FILE_HEADER} bytes, got {left}")
        head = self.buf
        at = self._pos
        magic: i64 = u32_le(head, at)
        if int(magic) not in MAGICS:
            self.big_endian = True
            magic = u32_be(head, at)
        big = self.big_endian
        major = u16_be(head, at + 4) if big else u16_le(head, at + 4)
        minor = u16_be(head, at + 6) if big else u16_le(head, at + 6)
        self._snaplen = _u32(head, at + 16, big)
        network = _u32(head, at + 20, big)
        if major < 2:
            raise InputError(self.path, f"pcap version {major}.{minor} is not supported: nothing older than 2.0 is")
        if network & 0x03FF0000:
            raise InputError(self.path, f"the reserved bits of the pcap link type are not zero: {hex(network)}")
        self._pos += FILE_HEADER
        kind = MAGICS[int(magic)]
        if magic in (0x1C0001AB, 0x1C0001AC):
            self._skip(_IXIA_EXTRA)
        self.linktype = network & 0xFFFF
        if network & 0x04000000:
            self._fcs_len = 2 * (network >> 28)
        self.format = "pcap-ns" if kind == _NANO else "pcap-us"
        if kind == _NANO:
            self._nanoseconds()
        if (major, minor) in ((2, 0), (2, 1), (2, 2), (543, 0)):
            if minor == 2 and int(network) in _AIX_LINKTYPES and kind == _MICRO:
                self.linktype = _AIX_LINKTYPES[int(network)]
                self._nanoseconds()
            self._swapped = True
        elif (major, minor) == (2, 3):
            self._maybe_swapped = True
        elif kind != _NANO:
            self._find_variant(kind == _MODIFIED)

    def _nanoseconds(self) -> None:
        self._fraction_ns = 1
        self._fraction_limit = 1_000_000_000

    def _find_variant(self, modified: bool) -> None:
        """Set the length of the record header to that of the variant that fits the first records without a flaw.

        The magic number does not tell: a patched libpcap of 1999 and Nokia's write the standard one, and two patches
        with different headers write the same modified one.
        """
        candidates = [RECORD_HEADER, _MODIFIED_HEADER, _NOKIA_HEADER]
        if modified:
            candidates = [_MODIFIED_HEADER, _SS990915_HEADER]
        whole = self._peek_records(modified)
        head = self.buf[self._pos : self._end]
        chosen = candidates[0]
        for header_len in candidates:
            if not self._flaws(head, header_len, whole):
                chosen = header_len
                break
        self._header_len = chosen
        if chosen == _NOKIA_HEADER:
            self.format = "pcap-nokia"
        elif chosen != RECORD_HEADER:
            self.format = "pcap-modified"

    def _peek_records(self, modified: bool) -> bool:
        """Have the first records in ``buf``; whether that is all there is.

        A pipe is not kept waiting for that, except for the modified magic, where there is nothing to fall back on.
        """
        if self.source.total_bytes is not None:
            return not self._refill(_BYTES_TO_TRY)
        if modified and self._refill(_SS990915_HEADER):
            caplen = min(_u32(self.buf, self._pos + 8, self.big_endian), MAX_CAPLEN)
            return not self._refill(_SS990915_HEADER + caplen + _SS990915_HEADER)
        return False

    def _flaws(self, head: bytes, header_len: int, whole: bool) -> int:
        """How many things speak against records with ``header_len`` bytes of header, when ``head`` is the ``whole``."""
        big = self.big_endian
        flaws = 0
        at = 0
        first = _u32(head, 0, big) if len(head) >= 4 else 0
        for _ in range(_RECORDS_TO_TRY):
            if at + header_len > len(head):
                flaws += whole and at < len(head)
                break
            caplen = _u32(head, at + 8, big)
            origlen = _u32(head, at + 12, big)
            flaws += _u32(head, at + 4, big) >= 1_000_000
            flaws += caplen > MAX_CAPLEN or caplen > self._snaplen > 0
            flaws += abs(_u32(head, at, big) - first) > _YEAR_S
            flaws += origlen > _MAX_ORIGLEN
            flaws += caplen > origlen
            if header_len == _NOKIA_HEADER:
                flaws += not _is_nokia(_u32(head, at + 16, big))
            elif header_len >= _MODIFIED_HEADER:
                flaws += not _is_modified(head, at + 16, big)
            at += header_len + caplen
            flaws += whole and at > len(head)
            if flaws:
                break
        # Nothing to look at is no reason to believe in an odd variant.
        return flaws + (at == 0 and header_len != RECORD_HEADER)


def _u32(buf: bytes, at: i64, big: bool) -> int:
    return int(u32_be(buf, at) if big else u32_le(buf, at))


def _is_modified(head: bytes, at: int, big: bool) -> bool:
    """Whether an interface index, an ethertype (or one of Linux's own small numbers) and a packet type stand there."""
    protocol = int(u16_be(head, at + 4) if big else u16_le(head, at + 4))
    known = protocol >= 0x0600 or protocol in (0x0060, 0x0200, 0x0400) or protocol <= 0x0017
    return _u32(head, at, big) <= 10_000 and known and head[at + 6] <= 4


def _is_nokia(word: int) -> bool:
    """0xXfbfYZ0W with X of 9 b, Y of b d, Z of 6 9, W of 1 2: all that was ever seen there."""
    return (
        word & 0x0FFF00F0 == 0x0FBF0000
        and word >> 28 in (0x9, 0xB)
        and word >> 12 & 0xF in (0xB, 0xD)
        and word >> 8 & 0xF in (0x6, 0x9)
        and word & 0xF in (1, 2)
    )
