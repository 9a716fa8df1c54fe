"""Which open file a descriptor in a line means, also when its beginning is not in the trace, and what new ones mean.

Decorations (-y, -yy) tell the kind of an unseen descriptor, and show when a number was given out again unnoticed.
Without them the calls that only sockets or epoll sets allow tell as much.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.addresses import Decoration, read_decoration
from pcapstall.strace.args import ArgCursor, fd_decoration, read_flags, read_string
from pcapstall.strace.descriptors import REUSED, install
from pcapstall.strace.keeper import Sockets
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.messages import read_rights
from pcapstall.strace.model import EPOLL, FILE, SOCKET, UNKNOWN, EpollSet, Life, OpenFile, Process
from pcapstall.strace.network import CLOEXEC, OPEN_BITS, apply_decoration, differs
from pcapstall.strace.numbers import read_number
from pcapstall.strace.sockets import AF_OTHER, Direction, Socket
from pcapstall.strace.walk import GREATER, LESS, starts

# What a call takes its descriptor for.
ANYTHING: Final = 0
A_SOCKET: Final = 1
AN_EPOLL: Final = 2

_MAX_LABEL: Final = 128
_MAX_SENT: Final = 64
_CMSG_CLOEXEC: Final[dict[bytes, int]] = {b"MSG_CMSG_CLOEXEC": 0x4000_0000}


class Files:
    """The open files of one strace."""

    def __init__(self) -> None:
        self.sockets: Sockets = Sockets()
        self.epolls: list[EpollSet] = []
        self.unseen: i64 = 0
        """Descriptors that were used and whose beginning is not in the trace; 0, 1 and 2 do not count."""
        self.first_unseen_line: i64 = 0
        self.watched: set[int] = set()
        """Serials that `window` asks for."""
        self.found: dict[int, OpenFile] = {}
        """Those of them that have been seen."""
        self.sparse: bool = False
        """Only what sockets are matched by is wanted: no paths of files, no registrations in epoll sets."""
        self.glancing: bool = False
        """Only `window` asks what a descriptor means, in a call that the first pass does not look into: what is met so
        has no serial before another call has it, so that serials are the same in every pass."""
        self._after: i64 = 0
        """Where the descriptor that `at` read ends, with its decoration."""
        self._serial: i64 = 0
        self._sent: list[OpenFile] = []

    def at(self, process: Process, reader: StraceReader, buf: bytes, at: i64, end: i64, wanted: i64) -> OpenFile | None:
        """What the descriptor at ``at`` means; None when none stands there."""
        fd, after = read_number(buf, at, end)
        if after == at or fd < 0:
            self._after = at
            return None
        file = process.table.files.get(fd)
        if file is not None and file.serial == 0 and not self.glancing:
            self._list(file)
        if after < end and buf[after] == LESS:
            stop: i64 = after + 1
            if file is not None:
                stop += len(file.decoration)
            if file is None or stop >= end or buf[stop] != GREATER or buf[after + 1 : stop] != file.decoration:
                text = fd_decoration(buf, at, end)
                stop = after + 1 + len(text)
                file = self._decorated(process, reader, fd, file, text)
            after = stop + 1
        self._after = after
        if file is not None:
            if wanted == ANYTHING or file.kind == SOCKET or file.kind == EPOLL:
                if wanted == ANYTHING or (wanted == A_SOCKET) == (file.kind == SOCKET):
                    return file
        return self._undecorated(process, reader, fd, file, wanted)

    def first(self, process: Process, reader: StraceReader, wanted: i64) -> OpenFile | None:
        """What the call's first argument means, or meant when the call was entered."""
        if reader.half_ref != 0:
            half = reader.thread.half_file
            if half is not None:
                reader.thread.half_file = None
                return half
        file = self.at(process, reader, reader.args, reader.args_start, reader.args_end, wanted)
        reader.args_rest = self._after
        return file

    def result(self, process: Process, reader: StraceReader, file: OpenFile, cloexec: bool) -> None:
        """The call returned a descriptor of ``file``."""
        fd: i64 = reader.body.ret
        if not reader.body.returned or fd < 0:
            return
        buf = reader.buf
        end: i64 = reader.body.result_end
        _, after = read_number(buf, reader.body.result_start, end)
        self.add(process, reader, file, fd, cloexec)
        if after < end and buf[after] == LESS:
            text = fd_decoration(buf, reader.body.result_start, end)
            if text != file.decoration:
                file.decoration = text
                if file.kind == SOCKET or file.kind == UNKNOWN:
                    self._describe(file, read_decoration(text), text)

    def add(self, process: Process, reader: StraceReader, file: OpenFile, fd: i64, cloexec: bool) -> None:
        """``fd`` means ``file`` from this line on."""
        if file.first_line == 0:
            file.first_line = reader.ref
            file.line = reader.ref
            file.ns = reader.start_ns
            self._list(file)
        when: i64 = reader.end_ns
        if when < 0:
            when = reader.start_ns
        install(process, fd, file, cloexec, reader.ref, when)

    def confirm(self, socket: Socket) -> None:
        """An unknown descriptor turns out to be a socket."""
        if socket.kind == SOCKET:
            return
        socket.kind = SOCKET
        self._list(socket)
        process = socket.process
        if process is not None:
            socket.lived(Life(process, socket.fd, 0, -1))

    def opened(self, process: Process, reader: StraceReader, kind: i64) -> OpenFile:
        """A call whose result is a descriptor that is labelled by its path, or by its own name."""
        label = reader.syscall.name
        if self.sparse:
            # How the flags of most end.
            cloexec = starts(reader.args, reader.args_end - 10, reader.args_end, b"|O_CLOEXEC")
            named = cloexec or kind != FILE
            if not cloexec:
                # `find`: `in` asks first whether the needle is a number, which takes four times as long.
                args = reader.args[reader.args_start : reader.args_end]
                cloexec = args.find(b"CLOEXEC") >= 0
                named = named or args.find(b"O_") >= 0
            if named:
                file = OpenFile(kind, label)
                self.result(process, reader, file, cloexec)
                return file
        cursor = ArgCursor()
        cursor.open(reader.args, reader.args_start, reader.args_end)
        flags: i64 = 0
        place: i64 = 0
        while place < 3 and cursor.next():
            text, _ = read_string(cursor.buf, cursor.start, cursor.end, _MAX_LABEL)
            if text:
                label = text
            elif place > 0 or label != reader.syscall.name:
                value: i64 = read_flags(cursor.buf, cursor.start, cursor.end, OPEN_BITS)
                if value > 0:
                    flags |= value
            place += 1
        file = OpenFile(kind, label)
        self.result(process, reader, file, flags & CLOEXEC != 0)
        what = file.decoration
        if what and kind == FILE and what[:1] != b"/":
            file.label = label + b" (" + what[:_MAX_LABEL] + b")"  # /dev/stdout leads to a pipe
        return file

    def rights_sent(self, process: Process, reader: StraceReader) -> None:
        """Descriptors in a sendmsg: kept until somebody receives as many."""
        cursor = ArgCursor()
        cursor.open(reader.args, reader.args_start, reader.args_end)
        if not cursor.skip(1):
            return
        for fd in read_rights(cursor.buf, cursor.start, cursor.end):
            file = process.table.files.get(fd)
            if file is None:
                continue
            if isinstance(file, Socket):
                file.rights = True
            self._sent.append(file)
            if len(self._sent) > _MAX_SENT:
                self._sent.pop(0)

    def rights_received(self, process: Process, reader: StraceReader) -> None:
        """Descriptors in a recvmsg: the ones that were sent first and not received yet, or unseen ones."""
        cursor = ArgCursor()
        cursor.open(reader.args, reader.args_start, reader.args_end)
        if not cursor.skip(1):
            return
        fds = read_rights(cursor.buf, cursor.start, cursor.end)
        cloexec = cursor.next() and read_flags(cursor.buf, cursor.start, cursor.end, _CMSG_CLOEXEC) & 0x4000_0000 != 0
        for fd in fds:
            file: OpenFile | None = self._sent.pop(0) if self._sent else None
            if file is None:
                socket = Socket(AF_OTHER)
                socket.kind = UNKNOWN
                socket.origin = "received"
                socket.rights = True
                file = socket
            self.add(process, reader, file, fd, cloexec)

    def _decorated(
        self, process: Process, reader: StraceReader, fd: i64, file: OpenFile | None, text: bytes
    ) -> OpenFile | None:
        """The descriptor has another decoration than before."""
        decoration = read_decoration(text)
        if file is not None and not differs(file, decoration):
            file.decoration = text
            self._describe(file, decoration, text)
            return file
        made: OpenFile
        if decoration.kind == SOCKET:
            socket = Socket(AF_OTHER)
            socket.origin = "unseen"
            made = socket
        elif decoration.kind == EPOLL:
            made = EpollSet()
        else:
            made = OpenFile(decoration.kind, text[:_MAX_LABEL])
        made.decoration = text
        self._describe(made, decoration, text)
        self._unseen(process, reader, fd, made)
        return made

    def _describe(self, file: OpenFile, decoration: Decoration, text: bytes) -> None:
        if isinstance(file, Socket):
            if decoration.kind == SOCKET:
                self.confirm(file)
                apply_decoration(file, decoration)
        elif decoration.kind != UNKNOWN and file.kind == UNKNOWN:
            file.kind = decoration.kind
            file.label = text[:_MAX_LABEL]

    def _undecorated(
        self, process: Process, reader: StraceReader, fd: i64, file: OpenFile | None, wanted: i64
    ) -> OpenFile | None:
        """An unseen descriptor, or one whose call says that it is not what it was."""
        if isinstance(file, Socket) and wanted == A_SOCKET:
            self.confirm(file)
            return file
        if file is not None and reader.body.ret < 0:
            return file  # ENOTSOCK and the like: nothing is learned
        made: OpenFile
        if wanted == AN_EPOLL:
            made = EpollSet()
        else:
            socket = Socket(AF_OTHER)
            socket.origin = "unseen"
            if wanted == ANYTHING:
                socket.kind = UNKNOWN
            made = socket
        self._unseen(process, reader, fd, made)
        return made

    def _unseen(self, process: Process, reader: StraceReader, fd: i64, file: OpenFile) -> None:
        file.first_line = reader.ref
        install(process, fd, file, False, 0, -1, REUSED)
        self._list(file)
        if fd > 2:
            self.unseen += 1
            if self.first_unseen_line == 0:
                self.first_unseen_line = reader.ref

    def _list(self, file: OpenFile) -> None:
        """Give files their serials, and sockets and epoll sets their numbers."""
        if self.glancing:
            return
        if file.serial == 0:
            self._serial += 1
            file.serial = self._serial
            if self.watched and int(file.serial) in self.watched:
                self.found[file.serial] = file
        if isinstance(file, Socket):
            if file.kind == SOCKET and file.number < 0:
                file.inbound = Direction()
                file.outbound = Direction()
                self.sockets.add(file)
        elif isinstance(file, EpollSet) and file.number < 0:
            file.number = len(self.epolls)
            self.epolls.append(file)
