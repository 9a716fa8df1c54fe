import csv
import io
import json

import pytest
from factories import HOSTILE, alerted, flow, healthy, refused, silent_client, slow_server, summarise

from pcapstall.report.options import RenderOptions
from pcapstall.report.render import PAGE_FORMATS
from pcapstall.report.summary import headline, render_summary

FLOWS = [silent_client(), slow_server(), refused(), alerted(), *healthy(30)]


def rendered(wanted, by="server", flows=FLOWS, **options):
    out = io.StringIO()
    render_summary(summarise(flows, by), by, out, wanted, RenderOptions(**options))
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 120, None])
def test_golden(golden, width):
    golden(f"summary.table.{width or 'pipe'}.txt", rendered("table", width=width))


def test_the_answer_comes_first():
    assert headline(summarise(FLOWS, "server"), "server") == "34 flows of 2 servers: 2 stalled, 3 failed."
    assert headline(summarise(FLOWS[:1], "client"), "client") == "1 flow of 1 client: 1 stalled, 1 failed."


def test_json_counts_outcomes_and_keeps_open_intervals_apart():
    first = json.loads(rendered("json"))["groups"][0]
    assert first["key"] == "10.40.42.129:8086"
    assert first["tls_outcomes"]["established"] == 30
    assert first["intervals_ns"]["ack_ch"]["max"] == 52_091_243_000
    assert list(first["intervals_ns"]["ack_ch"]) == ["n", "p50", "p90", "p99", "max"]
    assert first["open_ns"] == {"ch_sh": {"n": 1} | dict.fromkeys(("p50", "p90", "p99", "max"), 4_500_000_000)}
    header, *groups = map(json.loads, rendered("jsonl").splitlines())
    assert header == {"schema": 1, "by": "server"}
    assert groups == json.loads(rendered("json"))["groups"]


def test_lengths_of_the_captures_own_making_are_told():
    flows = [flow(stalled="ack_ch", cause="capture"), flow(intervals={"ch_sh": -2})]
    assert "Left out, since the capture's clock or what it missed made them: 1 of ack_ch, 1 of" in rendered(
        "table", flows=flows, width=200
    )
    assert json.loads(rendered("json", flows=flows))["groups"][0]["untrusted"] == {"ack_ch": 1, "ch_sh": 1}
    rows = list(csv.DictReader(io.StringIO(rendered("csv", flows=flows))))
    assert {row["interval"]: row["untrusted"] for row in rows if row["untrusted"] != "0"} == {
        "ack_ch": "1",
        "ch_sh": "1",
    }
    assert "Left out" not in rendered("table")


def test_few_lengths_have_no_high_percentile():
    rows = [
        line.split()
        for line in rendered("table", flows=[*healthy(19), flow(intervals={"ch_ack": 9 * 10**6})]).splitlines()
    ]
    found = {row[1]: row[2:] for row in rows if len(row) > 5 and row[0] == "10.40.42.129:8086"}
    assert found["ack_ch"] == ["19", "1.534", "-", "-", "1.768"]
    assert found["ch_ack"][0] == "20"
    assert "-" not in found["ch_ack"]


def test_csv_has_a_row_for_each_interval_of_each_group():
    rows = list(csv.DictReader(io.StringIO(rendered("csv"))))
    found = {(row["server"], row["interval"]): row for row in rows}
    assert found["10.40.42.129:8086", "ch_sh"]["open"] == "1"
    assert found["10.40.42.129:8086", "ch_sh"]["longest_open_ns"] == "4500000000"
    assert found["[2001:db8:40:42::129]:8087", ""]["failed"] == "1"


@pytest.mark.parametrize("wanted", PAGE_FORMATS)
def test_every_format_takes_every_summary(wanted):
    for flows in ([], FLOWS, [refused()]):
        for by in ("server", "sni", "client"):
            assert rendered(wanted, by, flows, width=80)


@pytest.mark.parametrize("wanted", PAGE_FORMATS)
def test_outside_names_cannot_act(wanted):
    text = rendered(wanted, "sni", [flow(sni=HOSTILE), flow(sni="=1+1")])
    assert "\x1b" not in text
    assert "<script>alert" not in text or wanted in ("json", "jsonl", "csv")
    text.encode("utf-8")
    if wanted == "csv":
        assert "'=1+1" in text


def test_outcomes_that_have_no_room_get_lines_of_their_own():
    text = rendered("table", width=80)
    assert "10.40.42.129:8086: established 30, alert 1, closed_before_client_hello 1," in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_style_is_drawn():
    assert "┌" in rendered("table:simple_outline")


@pytest.mark.parametrize("wanted", ["table", "markdown", "jira", "html"])
def test_what_was_not_seen_to_end_is_explained_where_it_is_counted(wanted):
    assert "; open counts the others." in rendered(wanted)
    assert "of intervals seen to end. " in rendered(wanted, flows=healthy(3))


def test_a_column_that_has_no_room_is_not_explained():
    text = " ".join(rendered("table", width=48).split())
    assert "No room for" in text
    assert "open" in text.partition("No room for")[2]
    assert "counts the others" not in text


def test_an_absent_percentile_is_explained_and_one_that_nobody_has_is_no_column():
    alone = rendered("table", flows=healthy(1), width=200)
    assert "p50" not in alone
    assert "too few" not in alone
    few = rendered("table", flows=[*healthy(3), slow_server()], width=200)
    assert "for too few flows" not in few
    some = rendered("table", flows=[*healthy(3), silent_client()._replace(server="10.0.0.9:443")], width=200)
    assert "intervals seen to end (- for too few flows: p50 needs 2)." in some
    many = rendered(
        "table", flows=[*healthy(30), *(one._replace(server="10.0.0.9:443") for one in healthy(3))], width=200
    )
    assert "(- for too few flows: p90 and p99 need 20)." in many
