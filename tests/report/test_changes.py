"""Two reports beside each other: what is new, what is gone, what the numbers are, and how each format tells it."""

import io
import json

import pytest
from factories import HOSTILE, alerted, flow, healthy, refused, silent_client, slow_server
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.errors import UsageError
from pcapstall.core.times import MS, SECOND
from pcapstall.report.changes import GONE, NEW, Changes, Side, compare_reports
from pcapstall.report.conditions import ChangeConditions, FailConditions
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.options import RenderOptions
from pcapstall.report.to_changes import FORMATS, headline, render_changes

BEFORE = [slow_server(), refused(), *healthy(24)]
AFTER = [silent_client(), slow_server()._replace(id=9), slow_server(), alerted(), *healthy(21)]


def side(name: str, flows: list[FlowReport]) -> Side:
    made = Side(name)
    made.about = f"Read {name}: {len(flows)} flows."
    made.thresholds_ns = {"default": SECOND}
    for one in flows:
        made.add(one)
    return made


def changes(before: list[FlowReport] = BEFORE, after: list[FlowReport] = AFTER) -> Changes:
    return compare_reports(side("before.json", before), side("after.json", after))


def rendered(wanted: str, made: Changes | None = None, width: int | None = None) -> str:
    out = io.StringIO()
    render_changes(made or changes(), out, wanted, RenderOptions(width=width))
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 100, None])
def test_golden(golden, width):
    golden(f"diff.table.{width or 'pipe'}.txt", rendered("table", width=width))


@pytest.mark.parametrize("wanted", ["markdown", "jira", "json"])
def test_golden_of_other_formats(golden, wanted):
    text = rendered(wanted)
    if wanted == "json":
        text = json.dumps(json.loads(text) | {"version": "x"}, indent=1) + "\n"
    golden(f"diff.{ {'markdown': 'md', 'jira': 'jira.txt'}.get(wanted, wanted) }", text)


@pytest.mark.parametrize("width", [50, 80, 132])
def test_nothing_is_wider_than_the_terminal(width):
    assert [line for line in rendered("table", width=width).splitlines() if len(line) > width] == []


def test_new_stalls_come_first_and_the_gone_last():
    found = changes([slow_server(), silent_client()._replace(cause="network")], AFTER)
    assert [(stall.kind, stall.cause, stall.before, stall.after) for stall in found.stalls] == [
        ("new", "client_process", 0, 1),
        ("more", "server_process", 1, 2),
        ("gone", "network", 1, 0),
    ]
    assert [stall.cause for stall in found.of_kind(NEW) + found.of_kind(GONE)] == ["client_process", "network"]


def test_a_stall_without_a_name_is_where_the_only_name_of_its_server_is():
    nameless = silent_client()._replace(sni=None)
    named = flow(2, server=nameless.server, sni="api.example")
    (stall,) = changes([nameless], [named, nameless]).stalls
    assert (stall.where, stall.kind) == ("api.example", "same")
    other = flow(3, server=nameless.server, sni="www.example")
    (stall,) = changes([nameless], [named, other]).stalls
    assert (stall.where, stall.kind) == (nameless.server, "gone"), "two names: nobody knows which"


@pytest.mark.parametrize("wanted", ["table", "markdown", "jira"])
def test_what_was_not_seen_to_end_is_explained_where_it_is_counted(wanted):
    assert "; not ended counts the others." in rendered(wanted)
    assert "of intervals seen to end. " in " ".join(rendered(wanted, changes(healthy(3), healthy(4))).split())


def test_flows_are_not_matched_across_time():
    """The same client port is another connection."""
    (stall,) = changes([silent_client()], [silent_client()._replace(client="10.9.9.9:1")]).stalls
    assert stall.kind == "same"


def test_the_answer_comes_first():
    assert headline(changes()).startswith("1 new stall, none gone; new: ack_ch at ")
    assert headline(changes(AFTER, BEFORE)).startswith("No new stall, 1 gone; gone: ack_ch at ")
    assert headline(changes([], [])) == (
        "No new stall, none gone. 0 of 0 flows stalled before, 0 of 0 after; 0 failed before, 0 after."
    )


@pytest.mark.parametrize("wanted", FORMATS)
def test_nothing_at_all_and_hostile_text(wanted):
    assert rendered(wanted, changes([], []))
    hostile = silent_client()._replace(sni=HOSTILE, cause=HOSTILE)
    made = compare_reports(side(HOSTILE, [hostile]), side("b", []))
    made.before.remarks.append(HOSTILE)
    written = rendered(wanted, made)
    assert "\x1b" not in written
    assert "<script>" not in written or wanted != "markdown"


lengths = st.lists(st.integers(0, 10 * SECOND), max_size=40)


