"""What a server's strace says of an answer that came late."""

import pytest
from process_support import HELLO, PUSH, SERVER_HELLO, shown, slow_server, strace, told
from wire_support import MS, SECOND, Road

from pcapstall.wire.segment import ACK, SYN

START = [
    (-0.5, 'execve("/usr/bin/server", ["server"], 0x7ffe /* 5 vars */) = 0 <0.000100>'),
    (-0.4, "socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 3 <0.000010>"),
    (-0.3, 'bind(3, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("10.0.0.2")}, 16) = 0 <0.000010>'),
    (-0.2, "listen(3, 128) = 0 <0.000010>"),
]


def accept(at: float, took: float) -> tuple[float, str]:
    address = '{sa_family=AF_INET, sin_port=htons(40000), sin_addr=inet_addr("10.0.0.1")}'
    return at, f"accept4(3, {address}, [16], SOCK_CLOEXEC) = 4 <{took:.6f}>"


def read(at: float) -> tuple[float, str]:
    return at, f"read(4, {shown(HELLO)}, 8192) = {len(HELLO)} <0.000020>"


def nap(at: float, took: float) -> tuple[float, str]:
    return at, f"clock_nanosleep(CLOCK_REALTIME, 0, {{tv_sec=9}}, NULL) = 0 <{took:.6f}>"


WRITE = (3.0155, f"write(4, {shown(SERVER_HELLO)}, {len(SERVER_HELLO)}) = {len(SERVER_HELLO)} <0.000030>")


@pytest.mark.parametrize("at", ["server", "client"])
@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        ([nap(-0.1, 3.1), accept(3.010, 0.00003), read(3.0105)], "late_accept"),
        ([accept(-0.1, 0.1155), nap(0.0158, 2.99), read(3.0101)], "late_read"),
        ([accept(-0.1, 0.1155), read(0.0163), nap(0.0168, 2.99)], "slow_handling"),
    ],
)
def test_the_late_stage(calls: list[tuple[float, str]], reason: str, at: str) -> None:
    row, report = told(slow_server(), strace([*START, *calls, WRITE]), at)
    assert (row.stalled, row.cause, row.reason, row.activity) == (
        "ch_sh", "server_process", reason, "blocked_in_syscall"
    )  # fmt: skip
    assert row.confidence == "high"
    assert report.processes[0].side == "server"
    assert sum(row.parts_ns["ch_sh"].values()) == row.intervals_ns["ch_sh"]


def lost_handshake() -> Road:
    """The client's ACK and its ClientHello are lost until the fourth copy; the server repeats its SYN-ACK."""
    road = Road()
    acked = road.handshake()
    road.sent[-1].lost_at = 0.9
    for again in (MS, 200 * MS, 600 * MS):
        road.c(acked + again, PUSH, HELLO, lost_at=0.9)
    road.s(acked + SECOND, SYN | ACK)
    copy = road.c(acked + 1600 * MS, PUSH, HELLO)
    road.s(acked + 1606 * MS, ACK, ack=len(HELLO), echo=copy)
    road.s(acked + 1610 * MS, PUSH, SERVER_HELLO, ack=len(HELLO))
    return road


@pytest.mark.parametrize(
    ("waits", "cause"),
    [([accept(-0.1, 1.7155)], "network"), ([nap(-0.1, 1.7), accept(1.6151, 0.00003)], "unknown")],
)
def test_a_hello_without_an_answer_was_lost_where_somebody_waited_for_connections(
    waits: list[tuple[float, str]], cause: str
) -> None:
    """At the client a lost hello and one that a full accept queue drops are the same."""
    calls = [*START, *waits, (1.616, read(0)[1]), (1.6195, WRITE[1])]
    row, _ = told(lost_handshake(), strace(calls), "client")
    assert (row.stalled, row.cause, row.reason) == ("ch_ack", cause, "client_hello_loss")
    assert row.confidence == "medium"
    assert ("its queue for connections was empty" in (row.verdict or "")) == (cause == "network")


