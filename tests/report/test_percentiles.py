import math

import pytest
from factories import alerted, flow, healthy, refused, silent_client, slow_server, summarise
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.errors import UsageError
from pcapstall.core.lengths import Lengths
from pcapstall.core.times import SECOND
from pcapstall.report.percentiles import Tally, percentile, summary_of


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1), st.integers(1, 100))
def test_nearest_rank_is_the_smallest_value_that_so_many_percent_do_not_exceed(values, percent):
    found = percentile(Lengths(values), percent)
    need = math.ceil(len(values) * percent / 100) if len(values) * percent < 2**50 else 0
    assert found in values
    assert sum(value <= found for value in values) >= need
    assert sum(value < found for value in values) < need


def test_percentiles_of_a_known_list():
    summary = summary_of(Lengths([15, 20, 35, 40, 50]))
    assert (summary.n, summary.p50, summary.p90, summary.p99, summary.max) == (5, 35, 50, 50, 50)
    assert summary_of(Lengths()) is None
    assert summary_of(Lengths([7])).p50 == 7


def tally(*flows):
    made = Tally()
    for one in flows:
        made.add(one)
    return made


def test_a_tally_counts_what_passes_by():
    totals = tally(silent_client(), slow_server(), refused(), alerted(), *healthy(3)).totals()
    assert (totals.flows, totals.stalled, totals.failed, totals.stalled_and_failed) == (7, 2, 3, 1)
    assert totals.capture_points == {"client": 7}


def test_a_flow_without_any_step_is_unjudged_and_one_with_an_open_step_is_not():
    assert tally(flow(intervals={})).totals().unjudged == 1
    assert tally(flow(intervals={"ack_close": 5})).totals().unjudged == 1
    assert tally(flow(intervals={}, open_ns={"ack_ch": 5})).totals().unjudged == 0
    assert tally(flow(intervals={"syn_synack": 0})).totals().unjudged == 0


def test_open_intervals_are_kept_apart():
    made = tally(flow(intervals={"ch_sh": 5}), flow(intervals={}, open_ns={"ch_sh": 9}), flow(intervals={"ch_sh": 2}))
    assert made.lengths("ch_sh").values() == [5, 2]
    assert made.lengths("ch_sh", with_open=True).values() == [5, 2, 9]
    assert made.intervals()["ch_sh"].max == 5
    assert made.open_intervals()["ch_sh"].max == 9
    assert made.lengths("ack_ch").values() == []
    assert "ack_ch" not in made.intervals()


def test_lengths_of_the_captures_own_making_are_counted_and_left_out():
    stepped = {"stalled": "ack_ch", "cause": "capture", "reason": "clock_step"}
    made = tally(
        flow(intervals={"ack_ch": 5 * SECOND, "ch_sh": 3}, **stepped),
        flow(intervals={"ack_ch": 3, "ch_sh": 5 * SECOND, "ch_fin": 6 * SECOND}, **{**stepped, "stalled": "ch_sh"}),
        flow(intervals={"ack_ch": 5 * SECOND, "ch_fin": 6 * SECOND}, **{**stepped, "reason": "missed_by_capture"}),
        flow(intervals={}, open_ns={"ack_ch": 9 * SECOND}, **stepped),
        flow(intervals={"ack_ch": -4, "ch_sh": -2, "ch_fin": -7}),
        flow(intervals={"ack_ch": -1}, syn_data="accepted"),
        flow(intervals={"ack_ch": 2 * SECOND}, stalled="ack_ch", cause="client_process"),
    )
    assert made.untrusted == {"ack_ch": 4, "ch_sh": 2, "ch_fin": 1}
    assert sorted(made.lengths("ack_ch", with_open=True).values()) == [-1, 3, 2 * SECOND]
    assert made.lengths("ch_sh").values() == [3]
    assert sorted(made.lengths("ch_fin").values()) == [-7, 6 * SECOND]
    assert made.totals().unjudged == 0


def test_outcomes_are_counted_most_first_then_by_name():
    made = tally(
        flow(tls_outcome="alert"), flow(tls_outcome="established"), flow(), refused(), flow(tls_outcome="probe")
    )
    assert list(made.healthy().tls_outcomes.items()) == [("established", 2), ("alert", 1), ("probe", 1)]
    assert made.healthy().tcp_outcomes == {"connected": 4, "refused": 1}


def test_groups_with_most_stalls_come_first():
    rows = summarise([*healthy(5), refused(), silent_client()], "server")
    assert [(row.key, row.flows, row.stalled, row.failed) for row in rows] == [
        ("10.40.42.129:8086", 6, 1, 1),
        ("[2001:db8:40:42::129]:8087", 1, 0, 1),
    ]


def test_clients_are_grouped_without_their_ports():
    assert [row.key for row in summarise([flow(1), flow(2), refused()], "client")] == [
        "10.40.39.45",
        "2001:db8:40:39::45",
    ][::-1]


def test_flows_without_a_server_name_are_a_group():
    assert [row.key for row in summarise([flow(), alerted()], "sni")] == ["old.example.com", None]


def test_an_unknown_group_is_a_usage_error():
    with pytest.raises(UsageError, match="server, sni, client"):
        summarise([], "port")
