"""The parts of pcapng blocks that are read once in a while: options, interface descriptions, statistics.

Layouts and codes are those of draft-ietf-opsawg-pcapng (sections 3.5, 4.1, 4.2, 4.6). The per-record path is in
`pcapng`.
"""

from typing import Final, NamedTuple

from mypy_extensions import i64

from pcapstall.capture.info import InterfaceInfo
from pcapstall.capture.linktypes import linktype_name
from pcapstall.capture.reader import MAX_NS, NO_STAMP
from pcapstall.core.words import u16_be, u16_le, u32_be, u32_le

OPT_END: Final = 0
OPT_COMMENT: Final = 1
SHB_OS: Final = 3
SHB_USERAPPL: Final = 4
IF_NAME: Final = 2
IF_DESCRIPTION: Final = 3
IF_TSRESOL: Final = 9
IF_FILTER: Final = 11
_IF_FCSLEN: Final = 13
_IF_TSOFFSET: Final = 14
ISB_IFRECV: Final = 4
ISB_IFDROP: Final = 5
_ISB_OSDROP: Final = 7
_NAME_OF_PROCESS: Final = 2

MAX_OPTIONS: Final = 1000
"""Of one block; what follows is not looked at."""
_MAX_TEXT: Final = 1024
_MAX_COMMENTS: Final = 64
_MAX_PACKET_COMMENTS: Final = 256
_MAX_SHIFT: Final = 127

# How ticks become nanoseconds: times, divided by, or shifted (base 2).
MULTIPLY: Final = 0
DIVIDE: Final = 1
SHIFT: Final = 2


class Options:
    """The options of one block as (code, value) pairs, and whether they run over its end."""

    def __init__(self, buf: bytes, at: i64, end: i64, big: bool) -> None:
        self.big = big
        self.pairs: list[tuple[int, bytes]] = []
        self.overrun: i64 = -1
        """Bytes that the last option needed and the block did not have; -1 when all is well."""
        while at + 4 <= end and len(self.pairs) < MAX_OPTIONS:
            code: i64 = u16_be(buf, at) if big else u16_le(buf, at)
            size: i64 = u16_be(buf, at + 2) if big else u16_le(buf, at + 2)
            if code == OPT_END:
                return
            at += 4
            if at + size > end:
                self.overrun = at + size - end
                return
            self.pairs.append((int(code), buf[at : at + size]))
            at += (size + 3) & -4

    def text(self, code: int) -> str:
        """The first value of ``code`` as text; empty without one."""
        for found, value in self.pairs:
            if found == code:
                return as_text(value)
        return ""

    def number(self, code: int, size: int, signed: bool = False) -> int | None:
        """The last value of ``code`` as an integer; None without one, or when it has not ``size`` bytes."""
        number: int | None = None
        for found, value in self.pairs:
            if found == code and len(value) == size:
                number = int.from_bytes(value, "big" if self.big else "little", signed=signed)
        return number

    def comments(self) -> list[str]:
        """All comments, a bounded number of them."""
        return [as_text(value) for code, value in self.pairs if code == OPT_COMMENT][:_MAX_COMMENTS]


