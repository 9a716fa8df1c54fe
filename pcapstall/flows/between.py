"""What a half-flow remembers of its TLS reader between two records: where the next one begins, and little else.

Most segments end where a record does, or within one that nobody looks into. So one reader serves all halves, and a half
has its own only while something has begun that later bytes go on with, or once a record header was lost. Nothing here
reads a byte.
"""

from mypy_extensions import i64

from pcapstall.flows.flow import NEVER, READING, HalfFlow
from pcapstall.flows.roles import hello_receiver
from pcapstall.wire.tls_messages import DEAD, OPAQUE, RECORD_HEADER, START
from pcapstall.wire.tls_reader import TlsReader


class Readers:
    """The reader that all halves take turns with."""

    def __init__(self) -> None:
        self._shared: TlsReader = TlsReader(False, 0)
        """Nothing has begun in it, and no record header was lost: the rest is the half's, or set before it is read."""

    def attach(self, half: HalfFlow, offset: i64) -> TlsReader:
        """TLS begins at ``offset``: a reader of it, to be put down again."""
        begin(half, offset)
        reader = self._resumed(half)
        reader.state = START
        return reader

    def of(self, half: HalfFlow) -> TlsReader:
        """The reader of a half that reads, where that one stands; to be put down again when it has read."""
        reader = half.reader
        if reader is not None:
            return reader
        return self._resumed(half)

    def _resumed(self, half: HalfFlow) -> TlsReader:
        """The shared reader, where ``half`` put it down."""
        reader = self._shared
        reader.from_client = half.speaks_as_client
        reader.ccs = half.ccs
        reader.offset = half.watch_offset
        reader.record_offset = half.watch_offset
        reader.record_end = half.record_end
        reader.state = OPAQUE
        if half.watch_offset >= half.record_end:
            reader.state = RECORD_HEADER
        return reader

    def put_down(self, half: HalfFlow, reader: TlsReader) -> bool:
        """``reader``, which `of` or `attach` gave, has read as far as it can; `HalfFlow.watch_offset` follows it.

        Whether nothing has begun.
        """
        state: i64 = reader.state
        if state == DEAD:
            # The flow says so; nobody reads on.
            half.reader = None
            half.watch_offset = NEVER
            return True
        half.watch_offset = reader.offset
        if (state == RECORD_HEADER or state == OPAQUE) and reader.is_between() and not reader.lost:
            if half.reader is not None:
                half.reader = None
            half.record_end = reader.offset
            if state == OPAQUE:
                half.record_end = reader.record_end
            if half.flow.settled:
                # Nobody asks when the bytes came that lie within a record.
                half.watch_offset = half.record_end
            return True
        if half.reader is None:
            half.reader = reader
            self._shared = TlsReader(False, 0)
        return False


def begin(half: HalfFlow, offset: i64) -> None:
    """TLS begins at ``offset``, with a record's header or what may be one."""
    half.phase = READING
    half.speaks_as_client = half is not hello_receiver(half.flow)
    half.record_end = offset
    half.watch_offset = offset
    half.reader = None


def wanted_offset(half: HalfFlow) -> i64:
    """Bytes of a half need not be shown before this offset, if it reads."""
    reader = half.reader
    if reader is None:
        return half.record_end
    return reader.wanted_offset()
