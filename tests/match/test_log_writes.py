"""The clock of a log from the strace of its writer: zone, skew and start, and what says nothing."""

import pytest

from pcapstall.logs.lines import LogFile, LogLine
from pcapstall.logs.stamps import ABSOLUTE, ELAPSED, NAIVE, Stamp
from pcapstall.match.log_clock import BY_WRITES, LogClock
from pcapstall.match.log_writes import clock_by_writes, keys_of
from pcapstall.match.offset import QUARTER_NS, Offset

S = 1_000_000_000
MS = 1_000_000
SKEW = Offset(3 * S, 2_000, True, 4, 3 * S)
"""The strace's clock is three seconds behind the capture's."""


def log(kind: int, *stamps_ns: int) -> LogFile:
    file = LogFile("a.log")
    for number, ns in enumerate(stamps_ns, 1):
        text = f"[{ns:020d}s]  INFO something that is long enough"
        file.kept.append(LogLine(number, text, Stamp(kind, ns, 1_000), 23))
    return file


def written(file: LogFile, *at_ns: int, offset: Offset = SKEW) -> dict[bytes, tuple[int, Offset, str]]:
    return {key: (ns, offset, "a.strace") for key, ns in zip(keys_of(file), at_ns, strict=True)}


def test_a_start() -> None:
    file = log(ELAPSED, 1 * S, 2 * S, 3 * S)
    found = clock_by_writes(LogClock(ELAPSED), file, written(file, 101 * S + 7, 102 * S + 5, 103 * S + MS), 0)
    assert (found.source, found.host, found.lines) == (BY_WRITES, "a.strace", 3)
    assert found.start_ns == 100 * S + 5 + 3 * S
    assert found.own_error_ns == 2  # the middle line waited two nanoseconds longer than the quickest
    assert found.error_ns == 2 + SKEW.slack_ns


def test_one_line_may_have_waited() -> None:
    file = log(ELAPSED, 1 * S)
    assert clock_by_writes(LogClock(ELAPSED), file, written(file, 101 * S), 0).own_error_ns == MS


def test_the_writers_clock_is_the_logs() -> None:
    file = log(ABSOLUTE, 100 * S, 200 * S)
    found = clock_by_writes(LogClock(ABSOLUTE), file, written(file, 100 * S + 200, 200 * S + 300), 0)
    assert (found.offset_ns, found.error_ns, found.source) == (3 * S, SKEW.slack_ns, BY_WRITES)


@pytest.mark.parametrize("quarters", [-37, -1, 0, 8, 55])
def test_a_zone(quarters: int) -> None:
    file = log(NAIVE, 10**6 * S)
    at = 10**6 * S - quarters * QUARTER_NS + 200
    found = clock_by_writes(LogClock(NAIVE), file, written(file, at), 10**6 * S)
    assert (found.zone_ns, found.residual_ns) == (quarters * QUARTER_NS, 3 * S)


@pytest.mark.parametrize("strace_zone", [0, 8])
def test_a_strace_with_times_of_day_has_no_date(strace_zone: int) -> None:
    """`strace -tt` on a host with another zone than its program's log."""
    day, at = 20_000 * 86_400 * S, 50_000 * S
    file = log(NAIVE, day + at + 4 * QUARTER_NS)
    date = day - strace_zone * QUARTER_NS + 2 * MS
    offset = Offset(date, 2_000, True, 4, date % (86_400 * S))
    written_at = at + strace_zone * QUARTER_NS + 300
    found = clock_by_writes(LogClock(NAIVE), file, written(file, written_at, offset=offset), day)
    assert (found.zone_ns, found.residual_ns) == (4 * QUARTER_NS, 2 * MS)


def test_lines_that_were_held_back_say_nothing() -> None:
    file = log(ABSOLUTE, 100 * S, 200 * S, 300 * S)
    clock = LogClock(ABSOLUTE)
    assert clock_by_writes(clock, file, written(file, 400 * S, 400 * S + 1, 400 * S + 2), 0) is clock


def test_no_writes_no_change() -> None:
    clock = LogClock(ELAPSED)
    assert clock_by_writes(clock, log(ELAPSED, S), {}, 0) is clock


def test_beginnings_that_several_lines_have_are_no_keys() -> None:
    file = log(ELAPSED, S, S, 2 * S)
    assert [line.number for line in keys_of(file).values()] == [3]


def test_only_one_strace_is_believed() -> None:
    file = log(ELAPSED, 1 * S, 2 * S)
    given = written(file, 101 * S, 102 * S)
    key = list(given)[1]
    given[key] = (50 * S, SKEW._replace(ns=9 * S), "b.strace")
    assert clock_by_writes(LogClock(ELAPSED), file, given, 0).lines == 1
