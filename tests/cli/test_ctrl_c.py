"""Ctrl-C while straces and logs are read: it ends that, at once, and what was read is reported with what is missing."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_support import CAPTURES, LOST, PATIENCE_S, wait_for

from pcapstall.cli import compare_command, destination, diff_command, reading, report_command, summary_command
from pcapstall.cli.main import main
from pcapstall.pipeline import analysis
from pcapstall.pipeline.ends import logs, straces
from pcapstall.pipeline.timeline import strace_lines, timeline
from pcapstall.report import explanation, to_table

STALLED = CAPTURES / "stalled-client-hello"
CAPTURE = str(STALLED / "capture.pcap")
GIVEN = [
    word
    for kind in ("strace", "log")
    for end in ("outbound", "inbound")
    for word in (f"--{kind}", f"{end}={STALLED / f'{end}.{kind}'}")
]
Output = pytest.CaptureFixture[str]


@pytest.fixture
def at_call(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str, int], list[int]]:
    """``at_call(module, name, number)``: Ctrl-C comes when that function is called for the ``number``-th time."""

    def arrange(module: Any, name: str, number: int, sent: int = signal.SIGINT) -> list[int]:
        function = getattr(module, name)
        calls: list[int] = []

        def interrupted(*arguments: Any, **more: Any) -> Any:
            calls.append(len(calls) + 1)
            if calls[-1] == number:
                os.kill(os.getpid(), sent)
            return function(*arguments, **more)

        monkeypatch.setattr(module, name, interrupted)
        return calls

    return arrange


def reported(capsys: Output, *arguments: str) -> dict[str, Any]:
    assert main(["report", CAPTURE, *GIVEN, "-f", "json", *arguments]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    made: dict[str, Any] = json.loads(shown.out)
    return made


def test_while_a_strace_is_read(capsys: Output, at_call: Callable[[Any, str, int], list[int]]) -> None:
    calls = at_call(straces, "match_strace", 2)
    made = reported(capsys)
    assert len(calls) == 2
    assert [one["label"] for one in made["straces"]] == ["outbound"], "the one that was read"
    assert "logs" not in made
    inbound, *both = (str(STALLED / name) for name in ("inbound.strace", "outbound.log", "inbound.log"))
    assert made["warnings"] == [
        f"reading was stopped: nothing of {inbound} is in this report",
        f"reading was stopped: nothing of {', '.join(both)} is in this report",
    ]
    (flow,) = [flow for flow in made["flows"] if flow["stalled"]]
    assert flow["reason"] == "client_silent", "judged by its packets"


def test_while_straces_are_asked(capsys: Output, at_call: Callable[[Any, str, int], list[int]]) -> None:
    at_call(straces, "record", 1)
    made = reported(capsys)
    assert made["warnings"] == ["reading was stopped while straces were asked about stalls: only packets are judged"]
    assert len(made["straces"]) == len(made["logs"]) == 2
    (flow,) = [flow for flow in made["flows"] if flow["stalled"]]
    assert (flow["reason"], flow["threads"]) == ("client_silent", [])


def test_while_a_log_is_read(capsys: Output, at_call: Callable[[Any, str, int], list[int]]) -> None:
    at_call(logs, "read_log", 2)
    made = reported(capsys)
    assert [one["label"] for one in made["logs"]] == ["outbound"]
    assert made["warnings"] == [f"reading was stopped: nothing of {STALLED / 'inbound.log'} is in this report"]
    (flow,) = [flow for flow in made["flows"] if flow["stalled"]]
    assert flow["reason"] == "epoll_not_waited"


@pytest.mark.parametrize("name", ["keys_of", "clock_by_writes"])
def test_while_logs_wait_for_their_writers(
    name: str, capsys: Output, at_call: Callable[[Any, str, int], list[int]]
) -> None:
    at_call(logs, name, 1)
    straces_given, log = GIVEN[:4], str(STALLED / "outbound.log")
    assert main(["report", CAPTURE, *straces_given, "--log", log, "-f", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["warnings"] == [
        f"reading was stopped while straces were asked who wrote {log}: of their clocks only the lines themselves tell"
    ]
    assert len(made["logs"]) == 1


def told(capsys: Output, *arguments: str) -> dict[str, Any]:
    assert main(["timeline", CAPTURE, *GIVEN, "--flow", "6", "-f", "json", *arguments]) == 0
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


def test_while_a_timeline_asks_a_strace(capsys: Output, at_call: Callable[[Any, str, int], list[int]]) -> None:
    at_call(straces, "record", 1)
    made = told(capsys)
    assert "Reading was stopped: the calls of the straces are not told." in made["notices"]
    assert {row["source"] for row in made["rows"]} == {"log"}, "packets were to be read after that"


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [(strace_lines, "excerpts", "not all calls of "), (timeline, "log_moments", "of the logs only")],
)
def test_while_a_timeline_of_all_is_made(
    module: Any, name: str, said: str, capsys: Output, at_call: Callable[[Any, str, int], list[int]]
) -> None:
    at_call(module, name, 2)
    made = told(capsys, "--all")
    (notice,) = [notice for notice in made["notices"] if notice.startswith("Reading was stopped")]
    assert said in notice
    assert {"packet", "call", "log"} == {row["source"] for row in made["rows"]}


COMPLETE = "pcapstall: ended by Ctrl-C: what was written before is complete\n"
IN_PART = "pcapstall: ended by Ctrl-C: what was written so far is not complete\n"
NOTHING = "pcapstall: ended by Ctrl-C: nothing was written\n"


@pytest.mark.parametrize(
    ("name", "said", "to_file"),
    [("stages", NOTHING, False), ("render", NOTHING, False), ("render", NOTHING, True), ("exit_code", COMPLETE, False)],
)
def test_after_the_reading_it_says_what_there_is(
    name: str,
    said: str,
    to_file: bool,
    tmp_path: Path,
    capsys: Output,
    at_call: Callable[[Any, str, int], list[int]],
) -> None:
    at_call(report_command, name, 1)
    named = tmp_path / "report.json"
    assert main(["report", CAPTURE, "-f", "json", *(["-o", str(named)] if to_file else [])]) == 130
    assert capsys.readouterr().err == said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "name", "arguments"),
    [
        (report_command, "check_inputs", ["report", CAPTURE]),
        (report_command, "stages", ["report", CAPTURE]),
        (explanation, "explanation_of", ["report", CAPTURE, "--explain", "1"]),
        (summary_command, "tallies_by", ["summary", CAPTURE]),
        (diff_command, "compare_reports", ["diff", CAPTURE, CAPTURE]),
    ],
)
def test_sigterm_while_it_is_made_is_told(
    command: Any, name: str, arguments: list[str], capsys: Output, at_call: Callable[..., list[int]]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    at_call(command, name, 1, signal.SIGTERM)
    assert main(arguments) == 130
    assert capsys.readouterr().err == NOTHING.replace("Ctrl-C", "SIGTERM")
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_closed_terminal_is_told_of_again_while_it_writes(capsys: Output, at_call: Callable[..., list[int]]) -> None:
    """That does not end the writing: the report of what was read is what it was asked for."""
    whole = reported(capsys)
    at_call(analysis, "_capture_reports", 1, signal.SIGHUP)
    written = at_call(report_command, "render", 1, signal.SIGHUP)
    assert reported(capsys)["flows"] == whole["flows"]
    assert written == [1]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGXCPU])
def test_nothing_is_left_of_its_handlers(number: int, capsys: Output, at_call: Callable[..., list[int]]) -> None:
    before = signal.getsignal(number)
    at_call(report_command, "render", 1, number)
    for _ in range(2):
        assert main(["report", CAPTURE]) in (0, 130)
        assert signal.getsignal(number) == before
    assert capsys.readouterr().err == NOTHING.replace("Ctrl-C", signal.Signals(number).name)


@pytest.mark.parametrize(("to_file", "left"), [(False, NOTHING), (True, NOTHING)])
def test_sigterm_while_it_writes_is_told_by_its_name(
    to_file: bool, left: str, tmp_path: Path, capsys: Output, at_call: Callable[..., list[int]]
) -> None:
    """And leaves no more behind than Ctrl-C does."""
    at_call(report_command, "render", 1, signal.SIGTERM)
    named = tmp_path / "report.json"
    assert main(["report", CAPTURE, "-f", "json", *(["-o", str(named)] if to_file else [])]) == 130
    assert capsys.readouterr().err == left.replace("Ctrl-C", "SIGTERM")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "name", "arguments"),
    [
        (summary_command, "render_summary", ["summary", CAPTURE]),
        (diff_command, "render_changes", ["diff", CAPTURE, CAPTURE]),
        (compare_command, "render", ["compare", LOST, LOST.replace("capture.pcap", "capture_server.pcap")]),
    ],
)
def test_other_commands_do_so_too(
    command: Any, name: str, arguments: list[str], capsys: Output, at_call: Callable[[Any, str, int], list[int]]
) -> None:
    at_call(command, name, 1)
    assert main(arguments) == 130
    assert capsys.readouterr().err == NOTHING


@pytest.mark.parametrize(
    ("module", "name", "left"),
    [
        (straces, "match_strace", [["inbound.strace"], ["outbound.log", "inbound.log"]]),
        (logs, "read_log", [["inbound.log"]]),
    ],
)
def test_another_one_ends_what_follows_the_capture(
    module: Any,
    name: str,
    left: list[list[str]],
    capsys: Output,
    at_call: Callable[[Any, str, int], list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first one was for the capture: whoever ended that wants to know what straces and logs say of it."""

    def interrupted(begun: str) -> None:
        if begun == "finding the stalls":  # the reader of captures has just gone
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(reading, "stages", interrupted)
    calls = at_call(module, name, 2)
    said = reported(capsys)["warnings"]
    assert len(calls) == 2, "the first one was read, and nothing after the second"
    missing = [", ".join(str(STALLED / name) for name in names) for names in left]
    assert [line for line in said if "nothing of" in line] == [
        f"reading was stopped: nothing of {names} is in this report" for names in missing
    ]


