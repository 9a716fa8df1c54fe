"""What passes through a socket: counts, first and last calls, and the previews that strace shows of the bytes.

Only as many bytes are decoded as a preview takes, and none once the beginning of a stream is known. What the bytes
mean is not looked at, but for the two by which a TLS handshake record begins, so that one in mid-stream is kept too.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.args import ArgCursor, read_flags
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.messages import MESSAGE_FLAGS, MSG_PEEK, Shown, find_vector, read_buffer, read_vector
from pcapstall.strace.model import Call, shared
from pcapstall.strace.sockets import Direction, Preview, Socket
from pcapstall.strace.syscalls import (
    READ,
    READV,
    RECVFROM,
    RECVMSG,
    SENDMSG,
    SENDTO,
    WRITE,
    WRITEV,
)
from pcapstall.strace.walk import BACKSLASH, COMMA, QUOTE, SPACE

PREVIEW: Final = 96
"""Bytes of a preview: a hello's random ends at 43, after a PROXY line or a CONNECT perhaps later."""
MAX_PREVIEWS: Final = 4
_LOOK_CALLS: Final = 64
"""A handshake that begins later than in so many calls is not looked for."""
_NO_FLAGS: Final = b", 0, NULL, NULL"
"""How the arguments of most recvfrom end."""
_NO_FLAGS_LEN: Final = 15
_HANDSHAKE: Final = 0x16
_HANDSHAKE_RECORD: Final = b"\x16\x03"


def make_call(reader: StraceReader) -> Call:
    """The call on the reader's line, to be kept."""
    call = Call(reader.syscall, reader.thread)
    call.line = reader.ref
    if reader.half_ref != 0:
        call.line = reader.half_ref
    call.end_line = reader.ref
    call.start_ns = reader.start_ns
    call.end_ns = reader.end_ns
    if call.end_line == call.line:
        reader.thread.kept = call
    call.ret = reader.body.ret
    call.returned = reader.body.returned
    if call.ret < 0 or not call.returned:
        call.errno = shared(reader.body.errno(reader.buf))
    return call


