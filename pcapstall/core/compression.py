"""Compressed input as a stream of plain bytes, in bounded memory.

gzip, zstd, lz4, xz and bzip2, each with several members after one another. A cut tail gives everything up to the cut
and a word about it. What unpacks a kind of file is imported only when one comes along. What the bytes are (captures,
straces, logs) is not known here.
"""

import importlib
import zlib
from collections.abc import Callable
from typing import Any, Final, Protocol

from pcapstall.core.compressed import compression_of
from pcapstall.core.errors import InputError
from pcapstall.core.lacking import lack_of

CHUNK: Final = 128 * 1024
"""About so much plain text comes at once."""

_FIRST_STEP: Final = 64
"""Bytes that a member gets at first, then ever twice as many: of many short ones each looks at no more than its own."""
_ZSTD_STEP: Final = 1024
"""zstandard knows no limit on its output; so little input cannot become more than 32 MiB of it."""
_XZ_MEMORY: Final = 1 << 30
_NO_ROOM: Final = "llocation"
"""How zstd (ZSTD_error_memory_allocation) and lz4 (ERROR_allocation_failed) say that it is not the data's fault."""


class _Member(Protocol):
    """One member (frame, stream) of a compressed file. `feed` takes input, gives at most about a chunk of output."""

    eof: bool
    unused: bytes
    """Input after the end of the member."""
    hungry: bool
    """Whether there is nothing more to give before there is more input."""

    def feed(self, data: bytes) -> bytes: ...


class _GzipMember:
    def __init__(self) -> None:
        self._decoder = zlib.decompressobj(wbits=31)
        self._error: zlib.error | None = None
        self.eof = False
        self.unused = b""
        self.hungry = True

    def feed(self, data: bytes) -> bytes:
        if self._error is not None:
            raise self._error
        data = self._decoder.unconsumed_tail + data
        before = self._decoder.copy()
        try:
            out = self._decoder.decompress(data, CHUNK)
        except zlib.error as error:
            # With the error all output of the call is lost, a whole small file when only its check sum is wrong.
            self._error = error
            self.hungry = False
            return _creep(before, data)
        self.eof = self._decoder.eof
        self.unused = self._decoder.unused_data
        self.hungry = not self._decoder.unconsumed_tail and len(out) < CHUNK
        return out


def _creep(decoder: Any, data: bytes) -> bytes:
    """What comes out of ``data`` before the byte that is in error."""
    parts = []
    for at in range(len(data)):
        try:
            parts.append(decoder.decompress(data[at : at + 1]))
        except zlib.error:
            break
    return b"".join(parts)


class _LimitedMember:
    """What bz2, lzma and lz4 have in common: ``decompress(data, max_length)``, ``eof``, ``needs_input``."""

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder
        self.eof = False
        self.unused = b""
        self.hungry = True

    def feed(self, data: bytes) -> bytes:
        out: bytes = self._decoder.decompress(data, CHUNK)
        self.eof = self._decoder.eof
        self.unused = self._decoder.unused_data or b""
        self.hungry = self._decoder.needs_input
        return out


class _ZstdMember:
    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder
        self._input = b""
        self.eof = False
        self.unused = b""
        self.hungry = True

    def feed(self, data: bytes) -> bytes:
        data = self._input + data if self._input else data
        parts = []
        size = at = 0
        while at < len(data) and size < CHUNK and not self.eof:
            part = self._decoder.decompress(data[at : at + _ZSTD_STEP])
            at += _ZSTD_STEP
            parts.append(part)
            size += len(part)
            self.eof = self._decoder.eof
        rest = data[at:]
        if self.eof:
            self.unused = self._decoder.unused_data + rest
            rest = b""
        self._input = rest
        self.hungry = not rest
        return b"".join(parts)


