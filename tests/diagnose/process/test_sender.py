"""What a client's strace says of a ClientHello that came late: each reason, and what takes its certainty away."""

import pytest
from process_support import HELLO, line, shown, silent_client, strace, told
from wire_support import MS, SECOND, Road

CONNECT = (
    0.0,
    'connect(5, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("10.0.0.2")}, 16)'
    " = -1 EINPROGRESS (Operation now in progress) <0.000040>",
)
START = [
    (-0.5, 'execve("/usr/bin/client", ["client"], 0x7ffe /* 5 vars */) = 0 <0.000100>'),
    (-0.4, "epoll_create1(EPOLL_CLOEXEC) = 4 <0.000010>"),
    (-0.3, "epoll_create1(EPOLL_CLOEXEC) = 6 <0.000010>"),
    (-0.1, "socket(AF_INET, SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_IP) = 5 <0.000010>"),
    (-0.00001, CONNECT[1]),
]
ADD = (0.002, "epoll_ctl(4, EPOLL_CTL_ADD, 5, {events=EPOLLIN|EPOLLOUT|EPOLLET, data={u32=5, u64=5}}) = 0 <0.000010>")
ADD_IN = (0.002, "epoll_ctl(4, EPOLL_CTL_ADD, 5, {events=EPOLLIN, data={u32=5, u64=5}}) = 0 <0.000010>")
EVENT = "epoll_wait(4, [{events=EPOLLOUT, data={u32=5, u64=5}}], 64, -1) = 1 "
WRITE = (3.0100, f"sendto(5, {shown(HELLO)}, {len(HELLO)}, 0, NULL, 0) = {len(HELLO)} <0.000050>")
READ = (3.023, 'read(5, "\\26\\3\\3\\0,"..., 4096) = 49 <0.000100>')


def reason_of(calls: list[tuple[float, str]], at: str = "client") -> tuple[str | None, str | None, str | None]:
    row, _ = told(silent_client(), strace([*START, *calls]), at)
    assert row.stalled == "ack_ch"
    assert row.cause == "client_process"
    return row.reason, row.activity, row.confidence


def test_nobody_waited_on_the_set() -> None:
    waits = [(0.1 + n * 0.5, "epoll_wait(6, [], 64, 490) = 0 <0.490000>") for n in range(5)]
    calls = [ADD, *waits, (3.0095, EVENT + "<0.000010>"), WRITE, READ]
    assert reason_of(calls) == ("epoll_not_waited", "waiting_elsewhere", "high")
    row, report = told(silent_client(), strace([*START, *calls]), "client")
    assert row.match == "client_random"
    assert "no thread waited on that set for 3.0 s" in (row.verdict or "")
    cited = [place.rsplit(":", 1)[1] for item in row.evidence for place in item.strace]
    assert {"6", "12", "13"} <= set(cited), "the ADD, the first wait, the write"
    assert row.would_settle is None
    assert (report.clock_offset_ns, report.processes[0].side, report.processes[0].flows) == (0, "client", [1])


def test_a_set_that_is_not_in_the_filter_is_no_proof() -> None:
    assert reason_of([ADD, WRITE, READ])[2] != "high"


def test_an_attached_process_may_have_unseen_threads() -> None:
    waits = [(0.1 + n * 0.5, "epoll_wait(6, [], 64, 490) = 0 <0.490000>") for n in range(5)]
    text = strace([*START[1:], ADD, *waits, (3.0095, EVENT + "<0.000010>"), WRITE, READ])
    row, _ = told(silent_client(), text, "client")
    assert (row.reason, row.confidence) == ("epoll_not_waited", "medium")
    assert "-f" in (row.would_settle or "")


def test_another_thread_that_waited_on_the_set_had_no_event() -> None:
    text = strace([*START, ADD_IN]) + line(0.003, "clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8 <0.0>")
    text += "".join(line(0.004 + n * 0.5, "epoll_wait(4, [], 64, 490) = 0 <0.495000>", 8) for n in range(6))
    text += line(3.009, "epoll_ctl(4, EPOLL_CTL_MOD, 5, {events=EPOLLOUT, data={u32=5, u64=5}}) = 0 <0.000010>", 8)
    row, _ = told(silent_client(), text + strace([WRITE, READ]), "client")
    assert (row.reason, row.confidence) == ("no_event_delivered", "high")
    assert "without EPOLLOUT" in (row.verdict or "")


