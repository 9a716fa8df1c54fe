"""What each system call does to descriptors and sockets: one place, one call after the other.

`act` returns the open file that a call is about, so that `window` can say on what a thread spent its time. Threads and
processes are `tracker`'s part.
"""

from mypy_extensions import i64

from pcapstall.strace import network
from pcapstall.strace import syscalls as sc
from pcapstall.strace.args import ArgCursor, read_fd, read_flags
from pcapstall.strace.body import RESUMED
from pcapstall.strace.descriptors import CLOSED, REPLACED, install, remove, remove_range
from pcapstall.strace.epoll import Control, apply_control, read_control, waited
from pcapstall.strace.files import A_SOCKET, AN_EPOLL, ANYTHING, Files
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.model import FILE, PIPE, SOCKET, SPECIAL, EpollSet, OpenFile, Process
from pcapstall.strace.network import CLOEXEC, NONBLOCK, OPEN_BITS
from pcapstall.strace.numbers import read_number
from pcapstall.strace.sockets import AF_UNIX, Socket
from pcapstall.strace.transfer import Transfers, make_call
from pcapstall.strace.waits import CTL_ADD, CTL_DEL
from pcapstall.strace.walk import starts

_FCNTLS = {b"F_DUPFD": 0, b"F_GETFD": 1, b"F_SETFD": 2, b"F_GETFL": 3, b"F_SETFL": 4, b"F_DUPFD_CLOEXEC": 1030}
_UNSPECIFIED_LAST = 0x7FFF_FFFF