class Unpacker:
    """The plain bytes of compressed ones, which ``raw`` gives chunk by chunk."""

    def __init__(self, raw: Callable[[], bytes], path: str, compression: str) -> None:
        self.compression: str | None = None if compression == "skippable" else compression
        """As `compression_of` names it; None as long as only skippable frames were seen."""
        self.trouble = ""
        """What ended the reading early; empty when the end was the end."""
        self._raw = raw
        self._path = path
        self._input = b""
        self._at = 0
        """How much of the input is used up."""
        self._step = _FIRST_STEP
        self._member: _Member | None = None
        self._ended = False
        self._new_member: Callable[[], _Member] | None = None
        self._errors: tuple[type[Exception], ...] = ()
        if self.compression is not None:
            self._new_member, self._errors = _codec(path, self.compression)

    def read(self) -> bytes:
        """The next plain bytes; ``b""`` at the end, whether it is one or not: see `trouble`."""
        while not self._ended:
            if self._member is None and not self._begin_member():
                break
            if self._member is not None:
                out = self._decode(self._member)
                if out:
                    return out
        return b""

    def _decode(self, member: _Member) -> bytes:
        if self._at == len(self._input) and member.hungry:
            self._input, self._at = self._raw(), 0
            if not self._input:
                self._end(f"the {self.compression} data is cut")
                return b""
        data = self._input[self._at : self._at + self._step]
        self._at += len(data)
        self._step = min(2 * self._step, CHUNK)
        try:
            out = member.feed(data)
        except self._errors as error:
            if _NO_ROOM in str(error):
                raise MemoryError(str(error)) from error
            self._end(f"the {self.compression} data is damaged: {error}")
            return b""
        if member.eof:
            # What it has not used lies in the input still: that is not replaced as long as a member is not hungry.
            self._at -= len(member.unused)
            self._member = None
        return out

    def _begin_member(self) -> bool:
        """Look at what follows: another member, padding, a skippable frame, or the end. False at the end."""
        head = self._want(6)
        if not head.strip(b"\0") or (self.compression == "xz" and not head[0]):
            # Zeros after the last member are the padding of xz and of tapes.
            if not head:
                self._end("")
                return False
            self._input, self._at = self._input[self._at :].lstrip(b"\0"), 0
            return True
        found = compression_of(head)
        if found == "skippable" and self.compression in (None, "zstd", "lz4"):
            return self._skip_frame()
        if self.compression is None and found in ("zstd", "lz4"):
            self.compression = found
            self._new_member, self._errors = _codec(self._path, found)
        if found != self.compression or self._new_member is None:
            self._end(f"something else follows the {self.compression or 'compressed'} data")
            return False
        self._member = self._new_member()
        self._step = _FIRST_STEP
        return True

    def _skip_frame(self) -> bool:
        head = self._want(8)
        left = int.from_bytes(head[4:8], "little") + 8
        while left > 0:
            if self._at == len(self._input):
                self._input, self._at = self._raw(), 0
                if not self._input:
                    self._end("a skippable frame is cut")
                    return False
            step = min(left, len(self._input) - self._at)
            self._at += step
            left -= step
        return True

    def _want(self, size: int) -> bytes:
        """The next ``size`` bytes, which are not used up by this; fewer only at the end."""
        while len(self._input) - self._at < size:
            chunk = self._raw()
            if not chunk:
                break
            self._input, self._at = self._input[self._at :] + chunk, 0
        return self._input[self._at : self._at + size]

    def _end(self, trouble: str) -> None:
        self._ended = True
        self._input, self._at = b"", 0
        self._member = None
        self.trouble = trouble


def _codec(path: str, compression: str) -> tuple[Callable[[], _Member], tuple[type[Exception], ...]]:
    """How to begin a member, and what a damaged one raises."""
    if compression == "gzip":
        return _GzipMember, (zlib.error,)
    if compression == "bzip2":
        import bz2

        return lambda: _LimitedMember(bz2.BZ2Decompressor()), (OSError, EOFError, ValueError)
    if compression == "xz":
        import lzma

        return lambda: _LimitedMember(lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY)), (lzma.LZMAError, EOFError)
    if compression == "zstd":
        zstandard = _import(path, "zstandard", compression)
        decompressor = zstandard.ZstdDecompressor()
        return lambda: _ZstdMember(decompressor.decompressobj()), (zstandard.ZstdError,)
    frame = _import(path, "lz4.frame", compression)
    return lambda: _LimitedMember(frame.LZ4FrameDecompressor()), (RuntimeError, EOFError, ValueError)


def _import(path: str, module: str, compression: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if lack_of(error):
            raise
        package = module.partition(".")[0]
        reason = f"is compressed with {compression}, and the Python package {package} is not installed"
        raise InputError(path, f"{reason}: pip install {package}, or unpack the file first") from error
