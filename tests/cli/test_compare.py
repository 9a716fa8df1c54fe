"""The command line of compare: arguments, formats, exit codes, and what cannot be put together."""

import json
import os
from pathlib import Path

import pytest
from cli_support import CAPTURES, HEALTHY, run

from pcapstall.cli.main import main

LOST = [str(CAPTURES / "client-hello-lost" / name) for name in ("capture.pcap", "capture_server.pcap")]
FILTERED = [str(CAPTURES / "filtered-syn" / name) for name in ("capture.pcap", "capture_server.pcap")]
WELL = [str(CAPTURES / "tls13-healthy" / name) for name in ("capture.pcap", "capture_server.pcap")]


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    assert main(["compare", *arguments]) == code
    written = capsys.readouterr()
    return written.out, written.err


def test_the_answer_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, *LOST)
    assert err == ""
    assert out.startswith(
        "1 of 4 connections seen at both ends stalled: the ClientHello was lost 4 times on its way to"
    )
    assert "[client frames 41, 42, 43, 44, 45; server frame 41]" in out
    assert "3 other connections stalled at neither end" in out


def test_the_wrong_order_is_said_and_changes_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    right, _ = said(capsys, *LOST)
    wrong, _ = said(capsys, *reversed(LOST))
    extra = set(wrong.splitlines()) - set(right.splitlines())
    assert [line for line in extra if "other way round" in line] == list(extra)
    assert set(right.splitlines()) < set(wrong.splitlines())


def test_a_healthy_pair_of_captures(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, *WELL)
    assert out.startswith("No stall: 3 connections seen at both ends, none stalled or failed.\n")
    everything, _ = said(capsys, *WELL, "--all")
    assert len([line for line in everything.splitlines() if " established " in line]) == 3


def test_a_connection_that_never_came(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, *FILTERED)
    assert "is in the client's capture only: the SYN was sent 4 times and never came to the server's end" in out
    assert out.count("\nOnly at the client, flow 2: ") == 1


@pytest.mark.parametrize("wanted", ["table", "markdown", "jira"])
def test_each_format_tells_the_verdict(wanted: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, *LOST, "-f", wanted)
    assert "The ClientHello was lost 4 times on its way to the server" in out
    assert "10.40.39.45:41001" in out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, *LOST, "-f", "json")
    report = json.loads(out)
    assert report["schema"] == 1
    assert isinstance(report["clock"]["offset_ns"], str)
    (pair,) = report["pairs"]
    assert sum(pair["parts_ns"].values()) == pair["stalled_ns"]
    assert pair["evidence"][0]["client"] == [{"file": 0, "frames": [41, 42, 43, 44, 45]}]
    assert pair["to_server"] == {"sent": 13, "lost": 4, "spurious": 0, "missed": 0, "unwatched": 0, "foreign": 0}


def test_the_name_of_the_output_tells_the_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, *LOST, "-o", str(tmp_path / "ticket.md"))
    assert (tmp_path / "ticket.md").read_text().startswith("**1 of 4 connections")


def test_a_ring_at_one_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A quoted pattern stands for the files of a ring."""
    whole = Path(LOST[1]).read_bytes()
    for name, at in (("ring.pcap0", 0), ("ring.pcap1", 30)):
        records, place, number = [whole[:24]], 24, 0
        while place < len(whole):
            size = 16 + int.from_bytes(whole[place + 8 : place + 12], "little")
            if (number < 30) == (at == 0):
                records.append(whole[place : place + size])
            place, number = place + size, number + 1
        (tmp_path / name).write_bytes(b"".join(records))
    out, _ = said(capsys, LOST[0], str(tmp_path / "ring.pcap*"))
    assert out.startswith("1 of 4 connections seen at both ends stalled: the ClientHello was lost 4 times")
    assert f"server frame 11 of {tmp_path / 'ring.pcap1'}]" in out.replace("\n    ", " ")


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ([], "Missing argument 'CLIENT'"),
        ([LOST[0]], "Missing argument 'SERVER'"),
        ([LOST[0], "-"], "standard input will not do"),
        (["", LOST[0]], "the name of a capture is empty"),
        ([*LOST, "-f", "html"], "compare has table, markdown, jira, json"),
        ([*LOST, "--slow", "soon"], "is not a duration"),
        ([*LOST, "--fail-if", "slow"], "'slow' is not one of 'stalled', 'failed'"),
        ([LOST[0], LOST[0]], "is given for both ends"),
        ([LOST[0], HEALTHY], "no connection in common"),
    ],
)
def test_wrong_usage(arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = said(capsys, *arguments, code=2)
    assert out == ""
    assert hint in err


def test_a_copy_of_the_same_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(Path(LOST[0]).read_bytes())
    _, err = said(capsys, LOST[0], str(copy), code=2)
    assert "one is a copy of the other" in err


def test_what_to_do_when_nothing_is_in_common(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, LOST[0], HEALTHY, code=2)
    assert "Take both at the same time" in err
    assert err.count(" flows, ") == 2


def test_a_capture_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junk = tmp_path / "junk.pcap"
    junk.write_bytes(b"not a capture at all, by any means")
    out, err = said(capsys, LOST[0], str(junk), code=3)
    assert out == ""
    assert str(junk) in err
    _, err = said(capsys, str(tmp_path / "absent.pcap"), LOST[1], code=3)
    assert "absent.pcap" in err


def test_conditions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = said(capsys, *LOST, "--fail-if", "stalled", code=1)
    assert "--fail-if stalled: 1 of 4 connections" in err
    said(capsys, *LOST, "--fail-if", "failed")
    (tmp_path / "a.pcap").write_bytes(Path(LOST[0]).read_bytes())
    (tmp_path / "b.pcap").write_text("no capture")
    _, err = said(capsys, str(tmp_path / "*.pcap"), LOST[1], "--fail-if", "stalled", code=3)
    assert "--fail-if stalled: 1 of 4 connections" in err
    assert "b.pcap" in err
    said(capsys, *WELL, "--fail-if", "failed", "--fail-if", "stalled")


def test_a_pipe_will_not_do(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    ended = run("compare", LOST[0], str(tmp_path / "pipe"))
    assert ended.returncode == 2
    assert b"the pipe" in ended.stderr
