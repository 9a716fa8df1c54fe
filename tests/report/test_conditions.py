import pytest
from factories import alerted, flow, healthy, refused, silent_client, slow_server

from pcapstall.core.errors import UsageError
from pcapstall.report.conditions import FailConditions
from pcapstall.report.percentiles import Tally

FLOWS = [silent_client(), slow_server(), refused(), alerted(), *healthy(10)]


def judge(*texts, flows=FLOWS):
    conditions = FailConditions(texts)
    tally = Tally()
    for one in flows:
        tally.add(one)
        conditions.add(one)
    return conditions.results(tally)


@pytest.mark.parametrize(
    ("text", "holds", "detail"),
    [
        ("stalled", True, "stalled is 2"),
        ("failed", True, "failed is 3"),
        ("stalled > 2", False, "stalled is 2"),
        ("stalled >= 2", True, "stalled is 2"),
        ("flows < 1", False, "flows is 14"),
        ("flows != 14", False, "flows is 14"),
        ("unjudged = 1", True, "unjudged is 1"),
        ("ack_ch.p99 > 1s", True, "ack_ch.p99 is 52.1 s over 13 flows"),
        ("ack_ch.p50 > 1s", False, "ack_ch.p50 is 1.4 ms over 13 flows"),
        ("ack_ch.min < 1ms", False, "ack_ch.min is 1.3 ms over 13 flows"),
        ("ch_sh.max >= 2s", True, "ch_sh.max is 4.5 s over 11 flows"),
        ("hrr_ch2.max >= 0s", False, "no flow has hrr_ch2"),
        ("hrr_ch2.max < 1s", False, "no flow has hrr_ch2"),
        ("hrr_ch2.n = 0", True, "hrr_ch2.n is 0 over 0 flows"),
        ("ch_sh.n = 11", True, "ch_sh.n is 11 over 11 flows"),
        ("count(tls_outcome = alert) > 0", True, "count(tls_outcome = alert) is 1"),
        ("count( ack_ch > 1s and (sni = null) ) >= 2", False, "count(ack_ch > 1s and (sni = null)) is 1"),
    ],
)
def test_conditions(text, holds, detail):
    (result,) = judge(text)
    assert (result.text, result.holds, result.detail) == (text, holds, detail)


def test_without_flows_nothing_stalled_or_failed():
    assert [result.holds for result in judge("stalled", "failed", "flows < 1", flows=[])] == [False, False, True]


def test_each_condition_counts_for_itself():
    held = judge("count(failed) = 3", "count(stalled) = 2", "stalled")
    assert [result.holds for result in held] == [True, True, True]


def test_whether_flows_must_be_shown_is_known_beforehand():
    assert not FailConditions(["stalled", "ack_ch.p99 > 1s"]).reads_flows
    conditions = FailConditions(["stalled", "count(sni ~ 'a' and failed) > 1"])
    assert conditions.reads_flows
    assert conditions.columns_used == {"sni", "failed"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a condition is missing"),
        ("stall", "did you mean stalled?"),
        ("flow < 1", "did you mean flows?"),
        ("flows", "flows is compared with a number"),
        ("ack_ch > 1s", "has a value for each flow; ask for one of ack_ch.n, .*ack_ch.p99"),
        ("ack_ch.p98 > 1s", "no statistic 'p98'"),
        ("ack_ch.p99 > 1", "needs a unit: 1ms or 1s"),
        ("ack_ch.p99 > x", "compared with a duration"),
        ("ack_ch.p99", "belongs here"),
        ("ack_ch.n > 1s", "a whole number"),
        ("stalled > 1s", "a whole number"),
        ("stalled = ack_ch", r"did you mean count\(stalled = ack_ch\) > 0\?"),
        ("tls_outcome = alert", r"count\(tls_outcome \.\.\.\) > 0"),
        ("count(tls_outcome = alert)", "belongs here"),
        ("count(nothing) > 0", "no column 'nothing'"),
        ("count(stalled > 0", "does not go with it"),
        ("count(stalled", r"'\)' is missing"),
        ("stalled or failed", "compared with a number"),
        ("stalled > 3 failed", "one too many"),
        ("'stalled'", "nothing that can be asked"),
    ],
)
def test_errors_say_what_is_wrong_and_point_at_the_place(text, said):
    with pytest.raises(UsageError, match=said) as caught:
        FailConditions(["stalled", text])
    assert str(caught.value).endswith("^")


def test_an_open_interval_counts_as_long_as_it_had_become():
    (result,) = judge("ch_sh.p99 > 4s", flows=[flow(intervals={"ch_sh": 5}), slow_server()])
    assert result.holds