class Interface:
    """One Interface Description Block, with what the statistics and the packets said of its losses."""

    def __init__(self, index: int, linktype: int, snaplen: int, options: Options) -> None:
        self.index = index
        self.linktype: i64 = linktype
        self.snaplen: i64 = snaplen
        self.name: str = options.text(IF_NAME)
        self.description: str = options.text(IF_DESCRIPTION)
        self.filter: str = ""
        self.comments: list[str] = options.comments()
        self.fcs_len: i64 = 0
        """Bytes of frame check sequence at the end of each frame."""
        self.rule: i64 = MULTIPLY
        self.scale: int = 1000
        """Nanoseconds a tick, ticks a nanosecond, or bits to shift, by ``rule``."""
        self.max_ticks: i64 = 0
        """Ticks above this are not nanoseconds that fit; only with MULTIPLY."""
        self.offset_s: int = 0
        self.prev_ns: i64 = NO_STAMP
        """Stamp of its last record, once a record of another interface has come."""
        self._statistics_dropped = -1
        self._packets_dropped = -1
        self._received = -1
        for code, value in options.pairs:
            if code == IF_FILTER and value[:1] == b"\0":
                self.filter = as_text(value[1:])
            elif code == _IF_FCSLEN and value:
                # The field is in bits, but the example in the draft was 4 for years and is found in files.
                bits = value[0]
                self.fcs_len = bits // 8 if bits >= 8 else bits
            elif code == IF_TSRESOL and value:
                self._set_resolution(value[0])
        self.offset_s = options.number(_IF_TSOFFSET, 8, signed=True) or 0
        if self.rule == MULTIPLY:
            self.max_ticks = MAX_NS // self.scale

    def _set_resolution(self, value: int) -> None:
        if value & 0x80:
            self.rule = SHIFT
            self.scale = value & _MAX_SHIFT
        elif value <= 9:
            self.rule = MULTIPLY
            self.scale = 10 ** (9 - value)
        else:
            self.rule = DIVIDE
            self.scale = 10 ** (value - 9)

    def ticks_to_ns(self, high: int, low: int) -> int:
        """Any 64-bit stamp in nanoseconds since the epoch, whatever the size of the result.

        The field is unsigned, but what has the top bit set was written as a negative number: as 2**64 less it keeps
        its distance to its neighbours, and as 584,000 years it does not.
        """
        ticks = high << 32 | low
        if high & 0x80000000:
            ticks -= 1 << 64
        if self.rule == MULTIPLY:
            ns = ticks * self.scale
        elif self.rule == DIVIDE:
            ns = ticks // self.scale
        else:
            ns = ticks * 1_000_000_000 >> self.scale
        return ns + self.offset_s * 1_000_000_000

    def add_statistics(self, options: Options) -> None:
        """An Interface Statistics Block: its counts are totals since the start of the capture."""
        lost = [options.number(code, 8) for code in (ISB_IFDROP, _ISB_OSDROP)]
        known = [count for count in lost if count is not None]
        if known:
            self._statistics_dropped = max(self._statistics_dropped, sum(known))
        received = options.number(ISB_IFRECV, 8)
        if received is not None:
            self._received = max(self._received, received)
        self.comments = (self.comments + options.comments())[:_MAX_COMMENTS]

    def add_lost(self, count: int) -> None:
        """A packet's own count of what was lost since the packet before it."""
        self._packets_dropped = max(self._packets_dropped, 0) + count

    def info(self) -> InterfaceInfo:
        """As the report shows it."""
        # Both counts are of the same losses, where a file has both.
        dropped = max(self._statistics_dropped, self._packets_dropped)
        return InterfaceInfo(
            number=self.index,
            linktype=linktype_name(int(self.linktype)),
            name=self.name,
            description=self.description,
            filter=self.filter,
            snaplen=int(self.snaplen),
            dropped=dropped if dropped >= 0 else None,
            received=self._received if self._received >= 0 else None,
            comments=tuple(self.comments),
        )


class PacketComment(NamedTuple):
    """A comment that one or more records carry (ptcpdump writes the process and the pod there)."""

    frame: int
    """The first record with this text."""
    text: str
    records: int = 1


class Texts:
    """What a file says in words: a bounded amount of it."""

    def __init__(self) -> None:
        self.application: str = ""
        self.os: str = ""
        self.comments: list[str] = []
        self.processes: dict[str, None] = {}
        self._packet_comments: dict[bytes, list[int]] = {}

    def add_section(self, options: Options) -> None:
        """The options of a Section Header Block; the first section's application and system are kept."""
        self.application = self.application or options.text(SHB_USERAPPL)
        self.os = self.os or options.text(SHB_OS)
        self.comments = (self.comments + options.comments())[:_MAX_COMMENTS]

    def add_packet_comment(self, frame: int, value: bytes) -> None:
        """A comment of record ``frame``."""
        value = value[:_MAX_TEXT]
        seen = self._packet_comments.get(value)
        if seen is not None:
            seen[1] += 1
        elif len(self._packet_comments) < _MAX_PACKET_COMMENTS:
            self._packet_comments[value] = [frame, 1]

    def add_process(self, pid: int, options: Options) -> None:
        """Apple's process block: the pid, and the name as an option."""
        name = options.text(_NAME_OF_PROCESS)
        if name and len(self.processes) < _MAX_PACKET_COMMENTS:
            self.processes[f"{name} ({pid})"] = None

    def packet_comments(self) -> tuple[PacketComment, ...]:
        """The different comments of packets, each with the first frame that has it."""
        return tuple(PacketComment(seen[0], as_text(value), seen[1]) for value, seen in self._packet_comments.items())


def as_text(value: bytes) -> str:
    """An option's UTF-8 up to the first NUL, cut to a sane length; what a terminal must not get is replaced."""
    text = value[:_MAX_TEXT].partition(b"\0")[0].decode("utf-8", "replace")
    if text.isprintable():
        return text
    return "".join([c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text])


def u32(buf: bytes, at: i64, big: bool) -> i64:
    """The 32-bit word at ``at`` in the section's byte order."""
    if big:
        return u32_be(buf, at)
    return u32_le(buf, at)
