"""Where the bytes of a strace or a log come from: plain or compressed files, and pipes by way of a spool.

Such a file is read twice, so what comes by a pipe is copied to an unnamed temporary file first. Nothing here looks at
lines; the module is not compiled, it is entered once a chunk.
"""

import os
import stat
import sys
from contextlib import suppress
from typing import BinaryIO, Final

from pcapstall.core.compressed import compression_of
from pcapstall.core.compression import Unpacker
from pcapstall.core.errors import InputError
from pcapstall.core.files import cut_meanwhile

CHUNK: Final = 128 * 1024
_SPOOL_CHUNK: Final = 1024 * 1024

_UTF_16: Final = "UTF-16 text: convert it to UTF-8"
_CAPTURE: Final = "a packet capture: name it without --strace and --log"
NO_TEXT: Final = (
    (b"\xff\xfe", _UTF_16),
    (b"\xfe\xff", _UTF_16),
    (b"\xd4\xc3\xb2\xa1", _CAPTURE),
    (b"\xa1\xb2\xc3\xd4", _CAPTURE),
    (b"\x4d\x3c\xb2\xa1", _CAPTURE),
    (b"\xa1\xb2\x3c\x4d", _CAPTURE),
    (b"\x0a\x0d\x0d\x0a", _CAPTURE),
    (b"\x7fELF", "a program"),
)
"""How files begin that are given for a strace or a log by mistake, and what they are."""


class TextSource:
    """One file of text, readable any number of times; `open` starts it anew."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.compression = ""
        """As `compression_of` names it; empty for plain text."""
        self.size: int = 0
        """Bytes of the file as it lies on disk."""
        self._spool: BinaryIO | None = None
        self._identity: tuple[int, int] | None = None
        """Device and inode of the file with a name, once it is known."""
        try:
            if path == "-":
                if sys.stdin is None:
                    raise InputError(path, "standard input is closed")
                self._spool_from(sys.stdin.buffer)
            elif not stat.S_ISREG(os.stat(path).st_mode):
                if os.path.isdir(path):
                    raise InputError(path, "is a directory")
                with open(path, "rb") as pipe:
                    self._spool_from(pipe)
            with self.open_raw() as file:
                head = file.read(8)
                self.size = file.seek(0, os.SEEK_END)
                self._identity = _identity(file)
        except OSError as error:
            raise InputError(path, error.strerror or str(error)) from error
        self.compression = compression_of(head) or ""

    def open(self, chunk_size: int = CHUNK, keep_open: bool = True) -> "TextStream":
        """A stream from the first byte on. One of very many is better not kept open between its chunks."""
        if not keep_open and not self.compression and self._spool is None:
            return ReopeningStream(self, chunk_size)
        return TextStream(self, chunk_size)

    def close(self) -> None:
        """Give the spool's disk space back."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None

    def _spool_from(self, pipe: BinaryIO) -> None:
        import tempfile

        try:
            spool = tempfile.TemporaryFile(prefix="pcapstall-")  # noqa: SIM115
        except OSError as error:
            raise self._cannot_be_kept(error) from error
        try:
            chunk = pipe.read(_SPOOL_CHUNK)
            if chunk and stat.S_ISCHR(os.fstat(pipe.fileno()).st_mode) and not pipe.isatty():
                raise InputError(self.path, "is a device: it may give bytes for ever, and none of a strace or a log")
            if chunk and not chunk.strip(b"\0"):
                raise InputError(self.path, f"no text: its first {len(chunk)} bytes are all zero")
            while chunk:
                self._keep(chunk, spool)
                chunk = pipe.read(_SPOOL_CHUNK)
        except BaseException:
            with suppress(OSError):  # where it is full, closing tries to write again
                spool.close()
            raise
        self._spool = spool

    def _keep(self, chunk: bytes, spool: BinaryIO) -> None:
        try:
            spool.write(chunk)
            spool.flush()
        except OSError as error:
            raise self._cannot_be_kept(error) from error

    def _cannot_be_kept(self, error: OSError) -> InputError:
        """What comes by a pipe is read more than once."""
        return InputError(self.path, f"is a pipe, and cannot be kept in a temporary file (TMPDIR): {error.strerror}")

    def open_raw(self) -> BinaryIO:
        """The bytes as they lie on disk."""
        if self._spool is not None:
            # A descriptor of its own, but the offset is shared: streams of one spool are read one after the other.
            file = os.fdopen(os.dup(self._spool.fileno()), "rb", buffering=0)
            file.seek(0)
            return file
        file = open(self.path, "rb", buffering=0)  # noqa: SIM115
        if self._identity not in (None, _identity(file)):
            file.close()
            raise InputError(self.path, "cannot be read on: another file has its name now (copy first what is rotated)")
        return file


def _identity(file: BinaryIO) -> tuple[int, int]:
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


class TextStream:
    """Chunks of one source. Damage ends the stream; `trouble` then says what was wrong."""

    def __init__(self, source: TextSource, chunk_size: int = CHUNK) -> None:
        self.path = source.path
        self._source = source
        self.trouble = ""
        """Why reading ended before the end of the file; empty when it did not."""
        self.chunk_size = chunk_size
        try:
            self._raw: BinaryIO = source.open_raw()
        except OSError as error:
            raise InputError(source.path, error.strerror or str(error)) from error
        self._unpacker: Unpacker | None = None
        if source.compression:
            try:
                self._unpacker = Unpacker(self._read_raw, source.path, source.compression)
            except InputError:
                self._raw.close()
                raise

    def read(self) -> bytes:
        """The next chunk, ``b""`` at the end."""
        if self._unpacker is None:
            return self._read_raw()
        plain = self._unpacker.read()
        if not plain:
            self.trouble = self.trouble or self._unpacker.trouble
        return plain

    def close(self) -> None:
        """Close the file. A second call does nothing."""
        self._raw.close()

    def _read_raw(self) -> bytes:
        try:
            chunk = self._raw.read(self.chunk_size)
            if not chunk:
                self.trouble = cut_meanwhile(self._raw.tell(), self._source.size)
        except OSError as error:
            self.trouble = error.strerror or type(error).__name__
            return b""
        return chunk


class ReopeningStream(TextStream):
    """A stream over a plain file that holds no descriptor between two chunks."""

    def __init__(self, source: TextSource, chunk_size: int) -> None:
        self.path = source.path
        self._source = source
        self.trouble = ""
        self.chunk_size = chunk_size
        self._at = 0

    def read(self) -> bytes:
        """The next chunk, ``b""`` at the end."""
        try:
            with self._source.open_raw() as file:
                file.seek(self._at)
                chunk = file.read(self.chunk_size)
        except OSError as error:
            self.trouble = error.strerror or str(error)
            return b""
        except InputError as error:
            self.trouble = error.reason
            return b""
        if not chunk:
            self.trouble = cut_meanwhile(self._at, self._source.size)
        self._at += len(chunk)
        return chunk

    def close(self) -> None:
        """Nothing to close."""


class BytesStream(TextStream):
    """A stream over bytes in memory, in chunks of any size: samples, and tests of chunk boundaries."""

    def __init__(self, data: bytes, path: str = "memory", chunk_size: int = CHUNK) -> None:
        self.path = path
        self.trouble = ""
        self.chunk_size = chunk_size
        self._data = data
        self._at = 0

    def read(self) -> bytes:
        """The next chunk, ``b""`` at the end."""
        chunk = self._data[self._at : self._at + self.chunk_size]
        self._at += len(chunk)
        return chunk

    def close(self) -> None:
        """Nothing to close."""