def test_an_accept_that_waited_is_not_late() -> None:
    calls = [accept(-0.1, 3.11), read(3.0105), WRITE]
    row, _ = told(slow_server(), strace([*START, *calls]), "server")
    assert row.reason == "server_slow_hello", "what packets say stays"


def test_waits_after_an_edge_of_the_listener_are_for_something_else() -> None:
    """A Go server: all its descriptors are in one set, and an edge of the listener comes once."""
    mask = "EPOLLIN|EPOLLOUT|EPOLLRDHUP|EPOLLET"
    add = (-0.15, f"epoll_ctl(5, EPOLL_CTL_ADD, 3, {{events={mask}, data={{u32=33, u64=33}}}}) = 0 <0.000010>")
    told_of = (-0.1, "epoll_pwait(5, [{events=EPOLLIN, data={u32=33, u64=33}}], 128, -1, NULL, 0) = 1 <0.110000>")
    epoll = (-0.19, "epoll_create1(EPOLL_CLOEXEC) = 5 <0.000010>")
    waits = [(0.011 + n * 0.3, "epoll_pwait(5, [], 128, 290, NULL, 0) = 0 <0.299000>") for n in range(10)]
    calls = [*START, epoll, add, told_of, *waits, accept(3.012, 0.00003), read(3.0125), WRITE]
    row, _ = told(slow_server(), strace(calls), "server")
    assert (row.reason, row.activity) == ("late_accept", "waiting_elsewhere")
    level = [(at, rest.replace("|EPOLLET", "")) for at, rest in calls]
    row, _ = told(slow_server(), strace(level), "server")
    assert row.reason == "server_slow_hello", "a wait on a level would have returned: the connection was not there yet"


def test_threads_that_an_exclusive_wait_does_not_wake_are_no_sign_that_nothing_was_there() -> None:
    """Each has a set of its own; the kernel wakes one, which dawdles."""
    event = "{events=EPOLLIN|EPOLLEXCLUSIVE, data={u32=3, u64=3}}"
    sets = [(-0.19, f"epoll_create1(EPOLL_CLOEXEC) = {number} <0.000010>") for number in (5, 6)]
    adds = [(-0.15, f"epoll_ctl({number}, EPOLL_CTL_ADD, 3, {event}) = 0 <0.000010>") for number in (5, 6)]
    clone = (-0.14, "clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8 <0.0>")
    told_of = (-0.1, "epoll_wait(5, [{events=EPOLLIN, data={u32=3, u64=3}}], 64, -1) = 1 <0.115500>")
    text = strace([*START, *sets, *adds, clone]) + strace([(-0.11, "epoll_wait(6,  <unfinished ...>")], 8)
    text += strace([told_of, nap(0.0156, 2.99), accept(3.0101, 0.00003), read(3.0105), WRITE])
    text += strace([(4.89, "<... epoll_wait resumed>[], 64, 5000) = 0 <5.000000>")], 8)
    row, _ = told(slow_server(), text, "server")
    assert (row.reason, row.activity, row.confidence) == ("late_accept", "blocked_in_syscall", "high")


def test_a_hello_that_was_looked_at_was_not_left_unread() -> None:
    """As of a proxy that takes the server's name from it."""
    peek = (0.0163, f"recvfrom(4, {shown(HELLO)}, 600, MSG_PEEK, NULL, NULL) = {len(HELLO)} <0.000020>")
    calls = [accept(-0.1, 0.1155), peek, nap(0.0168, 2.99), read(3.0105)]
    row, _ = told(slow_server(), strace([*START, *calls, WRITE]), "server")
    assert (row.reason, row.activity, row.confidence) == ("slow_handling", "blocked_in_syscall", "high")
    assert "looked at the ClientHello (MSG_PEEK)" in (row.verdict or "")


def test_a_server_that_wrote_in_time_is_cleared() -> None:
    """Also by a trace that ends soon after."""
    calls = [accept(-0.1, 0.1155), read(0.0163), (0.02, WRITE[1])]
    row, _ = told(slow_server(), strace([*START, *calls]), "client")
    assert row.cause != "server_process"
    assert row.confidence != "high"


