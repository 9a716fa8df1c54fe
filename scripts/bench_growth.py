"""A capture again and again on standard output, each copy with later stamps: as long as wanted, and no room on disk.

Between two copies lie ten minutes, so that no connection of one goes on in the next.
"""

import struct
import sys
from pathlib import Path

PAUSE_S = 600
_STAMP = struct.Struct("<I")
_LENGTH = struct.Struct("<I")


def offsets(data: bytes) -> list[int]:
    """Where each record of the little-endian pcap file ``data`` begins."""
    found = []
    at = 24
    while at < len(data):
        found.append(at)
        at += 16 + int(_LENGTH.unpack_from(data, at + 8)[0])
    return found


def main(path: Path, copies: int) -> None:
    """Write ``copies`` of the capture ``path``."""
    data = bytearray(path.read_bytes())
    at = offsets(bytes(data))
    first: int = _STAMP.unpack_from(data, at[0])[0]
    last: int = _STAMP.unpack_from(data, at[-1])[0]
    step = last - first + PAUSE_S
    out = sys.stdout.buffer
    out.write(data[:24])
    for copy in range(copies):
        if copy:
            for offset in at:
                _STAMP.pack_into(data, offset, _STAMP.unpack_from(data, offset)[0] + step)
        out.write(memoryview(data)[24:])
    out.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
