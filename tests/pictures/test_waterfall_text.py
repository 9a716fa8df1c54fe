"""The waterfall of a terminal: lanes, arrows, the bar of the stall, and the width that it keeps."""

import os
import subprocess
import sys

import pytest
from factories import event, flow, hostile, report, silent_client, slow_server
from hypothesis import given
from hypothesis import strategies as st
from picture_support import CAPTURES, STALLED, timeline

from pcapstall.cli.main import main
from pcapstall.core.times import MS
from pcapstall.report.flow_model import Evidence
from pcapstall.report.pictures import waterfall_svg
from pcapstall.report.pictures.waterfall import ASIDE, BETWEEN, CLIENT, SERVER, waterfall_of
from pcapstall.report.pictures.waterfall_text import LEAST_WIDTH, LINES, PLAIN, lines
from pcapstall.report.sketch import sketch_of
from pcapstall.report.untrusted import display_width

CAPTURE = str(STALLED / "capture.pcap")
WITH_TEXTS = waterfall_of(timeline(STALLED / "capture.pcap", "6", texts=True))
PACKETS = waterfall_of(timeline(CAPTURES / "client-hello-lost" / "capture.pcap", "3"))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_golden(width: int, golden) -> None:
    golden(f"stalled.{width}.txt", "\n".join(lines(WITH_TEXTS, width)) + "\n")


@given(st.integers(10, 240), st.sampled_from([WITH_TEXTS, PACKETS]), st.sampled_from([LINES, PLAIN]))
def test_it_is_never_wider_than_the_terminal(width, fall, signs) -> None:
    drawn = list(lines(fall, width, signs))
    assert max(map(display_width, drawn)) <= max(width, LEAST_WIDTH)
    assert all(line == line.rstrip() for line in drawn)


def test_long_endpoints_are_shortened() -> None:
    ends = {
        "client": "[2001:470:1f17:13f:3e97:eff:fe73:4dec]:53234",
        "server": "[2a03:2880:1010:6f03:face:b00c::2]:443",
    }
    for width in (60, 80, 100):
        for fall in (WITH_TEXTS, PACKETS):
            head = list(lines(fall._replace(endpoints=ends), width))[:2]
            assert max(map(display_width, head)) <= width
            assert "[200" in head[1]


def test_the_lanes_are_straight() -> None:
    rows = list(lines(PACKETS, 80))[2:]
    client = {row.index(sign) for row in rows for sign in "│┊" if sign in row}
    assert min(client) == rows[0].index("│")
    assert {len(row) for row in rows if "▶" in row or "◀" in row} == {len(rows[0])}


def test_the_bar_is_on_the_lane_of_whose_time_it_was_and_words_say_so() -> None:
    text = "\n".join(lines(WITH_TEXTS, 100))
    assert "█ ack_ch 52.2 s" in text
    assert "█ client process" in text
    assert "≈ 42.2 s" in text
    network = "\n".join(lines(PACKETS, 80))
    assert "ch_ack 1.8 s" in network
    assert "█ ┊" in network, "the network's bar is between the lanes"


def test_all_lines_have_their_lanes_in_one_place_whatever_the_times_are() -> None:
    for fall in (PACKETS, WITH_TEXTS):
        for width in (60, 80, 120):
            drawn = list(lines(fall, width))[2:]
            at = {next(at for at, sign in enumerate(line) if sign in "│┊█●≡") for line in drawn}
            assert len(at) == 1, "≈ 221 ms is wider than some times"


@pytest.mark.parametrize("width", [80, 100, 120])
def test_texts_are_wrapped_between_words(width: int) -> None:
    drawn = list(lines(WITH_TEXTS, width))
    assert not any("…" in line for line in drawn[2:])
    said = " ".join(" ".join(drawn).replace("│", " ").replace("█", " ").replace("┊", " ").split())
    assert "error=TLS detection timed out" in said
    assert "12170 epoll_wait on epoll set 5 returns 11" in said.replace("● ", "").replace("* ", "")


def test_a_log_that_is_nobodys_is_on_no_lane() -> None:
    made = timeline(STALLED / "capture.pcap", "6", texts=True)
    fall = waterfall_of(
        made._replace(rows=[row._replace(side="") if row.source == "log" else row for row in made.rows])
    )
    logs = [mark for mark in fall.marks if mark.is_log]
    assert {mark.lane for mark in logs} == {ASIDE}
    told = [line for line in lines(fall, 120) if "≡" in line]
    assert len(told) == len(logs)
    assert all(sign not in line for line in told for sign in "│┊█")
    assert any("≡ inbound.log: INFO" in line for line in told)
    assert "inbound.log: INFO" in waterfall_svg.draw(fall).document()


def test_the_words_stand_in_the_longest_silence_of_the_stall() -> None:
    names = ("syn", "syn_ack", "ack", "client_hello_first")
    steps = dict(zip(names, (event(0, 1), event(MS, 2), event(2 * MS, 3), event(1002 * MS, 4)), strict=True))
    steps["client_fin"] = event(9000 * MS, 5)
    one = flow(1, events=steps, intervals={"ack_ch": 1000 * MS}, stalled="ack_ch", cause="client_process")
    drawn = list(lines(waterfall_of(sketch_of(report([one]), one)), 80))
    (at,) = [at for at, line in enumerate(drawn) if "ack_ch 1.0 s" in line]
    assert "≈ 1.0 s" in drawn[at], "not in the longer one behind it"