@pytest.mark.parametrize(
    ("passed", "answered", "words"),
    [
        (3.005, 3.0151, "it passed it on to 127.0.0.1:8443 after 3.0 s only"),
        (0.018, 3.0151, "it passed it on to 127.0.0.1:8443, where the answer took 3.0 s"),
        (0.018, None, "it passed it on to 127.0.0.1:8443, and had no answer from there"),
    ],
)
def test_a_proxy_that_passes_the_hello_on(passed: float, answered: float | None, words: str) -> None:
    """Whose time it was: the proxy's own, or that of the server behind it."""
    where = '{sa_family=AF_INET, sin_port=htons(8443), sin_addr=inet_addr("127.0.0.1")}'
    calls = [
        accept(-0.1, 0.1155),
        read(0.0163),
        (passed - 0.001, "socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 6 <0.000010>"),
        (passed - 0.0009, f"connect(6, {where}, 16) = 0 <0.000100>"),
        (passed, f"sendto(6, {shown(HELLO)}, {len(HELLO)}, 0, NULL, 0) = {len(HELLO)} <0.000050>"),
    ]
    if answered is not None:
        calls.append((answered, f"recvfrom(6, {shown(SERVER_HELLO)}, 16384, 0, NULL, NULL) = 49 <0.000050>"))
    row, _ = told(slow_server(), strace([*START, *calls, WRITE]), "server")
    assert (row.reason, row.confidence) == ("slow_handling", "high")
    assert words in (row.verdict or "")
    assert any("It passed the ClientHello on" in item.text and item.strace for item in row.evidence)


def test_a_server_that_asks_another_one_before_it_answers() -> None:
    """A signing service that takes its time: all the strace shows of the wait is that of the event loop."""
    where = '{sa_family=AF_INET, sin_port=htons(7000), sin_addr=inet_addr("127.0.0.1")}'
    calls = [
        (-0.19, "epoll_create1(EPOLL_CLOEXEC) = 5 <0.000010>"),
        accept(-0.1, 0.1155),
        read(0.0163),
        (0.017, "socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 6 <0.000010>"),
        (0.0171, f"connect(6, {where}, 16) = 0 <0.000100>"),
        (0.018, 'write(6, "sign", 4) = 4 <0.000010>'),
        (0.0181, "epoll_wait(5, [], 64, -1) = 1 <2.990000>"),
        (3.0101, 'read(6, "signed", 64) = 6 <0.000010>'),
    ]
    row, _ = told(slow_server(), strace([*START, *calls, WRITE]), "server")
    assert (row.reason, row.activity, row.confidence) == ("slow_handling", "waiting_elsewhere", "high")
    texts = [item.text for item in row.evidence]
    assert any(t.endswith("it had to do with socket to 127.0.0.1:7000 (connect, write, read).") for t in texts), texts


def test_a_listener_that_the_process_took_out_of_its_set() -> None:
    """haproxy at its maxconn."""
    event = "{events=EPOLLIN, data={u32=3, u64=3}}"
    calls = [
        (-0.19, "epoll_create1(EPOLL_CLOEXEC) = 5 <0.000010>"),
        (-0.18, f"epoll_ctl(5, EPOLL_CTL_ADD, 3, {event}) = 0 <0.000010>"),
        (-0.1, "epoll_ctl(5, EPOLL_CTL_DEL, 3, 0x7f18) = 0 <0.000010>"),
        *((0.011 + n * 0.3, "epoll_wait(5, [], 64, 290) = 0 <0.299000>") for n in range(9)),
        (3.011, f"epoll_ctl(5, EPOLL_CTL_ADD, 3, {event}) = 0 <0.000010>"),
        accept(3.012, 0.00003),
        read(3.0125),
    ]
    row, _ = told(slow_server(), strace([*START, *calls, WRITE]), "server")
    assert (row.reason, row.activity) == ("late_accept", "waiting_elsewhere")
    assert "the listener being in no epoll set meanwhile" in (row.verdict or "")
    kept = [call for call in calls if "CTL_DEL" not in call[1]]
    row, _ = told(slow_server(), strace([*START, *kept, WRITE]), "server")
    assert "in no epoll set" not in (row.verdict or "")
