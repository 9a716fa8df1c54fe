"""Lengths of ordinary handshakes, row by row: the same as one list for each interval."""

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.lengths import Lengths
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.outcome import Outcome
from pcapstall.diagnose.thresholds import CH_CLOSE, CH_FIN, NAMES, STALL_NAMES, make_thresholds
from pcapstall.flows.flow import Flow
from pcapstall.pipeline import Options, analyse
from pcapstall.pipeline.scan.ordinary import LENGTH_END, STEPS, OrdinaryLengths
from pcapstall.pipeline.scan.tally import LengthTally
from pcapstall.pipeline.shares import result
from pcapstall.report.thresholds import parse_thresholds

assert result, "imported, it lets rows be told to another process"
LIFETIMES = (CH_FIN, CH_CLOSE)
CAPTURES = Path(__file__).parents[1] / "captures"
STEP = st.integers(0, LENGTH_END - 1) | st.integers(0, 3)
LENGTH = STEP | st.integers(-(1 << 40), 1 << 40) | st.just(ABSENT)
ORDINARY = st.tuples(*[STEP] * len(STEPS), *[LENGTH] * len(LIFETIMES))
ANY = st.tuples(*[LENGTH] * len(NAMES))


def measured(lengths: dict[int, int]) -> Intervals:
    """As `Intervals.measure` leaves it, of these lengths by position in `NAMES`."""
    intervals = Intervals()
    for position, name in enumerate(NAMES):
        setattr(intervals, name, lengths.get(position, ABSENT))
    intervals.combine()
    return intervals


def columns(tally: LengthTally) -> list[list[int]]:
    tally.flush()
    return [sorted(lengths.values()) for lengths in tally.closed]


def row_of(values: tuple[int, ...]) -> dict[int, int]:
    return dict(zip((*STEPS, *LIFETIMES), values, strict=True))


@given(st.lists(ORDINARY), st.lists(ORDINARY))
def test_rows_are_columns(some: list[tuple[int, ...]], more: list[tuple[int, ...]]) -> None:
    parts = []
    for rows in (some, more):
        part = OrdinaryLengths()
        assert all(part.take(measured(row_of(row))) for row in rows)
        assert len(part) == len(rows)
        parts.append(pickle.loads(pickle.dumps(part)))
    whole, other = parts
    whole.absorb(other)
    assert len(whole) == len(some + more)
    assert whole.take(measured(row_of((1, 2, 3, 4, 5, 6, 7, 8, 9))))
    closed = [Lengths([-1]) for _ in NAMES]
    whole.add_to(closed)
    assert len(closed[STEPS[0]]) == 1 + len(whole)
    rows = [row_of(row) for row in [*some, *more, (1, 2, 3, 4, 5, 6, 7, 8, 9)]]
    for position, lengths in enumerate(closed):
        there = [row[position] for row in rows if row.get(position, ABSENT) != ABSENT]
        assert lengths.values() == [-1, *there]
    assert len(other) == len(more)


@given(st.lists(ORDINARY.map(row_of) | ANY.map(lambda row: dict(enumerate(row))), max_size=6), st.data())
def test_a_tally_has_what_one_without_rows_has(flows: list[dict[int, int]], data: st.DataObject) -> None:
    one, other, plain = LengthTally(), LengthTally(), LengthTally()
    flow, outcome = Flow(b"", 1, 0, 0), Outcome()
    for lengths in flows:
        intervals = measured(lengths)
        tally = data.draw(st.sampled_from([one, other]))
        tally.add(flow, intervals, outcome, False)
        intervals.handshake_bits = -1
        plain.add(flow, intervals, outcome, False)
        if data.draw(st.booleans()):
            tally.flush()
    one.absorb(other)
    assert columns(one) == columns(plain)
    assert (one.flows, one.unjudged, one.untrusted) == (plain.flows, plain.unjudged, plain.untrusted)


def test_what_stalled_by_the_captures_making_is_in_no_row() -> None:
    intervals = measured(row_of((1, 2, 3, 4, 5, LENGTH_END - 1, 7, 8, 9)))
    assert intervals.judge(make_thresholds(parse_thresholds(())), 0)
    tally = LengthTally()
    tally.add_made_by_capture(Flow(b"", 1, 0, 0), intervals, Outcome(), False)
    assert columns(tally) == [[1], [2], [3], [4], [5], [], [], [], [7], [8], [9], []]
    assert tally.untrusted[NAMES.index("ch_sh")] == 1


def test_what_holds_the_step_of_a_clock_is_in_no_row() -> None:
    intervals = measured(row_of((1, 2, 3, 4, 5, LENGTH_END - 2, 7, LENGTH_END - 1, LENGTH_END - 3)))
    assert intervals.judge(make_thresholds(parse_thresholds(())), 0)
    tally = LengthTally()
    tally.add_made_by_capture(Flow(b"", 1, 0, 0), intervals, Outcome(), True)
    assert columns(tally) == [[1], [2], [3], [4], [5], [], [], [], [7], [], [LENGTH_END - 3], []]
    assert [NAMES[at] for at, count in enumerate(tally.untrusted) if count] == ["ch_sh", "ch_fin"]


@given(ORDINARY, st.lists(st.tuples(st.sampled_from(STALL_NAMES), st.integers(0, 1 << 32)), max_size=3))
def test_nothing_stalls_below_the_least_threshold(row: tuple[int, ...], own: list[tuple[str, int]]) -> None:
    """As the longer way finds it."""
    thresholds = make_thresholds({"default": 1_000_000_000, **dict(own)})
    intervals = measured(row_of(row))
    found = (intervals.judge(thresholds, 0), intervals.stalled, intervals.stalled_ns, intervals.stalled_is_open)
    intervals.handshake_bits = -1
    again = (intervals.judge(thresholds, 0), intervals.stalled, intervals.stalled_ns, intervals.stalled_is_open)
    assert found == again


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*/capture*.pcap*")), ids=lambda path: f"{path.parent.name}")
def test_who_counts_flows_knows_what_rows_say(path: Path) -> None:
    """The shorter way of measuring and judging that the scan takes, against the one of rows."""
    findings = analyse([str(path)], Options(all_flows=True)).findings
    assert findings is not None
    shorter, longer = (Intervals(), Outcome()), (Intervals(), Outcome())
    for flow in findings.flows():
        shorter[0].measure(flow, 0 if flow.client_finished_ref else flow.last_ns + 7)
        longer[0].measure(flow, flow.last_ns + 7)
        assert shorter[0].closed() == longer[0].closed()
        assert shorter[0].open() == longer[0].open()
        shorter[1].judge_for_count(flow, shorter[0])
        longer[1].judge(flow, longer[0])
        for name in ("tcp", "tls", "failed"):
            assert getattr(shorter[1], name) == getattr(longer[1], name)


def test_very_many_rows_are_in_several_pieces() -> None:
    lengths = OrdinaryLengths()
    rows = [tuple(number + place for place in range(9)) for number in range(5000)]
    assert all(lengths.take(measured(row_of(row))) for row in rows)
    assert 3 < len(lengths.pieces()) < 6
    closed = [Lengths() for _ in NAMES]
    lengths.add_to(closed)
    found = [closed[which].values() for which in (*STEPS, *LIFETIMES)]
    assert list(zip(*found, strict=True)) == rows
