"""Writes a pcap file: one link type, micro- or nanoseconds (draft-ietf-opsawg-pcap).

What it cannot hold is refused with what would hold it. Where the bytes go is the caller's matter.
"""

import struct
from typing import BinaryIO, Final

from pcapstall.capture.linktypes import linktype_name
from pcapstall.capture.reader import MAX_CAPLEN
from pcapstall.core.errors import UsageError

_MICRO: Final = 0xA1B2C3D4
_NANO: Final = 0xA1B23C4D
_RECORD: Final = struct.Struct("<IIII").pack
_STAMP_LIMIT_NS: Final = (1 << 32) * 1_000_000_000


class PcapFile:
    """One pcap file; its header is written before the first record, whose link type it tells."""

    def __init__(self, out: BinaryIO, nanoseconds: bool) -> None:
        self._out = out
        self._nanoseconds = nanoseconds
        self._linktype = -1

    def write(self, ts_ns: int, data: bytes, origlen: int, linktype: int) -> None:
        """One record. UsageError for a second link type, and for a stamp before 1970 or after 2106."""
        if self._linktype < 0:
            self._header(linktype)
        if linktype != self._linktype:
            names = f"{linktype_name(self._linktype)} and {linktype_name(linktype)}"
            raise UsageError(f"a pcap file holds one link type and the flows have {names}: write a .pcapng")
        if not 0 <= ts_ns < _STAMP_LIMIT_NS:
            raise UsageError("a pcap file holds no time before 1970 or after 2106: write a .pcapng")
        seconds, rest_ns = divmod(ts_ns, 1_000_000_000)
        fraction = rest_ns if self._nanoseconds else rest_ns // 1000
        self._out.write(_RECORD(seconds, fraction, len(data), origlen) + data)

    def end(self) -> None:
        """No more records; a file without any is a capture all the same."""
        if self._linktype < 0:
            self._header(1)

    def _header(self, linktype: int) -> None:
        self._linktype = linktype
        magic = _NANO if self._nanoseconds else _MICRO
        self._out.write(struct.pack("<IHHiIII", magic, 2, 4, 0, 0, MAX_CAPLEN, linktype))
