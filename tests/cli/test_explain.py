"""`pcapstall report --explain ROW`: the rules in their order, in every format that has them, for any row."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli_support import CAPTURES, HEALTHY, LOST, on_terminal

from pcapstall.cli.main import main
from pcapstall.pipeline import Options, analyse

Output = pytest.CaptureFixture[str]
STALLED = str(CAPTURES / "stalled-client-hello" / "capture.pcap")


def explain(capsys: Output, *arguments: str, code: int = 0) -> str:
    """What the command prints; it must end with ``code``."""
    ended = main(["report", *arguments])
    shown = capsys.readouterr()
    assert ended == code, shown.err
    return shown.out


def rules(text: str) -> list[list[str]]:
    """Number, name and answer of each rule in a text."""
    return [list(found) for found in re.findall(r"^ +(\d+)  (\w+) +(no|held)  ", text, re.MULTILINE)]


def test_the_rules_up_to_the_one_that_made_the_verdict(capsys: Output) -> None:
    text = explain(capsys, STALLED, "--explain", "6")
    assert text.startswith("Flow 6: 10.40.39.45:34506 -> 10.40.42.129:8086 (influxdb.metrics)\n")
    found = rules(text)
    assert [number for number, _, _ in found] == [str(number) for number in range(1, len(found) + 1)]
    assert found[0][1:] == ["clock_step", "no"]
    assert found[-1][1:] == ["silent", "held"]
    assert {answer for _, _, answer in found[:-1]} == {"no"}
    assert "Not tried any more: silent_by_ids, filled_by_other_work, undecided." in text
    assert "stalled: " not in text.partition("\n")[0]


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*/capture.pcap")), ids=lambda path: str(path.parent.name))
def test_the_rule_that_held_made_the_verdict_of_the_report(path: Path, capsys: Output) -> None:
    analysis = analyse([str(path)], Options(all_flows=True))
    judged = [flow for flow in analysis.report.flows if flow.verdict is not None]
    for flow in judged[:2]:
        found = json.loads(explain(capsys, str(path), "--explain", str(flow.id), "-f", "json"))
        assert found["tried"][-1]["why"] == flow.verdict == found["verdict"]
        assert [rule["held"] for rule in found["tried"]] == [False] * (len(found["tried"]) - 1) + [True]


def test_what_a_strace_made_of_the_verdict_is_below_the_rules(capsys: Output) -> None:
    trace = str(CAPTURES / "stalled-client-hello" / "outbound.strace")
    text = explain(capsys, STALLED, "--explain", "6", "--strace", trace)
    packets = text.partition("Stages of")[0]
    assert rules(packets)[-1][1:] == ["silent", "held"], "the rules are those for packets"
    shown = " ".join(text.split())
    assert "With what the strace shows the verdict is: descriptor 11 was registered with epoll set 5" in shown
    assert shown.index("With what the strace shows") < shown.index("What the verdict rests on")
    assert "outbound.strace:1525" in shown
    stages = text.partition("Stages of the client's process by the strace")[2]
    assert rules(stages) == [
        ["1", "written_in_time", "no"],
        ["2", "epoll_not_waited", "held"],
        ["3", "event_not_acted_on", "no"],
        ["4", "no_event_delivered", "no"],
        ["5", "not_written", "no"],
    ]
    found = json.loads(explain(capsys, STALLED, "--explain", "6", "--strace", trace, "-f", "json"))
    assert [stage["stage"] for stage in found["stages"] if stage["held"]] == ["epoll_not_waited"]
    assert "1. `epoll_not_waited` **held**: " in explain(
        capsys, STALLED, "--explain", "6", "--strace", trace, "-f", "markdown"
    )


def test_why_a_strace_has_no_say(capsys: Output) -> None:
    other = str(CAPTURES / "stalled-client-hello" / "inbound.strace")
    text = explain(capsys, STALLED, "--explain", "6", "--strace", other)
    assert "No stage of a process makes the verdict: the end whose turn it was is in no strace." in text
    assert "stages" not in json.loads(explain(capsys, STALLED, "--explain", "6", "-f", "json"))


def test_a_healthy_flow(capsys: Output) -> None:
    text = explain(capsys, HEALTHY, "--explain", "2")
    assert "No rule was tried: the flow neither stalled nor failed. Its longest step was " in text
    assert text.endswith("a stall\nbegins at 1.0 s.\n")
    found = json.loads(explain(capsys, HEALTHY, "--explain", "2", "-f", "json"))
    assert (found["tried"], found["not_tried"], found["stalled"]) == ([], [], None)


@pytest.mark.parametrize("row", ["0", "12", "-1", "99999999999999999999"])
def test_an_unknown_row_is_wrong_usage_and_the_rows_are_named(row: str, tmp_path: Path, capsys: Output) -> None:
    output = tmp_path / "explained.txt"
    assert main(["report", STALLED, f"--explain={row}", "-o", str(output)]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == (
        "", f"pcapstall: --explain {row}: there is no such row; rows go from 1 to 11\n",
    )  # fmt: skip
    assert not output.exists()


def test_no_row_at_all(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "header.pcap"
    path.write_bytes(Path(LOST).read_bytes()[:24])
    assert main(["report", str(path), "--explain", "1"]) == 2
    assert capsys.readouterr().err.endswith("no connection was read\n")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--explain", "six"], "'six' is not a whole number"),
        (["--explain", "1", "--filter", "stalled"], "do not go together"),
        (["--explain", "1", "-f", "csv"], "table, markdown, jira, json"),
        (["--explain", "1", "-f", "table:grid"], "table, markdown, jira, json"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_read(arguments: list[str], hint: str, capsys: Output) -> None:
    assert main(["report", "nosuch.pcap", *arguments]) == 2
    shown = capsys.readouterr().err
    assert hint in shown
    assert "nosuch.pcap" not in shown


@pytest.mark.parametrize(
    ("wanted", "pieces"),
    [
        (
            "markdown",
            ["### Flow 6: `10.40.39.45:34506 -> ", "1. `clock_step` no: ", "1. `silent` **held**: the client"],
        ),
        ("jira", ["h3. Flow 6: 10.40.39.45:34506 ", "# clock_step no: ", "# silent *held*: the client"]),
    ],
)
def test_for_the_ticket(wanted: str, pieces: list[str], capsys: Output) -> None:
    text = explain(capsys, STALLED, "--explain", "6", "-f", wanted)
    assert [piece for piece in pieces if piece not in text] == []


def test_fail_if_is_judged_all_the_same(capsys: Output) -> None:
    for condition in ("stalled", "count(tls_outcome = established) = 10"):
        assert rules(explain(capsys, STALLED, "--explain", "6", "--fail-if", condition, code=1))
    assert "No rule was tried" in explain(capsys, STALLED, "--explain", "1", "--fail-if", "count(stalled) > 1")


@pytest.mark.parametrize("width", [60, 100])
def test_it_fits_the_terminal(width: int) -> None:
    text = on_terminal("report", STALLED, "--explain", "6", COLUMNS=str(width), NO_COLOR="1")
    assert max(map(len, text.splitlines())) <= width


def test_colour_only_where_it_may_be() -> None:
    arguments: tuple[Any, ...] = ("report", STALLED, "--explain", "6")
    assert "\x1b[1m" in on_terminal(*arguments, TERM="xterm", NO_COLOR="")
    assert "\x1b" not in on_terminal(*arguments, TERM="xterm", NO_COLOR="1")
