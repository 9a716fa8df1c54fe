import csv
import io

import pytest
from factories import alerted, flow, hostile, report, silent_client, slow_server, ticket

from pcapstall.report.flat import COLUMNS
from pcapstall.report.options import RenderOptions
from pcapstall.report.to_csv import cell, render


def rows(made):
    out = io.StringIO()
    render(made, out, RenderOptions())
    return list(csv.DictReader(io.StringIO(out.getvalue())))


def test_a_row_for_each_flow_under_distinct_names():
    assert len(set(COLUMNS)) == len(COLUMNS)
    read = rows(ticket())
    assert [row["id"] for row in read] == ["6", "7", "9", "10"]
    assert list(read[0]) == list(COLUMNS)


def test_lengths_are_nanoseconds_and_what_is_absent_is_empty():
    (silent, slow) = rows(report([silent_client(), slow_server()]))
    assert silent["ack_ch_ns"] == "52091243000"
    assert silent["ch_fin_ns"] == "-42088496000"
    assert silent["ch_sh_ns"] == silent["ch_sh_open_ns"] == silent["sni"] == silent["resumed"] == ""
    assert slow["ch_sh_open_ns"] == "4500000000"
    assert slow["stalled_network_ns"] == "19000000"
    assert silent["server_fin_rel_ns"] == "10003000000"
    assert silent["server_fin_frame"] == "7"
    assert silent["failed"] == "true"
    assert silent["flags"] == "late_hello"
    assert silent["evidence"].startswith(
        "The TCP handshake was over in 253 us, without a repeated segment. [frames 1, 2, 3] "
    )


def test_alerts_name_their_sender():
    assert rows(report([alerted()]))[0]["alerts"] == "server:protocol_version"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("=cmd()", "'=cmd()"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@x", "'@x"),
        ("  =x", "'  =x"),
        ("\t=x", "\\x09=x"),
        ("a=b", "a=b"),
        (-1, -1),
        (None, None),
        ("", ""),
    ],
)
def test_text_is_never_a_formula(value, expected):
    assert cell(value) == expected


def test_outside_text_stays_in_its_cell():
    (row,) = rows(hostile())
    assert all(value.isprintable() and not value.startswith(("=", "+", "@")) for value in row.values())
    assert rows(report([flow(sni="=1+1")]))[0]["sni"] == "'=1+1"
