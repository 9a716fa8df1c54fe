"""Rows that several processes make are those that one makes, whatever becomes of the processes."""

import mmap
import os
import signal
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from shares_support import FILES, children, label, report, told

from pcapstall.pipeline import Analysis, Options, analyse, analysis
from pcapstall.pipeline.findings import Findings
from pcapstall.pipeline.shares import forked, rows
from pcapstall.pipeline.shares.forked import ShareHeld, ShareRedone, WorkerFault

make_row = Findings.row_of


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """And nothing is left running."""
    monkeypatch.setattr(analysis, "ROWS_PAY", 4)
    others = children()
    yield
    assert children() <= others


@pytest.fixture
def several(traffic: Path) -> Analysis:
    """Rows are made when they are asked for."""
    return report(traffic, jobs=3)


@pytest.fixture
def alone(traffic: Path) -> str:
    return told(report(traffic))


@pytest.mark.parametrize("path", FILES[::5], ids=label)
def test_every_kind_of_row(path: Path) -> None:
    one, _, _, findings, _ = analyse([str(path)], Options(jobs=1, all_flows=True))
    made = list(one.flows)
    assert list(rows.rows_by_several(findings.flows(), lambda flow: make_row(findings, flow, one.t0_ns), 3)) == made


class Marks:
    """What several processes tell each other: one of them is marked for a row, or for having ended."""

    def __init__(self) -> None:
        self._marks = mmap.mmap(-1, 1 << 16)

    def __len__(self) -> int:
        return self._marks[:].count(1)

    def make(self, number: int) -> None:
        self._marks[number] = 1

    def wait_for(self, count: int) -> None:
        """Until there are as many."""
        until = time.monotonic() + 60
        while len(self) < count and time.monotonic() < until:
            time.sleep(0.001)


def test_they_are_made_by_others(several: Analysis, alone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parent, here, there = os.getpid(), Marks(), Marks()
    count = len(list(several.report.flows))

    def noted(self: Findings, flow: Any, t0_ns: int) -> Any:
        if os.getpid() == parent:
            there.wait_for(count // 2)
        (here if os.getpid() == parent else there).make(flow.id)
        return make_row(self, flow, t0_ns)

    monkeypatch.setattr(Findings, "row_of", noted)
    assert told(several) == alone
    assert count > 20
    assert len(there) >= count // 2
    assert 0 < len(here) <= count - len(there) + 2  # one that two processes took at once is made twice, or here


def test_whoever_is_slow_makes_fewer_of_them(several: Analysis, alone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parent, here, there = os.getpid(), Marks(), Marks()
    count = len(list(several.report.flows))

    def slow_there(self: Findings, flow: Any, t0_ns: int) -> Any:
        if os.getpid() != parent:
            there.make(flow.id)
            here.wait_for(count - 10)
        here.make(flow.id)
        return make_row(self, flow, t0_ns)

    monkeypatch.setattr(Findings, "row_of", slow_there)
    assert told(several) == alone
    assert len(there) <= 10 + 2  # those that were left, and one that two processes took at once


def test_nobody_waits_for_the_slowest_of_several() -> None:
    """The first process meets the other one long before."""
    parent, made, there, slow = os.getpid(), Marks(), Marks(), Marks()
    count = 300

    def make(flow: Any) -> Any:
        if os.getpid() == parent:
            there.wait_for(count // 6)
            slow.wait_for(1)
        elif flow % 2:
            slow.make(flow)
            if len(slow) == 1:
                made.wait_for(count - 10)
        else:
            there.make(flow)
        made.make(flow)
        return -flow

    flows: Any = range(count)
    assert list(rows.rows_by_several(flows, make, 3)) == [-flow for flow in flows]
    assert len(there) >= count // 6
    assert 0 < len(slow) <= 10 + 2  # as above


def test_rows_of_healthy_flows_are_made_here(traffic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analysed = report(traffic, jobs=2, all_flows=True)
    monkeypatch.setattr(os, "fork", None)
    assert len(list(analysed.report.flows)) > 100


@pytest.mark.parametrize("left", [0, 1, 2])
def test_in_blocks(several: Analysis, alone: str, monkeypatch: pytest.MonkeyPatch, left: int) -> None:
    """The last one may be of few rows, fewer than there are processes."""
    count = len(list(several.report.flows))
    block = next(size for size in range(5, count) if count % size == left)
    monkeypatch.setattr(rows, "BLOCK", block)
    assert told(several) == alone


def killed(_error: BaseException | None) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def stopped(_error: BaseException | None) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def failed(_error: BaseException | None) -> None:
    raise MemoryError


def faulty_there(_error: BaseException | None) -> None:
    raise KeyError("only there")


@pytest.mark.parametrize(
    ("end", "kind", "said"),
    [
        (killed, ShareRedone, r"process \d of 3 was ended by signal 9; the first one made its rows"),
        (stopped, ShareHeld, r"process \d of 3 did nothing for \S+ s, for it was stopped; the first one made its rows"),
        (failed, ShareRedone, r"process \d of 3 failed \(MemoryError\); the first one made its rows"),
        (faulty_there, WorkerFault, r"process \d of 3 failed, a fault of pcapstall \(KeyError: 'only there'\)"),
    ],
)
def test_those_of_a_process_that_ends_are_made_here(
    several: Analysis, alone: str, monkeypatch: pytest.MonkeyPatch, end: Any, kind: type[Warning], said: str
) -> None:
    parent, made, ended = os.getpid(), 0, Marks()
    monkeypatch.setattr(forked, "LOOK_S", 0.05)

    def ending(self: Findings, flow: Any, t0_ns: int) -> Any:
        nonlocal made
        made += 1
        if os.getpid() == parent:
            ended.wait_for(1)
        elif made > 3:
            ended.make(os.getpid() & 0xFFFF)
            end(None)
        return make_row(self, flow, t0_ns)

    monkeypatch.setattr(Findings, "row_of", ending)
    with pytest.warns(kind, match=said) as warned:
        assert told(several) == alone
    assert all("test_rows.py" in warning.message.trace for warning in warned if kind is WorkerFault)


def test_no_process_can_be_started(several: Analysis, alone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", full)
    descriptors = len(os.listdir("/proc/self/fd"))
    with pytest.warns(ShareRedone, match=r"could not be started \(Resource temporarily unavailable\)"):
        assert told(several) == alone
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_a_fault_is_the_same(several: Analysis, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(self: Findings, flow: Any, t0_ns: int) -> Any:
        if flow.id == last:
            raise KeyError("no such rule")
        return make_row(self, flow, t0_ns)

    last = [row.id for row in several.report.flows][-1]
    monkeypatch.setattr(Findings, "row_of", faulty)
    with pytest.warns(WorkerFault, match="no such rule"), pytest.raises(KeyError, match="no such rule"):
        list(several.report.flows)


def test_who_has_seen_enough_leaves_nothing_running(several: Analysis) -> None:
    made = iter(several.report.flows)
    assert len(list(islice(made, 2))) == 2
    assert children()
    del made


@pytest.mark.usefixtures("nobody_waits_for_children")
def test_where_nobody_is_told_of_the_end_of_children(several: Analysis, alone: str) -> None:
    assert told(several) == alone
    made = iter(several.report.flows)
    assert len(list(islice(made, 2))) == 2
    del made
