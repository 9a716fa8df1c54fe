"""`pcapstall diff`: captures and reports in any mixture, its exit codes, and what it says of what it cannot read."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from cli_support import HEALTHY, LOST, REFUSED, RING, one_line, run

from pcapstall.cli.main import main

Output = pytest.CaptureFixture[str]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The report of LOST as JSON."""
    path = tmp_path / "lost.json"
    assert main(["report", LOST, "-o", str(path)]) == 0
    return path


def data(capsys: Output, *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["diff", *arguments, "-f", "json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def without_names(found: dict[str, Any]) -> dict[str, Any]:
    return found | {side: found[side] | {"file": ""} for side in ("before", "after")}


def test_a_report_stands_for_its_capture(written: Path, tmp_path: Path, capsys: Output) -> None:
    lines = tmp_path / "lost.jsonl"
    packed = tmp_path / "lost.json.gz"
    assert main(["report", LOST, "-o", str(lines)]) == 0
    packed.write_bytes(gzip.compress(written.read_bytes()))
    expected = without_names(data(capsys, LOST, HEALTHY))
    assert [stall["change"] for stall in expected["stalls"]] == ["gone"]
    for before in (written, lines, packed):
        assert without_names(data(capsys, str(before), HEALTHY)) == expected


def test_nothing_changed(written: Path, capsys: Output) -> None:
    found = data(capsys, LOST, str(written))
    assert [stall["change"] for stall in found["stalls"]] == ["same"]
    assert all(change["before"] == change["after"] for change in found["intervals_ns"].values())
    assert main(["diff", LOST, str(written), "--fail-if", "new_stalls", "--fail-if", "stalled > 1x"]) == 0


def test_a_report_from_a_pipe(written: Path) -> None:
    ended = run("diff", HEALTHY, "-", given=written.read_bytes())
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.startswith(b"1 new stall, none gone; new: ch_ack at server.example (network, 1 flow")


def test_a_ring_by_its_pattern(capsys: Output) -> None:
    pattern = RING[0].replace("20261130-072731", "*")
    assert data(capsys, HEALTHY, pattern)["after"]["flows"] == 13


def test_conditions_make_the_exit_code(capsys: Output) -> None:
    assert main(["diff", HEALTHY, LOST, "--fail-if", "new_stalls", "--fail-if", "ch_ack.max > 2x"]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith("1 new stall")
    assert [line.split(": ")[1] for line in shown.err.splitlines()] == [
        "--fail-if new_stalls", "--fail-if ch_ack.max > 2x",
    ]  # fmt: skip
    assert main(["diff", LOST, HEALTHY, "--fail-if", "new_stalls"]) == 0


def test_a_filter_is_for_both_sides(capsys: Output) -> None:
    found = data(capsys, LOST, HEALTHY, "--filter", "id = 3")
    assert (found["before"]["flows"], found["after"]["flows"]) == (1, 1)


def test_different_thresholds_are_told(written: Path, capsys: Output) -> None:
    assert main(["diff", str(written), LOST, "--slow", "ch_ack=100ms"]) == 0
    assert "After: what is called a stall differs between the two" in capsys.readouterr().out


def test_the_name_of_the_output_chooses_the_format(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "diff.md"
    assert main(["diff", LOST, HEALTHY, "-o", str(path)]) == 0
    assert path.read_text().startswith("**No new stall, 1 gone")
    assert main(["diff", LOST, HEALTHY, "-o", str(tmp_path / "diff.html")]) == 2
    assert "diff writes table, markdown, jira, json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("gone.json", None, "there is no such file"),
        ("text.json", "hello", "not a capture: text"),
        ("cut.json", '{"schema": 1, "captures": [', "is no complete JSON: line 1"),
        ("other.json", '{"a": 1}', "is JSON, but not that of pcapstall report"),
        ("empty.json", "", "is empty"),
        (".", None, "is a directory"),
    ],
)
@pytest.mark.parametrize("where", ["before", "after"])
def test_what_cannot_be_read(
    name: str, content: str | None, reason: str, where: str, tmp_path: Path, capsys: Output
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    sides = [str(path), LOST] if where == "before" else [LOST, str(path)]
    assert main(["diff", *sides]) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith(f"pcapstall: {path}: ")
    assert reason in line


def test_a_capture_from_a_pipe_cannot_be_told_twice() -> None:
    ended = run("diff", HEALTHY, "-", given=Path(LOST).read_bytes())
    assert ended.returncode == 3
    assert "through a pipe it takes a report" in one_line(ended.stderr)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((LOST,), "Missing argument 'AFTER'"),
        ((LOST, HEALTHY, REFUSED), "unexpected extra argument"),
        ((LOST, HEALTHY, "--fail-if", "new_stall"), "did you mean new_stalls?"),
        ((LOST, HEALTHY, "-f", "csv"), "diff writes table"),
        ((LOST, HEALTHY, "-o", LOST), "it would be overwritten"),
        (("-", "-"), "not both"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    ended = run("diff", *arguments, given=b"")
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert said in ended.stderr.decode()


def test_a_file_of_a_side_that_cannot_be_read(tmp_path: Path, capsys: Output) -> None:
    """The others are compared, and the exit code says what is missing, whatever the conditions say."""
    (tmp_path / "x1.pcap").write_bytes(Path(LOST).read_bytes())
    (tmp_path / "x2.pcap").write_bytes(b"no capture at all, but long enough for a header")
    pattern = str(tmp_path / "x*.pcap")
    for sides in ((pattern, HEALTHY), (HEALTHY, pattern)):
        assert main(["diff", *sides, "-f", "json", "--fail-if", "new_stalls"]) == 3
        shown = capsys.readouterr()
        assert [stall["change"] for stall in json.loads(shown.out)["stalls"]] == [
            "gone" if sides[0] == pattern else "new"
        ]
        assert "x2.pcap: " in shown.err.splitlines()[0]
