"""From lines to descriptors, sockets, epoll sets, threads and processes; and whole lab runs against their truth."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strace_support import index_text

from pcapstall.core.errors import InputError
from pcapstall.core.frames import frame_of
from pcapstall.strace.clock import NAMES
from pcapstall.strace.family import open_straces
from pcapstall.strace.index import Index, index_strace
from pcapstall.strace.keeper import Keeper
from pcapstall.strace.syscalls import Syscalls

SOCKET = "socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP) = "


def lives(index: Index, number: int) -> list[tuple[int, int, int, str, int]]:
    """(fd, pid, first line, how it ended, last line) of a socket."""
    return [
        (life.fd, life.process.pid, frame_of(life.line), life.end, frame_of(life.end_line))
        for life in index.sockets[number].lives
    ]


def test_a_descriptor_lives_from_socket_to_close() -> None:
    index = index_text(f"7 {SOCKET}3\n7 close(3) = 0\n7 {SOCKET}3\n")
    assert lives(index, 0) == [(3, 7, 1, "close", 2)]
    assert lives(index, 1) == [(3, 7, 3, "", 0)]
    assert [frame_of(socket.closed_line) for socket in index.sockets] == [2, 0]


def test_a_number_given_out_again_ends_the_life_before() -> None:
    # -e trace=network has no close
    index = index_text(f"7 {SOCKET}3\n7 {SOCKET}3\n")
    assert lives(index, 0) == [(3, 7, 1, "reused", 2)]


def test_copies_keep_a_socket_open() -> None:
    index = index_text(
        f"7 {SOCKET}3\n7 dup(3) = 4\n7 dup2(3, 9) = 9\n7 fcntl(3, F_DUPFD_CLOEXEC, 30) = 30\n"
        "7 close(3) = 0\n7 close(4) = 0\n7 close(9) = 0\n7 close(30) = 0\n"
    )
    assert [life[0] for life in lives(index, 0)] == [3, 4, 9, 30]
    assert frame_of(index.sockets[0].closed_line) == 8


def test_dup2_replaces() -> None:
    index = index_text(f"7 {SOCKET}3\n7 {SOCKET}4\n7 dup3(3, 4, O_CLOEXEC) = 4\n7 execve('/x', [], 0x1) = 0\n")
    assert lives(index, 1) == [(4, 7, 2, "replaced", 3)]
    assert lives(index, 0) == [(3, 7, 1, "exec", 4), (4, 7, 3, "exec", 4)]


def test_exec_closes_what_is_marked() -> None:
    index = index_text(
        "7 socket(AF_INET, SOCK_STREAM, 0) = 3\n7 socket(AF_INET, SOCK_STREAM, 0) = 4\n"
        f"7 {SOCKET}5\n7 fcntl(4, F_SETFD, FD_CLOEXEC) = 0\n7 execve(\"/bin/x\", [\"x\"], 0x1) = 0\n"
    )  # fmt: skip
    assert [life[3] for number in range(3) for life in lives(index, number)] == ["", "exec", "exec"]
    assert index.processes[0].exe == b"/bin/x"


def test_close_range() -> None:
    text = "".join(f"7 socket(AF_INET, SOCK_STREAM, 0) = {fd}\n" for fd in (3, 4, 5, 6))
    index = index_text(text + "7 close_range(4, 5, 0) = 0\n7 close_range(6, 4294967295, CLOSE_RANGE_CLOEXEC) = 0\n")
    assert [life[3] for number in range(4) for life in lives(index, number)] == ["", "close", "close", ""]
    assert set(index.processes[0].table.cloexec) == {6}


def test_a_close_takes_effect_when_it_is_entered() -> None:
    index = index_text(
        "7 socket(AF_INET, SOCK_STREAM, 0) = 6\n7 clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8\n8 gettid() = 8\n"
        "7 close(6 <unfinished ...>\n8 socket(AF_INET, SOCK_STREAM, 0) = 6\n7 <... close resumed>) = 0\n"
    )
    assert [socket.closed_line != 0 for socket in index.sockets] == [True, False]


def test_a_call_is_about_what_its_descriptor_meant_when_it_was_entered() -> None:
    index = index_text(
        "7 socket(AF_INET, SOCK_STREAM, 0) = 6\n7 clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8\n"
        '7 read(6,  <unfinished ...>\n8 close(6) = 0\n7 <... read resumed>"ab", 9) = 2\n'
    )
    assert len(index.sockets) == 1
    assert index.sockets[0].inbound.bytes == 2


@pytest.mark.parametrize(
    "clone",
    [
        "7 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 8\n8 getppid() = 7\n",
        "7 clone(child_stack=NULL, flags=SIGCHLD <unfinished ...>\n8 getppid() = 7\n7 <... clone resumed>) = 8\n",
        "7 fork() = 8\n8 getppid() = 7\n",
        "7 vfork( <unfinished ...>\n8 getppid() = 7\n7 <... vfork resumed>) = 8\n",
        "7 clone(0x1200011, 0, 0, 0x7f, 0) = 8\n8 getppid() = 7\n",
        "7 fork() = 3 /* 8 in strace's PID NS */\n8 getppid() = 7\n",
        "7 fork() = 3\n8 getppid() = 7\n",
    ],
)
def test_a_child_has_its_own_table(clone: str) -> None:
    index = index_text(f"7 {SOCKET}3\n{clone}7 close(3) = 0\n8 write(3, 0x1, 3) = 3\n8 +++ exited with 0 +++\n")
    (socket,) = index.sockets
    assert [(process.pid, len(process.threads)) for process in index.processes] == [(7, 1), (8, 1)]
    assert index.processes[1].parent is index.processes[0]
    assert socket.outbound.bytes == 3
    assert [(life[1], life[3]) for life in lives(index, 0)] == [(7, "close"), (8, "exit")]
    assert socket.closed_line == index.threads[1].ended_line


def test_a_close_between_fork_and_the_childs_first_line_closes_nothing_in_the_child() -> None:
    index = index_text(
        f"7 epoll_create1(0) = 4\n7 {SOCKET}3\n7 epoll_ctl(4, EPOLL_CTL_ADD, 3, {{events=EPOLLIN, data=0x3}}) = 0\n"
        '7 fork() = 8\n7 close(3) = 0\n8 write(3, "abc", 3) = 3\n'
    )
    assert index.sockets[0].outbound.bytes == 3
    assert index.sockets[0].closed_line == 0
    assert [interest.removed for interest in index.sockets[0].watches] == [""]


@pytest.mark.parametrize(
    "clone",
    [
        "7 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD} => {parent_tid=[8]}, 88) = 8\n8 gettid() = 8\n",
        "7 clone3({flags=0x3d0f00} <unfinished ...>\n8 gettid() = 8\n7 <... clone3 resumed> => {}, 88) = 8\n",
        "7 clone3(0x7ffe, 0x58) = 0x8\n8 gettid() = 8\n",
    ],
)
def test_threads_share_a_table(clone: str) -> None:
    index = index_text(f"7 {SOCKET}3\n{clone}8 write(3, \"abc\", 3) = 3\n8 close(3) = 0\n")  # fmt: skip
    assert [thread.tid for thread in index.processes[0].threads] == [7, 8]
    assert lives(index, 0)[0][3] == "close"
    assert frame_of(index.threads[1].clone_line) == 2
    assert index.sockets[0].outbound.bytes == 3


def test_a_trace_without_f_leaves_its_children_unfollowed() -> None:
    text = "".join(f"7 fork() = {pid}\n" for pid in range(100, 500))
    index = index_text("7 execve(\"/x\", [], 0x1) = 0\n" + f"7 {SOCKET}3\n" + text + "7 close(3) = 0\n")  # fmt: skip
    assert index.coverage.unfollowed == 400
    assert frame_of(index.sockets[0].closed_line) == 403


def test_execve_of_a_thread() -> None:
    index = index_text(
        "7 execve(\"/a\", [], 0x1) = 0\n7 clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8\n8 gettid() = 8\n"
        "8 execve(\"/b\", [\"b\"], 0x1 <pid changed to 7 ...>\n7 +++ superseded by execve in pid 8 +++\n"
        f"7 <... execve resumed>) = 0\n7 {SOCKET}3\n7 +++ exited with 0 +++\n"
    )  # fmt: skip
    (process,) = index.processes
    assert (process.exe, frame_of(process.ended_line), lives(index, 0)[0][3]) == (b"/b", 8, "exit")


def test_attached_processes() -> None:
    index = index_text(
        "strace: Process 7 attached with 2 threads\n[pid 7] close(9) = 0\n[pid 8] close(10) = 0\n[pid 8] getpid() = 7\n"
    )
    (process,) = index.processes
    assert (process.pid, process.attached_threads, process.started, process.assumed) == (7, 2, False, True)
    assert index.coverage.attached_late
    assert index.coverage.unseen_descriptors == 2


def test_getpid_parts_processes_that_were_assumed_to_be_one() -> None:
    index = index_text("7 close(9) = 0\n20 close(9) = 0\n20 getpid() = 20\n7 getpid() = 7\n")
    assert [(process.pid, [thread.tid for thread in process.threads]) for process in index.processes] == [
        (7, [7]),
        (20, [20]),
    ]


def test_a_clients_socket() -> None:
    index = index_text(
        f"7 1796007027.1 {SOCKET}3 <0.00002>\n7 1796007027.2 ioctl(3, FIONBIO, [1]) = 0 <0.00001>\n"
        '7 1796007027.3 connect(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("10.0.0.2")}, 16) = -1'
        " EINPROGRESS (Operation now in progress) <0.0002>\n"
        "7 1796007027.4 getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4]) = 0 <0.00001>\n"
        "7 1796007027.5 getsockname(3, {sa_family=AF_INET, sin_port=htons(5),"
        ' sin_addr=inet_addr("10.0.0.1")}, [16]) = 0\n'
        '7 1796007027.6 write(3, "\\26\\3\\1\\2\\0\\1"..., 517) = 517 <0.0001>\n'
        '7 1796007027.7 read(3, 0x7f, 5) = -1 EAGAIN (Resource temporarily unavailable) <0.00001>\n'
        '7 1796007027.8 read(3, "\\26\\3\\3\\0z", 5) = 5 <0.00001>\n'
        '7 1796007027.9 read(3, "\\2\\0\\0v"..., 122) = 122\n'
        '7 1796007028.0 read(3, "", 5) = 0 <0.00001>\n7 1796007028.1 shutdown(3, SHUT_WR) = 0\n'
    )  # fmt: skip
    (socket,) = index.sockets
    assert (socket.domain, socket.type, socket.protocol, socket.nonblocking) == (2, b"SOCK_STREAM", b"IPPROTO_TCP", 1)
    (connect,) = socket.connects
    assert (connect.call.errno, connect.address) == (b"EINPROGRESS", (b"\x0a\0\0\2", 443))
    assert (connect.call.start_ns, connect.call.end_ns) == (1796007027300000000, 1796007027300200000)
    assert socket.so_error == 0
    assert (socket.local, socket.local_source) == ((b"\x0a\0\0\1", 5), "getsockname")
    assert (socket.peer, socket.peer_source) == ((b"\x0a\0\0\2", 443), "connect")
    (out,) = socket.outbound.previews
    assert (out.offset, out.data, frame_of(out.call.line)) == (0, b"\x16\3\1\2\0\1", 6)
    (back,) = socket.inbound.previews
    assert (back.data, frame_of(back.last.end_line)) == (b"\x16\3\3\0z\2\0\0v", 9)
    assert (socket.inbound.bytes, socket.inbound.would_block, socket.inbound.calls) == (127, 1, 2)
    assert socket.inbound.first_try is not None
    assert frame_of(socket.inbound.first_try.line) == 7
    assert socket.inbound.end is not None
    assert socket.outbound.end is not None
    assert frame_of(socket.outbound.end.line) == 11


def test_previews_go_on_only_where_nothing_was_left_out() -> None:
    index = index_text(
        f"7 {SOCKET}3\n"
        '7 write(3, "CONNECT a:443"..., 90) = 90\n7 write(3, "more", 4) = 4\n7 write(3, "\\26\\3\\1\\2\\0", 5) = 5\n'
        '7 sendmsg(3, {msg_name=NULL, msg_iov=[{iov_base="\\1\\0", iov_len=2}, {iov_base="\\1\\374"..., iov_len=510}],'
        " msg_iovlen=2, msg_flags=0}, MSG_NOSIGNAL) = 512\n"
    )
    assert [(preview.offset, preview.data) for preview in index.sockets[0].outbound.previews] == [
        (0, b"CONNECT a:443"),
        (94, b"\x16\3\1\2\0\1\0\1\xfc"),
    ]


@pytest.mark.parametrize(
    ("text", "is_record"),
    [
        (r'"\26\3\1\2\0"', True),
        (r'"\026\003\001\002\000"', True),
        (r'"\x16\x03\x01\x02\x00"', True),
        ('"\x16\x03\x01\x02\x00"', True),
        (r'"\27\3\3\0\1"', False),
        (r'"\261\3\3\0\1"', False),
        (r'"\2\3\3\0\1"', False),
        (r'"\0\3\3\0\1"', False),
        (r'"\1261\3\0\1"', False),
        (r'"\x26\x03\x01\x02\x00"', False),
        ('"26\\3\\1\\2a"', False),
        ('""..., 5', False),
    ],
)
def test_only_a_handshake_record_makes_a_socket_of_an_unknown_descriptor(text: str, is_record: bool) -> None:
    assert bool(index_text(f"7 write(3, {text}, 5) = 5\n").sockets) == is_record
    socket = f'7 {SOCKET}3\n7 write(3, "GET"..., 90) = 90\n7 write(3, {text}, 5) = 5\n'
    assert len(index_text(socket).sockets[0].outbound.previews) == 1 + is_record


@pytest.mark.parametrize("name", [b"brk", b"read", b"close", b"openat", b"connect", b"recvfrom", b"epoll_wait"])
def test_a_name_that_was_asked_for_is_found_again_without_a_copy(name: bytes) -> None:
    """Whatever its length: of short ones less than the seven characters counts."""
    syscalls = Syscalls()
    line = name + b'(3, "abcdefgh"..., 512) = 512'
    entry = syscalls.at(line, 0, len(name))
    assert syscalls.ahead(line, 0, len(line), 40) is entry
    assert syscalls.ahead(name + b"x(3, 4, 5, 6) = 7", 0, len(name) + 17, 40) is syscalls.other


def test_peeked_bytes_are_not_read_twice() -> None:
    index = index_text(f'7 {SOCKET}3\n7 recvfrom(3, "\\26\\3\\1", 3, MSG_PEEK, NULL, NULL) = 3\n')
    (peeked,) = index.sockets[0].inbound.previews
    assert (peeked.data, peeked.peeked, index.sockets[0].inbound.bytes) == (b"\x16\3\1", True, 0)
    index = index_text(
        f'7 {SOCKET}3\n7 recvfrom(3, "\\26\\3\\1", 3, 0x2, NULL, NULL) = 3\n7 read(3, "\\26\\3\\1\\2\\0", 5) = 5\n'
    )
    (preview,) = index.sockets[0].inbound.previews
    assert (preview.data, preview.peeked, index.sockets[0].inbound.bytes) == (b"\x16\3\1\2\0", False, 5)


def test_a_servers_sockets() -> None:
    index = index_text(
        "7 socket(AF_INET6, SOCK_STREAM, IPPROTO_IP) = 3\n"
        '7 bind(3, {sa_family=AF_INET6, sin6_port=htons(443), inet_pton(AF_INET6, "::", &sin6_addr)}, 28) = 0\n'
        "7 listen(3, 4) = 0\n"
        '7 accept4(3, {sa_family=AF_INET6, sin6_port=htons(9), inet_pton(AF_INET6, "::ffff:10.0.0.9", &sin6_addr)},'
        " [128 => 28], SOCK_CLOEXEC|SOCK_NONBLOCK) = 6\n"
    )
    listener, accepted = index.sockets
    assert listener.listening is not None
    assert (listener.local, listener.describe()) == ((bytes(16), 443), "listener [::]:443")
    assert accepted.listener is listener
    assert (accepted.peer, accepted.peer_source, accepted.nonblocking) == ((b"\x0a\0\0\x09", 9), "accept", 1)
    assert accepted.describe() == "socket to 10.0.0.9:9"


def test_decorations_tell_both_ends_and_reuse() -> None:
    index = index_text(
        '7 write(5<TCP:[10.0.0.1:5->10.0.0.2:443]>, "abc", 3) = 3\n'
        '7 write(5<TCP:[10.0.0.1:6->10.0.0.2:443]>, "abc", 3) = 3\n7 write(5</tmp/log>, "abc", 3) = 3\n'
    )
    assert [socket.local for socket in index.sockets] == [(b"\x0a\0\0\1", 5), (b"\x0a\0\0\1", 6)]
    assert [socket.origin for socket in index.sockets] == ["unseen", "unseen"]
    assert [life[3] for number in range(2) for life in lives(index, number)] == ["reused", "reused"]
    assert index.processes[0].table.files[5].label == b"/tmp/log"


def test_an_inode_of_another_socket_is_another_socket() -> None:
    index = index_text('7 write(5<socket:[1]>, "a", 1) = 1\n7 write(5<socket:[2]>, "a", 1) = 1\n')
    assert [socket.inode for socket in index.sockets] == [1, 2]


def test_an_unknown_descriptor_is_a_socket_when_tls_passes_or_a_call_says_so() -> None:
    index = index_text(
        '7 read(5, "abc", 9) = 3\n7 write(6, "\\26\\3\\1\\2\\0", 5) = 5\n7 recvfrom(7, "a", 1, 0, NULL, NULL) = 1\n'
        "7 setsockopt(8, SOL_TCP, TCP_NODELAY, [1], 4) = 0\n"
    )
    assert [socket.fd for socket in index.sockets] == [6, 7]


def test_a_descriptor_passed_as_scm_rights() -> None:
    index = index_text(
        f"7 socketpair(AF_UNIX, SOCK_STREAM, 0, [4, 5]) = 0\n7 {SOCKET}6\n7 fork() = 8\n8 close(6) = 0\n"
        "7 sendmsg(4, {msg_name=NULL, msg_iov=[{iov_base=\"x\", iov_len=1}], msg_control=[{cmsg_len=20,"
        " cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[6]}]}, 0) = 1\n7 close(6) = 0\n"
        "8 recvmsg(5, {msg_name=NULL, msg_iov=[{iov_base=\"x\", iov_len=1}], msg_control=[{cmsg_len=20,"
        " cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS, cmsg_data=[9]}]}, MSG_CMSG_CLOEXEC) = 1\n"
        '8 write(9, "abc", 3) = 3\n'
    )  # fmt: skip
    passed = index.sockets[2]
    assert passed.rights
    assert passed.outbound.bytes == 3
    assert [(life[0], life[1]) for life in lives(index, 2)] == [(6, 7), (6, 8), (9, 8)]


def test_epoll_sets() -> None:
    index = index_text(
        f"7 epoll_create1(EPOLL_CLOEXEC) = 4\n7 epoll_create(1) = 5\n7 {SOCKET}6\n7 {SOCKET}7\n"
        "7 epoll_ctl(4, EPOLL_CTL_ADD, 6, {events=EPOLLIN|EPOLLET, data={u32=6, u64=77}}) = 0\n"
        "7 epoll_ctl(4, EPOLL_CTL_MOD, 6, {events=EPOLLOUT, data={u32=6, u64=78}}) = 0\n"
        "7 epoll_ctl(5, EPOLL_CTL_ADD, 4, {events=EPOLLIN, data=0x4}) = 0\n"
        "7 epoll_ctl(4, EPOLL_CTL_ADD, 7, {EPOLLIN, {u32=7, u64=7}}) = 0\n"
        "7 epoll_ctl(4, EPOLL_CTL_DEL, 7, NULL) = 0\n7 epoll_ctl(4, EPOLL_CTL_ADD, 7, {EPOLLIN, {u32=7, u64=9}}) = -1"
        " EEXIST (File exists)\n7 epoll_wait(5, [{events=EPOLLIN, data=0x4}], 64, -1) = 1\n7 close(6) = 0\n"
    )
    inner, outer = index.epolls
    (interest,) = index.sockets[0].watches
    assert (interest.epoll, interest.mask, interest.data, interest.changes) == (inner, 4, 78, 1)
    assert (interest.removed, frame_of(interest.removed_line)) == ("close", 12)
    assert [(watch.removed, frame_of(watch.line)) for watch in index.sockets[1].watches] == [("DEL", 8)]
    assert [watch.epoll for watch in inner.watches] == [outer]
    assert not inner.interests
    assert (inner.waits, outer.waits) == (0, 1)


def test_coverage_of_a_filtered_trace() -> None:
    coverage = index_text("7 connect(3, {sa_family=AF_UNSPEC}, 16) = 0\n").coverage
    assert list(coverage.families_seen) == ["network"]
    assert not coverage.has_times
    assert not coverage.has_durations


def test_coverage_of_io_uring_restarts_and_detaching() -> None:
    index = index_text(
        "7 io_uring_setup(8, {flags=0}) = 3\n7 restart_syscall(<... resuming interrupted read ...>) = 0 <1.1>\n"
        "7 epoll_wait(3,  <detached ...>\n"
    )
    coverage = index.coverage
    assert (coverage.uring_lines, coverage.restarts, coverage.detached_line) == ((1,), 1, 3)
    assert index.threads[0].end == b"detached"


def test_a_connect_that_never_returns_is_there() -> None:
    index = index_text(
        f"7 1.5 {SOCKET}3\n7 1.6 connect(3, {{sa_family=AF_INET, sin_port=htons(443),"
        ' sin_addr=inet_addr("10.0.0.2")}, 16 <unfinished ...>\n'
    )
    (connect,) = index.sockets[0].connects
    assert (connect.call.returned, connect.address, frame_of(connect.call.line)) == (False, (b"\x0a\0\0\2", 443), 2)


def write_family(folder: Path, **texts: str) -> list[str]:
    paths = []
    for tid, text in texts.items():
        path = folder / f"trace.{tid[1:]}"
        path.write_text(text)
        paths.append(str(path))
    return paths


def test_a_family_is_one_strace_in_the_order_of_returns(tmp_path: Path) -> None:
    paths = write_family(
        tmp_path,
        t7="02:00:01.0 execve(\"/x\", [], 0x1) = 0 <0.1>\n02:00:02.0 clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8"
        " <0.9>\n02:00:03.0 accept4(3, NULL, NULL, 0) = 6 <5.0>\n02:00:09.0 +++ exited with 0 +++\n",
        t8="02:00:02.1 gettid() = 8 <0.1>\n02:00:04.0 socket(AF_INET, SOCK_STREAM, 0) = 6 <0.1>\n"
        "02:00:05.0 close(6) = 0 <0.1>\n02:00:08.5 write(6, \"abc\", 3) = 3 <0.1>\n",
    )  # fmt: skip
    (strace,) = open_straces(paths)
    index = index_strace(strace)
    assert strace.name == str(tmp_path / "trace")
    assert [thread.tid for thread in index.processes[0].threads] == [7, 8]
    assert [(socket.origin, socket.outbound.bytes) for socket in index.sockets] == [
        ("socket", 0),
        ("unseen", 0),
        ("accept", 3),
    ]
    assert index.where(index.sockets[2].created.line) == paths[0] + ":3"


def test_a_family_over_midnight(tmp_path: Path) -> None:
    paths = write_family(
        tmp_path,
        t7="23:59:58.0 execve(\"/x\", [], 0x1) = 0 <0.1>\n23:59:59.0 clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8"
        " <0.1>\n00:00:03.0 close(3) = 0 <0.1>\n",
        t8="00:00:01.0 gettid() = 8 <0.1>\n00:00:02.0 close(4) = 0 <0.1>\n",
    )  # fmt: skip
    index = index_strace(open_straces(paths)[0])
    assert index.threads[1].first_ns == 86_401_000_000_000
    assert index.threads[0].last_ns == 86_403_000_000_000
    assert index.threads[1].clone_line != 0


def test_midnight_in_one_file() -> None:
    index = index_text("7 23:59:59.9 close(3) = 0\n7 00:00:00.1 close(4) = 0\n8 00:00:00.05 close(4) = 0\n")
    assert index.last_ns - index.first_ns == 150_000_000
    assert index.coverage.steps_back == 0


def test_relative_times_add_up_over_threads() -> None:
    index = index_text("7      0.000000 close(3) = 0\n8      0.500000 close(3) = 0\n7      0.250000 close(4) = 0\n")
    assert (NAMES[index.clock_kind], index.threads[0].last_ns, index.threads[1].last_ns) == (
        "relative",
        750_001_000,  # each difference is cut: half a microsecond is missing of each, on average
        500_000_500,
    )


def test_coarse_times_are_refined_by_r() -> None:
    index = index_text(
        "7 02:00:01 (+     0.000000) close(3) = 0\n7 02:00:01 (+     0.250000) close(4) = 0\n"
        "7 02:00:03 (+     1.900000) close(4) = 0\n"
    )
    assert index.threads[0].last_ns == 7203_150_000_000


def test_stamps_of_another_kind_are_no_times() -> None:
    coverage = index_text("7 1796007028.0 close(3) = 0\n7 02:00:00 close(3) = 0\n7      0.1 close(3) = 0\n").coverage
    assert coverage.odd_stamps == 2


def test_a_clock_set_back_is_told() -> None:
    assert index_text("7 1796007028.0 close(3) = 0\n7 1796007020.0 close(3) = 0\n").coverage.steps_back == 1


def test_two_files_of_one_thread_are_refused(tmp_path: Path) -> None:
    paths = write_family(tmp_path, t7="close(3) = 0\n")
    with pytest.raises(InputError, match="second file of thread 7"):
        open_straces([paths[0], paths[0]])


def test_a_family_of_hundreds_needs_few_descriptors(tmp_path: Path) -> None:
    texts = {f"t{tid}": f"179600702{tid % 10}.{tid:06d} close(3) = 0 <0.000010>\n" * 3 for tid in range(100, 400)}
    index = index_strace(open_straces(write_family(tmp_path, **texts))[0])
    assert len(index.threads) == 300
    assert index.counts["call"] == 900


PIECES = st.sampled_from(
    [
        "7 ", "8 ", "9 ", "socket(AF_INET, SOCK_STREAM|SOCK_CLOEXEC, 0) = 3", "accept4(3, NULL, NULL, 0) = 4", "\n",
        "close(3) = 0", "close(4 <unfinished ...>", "<... close resumed>) = 0", "dup2(3, 4) = 4", "fork() = 8",
        "clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 9", "clone3({flags=CLONE_FILES}, 88 <unfinished ...>",
        "<... clone3 resumed>) = 9", "execve(\"/x\", [], 0x1) = 0", "+++ exited with 0 +++", "epoll_create1(0) = 5",
        "epoll_ctl(5, EPOLL_CTL_ADD, 3, {events=EPOLLIN, data=0x3}) = 0", "epoll_ctl(5, EPOLL_CTL_DEL, 4, NULL) = 0",
        "epoll_wait(5, [{events=EPOLLIN, data=0x3}], 9, -1) = 1", "epoll_wait(5,  <unfinished ...>", "getpid() = 7",
        "read(3<TCP:[1.1.1.1:1->1.1.1.2:2]>, \"\\26\\3\\1\", 3) = 3", "write(4, \"\\26\\3\", 2) = 2",
        "fcntl(3, F_DUPFD, 9) = 9", "<... epoll_wait resumed>[], 9, -1) = 0",
        "recvmsg(3, {msg_control=[{cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS,"
        " cmsg_data=[4, 5]}]}, 0) = 1", "sendmsg(4, {msg_control=[{cmsg_level=SOL_SOCKET, cmsg_type=SCM_RIGHTS,"
        " cmsg_data=[3]}]}, 0) = 1", "close_range(3, 9, 0) = 0", "unshare(CLONE_FILES) = 0", "connect(3, 0x1, 16) = 0",
        "splice(3, NULL, 4, NULL, 9, 0) = 9", "getpid() = 9", "<detached ...>", "read(3, ", "vfork( <unfinished ...>",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=60).map("".join))
def test_any_order_of_calls_leaves_a_sound_model(text: str) -> None:
    index = index_text(text)
    open_files = {}
    for table in {id(process.table): process.table for process in index.processes}.values():
        for file in table.files.values():
            open_files[id(file)] = (file, open_files.get(id(file), (file, 0))[1] + 1)
    for file, count in open_files.values():
        assert file.refs == count
        assert file.closed_line == 0
    for socket in index.sockets:
        assert (socket.closed_line != 0) == (id(socket) not in open_files)
        for watch in socket.watches:
            live = watch.epoll.interests.get((id(socket), watch.fd))
            assert (live is watch) == (not watch.removed)
    for number, socket in enumerate(index.sockets):
        assert socket.number == number


def test_lab_runs_agree_with_what_the_programs_noted(lab: Path) -> None:
    """Connect times, descriptors, registrations and the hello's bytes, of every run whose clock is the truth's."""
    checked = dict.fromkeys(("connect", "registered", "hello", "accept"), 0)
    for folder in sorted(lab.iterdir()):
        if not (folder / "truth.json").is_file():
            continue
        truth = json.loads((folder / "truth.json").read_text())
        for party in ("client", "server"):
            paths = sorted(str(path) for path in folder.glob(f"{party}.strace*"))
            if not paths:
                continue
            (strace,) = open_straces(paths)
            index = index_strace(strace)
            if NAMES[index.clock_kind] != "epoch" or truth[f"strace_{party}"].get("clock_offset_s"):
                continue
            attached = min((thread.first_ns for thread in index.threads), default=0) / 1e9
            sockets = index.sockets
            for event in truth[f"{party}_events"]:
                if event["t"] < attached or index.coverage.uring_lines:
                    continue
                if event["ev"] == "connect_start":
                    calls = [connect.call for socket in sockets for connect in socket.connects]
                    times = [call.start_ns / 1e9 - event["t"] for call in calls]
                    assert any(-0.001 < time < 0.05 for time in times), (folder.name, event)
                    checked["connect"] += 1
                elif event["ev"] == "registered" and "epfd" in event:
                    watches = [watch for socket in sockets for watch in socket.watches]
                    found = [
                        watch
                        for watch in watches
                        if watch.fd == event["fd"]
                        and watch.epoll.fd == event["epfd"]
                        and 0 <= event["t"] - watch.ns / 1e9 < 0.05
                    ]
                    assert len(found) == 1, (folder.name, event)
                    assert found[0].changes or event.get("mask", found[0].mask) == found[0].mask, (folder.name, event)
                    checked["registered"] += 1
                elif event["ev"] == "ch_write" and "read/write" in index.coverage.families_seen:
                    random = bytes.fromhex(event["random"])
                    hits = [
                        (socket, preview)
                        for socket in sockets
                        for preview in socket.outbound.previews
                        if len(preview.data) >= 32 and random.startswith(preview.data[11:])
                    ]
                    assert len(hits) == 1, (folder.name, event)
                    socket, preview = hits[0]
                    assert any(life.fd == event["fd"] for life in socket.lives)
                    # The end of the call without what the tracer adds: between the two readings of the clock.
                    assert -0.0005 < preview.call.start_ns / 1e9 - event["t_before"] < 0.05, (folder.name, event)
                    assert preview.call.ret == event["n"]
                    checked["hello"] += 1
                elif event["ev"] == "accept":
                    peer = event["peer"][1]
                    made = [socket for socket in sockets if socket.peer is not None and socket.peer[1] == peer]
                    assert any(socket.fd == event["fd"] for socket in made), (folder.name, event)
                    checked["accept"] += 1
    assert min(checked.values()) >= 10, checked


def test_the_sparse_pass_numbers_files_as_the_whole_one_does() -> None:
    """Windows name sockets by the serials of the first pass, which looks at less."""
    for path in sorted((Path(__file__).resolve().parents[2] / "captures").glob("*/*.strace")):
        (strace,) = open_straces([str(path)])
        whole, sparse = index_strace(strace), index_strace(strace, Keeper())
        assert [(socket.serial, socket.number, socket.fd) for socket in sparse.sockets] == [
            (socket.serial, socket.number, socket.fd) for socket in whole.sockets
        ]
        assert [epoll.serial for epoll in sparse.epolls] == [epoll.serial for epoll in whole.epolls]
        assert (sparse.counts, sparse.coverage) == (whole.counts, whole.coverage)


def test_a_path_that_leads_to_a_pipe_says_so() -> None:
    """A worker whose log is the container's standard output."""
    index = index_text(
        '7 1.0 openat(AT_FDCWD</>, "/dev/stdout", O_WRONLY|O_CREAT|O_APPEND, 0644) = 4<pipe:[573069]> <0.000020>\n'
        '7 1.1 openat(AT_FDCWD</>, "a.log", O_WRONLY, 0644) = 5</var/a.log> <0.000020>\n'
    )
    files = index.processes[0].table.files
    assert [files[fd].describe() for fd in (4, 5)] == ["/dev/stdout (pipe:[573069])", "a.log"]
