"""A compressed capture as a source of plain bytes.

How each method is unpacked is in `core.compression`; here it is tied to what a source of a capture promises: counts of
the file as it lies on disk, and an end when one is asked for.
"""

from pcapstall.capture.source import Source
from pcapstall.core.compression import Unpacker


class DecompressedSource(Source):
    """The plain bytes of a compressed source."""

    def __init__(self, raw: Source, compression: str) -> None:
        super().__init__(raw.path, raw.stop_switch)
        self._raw = raw
        self._unpacker = Unpacker(raw.read, raw.path, compression)
        self._closed = False
        self.compression = self._unpacker.compression

    @property
    def bytes_read(self) -> int:
        """Of the compressed file."""
        return self._raw.bytes_read

    @bytes_read.setter
    def bytes_read(self, value: int) -> None:
        """The raw source counts."""

    @property
    def total_bytes(self) -> int | None:
        """Of the compressed file."""
        return self._raw.total_bytes

    @total_bytes.setter
    def total_bytes(self, value: int | None) -> None:
        """The raw source knows."""

    def rest(self) -> None:
        """Give the descriptor back until there is more to be read."""
        self._raw.rest()

    def close(self) -> None:
        """Give the descriptor back."""
        self._closed = True
        self._raw.close()

    def _read(self) -> bytes:
        if self._closed:
            return b""
        plain = self._unpacker.read()
        self.compression = self._unpacker.compression
        if not plain:
            # Whoever asked for the end knows that the data is cut.
            self.trouble = self._raw.trouble or ("" if self.stopped else self._unpacker.trouble)
        return plain