@given(lengths, lengths)
def test_the_other_way_round_is_the_mirror(earlier, later):
    def flows(values):
        return [flow(at, intervals={"ack_ch": ns}, stalled="ack_ch" if ns > SECOND else None)
                for at, ns in enumerate(values, 1)]  # fmt: skip

    one, other = changes(flows(earlier), flows(later)), changes(flows(later), flows(earlier))
    mirror = {"new": "gone", "gone": "new", "more": "fewer", "fewer": "more", "same": "same"}
    assert [(stall.kind, stall.before) for stall in one.stalls] == [
        (mirror[stall.kind], stall.after) for stall in other.stalls
    ]
    assert [(change.before, change.after) for change in one.intervals] == [
        (change.after, change.before) for change in other.intervals
    ]
    assert sum(outcome.before for outcome in one.outcomes) == len(earlier)


def judged(text, before=BEFORE, after=AFTER):
    conditions = ChangeConditions([text])
    for one in before:
        conditions.see_before(one)
    for one in after:
        conditions.see_after(one)
    made = changes(before, after)
    new, gone = len(made.of_kind(NEW)), len(made.of_kind(GONE))
    (result,) = conditions.results(made.before.tally, made.after.tally, new, gone)
    return result


@pytest.mark.parametrize(
    ("text", "holds", "detail"),
    [
        ("new_stalls", True, "new_stalls is 1"),
        ("new_stalls > 1", False, "new_stalls is 1"),
        ("gone_stalls", False, "gone_stalls is 0"),
        ("gone_stalls < 1", True, "gone_stalls is 0"),
        ("stalled > 2", True, "stalled is 3"),
        ("stalled >= 3x", True, "stalled is 3; before, stalled is 1"),
        ("stalled > 3x", False, "stalled is 3; before, stalled is 1"),
        ("ack_ch.max > 2x", True, "ack_ch.max is 52.1 s over 25 flows; before, ack_ch.max is 2.0 ms over 25 flows"),
        ("ack_ch.min > 1.001x", False, None),
        ("hrr_ch2.p50 > 2x", False, "no flow has hrr_ch2"),
        ("count(tls_outcome = alert) > 1x", True, None),
        ("count(tls_outcome = established) >= 1x", False, None),
    ],
)
def test_conditions(text, holds, detail):
    result = judged(text)
    assert result.holds is holds, result
    assert detail is None or result.detail == detail


def test_a_percentile_that_was_not_there_before_is_no_increase():
    late = flow(intervals={"hrr_ch2": 5 * MS})
    assert judged("hrr_ch2.max > 2x", BEFORE, [late]).detail.endswith("; before, no flow has hrr_ch2")
    assert not judged("hrr_ch2.max > 2x", BEFORE, [late]).holds


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("new_stall", "did you mean new_stalls?"),
        ("new_stalls > 2x", "only pcapstall diff knows that"),
        ("ack_ch.p99 > x", "is compared with a duration"),
        ("ack_ch.p99 > 2", "needs a unit"),
        ("ack_ch.p99 > 2.0001x", "is compared with a duration"),
    ],
)
def test_wrong_conditions(text, hint):
    with pytest.raises(UsageError) as caught:
        ChangeConditions([text])
    assert hint in str(caught.value)


@pytest.mark.parametrize("text", ["new_stalls", "ack_ch.p99 > 2x"])
def test_one_report_has_no_changes(text):
    with pytest.raises(UsageError):
        FailConditions([text])


def test_a_stall_is_not_gone_where_nobody_connects_any_more():
    stalled, calm = silent_client(), flow(2, server="10.0.0.9:443")
    unseen = changes([stalled], [calm])
    (stall,) = unseen.stalls
    assert (stall.kind, stall.flows_before, stall.flows_after) == ("gone", 1, 0)
    assert headline(unseen).startswith("No new stall, 1 gone (no flow was seen there after); gone: ack_ch")
    assert headline(changes([calm], [stalled])).startswith("1 new stall (no flow was seen there before), none gone;")
    mended = changes([stalled], [flow(3, server=stalled.server, sni=stalled.sni), calm])
    assert headline(mended).startswith("No new stall, 1 gone; gone: ack_ch")
    assert "1 of 1" in rendered("table", mended)
    assert "0 of 1" in rendered("table", mended)
    both = changes([stalled, calm._replace(stalled="ch_sh", cause="network")], [calm])
    assert headline(both).startswith("No new stall, 2 gone (1 of them where no flow was seen after); gone:")


def test_flows_of_a_place_are_counted_with_and_without_their_name():
    named = flow(2, sni="api.example")
    nameless = silent_client()._replace(server=named.server, sni=None)
    (stall,) = changes([named, nameless], [named]).stalls
    assert (stall.where, stall.flows_before, stall.flows_after) == ("api.example", 2, 1)