def test_a_stall_without_a_silence_is_said_below() -> None:
    names = ("syn", "syn_ack", "ack", "client_hello_first")
    steps = {name: event(2**at * MS, at) for at, name in enumerate(names, 1)}
    intervals = {"syn_synack": 2 * MS, "synack_ack": 4 * MS, "ack_ch": 4 * MS}
    one = flow(1, events=steps, intervals=intervals, stalled="ack_ch", cause="client_process")
    assert list(lines(waterfall_of(sketch_of(report([one]), one)), 80))[-1] == "ack_ch 4.0 ms: client process"


def test_an_open_stall_goes_on_behind_the_last_event() -> None:
    one = slow_server()._replace(events=slow_server().events | {"syn": event(0, 1), "client_hello_last": event(MS, 4)})
    drawn = list(lines(waterfall_of(sketch_of(report([one]), one)), 80))
    assert "ch_sh more than 4.5 s" in "".join(drawn[-3:])


def test_a_flow_without_an_event_is_its_head() -> None:
    assert len(list(lines(waterfall_of(sketch_of(report([flow(1)]), flow(1))), 80))) == 2


def test_outside_text_is_text() -> None:
    (one,) = hostile().flows
    drawn = "".join(lines(waterfall_of(sketch_of(hostile(), one)), 80))
    assert drawn.isprintable()


@pytest.mark.parametrize("wanted", ["html", "markdown", "json"])
def test_it_goes_with_a_terminal_only(wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", CAPTURE, "--flow", "6", "--picture", "-f", wanted]) == 2
    assert "--picture draws with text" in capsys.readouterr().err


def test_it_stands_in_place_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["timeline", CAPTURE, "--flow", "6", "--picture"]) == 0
    shown = capsys.readouterr().out
    assert "─ ClientHello [148] ─" in shown
    assert "Remarks" not in shown
    assert "Times are since the SYN (2026-11-30 07:24:11.444089 UTC by the capture's clock), in ms." in shown


@pytest.mark.parametrize("width", [60, 80])
def test_key_events_are_told_whole_on_a_narrow_terminal(width: int) -> None:
    drawn = list(lines(WITH_TEXTS, width))
    assert any("ClientHello [148]" in line for line in drawn)
    assert any("ACK: connected [83]" in line for line in drawn)
    assert all(len(line) <= width for line in drawn)


def test_where_lines_cannot_be_drawn_plain_characters_stand_for_them() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "pcapstall", "timeline", CAPTURE, "--flow", "6", "--picture"],
        capture_output=True, check=True, env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    shown = ended.stdout.decode("ascii")
    assert "- ClientHello [148] -" in shown
    assert "\\u" not in shown.partition("Times are")[0]
    assert "# ack_ch 52.2 s" in shown


def test_evidence_is_marked_as_in_the_table() -> None:
    one = silent_client()._replace(evidence=[Evidence("", [9], 0, [])])
    drawn = list(lines(waterfall_of(sketch_of(report([one]), one)), 80))
    marked = [line for line in drawn if "* " in line]
    assert len(marked) == 1
    assert "ClientHello [9]" in marked[0]


@pytest.mark.parametrize("width", [80, 100])
def test_what_does_not_fit_on_an_arrow_stands_above_it(width: int) -> None:
    fall = waterfall_of(timeline(CAPTURES / "slow-server" / "capture.pcap", "stalled"))
    marks = [mark._replace(lane=SERVER) if not mark.is_packet else mark for mark in fall.marks]
    call = fall.marks[0]._replace(is_packet=False, lane=CLIENT, label="read")
    drawn = list(lines(fall._replace(marks=[*marks, call, call._replace(lane=SERVER)]), width))
    assert not any("…" in line for line in drawn)
    at = next(at for at, line in enumerate(drawn) if "ServerHello, flight" in line)
    if width == 80:
        assert "◀" not in drawn[at]
        assert "─ complete [40] ─" in drawn[at + 1]
    else:
        assert "◀" in drawn[at] or "◀" in drawn[at + 1]


@pytest.mark.parametrize("width", [60, 61, 62, 80, 100])
@pytest.mark.parametrize(("lane", "toward"), [(CLIENT, ""), (SERVER, ""), (BETWEEN, ""), (BETWEEN, CLIENT)])
@pytest.mark.parametrize("is_lost", [False, True])
def test_the_bar_of_the_network_takes_no_letter_of_a_name(width, lane, toward, is_lost) -> None:
    (mark, *_) = [mark for mark in PACKETS.marks if mark.label == "ClientHello"]
    assert PACKETS.stall is not None
    assert PACKETS.stall.lane == BETWEEN
    for length in range(1, 40):
        label = ("abcdefghijklmnopqrstuvwxyz" * 2)[:length]
        made = mark._replace(label=label, lane=lane, toward=toward, lost=is_lost, until_ns=None, place="frame 7")
        drawn = "".join(list(lines(PACKETS._replace(marks=[made]), width))[2:])
        assert label in "".join(sign for sign in drawn if sign.isalpha()), drawn
        assert drawn.count("[") == drawn.count("]"), drawn
