"""Real runs of which is known what the process did: the project's own, and the lab's."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pcapstall.pipeline import Options, analyse
from pcapstall.pipeline.ends.given import GivenFile
from pcapstall.report.flow_model import FlowReport

CAPTURES = Path(__file__).parents[3] / "captures"
RUNS = {
    "b1_no_epoll_wait": ("epoll_not_waited", "waiting_elsewhere", "high"),
    "b3_no_epoll_wait_c": ("epoll_not_waited", "blocked_in_syscall", "high"),
    "c1_futex_lock": ("event_not_acted_on", "blocked_in_syscall", "high"),
    "d1_cpu": ("event_not_acted_on", "off_syscall", "high"),
    "d3_busy_other_syscalls": ("event_not_acted_on", "busy_elsewhere", "high"),
    "f1_late_accept": ("late_accept", "blocked_in_syscall", "high"),
    "g1_slow_read": ("late_read", "blocked_in_syscall", "high"),
    "g2_slow_serverhello": ("slow_handling", "blocked_in_syscall", "high"),
    "h1_syn_lost": ("syn_loss", None, "medium"),
    "k1_sigstop": ("event_not_acted_on", "stopped_by_signal", "high"),
    "l1_io_uring": ("not_traced", "blocked_in_syscall", "medium"),
    "n2_wrong_mask": ("no_event_delivered", "blocked_in_syscall", "high"),
    "p1_attached_late": ("not_written", "blocked_in_syscall", "medium"),
}


LATE = {
    "epoll_not_waited": ("waited_on",),
    "event_not_acted_on": ("acted_on", "written"),
    "no_event_delivered": ("delivered",),
    "not_written": ("written",),
    "late_accept": ("accepted",),
    "late_read": ("read",),
    "slow_handling": ("written",),
}
"""The stage that is the longest where this is the reason."""


def stalled(capture: Path, *straces: Path) -> list[FlowReport]:
    given = [GivenFile(str(path)) for path in straces]
    return [row for row in analyse([str(capture)], Options(straces=given)).report.flows if row.stalled]


@pytest.mark.parametrize("name", RUNS)
def test_lab_runs(name: str, lab: Path) -> None:
    folder = lab / name
    (row,) = stalled(folder / "capture.pcap", folder / "client.strace", folder / "server.strace")
    assert (row.reason, row.activity, row.confidence) == RUNS[name]
    assert any(item.strace for item in row.evidence)
    assert (row.would_settle is None) == (row.confidence == "high")
    stages = row.stages_ns or {}
    assert sum(stages.values()) == (row.stalled_ns if stages else 0)
    assert all(ns >= 0 for ns in stages.values())
    late = LATE.get(row.reason or "")
    assert late is None or max(stages, key=lambda stage: stages[stage]) in late
    if row.activity is not None:
        threads = row.threads or []
        assert threads
        assert [thread.label for thread in threads].index("had to act") == 0


def test_the_story_of_the_stalled_client_hello() -> None:
    folder = CAPTURES / "stalled-client-hello"
    for capture in ("capture.pcap", "capture_server.pcap"):
        (row,) = stalled(folder / capture, folder / "outbound.strace", folder / "inbound.strace")
        assert (row.cause, row.reason, row.confidence) == ("client_process", "epoll_not_waited", "high")
        assert row.match == "client_random"
        verdict = row.verdict or ""
        for words in ("no thread waited on that set for 52.2 s", "in futex for 52.2 s", "woke it after recvfrom"):
            assert words in verdict
        assert "10.0 s is its timer" in verdict
        assert row.threads is not None
        assert [(thread.tid, thread.label) for thread in row.threads][:2] == [(12170, "had to act"), (12171, "woke it")]
        assert [thread.calls[0].call for thread in row.threads] == [
            "futex", *(f"epoll_wait on set {number}" for number in (6, 8, 4, 3)),
        ]  # fmt: skip
        assert not [item.text for item in row.evidence if re.match(r"Thread (12166|12168|12169)", item.text)]


@pytest.mark.parametrize(
    ("name", "reason"),
    [("late-accept", "late_accept"), ("slow-server", "slow_handling"), ("zero-window", "late_read")],
)
def test_servers(name: str, reason: str) -> None:
    for capture in ("capture.pcap", "capture_server.pcap"):
        rows = stalled(CAPTURES / name / capture, CAPTURES / name / "server.strace")
        assert {row.reason for row in rows if row.stalled == "ch_sh"} == {reason}


def leave_out(*words: str) -> Callable[[str], str]:
    """A strace without the lines that hold one of the words, as a tracer's filter would make it."""
    return lambda text: "".join(line for line in text.splitlines(True) if not any(word in line for word in words))


@pytest.mark.parametrize(
    ("change", "forbidden"),
    [
        (leave_out("epoll_wait"), "epoll_not_waited"),
        (lambda text: "".join(text.splitlines(True)[2000:]), "epoll_not_waited"),
    ],
)
def test_what_is_missing_is_not_claimed(tmp_path: Path, change: Callable[[str], str], forbidden: str) -> None:
    folder = CAPTURES / "stalled-client-hello"
    path = tmp_path / "outbound.strace"
    path.write_text(change((folder / "outbound.strace").read_text()))
    (row,) = stalled(folder / "capture.pcap", path)
    assert row.reason != forbidden or row.confidence != "high"
    assert row.cause == "client_process", "packets alone say so"


def test_a_trace_without_the_calls_that_block_does_not_call_it_off(tmp_path: Path) -> None:
    folder = CAPTURES / "slow-server"
    path = tmp_path / "server.strace"
    path.write_text(leave_out("futex", "nanosleep")((folder / "server.strace").read_text()))
    (row,) = stalled(folder / "capture.pcap", path)
    assert (row.reason, row.activity) == ("slow_handling", "unknown")


def test_the_strace_of_another_run_is_no_match() -> None:
    (row,) = stalled(CAPTURES / "stalled-client-hello" / "capture.pcap", CAPTURES / "slow-server" / "server.strace")
    assert row.match is None
    assert row.reason == "client_silent"
