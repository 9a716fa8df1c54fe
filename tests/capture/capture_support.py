"""Captures built byte by byte, sources with scripted chunks, and records as tuples to compare."""

import struct
from dataclasses import dataclass

from pcapstall.capture.cursor import RecordCursor
from pcapstall.capture.opening import cursor_of
from pcapstall.capture.reader import FileCursor
from pcapstall.capture.source import Source, Stop

MICRO, NANO, MODIFIED = 0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34
T0 = 1_600_000_000
"""Seconds."""


class ScriptedSource(Source):
    """Hands out the chunks it was given, then the end; empty chunks are left out. Like a file, or like a pipe."""

    def __init__(self, chunks: list[bytes], stop: Stop | None = None, pipe: bool = False) -> None:
        super().__init__("scripted", stop)
        self.total_bytes = None if pipe else sum(map(len, chunks))
        self._chunks = [chunk for chunk in chunks if chunk]
        self.reads_after_end = 0

    def _read(self) -> bytes:
        if not self._chunks:
            self.reads_after_end += 1
            return b""
        chunk = self._chunks.pop(0)
        self.bytes_read += len(chunk)
        return chunk


@dataclass(frozen=True)
class Record:
    ts_ns: int
    data: bytes
    origlen: int
    linktype: int
    interface: int
    frame: int


def records(cursor: RecordCursor) -> list[Record]:
    found = []
    while cursor.next():
        assert 0 <= cursor.start <= cursor.start + cursor.caplen <= len(cursor.buf)
        data = cursor.buf[cursor.start : cursor.start + cursor.caplen]
        found.append(Record(cursor.ts_ns, data, cursor.origlen, cursor.linktype, cursor.interface, cursor.frame))
    assert not cursor.next(), "the end stays the end"
    return found


def read(data: bytes, *sizes: int) -> tuple[list[Record], FileCursor]:
    """All records of ``data`` that comes in chunks of ``sizes`` and then the rest."""
    chunks = []
    for size in sizes:
        chunks.append(data[:size])
        data = data[size:]
    cursor = cursor_of(ScriptedSource([*chunks, data]))
    return records(cursor), cursor


def warned(cursor: FileCursor) -> list[str]:
    return [str(warning) for warning in cursor.warnings]


def pcap_header(
    magic: int = MICRO, order: str = "<", version: tuple[int, int] = (2, 4), snaplen: int = 65535, link: int = 1
) -> bytes:
    return struct.pack(order + "IHHiIII", magic, *version, 0, 0, snaplen, link)


def pcap_record(
    data: bytes,
    seconds: int = T0,
    fraction: int = 0,
    order: str = "<",
    caplen: int | None = None,
    origlen: int | None = None,
    extra: bytes = b"",
) -> bytes:
    lengths = (len(data) if caplen is None else caplen, len(data) if origlen is None else origlen)
    return struct.pack(order + "IIII", seconds, fraction, *lengths) + extra + data


def pcap(*stamps_s: float, data: bytes = b"x" * 60) -> bytes:
    """A plain pcap file with one record for each stamp (seconds)."""
    return pcap_header() + b"".join(
        pcap_record(data, *divmod(round(stamp * 1_000_000), 1_000_000)) for stamp in stamps_s
    )


def pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def block(kind: int, body: bytes, order: str = "<", length: int | None = None, trailer: int | None = None) -> bytes:
    body = pad(body)
    total = len(body) + 12
    head = struct.pack(order + "II", kind, total if length is None else length)
    return head + body + struct.pack(order + "I", total if trailer is None else trailer)


def option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "HH", code, len(value)) + pad(value)


def shb(order: str = "<", version: tuple[int, int] = (1, 0), length: int = -1, options: bytes = b"") -> bytes:
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, *version, length) + options, order)


def idb(link: int = 1, snaplen: int = 0, options: bytes = b"", order: str = "<") -> bytes:
    return block(1, struct.pack(order + "HHI", link, 0, snaplen) + options, order)


def epb(
    data: bytes,
    ticks: int = T0 * 1_000_000,
    interface: int = 0,
    caplen: int | None = None,
    origlen: int | None = None,
    options: bytes = b"",
    order: str = "<",
    length: int | None = None,
    trailer: int | None = None,
) -> bytes:
    lengths = (len(data) if caplen is None else caplen, len(data) if origlen is None else origlen)
    head = struct.pack(order + "IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, *lengths)
    return block(6, head + pad(data) + options, order, length, trailer)


def spb(data: bytes, origlen: int | None = None, order: str = "<") -> bytes:
    return block(3, struct.pack(order + "I", len(data) if origlen is None else origlen) + data, order)


def old_packet(
    data: bytes, ticks: int = T0 * 1_000_000, interface: int = 0, drops: int = 0, options: bytes = b"", order: str = "<"
) -> bytes:
    head = struct.pack(order + "HHIIII", interface, drops, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(2, head + pad(data) + options, order)


def isb(interface: int = 0, options: bytes = b"", order: str = "<") -> bytes:
    return block(5, struct.pack(order + "III", interface, 0, 0) + options, order)