class Calls:
    """Applies calls to the descriptor tables and to the files in them."""

    def __init__(self) -> None:
        self.files: Files = Files()
        self.transfers: Transfers = Transfers()
        self.control: Control = Control()
        """The last epoll_ctl."""
        self.control_target: OpenFile | None = None
        """What it was about."""
        self._cursor: ArgCursor = ArgCursor()

    def act(self, reader: StraceReader, process: Process, code: i64) -> OpenFile | None:
        """A call that returned. Returns what its first descriptor means, None when it has none."""
        if code <= sc.SPLICE:
            return self._transfer(reader, process, code)
        if code == sc.EPOLL_WAIT:
            epoll = self.files.first(process, reader, AN_EPOLL)
            if isinstance(epoll, EpollSet):
                waited(reader, epoll)
            return epoll
        if code == sc.CLOSE:
            file = self.files.first(process, reader, ANYTHING)
            if reader.kind != RESUMED or reader.args_lost:
                self.close(reader, process)
            return file
        if code == sc.POLL or code == sc.SELECT or code == sc.FUTEX or code == sc.SLEEP:
            return None
        if code == sc.EPOLL_CTL:
            return self._control(reader, process)
        if code == sc.SOCKET:
            if reader.body.ret < 0 or not reader.body.returned:
                return None
            made, cloexec = network.new_socket(reader)
            made.origin = "socket"
            made.created = make_call(reader)
            self.files.result(process, reader, made, cloexec)
            return made
        if code == sc.SOCKETPAIR or code == sc.PIPE:
            self._pair(reader, process, code)
            return None
        if code < sc.SOCKETPAIR:
            return self._network(reader, process, code)
        return self._descriptor(reader, process, code)

    def enter(self, reader: StraceReader, process: Process) -> None:
        """The first half of a call: what its descriptor means now. A close takes effect at once."""
        code: i64 = reader.syscall.code
        wanted: i64 = ANYTHING
        if sc.RECVFROM <= code <= sc.SENDMMSG or sc.CONNECT <= code <= sc.SHUTDOWN:
            wanted = A_SOCKET
        elif code == sc.EPOLL_WAIT or code == sc.EPOLL_CTL:
            wanted = AN_EPOLL
        reader.body.ret = 0
        reader.thread.half_file = self.files.first(process, reader, wanted)
        if code == sc.CLOSE:
            self.close(reader, process)

    def close(self, reader: StraceReader, process: Process) -> None:
        """close was called: from here on the number is free, whenever it returns and whatever it says."""
        fd: i64 = read_fd(reader.args, reader.args_start, reader.args_end)
        if fd >= 0:
            remove(process, fd, reader.ref, reader.start_ns, CLOSED)

    def _transfer(self, reader: StraceReader, process: Process, code: i64) -> OpenFile | None:
        wanted: i64 = ANYTHING
        if sc.RECVFROM <= code <= sc.SENDMMSG:
            wanted = A_SOCKET
        file = self.files.first(process, reader, wanted)
        if not isinstance(file, Socket):
            if code == sc.SPLICE:
                self._spliced(reader, process)
            return file
        transfers = self.transfers
        if file.kind != SOCKET:
            if not transfers.begins_handshake(reader, code):
                return file
            self.files.confirm(file)
        if code == sc.READ or code == sc.READV or code == sc.RECVFROM:
            transfers.read(reader, file, code)
            if code == sc.RECVFROM and file.domain != AF_UNIX and file.peer is None and reader.body.ret > 0:
                network.sent_to(reader, file, 4)
        elif code == sc.WRITE or code == sc.WRITEV or code == sc.SENDTO:
            transfers.write(reader, file, code)
            if code == sc.SENDTO and file.domain != AF_UNIX and file.peer is None:
                network.sent_to(reader, file, 4)
        elif code == sc.RECVMSG:
            transfers.read(reader, file, code)
            if file.domain == AF_UNIX or file.domain < 0:
                self.files.rights_received(process, reader)
        elif code == sc.SENDMSG:
            transfers.write(reader, file, code)
            if file.domain == AF_UNIX or file.domain < 0:
                self.files.rights_sent(process, reader)
        elif reader.body.ret > 0:
            if code == sc.SENDFILE:
                transfers.count(reader, file.outbound, reader.body.ret)
            elif code == sc.SENDMMSG:
                transfers.count(reader, file.outbound, 0)
            elif code == sc.RECVMMSG:
                transfers.count(reader, file.inbound, 0)
            elif code == sc.SPLICE:
                transfers.count(reader, file.inbound, reader.body.ret)
        return file

    def _spliced(self, reader: StraceReader, process: Process) -> None:
        """``splice(5, NULL, 7, NULL, 65536, 0) = 517`` from a pipe to a socket."""
        cursor = self._cursor
        cursor.open(reader.args, reader.args_rest, reader.args_end)
        if reader.body.ret > 0 and cursor.skip(2):
            target = self.files.at(process, reader, cursor.buf, cursor.start, cursor.end, ANYTHING)
            if isinstance(target, Socket):
                self.transfers.count(reader, target.outbound, reader.body.ret)

    def _control(self, reader: StraceReader, process: Process) -> OpenFile | None:
        epoll = self.files.first(process, reader, AN_EPOLL)
        control = self.control
        self.control_target = None
        if not isinstance(epoll, EpollSet) or not read_control(reader, control, not self.files.sparse):
            return epoll
        target = self.files.at(process, reader, reader.args, control.fd_start, control.fd_end, ANYTHING)
        self.control_target = target
        if target is None or not reader.body.returned or self.files.sparse:
            return epoll
        if reader.body.ret < 0:
            errno = reader.body.errno(reader.buf)
            # EEXIST and ENOENT tell what the trace did not: the registration was there, or was not.
            if errno == b"ENOENT" and control.operation != CTL_ADD:
                control.operation = CTL_DEL
            else:
                return epoll
        fd: i64 = read_fd(reader.args, control.fd_start, control.fd_end)
        apply_control(reader, epoll, target, fd, control)
        return epoll

    def _network(self, reader: StraceReader, process: Process, code: i64) -> OpenFile | None:
        file = self.files.first(process, reader, A_SOCKET)
        if not isinstance(file, Socket):
            return file
        succeeded = reader.body.returned and reader.body.ret >= 0
        if code == sc.CONNECT:
            network.connected(reader, file)
        elif code == sc.ACCEPT:
            if succeeded:
                file.accepts += 1
                made, cloexec = network.accepted(reader, file)
                made.origin = "accept"
                made.created = make_call(reader)
                self.files.result(process, reader, made, cloexec)
        elif code == sc.GETSOCKOPT:
            network.asked(reader, file)
        elif succeeded:
            if code == sc.BIND:
                network.bound(reader, file)
            elif code == sc.LISTEN:
                network.listening(reader, file)
            elif code == sc.GETSOCKNAME or code == sc.GETPEERNAME:
                network.named(reader, file, code == sc.GETPEERNAME)
            elif code == sc.SHUTDOWN:
                network.shut(reader, file)
        return file

    def _pair(self, reader: StraceReader, process: Process, code: i64) -> None:
        if not reader.body.returned or reader.body.ret < 0:
            return
        first, second = network.pair_of(reader)
        if first < 0 or second < 0:
            return
        cloexec = b"_CLOEXEC" in reader.args[reader.args_start : reader.args_end]
        if code == sc.PIPE:
            self.files.add(process, reader, OpenFile(PIPE, b""), first, cloexec)
            self.files.add(process, reader, OpenFile(PIPE, b""), second, cloexec)
            return
        for fd in (first, second):
            socket, _ = network.new_socket(reader)
            socket.origin = "socketpair"
            socket.created = make_call(reader)
            self.files.add(process, reader, socket, fd, cloexec)

    def _descriptor(self, reader: StraceReader, process: Process, code: i64) -> OpenFile | None:
        """Calls that open and copy descriptors, and set what they are like."""
        if not reader.body.returned or reader.body.ret < 0:
            return self.files.first(process, reader, ANYTHING) if reader.syscall.fd_first else None
        if code == sc.OPEN:
            return self.files.opened(process, reader, FILE)
        if code == sc.MAKES_FD or (code == sc.IO_URING and reader.syscall.name == b"io_uring_setup"):
            return self.files.opened(process, reader, SPECIAL)
        if code == sc.EPOLL_CREATE:
            epoll = EpollSet()
            flags: i64 = read_flags(reader.args, reader.args_start, reader.args_end, OPEN_BITS)
            self.files.result(process, reader, epoll, flags > 0 and flags & CLOEXEC != 0)
            return epoll
        if code == sc.CLOSE_RANGE:
            self._close_range(reader, process)
            return None
        if code == sc.DUP:
            file = self.files.first(process, reader, ANYTHING)
            if file is not None:
                self.files.result(process, reader, file, False)
            return file
        if code == sc.DUP_TO:
            file = self.files.first(process, reader, ANYTHING)
            if file is not None:
                cloexec = b"O_CLOEXEC" in reader.args[reader.args_start : reader.args_end]
                install(process, reader.body.ret, file, cloexec, reader.ref, reader.start_ns, REPLACED)
            return file
        if code == sc.FCNTL:
            return self._fcntl(reader, process)
        if code == sc.IOCTL:
            file = self.files.first(process, reader, ANYTHING)
            if isinstance(file, Socket):
                self._ioctl(reader, file)
            return file
        return self.files.first(process, reader, ANYTHING) if reader.syscall.fd_first else None

    def _close_range(self, reader: StraceReader, process: Process) -> None:
        """``close_range(3, 4294967295, 0)``."""
        cursor = self._cursor
        cursor.open(reader.args, reader.args_start, reader.args_end)
        if not cursor.next():
            return
        first: i64 = read_fd(cursor.buf, cursor.start, cursor.end)
        if first < 0 or not cursor.next():
            return
        last, after = read_number(cursor.buf, cursor.start, cursor.end)
        if after == cursor.start:
            last = _UNSPECIFIED_LAST  # "~0U"
        marks_only = cursor.next() and b"CLOEXEC" in cursor.buf[cursor.start : cursor.end]
        if marks_only:
            for fd in process.table.files:
                if first <= fd <= last:
                    process.table.cloexec[fd] = True
        else:
            remove_range(process, first, last, reader.ref, reader.start_ns)

    def _fcntl(self, reader: StraceReader, process: Process) -> OpenFile | None:
        """``fcntl(6, F_DUPFD_CLOEXEC, 30) = 30``, ``fcntl(6, F_SETFL, O_RDWR|O_NONBLOCK) = 0``."""
        file = self.files.first(process, reader, ANYTHING)
        cursor = self._cursor
        cursor.open(reader.args, reader.args_rest, reader.args_end)
        if file is None or not cursor.skip(1):
            return file
        command: i64 = read_flags(cursor.buf, cursor.start, cursor.end, _FCNTLS)
        if command == 0 or command == 1030:
            self.files.result(process, reader, file, command == 1030)
        elif command == 2 and cursor.next():
            fd: i64 = read_fd(reader.args, reader.args_start, reader.args_end)
            if read_flags(cursor.buf, cursor.start, cursor.end, {b"FD_CLOEXEC": 1}) == 1:
                process.table.cloexec[fd] = True
            else:
                process.table.cloexec.pop(fd, None)
        elif command == 4 and isinstance(file, Socket) and cursor.next():
            flags: i64 = read_flags(cursor.buf, cursor.start, cursor.end, OPEN_BITS)
            if flags >= 0:
                file.nonblocking = 1 if flags & NONBLOCK != 0 else 0
        return file

    def _ioctl(self, reader: StraceReader, socket: Socket) -> None:
        """``ioctl(3, FIONBIO, [1]) = 0``."""
        cursor = self._cursor
        cursor.open(reader.args, reader.args_rest, reader.args_end)
        if cursor.skip(1) and starts(cursor.buf, cursor.start, cursor.end, b"FIONBIO") and cursor.next():
            value, after = read_number(cursor.buf, cursor.start + 1, cursor.end)
            if after > cursor.start + 1:
                socket.nonblocking = 1 if value != 0 else 0
