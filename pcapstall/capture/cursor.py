"""The pull cursor that every capture format is read through: `next()`, then look at the attributes.

A cursor hands out one record at a time as an extent of a buffer and copies nothing. How bytes are read and which
format they are in is in the modules beside this one; what the bytes mean is not the capture layer's business.
"""

from mypy_extensions import i64


class RecordCursor:
    """One capture, record by record. Subclasses override `next`."""

    def __init__(self) -> None:
        self.buf: bytes = b""
        """Holds the record's captured bytes at ``start``; valid until the next `next`."""
        self.start: i64 = 0
        self.caplen: i64 = 0
        """Bytes captured."""
        self.origlen: i64 = 0
        """Bytes that were on the wire."""
        self.ts_ns: i64 = 0
        """Nanoseconds since the epoch."""
        self.linktype: i64 = 0
        """LINKTYPE_ number of this record's interface (pcapng files mix them)."""
        self.interface: i64 = 0
        """Index of the record's interface, counted over all sections of the file."""
        self.frame: i64 = 0
        """Number of the record in its file, the first is 1."""
        self.file_index: i64 = 0
        """Which file of several, in the order in which they are read."""
        self.ref: i64 = 0
        """``core.frames.frame_ref(file_index, frame)``."""

    def next(self) -> bool:
        """Move to the next record. False at the end, also at the end of what can be read of a damaged file."""
        raise NotImplementedError