HELD = """
import sys
from pathlib import Path
from pcapstall.cli.main import main
from pcapstall.core.textfile import TextStream
from pcapstall.pipeline.ends import straces

flag = Path(sys.argv.pop(1))
match = straces.match_strace


def held(stream):
    flag.touch()
    while True:
        pass


def match_held(*arguments):
    TextStream.read = held
    return match(*arguments)


straces.match_strace = match_held
sys.exit(main())
"""


def test_one_ctrl_c_ends_a_long_strace(tmp_path: Path) -> None:
    """As a process, whose reader gets to no end by itself."""
    long, flag = tmp_path / "long.strace", tmp_path / "reads"
    long.write_bytes(b'7 1796023442.008038 read(5, "x", 1) = 1 <0.000010>\n')
    process = subprocess.Popen(
        [sys.executable, "-c", HELD, str(flag), "report", CAPTURE, "--strace", str(long)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for(flag.exists, "the strace is being read")
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, stderr) == (0, b"")
    assert b"1 of 11 flows stalled" in stdout
    assert f"reading was stopped: nothing of {long} is in this report".encode() in stdout


def test_before_the_first_line_nothing_is_a_part(capsys: pytest.CaptureFixture[str]) -> None:
    for lines, left in ((0, NOTHING), (1, IN_PART), (2, IN_PART)):
        destination.forget()
        with contextlib.suppress(KeyboardInterrupt), destination.opened(None) as out:
            for _ in range(lines):
                out.write("10.0.0.1\n")
                out.flush()
            raise KeyboardInterrupt
        assert capsys.readouterr().out == "10.0.0.1\n" * lines
        assert f"pcapstall: ended by Ctrl-C: {destination.what_there_is()}\n" == left


def test_while_a_table_is_written(capsys: Output, at_call: Callable[[Any, str, int], list[int]]) -> None:
    at_call(to_table, "table_lines", 1)
    assert main(["report", CAPTURE]) == 130
    shown = capsys.readouterr()
    assert shown.out.startswith("1 of 11 flows stalled")
    assert shown.err == IN_PART