class Transfers:
    """Accounts the calls that move bytes to their sockets."""

    def __init__(self) -> None:
        self._cursor: ArgCursor = ArgCursor()
        self._made: Call | None = None

    def _make(self, reader: StraceReader) -> Call:
        """One record of the reader's call, however many places keep it."""
        made = self._made
        if made is None or made.end_line != reader.ref or made.thread is not reader.thread:
            made = make_call(reader)
            self._made = made
        return made

    def read(self, reader: StraceReader, socket: Socket, code: i64) -> None:
        """A call of the read family on ``socket``; the code says where its buffer is."""
        way = socket.inbound
        if way.first_try is None:
            way.first_try = self._make(reader)
        moved: i64 = reader.body.ret
        if not reader.body.returned or moved < 0:
            self._failed(reader, way)
            return
        if moved == 0:
            if way.end is None:
                way.end = self._make(reader)
            return
        if code == RECVFROM or code == RECVMSG:
            if self._peeks(reader, code):
                if way.peek is None:
                    way.peek = self._make(reader)
                self._preview(reader, way, code, moved, True)
                return
        self._moved(reader, way, code, moved)

    def write(self, reader: StraceReader, socket: Socket, code: i64) -> None:
        """A call of the write family on ``socket``."""
        way = socket.outbound
        if way.first_try is None:
            way.first_try = self._make(reader)
        moved: i64 = reader.body.ret
        if not reader.body.returned or moved < 0:
            self._failed(reader, way)
        elif moved > 0:
            self._moved(reader, way, code, moved)

    def count(self, reader: StraceReader, way: Direction, moved: i64) -> None:
        """Bytes that went through without being shown: sendfile, splice; 0 for messages whose sizes are not known."""
        way.calls += 1
        way.bytes += moved
        way.last_line = reader.ref
        way.last_end_ns = reader.end_ns
        if way.first is None:
            way.first = self._make(reader)

    def begins_handshake(self, reader: StraceReader, code: i64) -> bool:
        """Whether the bytes begin like a handshake record: enough to take an unknown descriptor for a socket."""
        return reader.body.ret >= 2 and self._shows_handshake(reader, code, reader.body.ret)

    def _shows_handshake(self, reader: StraceReader, code: i64, moved: i64) -> bool:
        if _begins_otherwise(reader, code):
            return False
        return self._shown(reader, code, moved, 2).data == _HANDSHAKE_RECORD

    def _failed(self, reader: StraceReader, way: Direction) -> None:
        errno = reader.body.errno(reader.buf)
        if errno == b"EAGAIN" or errno == b"EWOULDBLOCK":
            way.would_block += 1
        elif way.failed is None and errno and errno != b"EINTR" and not errno.startswith(b"ERESTART"):
            way.failed = self._make(reader)

    def _moved(self, reader: StraceReader, way: Direction, code: i64, moved: i64) -> None:
        if way.calls < _LOOK_CALLS:
            self._preview(reader, way, code, moved, False)
        self.count(reader, way, moved)

    def _preview(self, reader: StraceReader, way: Direction, code: i64, moved: i64, peeked: bool) -> None:
        """Keep what the call shows, if it begins a stream or a handshake, or goes on with a preview."""
        previews = way.previews
        offset: i64 = way.bytes
        last: Preview | None = None
        if previews:
            last = previews[-1]
            if last.peeked and last.offset == offset and not peeked:
                previews.pop()
                last = previews[-1] if previews else None
        have: i64 = 0
        if last is not None and last.offset + len(last.data) == offset and not peeked:
            have = len(last.data)
            if have >= PREVIEW:
                return
        else:
            last = None
            if len(previews) >= MAX_PREVIEWS:
                return
            if previews and not self._shows_handshake(reader, code, moved):
                return
        shown = self._shown(reader, code, moved, PREVIEW - have)
        if not shown.data:
            return
        if last is None:
            last = Preview(offset, self._make(reader))
            last.peeked = peeked
            previews.append(last)
        last.data += shown.data
        last.last = self._make(reader)

    def _shown(self, reader: StraceReader, code: i64, moved: i64, limit: i64) -> Shown:
        cursor = self._cursor
        buf = reader.args
        cursor.open(buf, reader.args_rest, reader.args_end)
        if not cursor.skip(1):
            return Shown()
        if code == READ or code == WRITE or code == RECVFROM or code == SENDTO:
            return read_buffer(buf, cursor.start, cursor.end, moved, limit)
        at: i64 = cursor.start
        if code == RECVMSG or code == SENDMSG:
            at = find_vector(buf, cursor.start, cursor.end)
        elif code != READV and code != WRITEV:
            return Shown()
        if at < 0:
            return Shown()
        return read_vector(buf, at, cursor.end, moved, limit)

    def _peeks(self, reader: StraceReader, code: i64) -> bool:
        """Whether MSG_PEEK is among the flags: recvfrom's fourth argument, recvmsg's third."""
        end: i64 = reader.args_end
        if code == RECVFROM and end > _NO_FLAGS_LEN and reader.args[end - _NO_FLAGS_LEN : end] == _NO_FLAGS:
            return False
        cursor = self._cursor
        cursor.open(reader.args, reader.args_rest, reader.args_end)
        place: i64 = 3
        if code == RECVMSG:
            place = 2
        if not cursor.skip(place):
            return False
        flags: i64 = read_flags(cursor.buf, cursor.start, cursor.end, MESSAGE_FLAGS)
        return flags > 0 and flags & MSG_PEEK != 0


def _begins_otherwise(reader: StraceReader, code: i64) -> bool:
    """Whether the buffer after the first argument surely does not begin with the 0x16 of a handshake record, which is
    printed as ``\\26``, ``\\026`` or ``\\x16``; for the calls whose buffer is that argument."""
    if code != READ and code != WRITE and code != RECVFROM and code != SENDTO:
        return False
    buf = reader.args
    at: i64 = reader.args_rest
    # , "\27\3\3
    if at + 6 >= reader.args_end or buf[at] != COMMA or buf[at + 1] != SPACE or buf[at + 2] != QUOTE:
        return False
    first: i64 = buf[at + 3]
    if first != BACKSLASH:
        return first != _HANDSHAKE
    first = buf[at + 4]
    if first == 50:
        return buf[at + 5] != 54
    return 49 <= first <= 55
