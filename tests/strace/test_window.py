"""What happened in a window: waits and what they delivered, calls, gaps, wakers, events."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strace_support import recorded

from pcapstall.core.frames import frame_of
from pcapstall.strace.clock import NAMES
from pcapstall.strace.family import open_straces
from pcapstall.strace.index import index_strace
from pcapstall.strace.recorder import record
from pcapstall.strace.window import NO, UNKNOWN, YES, Wait, window_of

S = 1_000_000_000
EPOLL = (
    "7 100.0 epoll_create1(0) = 4 <0.0>\n7 100.1 socket(AF_INET, SOCK_STREAM, 0) = 5 <0.0>\n"
    "7 100.2 epoll_ctl(4, EPOLL_CTL_ADD, 5, {events=EPOLLIN|EPOLLOUT, data={u32=5, u64=77}}) = 0 <0.0>\n"
)


def waits(window) -> list[tuple[int, int, int]]:
    """(line, epoll set, delivered) of each wait on one of the sockets."""
    found = []
    for wait in window.waits.all():
        assert isinstance(wait, Wait)
        found.append((frame_of(wait.line), wait.epoll, wait.delivered))
    return found


@pytest.mark.parametrize(
    ("line", "delivered"),
    [
        ("7 101.0 epoll_wait(4, [{events=EPOLLOUT, data={u32=5, u64=77}}], 64, -1) = 1 <0.5>", YES),
        ("7 101.0 epoll_pwait(4, [{events=EPOLLIN, data=0x4d}], 64, -1, NULL, 8) = 1 <0.5>", YES),
        ("7 101.0 epoll_wait(4, [{events=EPOLLIN, data={u32=9, u64=9}}], 64, -1) = 1 <0.5>", NO),
        ("7 101.0 epoll_wait(4, [], 64, 500) = 0 <0.5>", NO),
        ("7 101.0 epoll_wait(4, 0x7ffe, 64, 500) = -1 EINTR (Interrupted system call) <0.5>", NO),
        ("7 101.0 epoll_wait(4, [{events=EPOLLIN, data={u32=9, u64=9}}, ...], 64, -1) = 40 <0.5>", UNKNOWN),
        # one registration only: whatever it is, it is this one
        ("7 101.0 epoll_wait(4, [...], 64, -1) = 1 <0.5>", YES),
        ("7 101.0 poll([{fd=5, events=POLLOUT}], 1, 50) = 1 ([{fd=5, revents=POLLOUT}]) <0.5>", YES),
        ("7 101.0 poll([{fd=5, events=POLLOUT}, {fd=9, events=4}], 2, 50) = 1 ([{fd=9, revents=POLLIN}]) <0.5>", NO),
        ("7 101.0 poll([{fd=5, events=POLLOUT}], 1, 50) = 0 (Timeout) <0.5>", NO),
        ("7 101.0 select(8, [5 9], [5], NULL, NULL) = 1 (in [9]) <0.5>", NO),
        ("7 101.0 pselect6(8, [9], [5], NULL, NULL, NULL) = 1 (out [5]) <0.5>", YES),
    ],
)  # fmt: skip
def test_waits_on_the_socket_and_what_they_delivered(line: str, delivered: int) -> None:
    window = recorded(EPOLL + line + "\n", 100.5, 103.0)
    assert [wait[2] for wait in waits(window)] == [delivered]
    assert not window.other_waits


def test_masks_asked_for_and_delivered() -> None:
    window = recorded(
        EPOLL + "7 101.0 epoll_wait(4, [{events=EPOLLOUT, data={u32=5, u64=77}}], 64, -1) = 1 <0.5>\n", 100.5, 103.0
    )
    (wait,) = window.waits.all()
    assert isinstance(wait, Wait)
    assert (wait.asked, wait.events, wait.epoll) == (5, 4, 0)
    (registration,) = window.registrations
    assert (registration.mask, registration.data, frame_of(registration.line), registration.epoll_fd) == (5, 77, 3, 4)


def test_equal_data_on_two_registrations_is_nobodys() -> None:
    window = recorded(
        EPOLL + "7 100.3 epoll_ctl(4, EPOLL_CTL_ADD, 9, {events=EPOLLIN, data={u32=5, u64=77}}) = 0 <0.0>\n"
        "7 101.0 epoll_wait(4, [{events=EPOLLIN, data={u32=5, u64=77}}], 64, -1) = 1 <0.5>\n",
        100.5,
        103.0,
    )
    assert [wait[2] for wait in waits(window)] == [UNKNOWN]


def test_a_wait_on_another_set_is_another_wait() -> None:
    window = recorded(
        EPOLL + "7 100.3 epoll_create1(0) = 6 <0.0>\n7 101.0 epoll_wait(6, [], 64, 900) = 0 <0.9>\n"
        "7 101.9 poll([{fd=9, events=POLLIN}], 1, 50) = 0 (Timeout) <0.05>\n",
        100.5,
        103.0,
    )
    assert not window.waits.count
    assert {key: (spent.count, spent.longest_ns) for key, spent in window.other_waits.items()} == {
        1: (1, 900_000_000),
        -1: (1, 50_000_000),
    }


def test_a_set_in_a_set_and_a_set_in_a_poll_count() -> None:
    window = recorded(
        EPOLL + "7 100.3 epoll_create1(0) = 6 <0.0>\n"
        "7 100.4 epoll_ctl(6, EPOLL_CTL_ADD, 4, {events=EPOLLIN, data=0x4}) = 0\n"
        "7 101.0 epoll_wait(6, [], 64, 900) = 0 <0.9>\n7 102.0 poll([{fd=4, events=POLLIN}], 1, -1) = 1"
        " ([{fd=4, revents=POLLIN}]) <0.1>\n",
        100.5,
        103.0,
    )  # fmt: skip
    assert [(wait[1], wait[2]) for wait in waits(window)] == [(1, NO), (-1, UNKNOWN)]
    assert all(wait.nested for wait in window.waits.all() if isinstance(wait, Wait))


def test_a_wait_of_another_thread_counts_too() -> None:
    window = recorded(
        EPOLL + "7 100.3 clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8 <0.0>\n"
        "8 101.0 epoll_wait(4,  <unfinished ...>\n7 101.5 getpid() = 7 <0.0>\n"
        "8 102.0 <... epoll_wait resumed>[{events=EPOLLOUT, data={u32=5, u64=77}}], 64, -1) = 1 <1.0>\n",
        100.5,
        103.0,
    )
    assert waits(window) == [(5, 0, YES)]
    assert {activity.thread.tid for activity in window.threads.values()} == {7, 8}


def test_a_wait_that_never_returns() -> None:
    window = recorded(EPOLL + "7 101.0 epoll_wait(4,  <unfinished ...>\n9 105.0 getpid() = 9 <0.0>\n", 101.5, 103.0)
    (wait,) = window.waits.all()
    assert (wait.open, wait.returned) == (True, False)
    assert window.threads[0].at_end is not None
    assert window.threads[0].at_start is not None
    assert window.threads[0].in_calls_ns == 1_500_000_000


def test_control_calls_are_listed() -> None:
    window = recorded(
        EPOLL + "7 101.0 epoll_ctl(4, EPOLL_CTL_MOD, 5, {events=EPOLLIN, data={u32=5, u64=78}}) = 0 <0.0>\n"
        "7 101.1 epoll_wait(4, [{events=EPOLLIN, data={u32=5, u64=78}}], 64, -1) = 1 <0.5>\n"
        "7 102.0 epoll_ctl(4, EPOLL_CTL_DEL, 5, NULL) = 0 <0.0>\n7 102.1 epoll_wait(4, [], 64, 100) = 0 <0.1>\n",
        100.5,
        103.0,
    )
    assert [(control.operation, control.mask, control.data) for control in window.controls] == [(3, 1, 78), (2, -1, -1)]
    assert [wait[2] for wait in waits(window)] == [YES]
    assert 0 in window.other_waits


def test_calls_are_clipped_to_the_window() -> None:
    window = recorded(
        EPOLL + "7 100.3 nanosleep({tv_sec=2}, NULL) = 0 <2.0>\n7 102.4 write(5, \"abc\", 3) = 3 <0.2>\n"
        "7 102.7 fsync(9) = 0 <9.0>\n",
        101.0,
        103.0,
    )  # fmt: skip
    activity = window.threads[0]
    assert activity.calls == window.calls == 3
    assert activity.in_calls_ns == 1_300_000_000 + 200_000_000 + 300_000_000
    assert (activity.longest.name, activity.longest_ns) == ("nanosleep", 1_300_000_000)
    assert activity.longest.args == b"{tv_sec=2}, NULL"
    assert (activity.at_start.name, activity.at_end.name) == ("nanosleep", "fsync")
    assert [(spent.name, spent.count) for spent in activity.busiest()] == [("nanosleep", 1), ("fsync", 1), ("write", 1)]
    assert [(note.name, frame_of(note.line), note.about()) for note in window.io.all()] == [("write", 5, "socket")]


def test_the_longest_gap_is_between_two_lines() -> None:
    window = recorded(
        EPOLL + "7 100.3 getpid() = 7 <0.1>\n7 102.0 getpid() = 7 <0.1>\n7 102.2 getpid() = 7 <0.1>\n", 100.0, 105.0
    )
    activity = window.threads[0]
    assert (activity.gap_ns, frame_of(activity.gap_line), frame_of(activity.gap_end_line)) == (1_600_000_000, 4, 5)


def test_a_gap_around_the_whole_window() -> None:
    window = recorded(EPOLL + "7 109.0 getpid() = 7 <0.1>\n", 101.0, 103.0)
    activity = window.threads[0]
    assert (activity.calls, activity.gap_ns) == (0, 2 * S)
    assert (frame_of(activity.gap_line), frame_of(activity.gap_end_line)) == (3, 4)


def test_who_woke_a_futex() -> None:
    window = recorded(
        EPOLL + "7 100.3 clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8 <0.0>\n"
        "8 100.4 futex(0x55b4, FUTEX_WAKE_PRIVATE, 1) = 0 <0.0>\n"
        "7 100.5 futex(0x55b4, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 0, NULL, 0xf <unfinished ...>\n"
        "8 102.0 futex(0x55b4, FUTEX_WAKE_PRIVATE, 1 <unfinished ...>\n7 102.1 <... futex resumed>) = 0 <1.6>\n"
        "8 102.2 <... futex resumed>) = 1 <0.2>\n7 102.5 futex(0x55b4, FUTEX_WAIT_PRIVATE, 2, NULL) = -1 EAGAIN"
        " (Resource temporarily unavailable) <0.0>\n",
        101.0,
        103.0,
    )
    longest = window.threads[0].longest
    assert longest.waker is not None
    assert (longest.waker.thread.tid, frame_of(longest.waker.line)) == (8, 7)


def test_raw_futex_operations() -> None:
    window = recorded(
        EPOLL + "7 100.3 clone3({flags=0x10400}, 88) = 8 <0.0>\n"
        "7 100.5 futex(0x55b4, 0x189, 0, NULL, 0xf <unfinished ...>\n"
        "8 102.0 futex(0x55b4, 0x81, 1) = 1 <0.0>\n7 102.1 <... futex resumed>) = 0 <1.6>\n",
        101.0,
        103.0,
    )  # fmt: skip
    assert window.threads[0].longest.waker.thread.tid == 8


def test_signals_exits_clones_and_programs() -> None:
    window = recorded(
        EPOLL + "7 101.0 --- SIGSTOP {si_signo=SIGSTOP} ---\n7 101.1 --- stopped by SIGSTOP ---\n"
        "7 101.5 --- SIGCONT {si_signo=SIGCONT} ---\n7 102.0 fork() = 8 <0.0>\n"
        "8 102.1 execve(\"/bin/x\", [], 0x1) = 0 <0.1>\n"
        "7 102.5 +++ killed by SIGKILL +++\n7 109.0 getpid() = 7\n",
        100.5,
        103.0,
    )  # fmt: skip
    assert [(event.kind, event.text) for event in window.events] == [
        ("signal", "SIGSTOP {si_signo=SIGSTOP}"),
        ("signal", "stopped by SIGSTOP"),
        ("signal", "SIGCONT {si_signo=SIGCONT}"),
        ("clone", "8"),
        ("exec", "/bin/x"),
        ("exit", "killed by SIGKILL"),
    ]


def test_without_t_a_call_ends_where_the_threads_next_line_is() -> None:
    window = recorded(
        "7 100.0 socket(AF_INET, SOCK_STREAM, 0) = 5\n7 100.5 clock_nanosleep(CLOCK_REALTIME, 0, {}, NULL) = 0\n"
        '7 102.5 write(5, "abc", 3) = 3\n',
        101.0,
        103.0,
    )
    longest = window.threads[0].longest
    assert (longest.name, longest.bounded, longest.end_ns) == ("clock_nanosleep", True, 102 * S + S // 2)
    assert [note.name for note in window.io.all()] == ["write"]


def test_a_restarted_wait_goes_on_with_what_it_was() -> None:
    window = recorded(
        "7 100.0 socket(AF_INET, SOCK_STREAM, 0) = 5 <0.0>\n"
        "7 100.5 poll([{fd=5, events=POLLIN}], 1, 5000) = ? ERESTART_RESTARTBLOCK (Interrupted by signal) <0.5>\n"
        "7 101.0 --- SIGSTOP {si_signo=SIGSTOP} ---\n"
        "7 101.2 restart_syscall(<... resuming interrupted poll ...>) = 1 <1.0>\n7 102.5 getpid() = 7 <0.0>\n",
        100.2,
        103.0,
    )
    assert [(note.name, note.continues) for note in window.waits.all()] == [("poll", ""), ("restart_syscall", "poll")]
    assert [wait[2] for wait in waits(window)] == [NO, UNKNOWN]


def test_a_clock_set_back_makes_no_negative_times() -> None:
    window = recorded(
        "7 100.9 socket(AF_INET, SOCK_STREAM, 0) = 5 <0.0>\n8 100.8 close(9 <unfinished ...>\n"
        "7 100.2 pause( <unfinished ...>\n8 100.1 <... close resumed>) = 0\n7 100.0 <... pause resumed>) = ?\n",
        100.0,
        103.0,
    )
    assert all(activity.in_calls_ns >= 0 for activity in window.threads.values())


def test_other_processes_stay_out() -> None:
    text = EPOLL + "7 100.3 fork() = 9 <0.0>\n9 100.4 close(5) = 0 <0.0>\n9 101.0 getppid() = 7 <0.5>\n"
    window = recorded(text, 100.5, 103.0)
    assert {activity.thread.tid for activity in window.threads.values()} == {7}


def test_many_waits_are_counted_and_some_kept() -> None:
    text = EPOLL + "".join(f"7 {101 + n / 1000:.3f} epoll_wait(4, [], 64, 1) = 0 <0.0005>\n" for n in range(900))
    window = recorded(text, 100.5, 103.0)
    assert (window.waits.count, len(window.waits.all())) == (900, 128)
    assert frame_of(window.waits.all()[-1].line) == 903


CALLS = st.lists(
    st.tuples(st.sampled_from([7, 8]), st.integers(0, 40), st.integers(0, 30), st.booleans(), st.sampled_from("ab")),
    max_size=25,
)


@given(CALLS, st.integers(0, 600), st.integers(1, 400), st.booleans())
def test_windows_add_up(calls: list[tuple[int, int, int, bool, str]], start: int, length: int, timed: bool) -> None:
    """Against a count over all calls: how many overlap, and how long they are inside."""
    clock = {7: 100, 8: 100}
    lines: list[tuple[int, int, str]] = []
    spans: dict[int, list[tuple[int, int]]] = {7: [], 8: []}
    for tid, idle, busy, halves, name in calls:
        begin = clock[tid] + idle
        end = begin + busy
        clock[tid] = end + 1
        spans[tid].append((begin, end))
        call = f"call_{name}("
        duration = f" <{busy / 100:.2f}>" if timed else ""
        if halves:
            lines.append((begin, tid, f"{call} <unfinished ...>"))
            lines.append((end, tid, f"<... call_{name} resumed>) = 0{duration}"))
        else:
            lines.append((begin, tid, f"{call}) = 0{duration}"))
    head = "7 0.50 socket(AF_INET, SOCK_STREAM, 0) = 5 <0.00>\n"
    head += "7 0.50 clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8 <0.00>\n"
    lines.sort(key=lambda line: line[0])
    text = head + "".join(f"{tid} {at / 100:.2f} {rest}\n" for at, tid, rest in lines)
    text += "7 99.00 getpid() = 7 <0.00>\n8 99.00 getpid() = 7 <0.00>\n"
    window = recorded(text, (100 + start) / 100, (100 + start + length) / 100)
    low, high = 100 + start, 100 + start + length
    for tid, thread_spans in spans.items():
        inside = [(max(begin, low), min(end, high)) for begin, end in thread_spans if begin <= high and end >= low]
        found = [activity for activity in window.threads.values() if activity.thread.tid == tid]
        calls_found = sum(activity.calls for activity in found)
        time_found = sum(activity.in_calls_ns for activity in found)
        gap_found = max((activity.gap_ns for activity in found), default=0)
        if timed:
            assert calls_found == len(inside)
            assert time_found == sum(end - begin for begin, end in inside) * S // 100
        else:
            assert calls_found >= len(inside)
            assert time_found >= sum(end - begin for begin, end in inside) * S // 100
        assert time_found + gap_found <= length * S // 100


def test_lab_windows_show_the_cause(lab: Path) -> None:
    """The interval in which each client stalled, and what its threads did there."""
    expected = {
        "b1_no_epoll_wait": ("epoll_wait", 0.0),
        "c1_futex_lock": ("futex", 0.95),
        "n1_woken_but_busy": ("clock_nanosleep", 0.95),
        "e2_pipe_child": ("read", 0.9),
    }
    for name, (call, share) in expected.items():
        folder = lab / name
        truth = json.loads((folder / "truth.json").read_text())
        (strace,) = open_straces([str(folder / "client.strace")])
        index = index_strace(strace)
        cause = truth["cause"]["intervals"][0]
        shift = 0
        if NAMES[index.clock_kind] == "time of day":
            shift = int(truth["client_events"][0]["t"]) // 86400 * 86400 * S
        sockets = [socket for socket in index.sockets if socket.connects]
        window = window_of(sockets, int(cause["begin"] * S) - shift, int(cause["end"] * S) - shift)
        record(strace, [window])
        activity = next(found for found in window.threads.values() if found.thread.tid == truth["client_pid"])
        assert activity.longest.name == call, name
        assert activity.longest_ns >= share * (window.end_ns - window.start_ns), name
    frozen = lab / "d1_cpu"
    truth = json.loads((frozen / "truth.json").read_text())
    (strace,) = open_straces([str(frozen / "client.strace")])
    cause = truth["cause"]["intervals"][0]
    window = window_of(index_strace(strace).sockets, int(cause["begin"] * S), int(cause["end"] * S))
    record(strace, [window])
    (activity,) = window.threads.values()
    assert activity.gap_ns >= 0.95 * (window.end_ns - window.start_ns)


def test_no_wait_on_the_set_while_others_are_waited_on(lab: Path) -> None:
    folder = lab / "b1_no_epoll_wait"
    truth = json.loads((folder / "truth.json").read_text())
    (strace,) = open_straces([str(folder / "client.strace")])
    index = index_strace(strace)
    cause = truth["cause"]["intervals"][0]
    sockets = [socket for socket in index.sockets if socket.connects]
    window = window_of(sockets, int(cause["begin"] * S), int(cause["end"] * S))
    record(strace, [window])
    assert window.waits.count == 0
    assert [(registration.epoll_fd, registration.fd) for registration in window.registrations] == [(3, 10)]
    (other,) = window.other_waits.values()
    assert other.count > 900
    assert other.about() == "epoll set 5"


PIECES = st.sampled_from(
    [
        "epoll_create1(0) = 4", "socket(AF_INET, SOCK_STREAM, 0) = 5", "close(5) = 0 <0.1>", "close(4 <unfinished ...>",
        "epoll_ctl(4, EPOLL_CTL_ADD, 5, {events=EPOLLIN, data=0x5}) = 0 <0.1>",
        "epoll_ctl(4, EPOLL_CTL_DEL, 5, NULL) = 0",
        "epoll_wait(4, [{events=EPOLLIN, data=0x5}], 9, -1) = 1 <0.2>", "epoll_wait(4,  <unfinished ...>",
        "<... epoll_wait resumed>[], 9, -1) = 0 <0.3>", "poll([{fd=5, events=POLLIN}], 1, 9 <unfinished ...>",
        "<... poll resumed>) = 1 ([{fd=5, revents=POLLIN}])", "restart_syscall(<... resuming ...>) = 1",
        "poll([{fd=5, events=POLLIN}], 1, 9) = ? ERESTART_RESTARTBLOCK (Interrupted)",
        "select(9, [5], NULL) = 1 (in [5])",
        "futex(0x1, FUTEX_WAIT, 0 <unfinished ...>", "futex(0x1, FUTEX_WAKE, 1) = 1", "<... futex resumed>) = 0",
        "fork() = 8", "clone3({flags=CLONE_THREAD|CLONE_FILES}, 88) = 8", "+++ exited with 0 +++", "--- SIGSTOP {} ---",
        "execve(\"/x\", [], 0x1) = 0", "read(5, \"abc\", 9) = 3", "<detached ...>", "exit_group(0) = ?",
    ]
)  # fmt: skip


@given(st.lists(st.tuples(st.integers(7, 9), st.integers(0, 60), PIECES), max_size=40), st.integers(0, 60))
def test_any_order_of_lines_is_recorded(lines: list[tuple[int, int, str]], start: int) -> None:
    window = recorded("".join(f"{tid} {100 + at / 10:.1f} {text}\n" for tid, at, text in lines), 100 + start / 10, 104)
    for activity in window.threads.values():
        assert 0 <= activity.gap_ns <= max(0, window.end_ns - window.start_ns)
        assert activity.calls == sum(spent.count for spent in activity.kinds.values())
        assert activity.in_calls_ns >= 0
    assert window.calls == sum(activity.calls for activity in window.threads.values())
    assert len(window.waits.all()) == window.waits.count