def test_an_edge_that_was_delivered_comes_once() -> None:
    waits = [(0.02 + n * 0.3, "epoll_wait(4, [], 64, 290) = 0 <0.295000>") for n in range(9)]
    calls = [ADD, (0.005, EVENT + "<0.010000>"), *waits, WRITE, READ]
    assert reason_of(calls) == ("no_event_delivered", "blocked_in_syscall", "high")


def test_an_edge_that_the_process_took_up_is_not_lost() -> None:
    """As a Go program does: it asks for SO_ERROR, and other threads go on waiting on the one set there is."""
    waits = [(0.02 + n * 0.3, "epoll_pwait(4, [], 128, 290, NULL, 0) = 0 <0.295000>") for n in range(9)]
    asked = (0.0161, "getsockopt(5, SOL_SOCKET, SO_ERROR, [0], [4]) = 0 <0.000010>")
    calls = [ADD, (0.005, EVENT + "<0.010000>"), asked, *waits, WRITE, READ]
    assert reason_of(calls) == ("event_not_acted_on", "waiting_elsewhere", "high")
    row, _ = told(silent_client(), strace([*START, *calls]), "client")
    assert "returned descriptor 5 in time, and nothing was written to it for 3.0 s" in (row.verdict or "")
    assert max(row.stages_ns or {}, key=lambda stage: (row.stages_ns or {})[stage]) == "written"


def test_the_thread_that_had_it_last_is_asked_what_it_did() -> None:
    """A goroutine goes from the thread that was told to another one, which computes."""
    text = strace([*START, ADD, (0.005, EVENT + "<0.010000>")])
    text += line(0.0151, "clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8 <0.0>")
    text += line(0.0155, "getsockopt(5, SOL_SOCKET, SO_ERROR, [0], [4]) = 0 <0.000010>", 8)
    for n in range(1, 30):
        at = 0.016 + n * 0.1
        text += line(at, "--- SIGURG {si_signo=SIGURG, si_code=SI_TKILL} ---", 8)
        text += line(at + 0.00001, "rt_sigreturn({mask=[]}) = 0 <0.000010>", 8)
        text += line(at + 0.0001, "epoll_pwait(4, [], 128, 90, NULL, 0) = 0 <0.090000>")
    text += line(3.0094, "madvise(0xc000400000, 4194304, MADV_NOHUGEPAGE) = 0 <0.00001>", 8)
    text += line(3.0095, "futex(0x55b4, FUTEX_WAKE_PRIVATE, 1) = 1 <0.00001>", 8)
    row, _ = told(silent_client(), text + line(*WRITE, 8) + line(*READ, 8), "client")
    assert (row.reason, row.activity) == ("event_not_acted_on", "off_syscall")
    assert "thread 8 was in no call for 3.0 s" in (row.verdict or "")


def test_an_event_that_was_not_acted_on() -> None:
    sleep = (0.02, "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=2, tv_nsec=980000000}, NULL) = 0 <2.980000>")
    calls = [ADD, (0.005, EVENT + "<0.010000>"), sleep, WRITE, READ]
    assert reason_of(calls) == ("event_not_acted_on", "blocked_in_syscall", "high")


def test_no_call_at_all_is_off_syscall() -> None:
    """In a trace that has calls which nobody asks for: where there are only such as tracers are told to show, the one
    that blocked may have been left out."""
    calls = [ADD, (0.005, EVENT + "<0.010000>"), WRITE, READ]
    assert reason_of(calls)[:2] == ("event_not_acted_on", "unknown")
    futex = (0.0151, "futex(0x55b4, FUTEX_WAKE_PRIVATE, 1) = 0 <0.000010>")
    assert reason_of([*calls[:2], futex, *calls[2:]])[:2] == ("event_not_acted_on", "unknown")
    brk = (0.0152, "brk(NULL) = 0x5573c3c7a000 <0.000010>")
    assert reason_of([*calls[:2], brk, *calls[2:]])[:2] == ("event_not_acted_on", "off_syscall")


def test_no_call_of_many_threads_without_a_futex_tells_nothing() -> None:
    text = strace([*START, ADD, (0.005, EVENT + "<0.010000>"), (0.0152, "brk(NULL) = 0x5573c3c7a000 <0.000010>")])
    text += line(0.0153, "clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8 <0.0>")
    text += line(0.0155, "gettid() = 8 <0.0>", 8)
    row, _ = told(silent_client(), text + strace([WRITE, READ]), "client")
    assert (row.reason, row.activity) == ("event_not_acted_on", "unknown")


