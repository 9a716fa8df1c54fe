"""What is told of one end's calls: each case a short trace of a client that is silent for 52 s."""

import json

import pytest
from timeline_support import BEGINNING, CAPTURES, rows

from pcapstall.cli.main import main

EXEC = (-0.1, 'execve("/bin/x", ["x"], 0x7f) = 0 <0.001>')
SET = [
    (0.01, "epoll_create1(0) = 6 <0.001>"),
    (0.02, "epoll_ctl(6, EPOLL_CTL_ADD, 5, {events=EPOLLIN|EPOLLOUT, data={u32=5, u64=5}}) = 0 <0.001>"),
]
LATE_WAIT = (52.2, "epoll_wait(6, [{events=EPOLLOUT, data={u32=5, u64=5}}], 8, -1) = 1 <0.001>")
CLOSE = (52.3, "close(5) = 0 <0.001>")


def told(calls: list[tuple[float, str]]) -> list[tuple[str, str]]:
    return [(row["event"], row["remark"]) for row in rows(calls) if row["source"] == "call"]


def events(calls: list[tuple[float, str]]) -> list[str]:
    return [event for event, _ in told(calls)]


def test_nobody_waits() -> None:
    found = [row for row in told([EXEC, *BEGINNING, *SET, LATE_WAIT, CLOSE]) if row[0] != "in no call"]
    assert found[-4:] == [
        ("epoll_ctl adds 5 to epoll set 6", "EPOLLIN|EPOLLOUT"),
        ("no wait on epoll set 6", "for 52.2 s"),
        ("epoll_wait on epoll set 6 returns 5", "EPOLLOUT"),
        ("close 5", ""),
    ]


def test_a_wait_on_what_holds_the_set_is_one() -> None:
    outer = (0.1, "poll([{fd=6, events=POLLIN}], 1, 60000) = 1 ([{fd=6, revents=POLLIN}]) <52.0>")
    assert "no wait on epoll set 6" not in events([EXEC, *BEGINNING, *SET, outer, LATE_WAIT, CLOSE])


def test_a_trace_without_waits_does_not_say_that_nobody_waits() -> None:
    assert "no wait on epoll set 6" not in events([EXEC, *BEGINNING, *SET, CLOSE])


def test_a_trace_that_begins_late_does_not_either() -> None:
    """Thread 7 was there before, and its first line is after the registration."""
    from timeline_support import run, strace

    early = strace([*BEGINNING, *SET], 1).replace("7 17", "8 17", 99)
    page = run(early + strace([LATE_WAIT, CLOSE], 1), b"", "json")
    assert "epoll_ctl adds 5" in page
    assert "no wait on" not in page


def test_waits_in_vain_are_folded() -> None:
    waits = [(1.0 + number, "epoll_wait(6, [], 8, 900) = 0 <0.900000>") for number in range(40)]
    assert ("epoll_wait on epoll set 6 x 40", "at most 900 ms each, without 5") in told(
        [EXEC, *BEGINNING, *SET, *waits, LATE_WAIT, CLOSE]
    )


def test_reads_and_writes_are_folded_and_errors_are_not() -> None:
    writes = [(1 + number / 10, 'write(5, "x", 1) = 1 <0.001>') for number in range(20)]
    reads = [(4.0, 'read(5, "abc", 9) = 3 <0.001>'), (4.1, 'read(5, "", 9) = 0 <0.001>')]
    failed = [(4.2, 'write(5, "x", 1) = -1 EPIPE (Broken pipe) <0.001>')]
    assert told([EXEC, *BEGINNING, *writes, *reads, *failed])[-5:] == [
        ("write, 1 bytes", ""),
        ("reads and writes x 19", "19 bytes written"),
        ("read, 3 bytes", ""),
        ("read: end of stream", ""),
        ("write: EPIPE", ""),
    ]


def test_a_thread_in_one_call() -> None:
    sleep = (1.0, "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=50}, NULL) = 0 <50.000000>")
    assert ("clock_nanosleep", "lasts 50.0 s") in told([EXEC, *BEGINNING, sleep, CLOSE])


@pytest.mark.parametrize("signal", ["SIGTSTP", "SIGTTIN", "SIGTTOU"])
def test_a_signal_that_stops_is_told(signal: str) -> None:
    assert signal in events([EXEC, *BEGINNING, (1.0, f"--- {signal} {{si_signo={signal}}} ---"), CLOSE])


def test_a_thread_in_no_call() -> None:
    everything = [
        (0.01, 'openat(AT_FDCWD, "/x", O_RDONLY) = 9 <0.001>'),
        (0.02, "futex(0x7f, FUTEX_WAKE, 1) = 0 <0.001>"),
        (0.03, "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=0}, NULL) = 0 <0.001>"),
        (0.04, 'read(9, "", 1) = 0 <0.001>'),
        (0.05, "brk(NULL) = 0x5573c3c7a000 <0.001>"),
    ]
    (gap,) = [remark for event, remark in told([EXEC, *BEGINNING, *everything, CLOSE]) if event == "in no call"]
    assert gap == "for 52.2 s: running, or not let run"


def test_a_thread_in_no_call_that_is_traced() -> None:
    (gap,) = [remark for event, remark in told([EXEC, *BEGINNING, CLOSE]) if event == "in no call"]
    assert gap == "traced for 52.2 s; the trace leaves kinds of calls out that may block"


def test_a_poll_of_other_descriptors_is_told_beside_one_of_the_socket() -> None:
    own = (0.1, "poll([{fd=5, events=POLLOUT}], 1, 9) = 1 ([{fd=5, revents=POLLOUT}]) <0.001>")
    other = (0.2, "poll([{fd=9, events=POLLIN}], 1, 60000) = 0 (Timeout) <50.000000>")
    found = told([EXEC, *BEGINNING, own, other, CLOSE])
    assert ("poll returns 5", "POLLOUT") in found
    assert ("poll", "lasts 50.0 s") in found


def test_threads_that_did_the_same_are_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    folder = CAPTURES / "late-accept"
    files = [str(folder / "capture_server.pcap"), "--strace", str(folder / "server.strace")]
    assert main(["timeline", *files, "--flow", "5", "-f", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["rows"]
    assert [row["actor"] for row in found if row["event"].startswith("read on 5 sockets x ")] == ["server, 5 threads"]
