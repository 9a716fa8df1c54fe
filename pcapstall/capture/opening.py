"""From a path to a cursor: find out what the file is, and read it as that.

InputError, with one sentence, for everything that is not a capture. What reads one kind of file is imported with the
first of it: start-up is most of a small capture's time.
"""

from typing import Final

from pcapstall.capture.pcap import PcapCursor, pcap_magic
from pcapstall.capture.reader import FileCursor
from pcapstall.capture.source import Source, Stop, open_source
from pcapstall.core.compressed import compression_of
from pcapstall.core.errors import InputError

_PCAPNG_MAGIC: Final = b"\x0a\x0d\x0d\x0a"


def open_capture(path: str, file_index: int = 0, stop: Stop | None = None) -> FileCursor:
    """The cursor over one capture, before its first record; ``-`` is standard input.

    Raises InputError when it is no capture. ``stop`` ends the reading when it is thrown.
    """
    source = _source_of(path, stop)
    try:
        cursor = cursor_of(source)
    except BaseException:
        source.close()
        raise
    cursor.set_file_index(file_index)
    return cursor


def is_url(path: str) -> bool:
    """Whether ``path`` names a file of another file system, as `remote` reads."""
    scheme, mark, _ = path.partition("://")
    return bool(mark) and scheme.replace("+", "").replace("-", "").isalnum()


def _source_of(path: str, stop: Stop | None) -> Source:
    if is_url(path):
        from pcapstall.capture.remote import RemoteSource  # few are

        return RemoteSource(path, stop)
    return open_source(path, stop)


def unpacked(source: Source) -> Source:
    """``source``, or what is packed in it; InputError when there is nothing in it."""
    if not source.peek(4):
        raise InputError(source.path, source.trouble or _why_empty(source))
    compression = compression_of(source.peek(6))
    if compression is None:
        return source
    from pcapstall.capture.decompress import DecompressedSource

    inner = DecompressedSource(source, compression)
    if not inner.peek(4):
        raise InputError(source.path, inner.trouble or f"there is nothing in the {compression} file")
    if compression_of(inner.peek(6)) is not None:
        raise InputError(source.path, "is compressed twice: unpack it once first")
    return inner


def cursor_of(source: Source) -> FileCursor:
    """The cursor that reads ``source``, packed or not; InputError when it is no capture."""
    source = unpacked(source)
    head = source.peek(4)
    if head[:4] == _PCAPNG_MAGIC:
        from pcapstall.capture.pcapng import PcapngCursor

        return PcapngCursor(source)
    if pcap_magic(head):
        return PcapCursor(source)
    if source.trouble:
        raise InputError(source.path, source.trouble)
    from pcapstall.capture.sniff import HEAD, why_not_a_capture

    raise InputError(source.path, why_not_a_capture(source.peek(HEAD)[:HEAD]))


def _why_empty(source: Source) -> str:
    if source.stopped:
        return "nothing had come when it was stopped"
    return "is empty: nothing was captured, or what captures has not written yet (tcpdump -U writes at once)"