def test_many_other_calls_are_busy_elsewhere() -> None:
    busy = [(0.02 + n * 0.01, 'pread64(9, "x"..., 4096, 0) = 4096 <0.009000>') for n in range(290)]
    calls = [ADD, (0.005, EVENT + "<0.010000>"), *busy, WRITE, READ]
    assert reason_of(calls) == ("event_not_acted_on", "busy_elsewhere", "high")


def test_a_stopped_process() -> None:
    signals = [
        (0.1, "--- SIGSTOP {si_signo=SIGSTOP, si_code=SI_USER} ---"),
        (0.1001, "--- stopped by SIGSTOP ---"),
        (2.9, "--- SIGCONT {si_signo=SIGCONT, si_code=SI_USER} ---"),
    ]
    assert reason_of([ADD, (0.005, EVENT + "<0.010000>"), *signals, WRITE, READ])[1] == "stopped_by_signal"


def test_a_process_that_was_stopped_before_it_began() -> None:
    signals = [
        (-0.05, "--- SIGSTOP {si_signo=SIGSTOP, si_code=SI_USER} ---"),
        (-0.0499, "--- stopped by SIGSTOP ---"),
        (3.005, "--- SIGCONT {si_signo=SIGCONT, si_code=SI_USER} ---"),
    ]
    start = [(at - 1, rest) for at, rest in START[:-1]]
    connect = (-0.4, CONNECT[1])
    row, _ = told(silent_client(), strace([*start, connect, *signals, WRITE, READ]), "client")
    assert row.activity == "stopped_by_signal"


def test_a_tracer_that_lets_go_afterwards_takes_nothing_away() -> None:
    sleep = (0.02, "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=2, tv_nsec=980000000}, NULL) = 0 <2.980000>")
    calls = [ADD, (0.005, EVENT + "<0.010000>"), sleep, WRITE, READ]
    assert reason_of([*calls, (3.05, "epoll_wait(4,  <detached ...>")])[2] == "high"
    gone = (0.02, "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=2},  <detached ...>")
    assert reason_of([ADD, (0.005, EVENT + "<0.010000>"), gone])[2] != "high"


def test_who_held_the_lock_and_what_it_waited_for() -> None:
    text = strace([*START, ADD, (0.005, EVENT + "<0.010000>")])
    text += line(0.0151, "clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8 <0.0>")
    text += line(0.0152, "futex(0x55b4, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>")
    text += line(0.016, 'recvfrom(9, "x", 1, 0, NULL, NULL) = 1 <2.9>', 8)
    text += line(3.005, "futex(0x55b4, FUTEX_WAKE_PRIVATE, 1) = 1 <0.00001>", 8)
    text += line(3.0051, "<... futex resumed>) = 0 <2.9899>")
    row, _ = told(silent_client(), text + strace([WRITE, READ]), "client")
    assert (row.reason, row.activity) == ("event_not_acted_on", "blocked_in_syscall")
    assert "in futex for 3.0 s; thread 8 woke it after recvfrom" in (row.verdict or "")


def test_a_write_in_time_is_not_the_process() -> None:
    road = Road()
    acked = road.handshake()
    road.c(acked + MS, 0x18, HELLO, lost_at=0.2)
    road.c(acked + 3 * SECOND, 0x18, HELLO)
    write = (0.0115, WRITE[1])
    row, _ = told(road, strace([*START, ADD, (0.005, EVENT + "<0.006>"), write]), "server")
    assert row.stalled == "ack_ch"
    assert row.cause in ("network", "unknown")
    assert row.confidence != "high"


def test_bytes_that_nobody_wrote_are_not_traced() -> None:
    uring = (-0.2, "io_uring_setup(8, {flags=0}) = 3 <0.00001>")
    calls = [*START[:3], uring, *START[3:], (0.02, "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=2}, NULL) = 0 <2.9>")]
    row, _ = told(silent_client(), strace([*calls, (3.5, "getpid() = 7 <0.0>")]), "client")
    assert (row.reason, row.cause, row.confidence) == ("not_traced", "client_process", "medium")
    assert "io_uring" in (row.would_settle or "")


def test_a_strace_of_the_end_only_says_little() -> None:
    row, _ = told(silent_client(), strace([(2.5, 'read(9, "x", 1) = 1 <0.1>'), WRITE, READ]), "client")
    assert row.reason == "not_traced"
    assert row.confidence != "high"


