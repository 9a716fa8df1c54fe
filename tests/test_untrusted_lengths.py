"""Lengths that the capture itself made: in no percentile of a report, and in no condition on one."""

from pathlib import Path

import pytest

from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.outcome import Outcome
from pcapstall.diagnose.thresholds import NAMES
from pcapstall.flows.flow import Flow
from pcapstall.pipeline import Options, analyse
from pcapstall.pipeline.scan.tally import LengthTally
from pcapstall.pipeline.totals import as_tally
from pcapstall.report.conditions import FailConditions
from pcapstall.report.percentiles import Tally
from pcapstall.report.prose import what_was_read

CAPTURES = Path(__file__).parents[1] / "captures"


@pytest.mark.parametrize(("in_syn", "kept"), [(False, []), (True, ["ack_ch"])])
def test_a_step_that_ends_before_it_begins_is_in_no_percentile(in_syn: bool, kept: list[str]) -> None:
    """But for a hello in the SYN, and lifetimes."""
    intervals, outcome = Intervals(), Outcome()
    flow = Flow(b"", 1, 0, 0)
    if in_syn:
        flow.rare().syn_data = "accepted"
    tally = LengthTally()
    for name in NAMES:
        setattr(intervals, name, -7)
    tally.add(flow, intervals, outcome, False)
    kept = [*kept, "ch_fin", "ch_close", "ack_close"]
    assert [name for at, name in enumerate(NAMES) if len(tally.closed[at])] == kept
    assert list(as_tally(tally, {}).untrusted) == [name for name in NAMES if name not in kept]


@pytest.mark.parametrize("options", [Options(), Options(all_flows=True)], ids=["few", "all"])
@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*/capture*.pcap*")), ids=lambda path: f"{path.parent.name}")
def test_the_scan_counts_the_lengths_that_rows_do(path: Path, options: Options) -> None:
    """What `report` judges conditions by, and `summary` its groups."""
    analysis = analyse([str(path)], options)
    rows = Tally()
    for row in analyse([str(path)], Options(all_flows=True)).report.flows:
        rows.add(row)
    assert analysis.tally.untrusted == rows.untrusted
    for name in NAMES:
        for with_open in (False, True):
            counted, known = (sorted(tally.lengths(name, with_open).values()) for tally in (analysis.tally, rows))
            assert counted == known


def test_a_condition_does_not_count_what_the_captures_clock_made() -> None:
    tally = analyse([str(CAPTURES / "clock-set/capture.pcap")]).tally
    assert tally.untrusted == {"ack_ch": 1, "ch_sh": 1, "ch_fin": 1, "ch_close": 1}
    (result,) = FailConditions(["ack_ch.max > 5s"]).results(tally)
    assert (result.holds, result.detail) == (False, "ack_ch.max is 2.5 s over 4 flows")


def test_a_step_of_the_clock_that_stalls_show_is_told_of_the_capture() -> None:
    report = analyse([str(CAPTURES / "clock-set/capture.pcap"), str(CAPTURES / "late-banner/capture.pcap")]).report
    trust = {Path(capture.file).parent.name: capture.trust for capture in report.captures}
    assert trust == {"clock-set": "clock_steps", "late-banner": "trustworthy"}
    doubts = [line for line in what_was_read(report) if "with care" in line]
    assert doubts == [f"{CAPTURES}/clock-set/capture.pcap: to be read with care: clock steps"]
