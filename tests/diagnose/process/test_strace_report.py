"""What a report says of the strace itself, and of the threads beside the one that was late."""

import re
from types import SimpleNamespace
from typing import cast

from hypothesis import given
from hypothesis import strategies as st
from process_support import HELLO, line, shown, silent_client, strace, told

from pcapstall.diagnose.process.scene import Scene
from pcapstall.diagnose.process.stages import add_up

EXECVE = (-1.0, 'execve("/usr/bin/client", ["client"], 0x7ffe /* 5 vars */) = 0 <0.000100>')
SOCKET = (-0.1, "socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 5 <0.000010>")
CONNECT = (
    -0.00001,
    'connect(5, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("10.0.0.2")}, 16) = 0 <0.010200>',
)
NAP = (0.0110, "clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=3}, NULL) = 0 <2.990000>")
WRITE = (3.0100, f"write(5, {shown(HELLO)}, {len(HELLO)}) = {len(HELLO)} <0.000050>")
CALLS = [EXECVE, SOCKET, CONNECT, NAP, WRITE]


def test_what_other_threads_did_is_told_with_their_lines() -> None:
    clone = line(-0.5, "clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD, exit_signal=0}, 88) = 8 <0.00001>")
    others = "".join(line(-0.4 + number, "poll(NULL, 0, 1000) = 0 (Timeout) <0.999000>", 8) for number in range(5))
    lines = sorted((strace(CALLS) + clone + others).splitlines(keepends=True), key=lambda text: text.split()[1])
    row, _ = told(silent_client(), "".join(lines), "client")
    assert row.threads is not None
    first, other = row.threads
    assert (first.tid, first.label, first.longest_call) == (7, "had to act", "clock_nanosleep")
    assert (other.tid, other.label, other.pid) == (8, None, 7)
    (polls,) = other.calls
    assert polls.call == "poll"
    assert 4 <= polls.n <= 5
    assert abs(polls.total_ns - 3 * 10**9) < 2 * 10**7
    assert abs(polls.longest_ns - 999 * 10**6) < 10**6
    assert len(polls.strace) == 2
    assert all(re.search(r":\d+$", place) for place in [*polls.strace, *other.strace])
    assert not [item for item in row.evidence if "hread 8" in item.text], "the table says it"


def test_a_call_on_the_socket_itself_is_said_to_be_on_this_socket() -> None:
    waiting = (0.0110, "recvfrom(5, 0x7ffc, 1, 0, NULL, NULL) = -1 EAGAIN (Timed out) <2.990000>")
    row, _ = told(silent_client(), strace([EXECVE, SOCKET, CONNECT, waiting, WRITE]), "client")
    assert "was in recvfrom on this socket (descriptor 5) for 3.0 s" in (row.verdict or "")
    assert row.threads is not None
    assert row.threads[0].longest_call == "recvfrom on this socket"


def test_without_durations_nobody_says_how_long_a_thread_was_in_no_call() -> None:
    row, _ = told(silent_client(), re.sub(r" <[\d.]+>$", "", strace(CALLS), flags=re.MULTILINE), "client")
    assert row.threads is not None
    assert [thread.off_syscall_ns for thread in row.threads] == [None]


@given(
    st.lists(st.integers(-(10**9), 5 * 10**9), min_size=1, max_size=4), st.booleans(), st.sampled_from([None, 0, 10**6])
)
def test_stages_add_up_whatever_the_clocks_say(lengths: list[int], written: bool, error_ns: int | None) -> None:
    offset = None if error_ns is None else SimpleNamespace(error_ns=error_ns)
    scene = cast(Scene, SimpleNamespace(length_ns=3 * 10**9, offset=offset))
    stages = add_up(scene, [(str(at), length) for at, length in enumerate(lengths)], written)
    assert sum(stages.values()) == scene.length_ns
    assert min(stages.values()) >= 0
    assert "left" not in stages or (written and stages["left"] > (error_ns or 0))


def test_a_strace_without_times_says_so_in_the_report_and_with_the_verdict() -> None:
    text = re.sub(r"^(\d+) [\d.]+ ", r"\1 ", strace(CALLS), flags=re.MULTILINE)
    row, report = told(silent_client(), text, "client")
    assert row.reason == "client_silent"
    assert any("tells the order of calls and not when" in item.text for item in row.evidence)
    assert any("has no times" in notice for notice in report.notices)
    assert report.clock_offset_ns is None


def test_times_of_day_have_a_zone_and_a_residual() -> None:
    def at_home(match: re.Match[str]) -> str:
        seconds = int(match[2]) + 5 * 3600 + 1800
        return f"{match[1]} {seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{match[3]} "

    text = re.sub(r"^(\d+) (\d+)\.(\d+) ", at_home, strace(CALLS), flags=re.MULTILINE)
    row, report = told(silent_client(), text, "client")
    assert row.reason == "not_written"
    assert report.zone_ns == (5 * 3600 + 1800) * 10**9
    assert abs(report.clock_offset_ns or 0) < 10**6