@pytest.mark.parametrize("shift", [-7200.0, 1.7, 86_400.0])
def test_a_clock_that_is_off_is_found(shift: float) -> None:
    sleep = (0.02, "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=2, tv_nsec=980000000}, NULL) = 0 <2.980000>")
    calls = [*START, ADD, (0.005, EVENT + "<0.010000>"), sleep, WRITE, READ]
    row, report = told(silent_client(), strace([(at + shift, rest) for at, rest in calls]), "client")
    assert (row.reason, row.activity, row.cause) == ("event_not_acted_on", "blocked_in_syscall", "client_process")
    assert report.clock_offset_ns == pytest.approx(-shift * SECOND, abs=20 * MS)


def test_clocks_that_contradict_each_other_claim_nothing() -> None:
    sleep = (0.02, "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=2}, NULL) = 0 <2.980000>")
    calls = [*START, ADD, sleep, (13.0, WRITE[1]), (1.0, READ[1])]
    row, report = told(silent_client(), strace(calls), "client")
    assert report.clock_offset_ns is None
    assert row.reason == "client_silent"
    assert row.activity is None


def silent_forever() -> Road:
    """A client that never sends anything; the capture goes on for a while."""
    road = Road()
    acked = road.handshake()
    road.c(acked + 5 * SECOND, 0x11)
    return road


CONNECTED = (
    CONNECT[0],
    CONNECT[1].replace("-1 EINPROGRESS (Operation now in progress)", "0").replace("0.00004", "0.0101"),
)


def test_a_client_that_reads_waits_for_the_server_to_speak_first() -> None:
    """openssl s_client -starttls smtp at a server that speaks TLS at once."""
    read = (0.011, "read(5, 0x5581, 4096) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <4.999>")
    row, _ = told(silent_forever(), strace([*START[:-1], CONNECTED, read, (5.015, "close(5) = 0 <0.00001>")]), "client")
    assert (row.stalled, row.cause, row.reason, row.activity) == (
        "ack_ch",
        "unknown",
        "both_silent",
        "blocked_in_syscall",
    )
    assert row.confidence == "medium"
    assert "it waited for the server to speak first" in (row.verdict or "")


def test_where_both_are_silent_on_an_unknown_port_it_is_told_what_the_client_did() -> None:
    road = silent_forever()
    road.server_port = 4000
    connected = (CONNECTED[0], CONNECTED[1].replace("htons(443)", "htons(4000)"))
    nap = (0.011, "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=9}, 0x7ffc) = ? ERESTART_RESTARTBLOCK (x) <4.999>")
    row, _ = told(road, strace([*START[:-1], connected, nap, (5.015, "close(5) = 0 <0.00001>")]), "client")
    assert (row.reason, row.activity, row.confidence) == ("both_silent", "blocked_in_syscall", "low")
    assert any("clock_nanosleep" in item.text and item.strace for item in row.evidence)


def test_a_thread_that_only_reads_says_nothing_of_the_one_that_writes() -> None:
    text = strace([*START[:-1], CONNECTED]) + line(0.011, "clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8 <0.0>")
    text += line(0.012, "read(5,  <unfinished ...>", 8)
    text += line(0.013, "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=2, tv_nsec=980000000}, NULL) = 0 <2.980000>")
    text += line(*WRITE) + line(3.023, '<... read resumed>"\\26\\3\\3\\0,"..., 4096) = 49 <3.010000>', 8)
    row, _ = told(silent_client(), text, "client")
    assert (row.cause, row.reason, row.confidence) == ("client_process", "not_written", "high")


def test_a_connect_that_succeeded_at_once_needed_no_wait() -> None:
    """As of Java, which asks nobody and makes its sockets non-blocking or not as it likes."""
    nap = (
        0.011,
        "futex(0x7f86, FUTEX_WAIT_BITSET_PRIVATE, 0, {tv_sec=3}, FUTEX_BITSET_MATCH_ANY) = -1 ETIMEDOUT (x) <2.99>",
    )
    start = [(at, rest) for at, rest in START[:-1] if "epoll" not in rest and "socket(" not in rest]
    opened = (-0.1, "socket(AF_INET, SOCK_STREAM|SOCK_NONBLOCK, IPPROTO_IP) = 5 <0.000010>")
    row, _ = told(silent_client(), strace([*start, opened, CONNECTED, nap, WRITE, READ]), "client")
    assert (row.reason, row.activity, row.confidence) == ("not_written", "blocked_in_syscall", "high")
