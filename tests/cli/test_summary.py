"""`pcapstall summary`: its groups, its formats, what it counts, and how it ends."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from cli_support import CAPTURES, HEALTHY, LOST, REFUSED, run

from pcapstall.cli.main import main
from pcapstall.report.render import PAGE_FORMATS

Output = pytest.CaptureFixture[str]
STALLED = str(CAPTURES / "stalled-client-hello" / "capture.pcap")


def summary(capsys: Output, *arguments: str, code: int = 0) -> str:
    """What the command prints; it must end with ``code``."""
    ended = main(["summary", *arguments])
    shown = capsys.readouterr()
    assert ended == code, shown.err
    return shown.out


def data(capsys: Output, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(summary(capsys, *arguments, "-f", "json"))
    return found


class TestGroups:
    @pytest.mark.parametrize(
        ("by", "key"), [("server", "10.40.42.129:8086"), ("sni", "influxdb.metrics"), ("client", "10.40.39.45")]
    )
    def test_each(self, by: str, key: str, capsys: Output) -> None:
        found = data(capsys, STALLED, "--by", by)
        assert found["by"] == by
        (group,) = found["groups"]
        assert (group["key"], group["flows"], group["stalled"], group["failed"]) == (key, 11, 1, 1)
        assert group["tls_outcomes"] == {"established": 10, "closed_before_client_hello": 1}
        assert group["intervals_ns"]["ack_ch"]["max"] == 52_246_868_000

    def test_by_server_unless_told(self, capsys: Output) -> None:
        assert data(capsys, STALLED) == data(capsys, STALLED, "--by", "server")

    def test_no_other(self, capsys: Output) -> None:
        summary(capsys, STALLED, "--by", "port", code=2)

    def test_healthy_flows_are_counted_too(self, capsys: Output) -> None:
        assert summary(capsys, HEALTHY).startswith("3 flows of 1 server: 0 stalled, 0 failed.\n")

    def test_several_captures_are_one(self, capsys: Output) -> None:
        assert sum(group["flows"] for group in data(capsys, LOST, STALLED)["groups"]) == 15


class TestFormats:
    @pytest.mark.parametrize("name", PAGE_FORMATS)
    def test_every_format_is_written(self, name: str, capsys: Output) -> None:
        written = summary(capsys, STALLED, "-f", name)
        assert "10.40.42.129:8086" in written
        assert "ack_ch" in written
        assert written.endswith("\n")

    def test_a_style_of_tabulate(self, capsys: Output) -> None:
        assert "│" in summary(capsys, STALLED, "-f", "table:simple_grid")

    def test_an_unknown_one_is_told_before_anything_is_read(self, capsys: Output) -> None:
        assert main(["summary", "nosuch.pcap", "-f", "jsno"]) == 2
        assert "nosuch.pcap" not in capsys.readouterr().err

    def test_the_name_chooses_it(self, tmp_path: Path, capsys: Output) -> None:
        path = tmp_path / "summary.csv"
        assert summary(capsys, STALLED, "-o", str(path)) == ""
        rows = {row["interval"]: row for row in csv.DictReader(io.StringIO(path.read_text()))}
        assert rows["ack_close"]["max_ns"] == "10002146000"


class TestWhichFlows:
    def test_a_filter(self, capsys: Output) -> None:
        (group,) = data(capsys, STALLED, "--filter", "ack_ch < 1s")["groups"]
        assert (group["flows"], group["stalled"]) == (10, 0)

    def test_a_filter_that_nothing_passes_is_told(self, capsys: Output) -> None:
        assert main(["summary", STALLED, "--filter", "sni = x"]) == 0
        shown = capsys.readouterr()
        assert shown.out == "0 flows of 0 servers: 0 stalled, 0 failed.\n"
        assert shown.err == "pcapstall: none of 11 flows matches the filter sni = x\n"

    def test_slow(self, capsys: Output) -> None:
        assert data(capsys, STALLED, "--slow", "1m")["groups"][0]["stalled"] == 0

    def test_at(self, capsys: Output) -> None:
        count = "count(capture_point = server) = 2"
        assert main(["summary", REFUSED, "--at", "server", "--fail-if", count]) == 1


class TestExitCodes:
    @pytest.mark.parametrize(
        ("condition", "code"),
        [("stalled", 1), ("ack_ch.p50 > 1s", 0), ("count(tls_outcome = established) = 10", 1), ("flows < 11", 0)],
    )
    def test_fail_if(self, condition: str, code: int, capsys: Output) -> None:
        assert summary(capsys, STALLED, "--fail-if", condition, code=code).startswith("11 flows")

    def test_fail_if_of_the_flows_that_a_filter_keeps(self, capsys: Output) -> None:
        summary(capsys, STALLED, "--fail-if", "stalled", "--filter", "ack_ch < 1s")
        summary(capsys, STALLED, "--fail-if", "flows = 10", "--filter", "ack_ch < 1s", code=1)

    @pytest.mark.parametrize(
        ("by", "key"), [("server", "10.40.42.129:443"), ("sni", "slow.example"), ("client", "10.40.39.45")]
    )
    def test_fail_if_a_percentile_of_one_group(self, by: str, key: str, capsys: Output) -> None:
        """Of all flows the median is low; of the one that was slow it is not."""
        slow = str(CAPTURES / "slow-server" / "capture.pcap")
        condition = "ch_sh.max > 2s" if by != "sni" else "ch_sh.p50 > 2s"
        assert main(["summary", slow, STALLED, "--by", by, "--fail-if", condition]) == 1
        assert f"--fail-if {condition}: {key}: {condition.partition(' ')[0]} is 2.5 s over" in capsys.readouterr().err
        assert main(["report", slow, STALLED, "--fail-if", "ch_sh.p50 > 2s"]) == 0

    def test_fail_if_a_percentile_of_no_group(self, capsys: Output) -> None:
        assert main(["summary", STALLED, "--fail-if", "ch_sh.p99 > 1h", "--fail-if", "hrr_ch2.p50 > 1ms"]) == 0
        assert capsys.readouterr().err == ""

    def test_fail_if_of_all_together(self, capsys: Output) -> None:
        """No server has as many flows as both."""
        assert main(["summary", LOST, STALLED, "--fail-if", "ch_sh.n > 12"]) == 1
        assert "--fail-if ch_sh.n > 12: ch_sh.n is 14 over 14 flows" in capsys.readouterr().err

    def test_nothing_can_be_read(self, tmp_path: Path, capsys: Output) -> None:
        output = tmp_path / "summary.txt"
        assert main(["summary", str(tmp_path / "missing.pcap"), "-o", str(output)]) == 3
        assert "there is no such file" in capsys.readouterr().err
        assert not output.exists()

    def test_one_unreadable_of_two(self, tmp_path: Path, capsys: Output) -> None:
        assert summary(capsys, str(tmp_path / "missing.pcap"), STALLED, code=3).startswith("11 flows")

    def test_a_cut_capture_is_warned_of(self, tmp_path: Path, capsys: Output) -> None:
        path = tmp_path / "cut.pcap"
        path.write_bytes(Path(LOST).read_bytes()[:2000])
        assert main(["summary", str(path), "-f", "csv"]) == 0
        shown = capsys.readouterr()
        assert shown.out.startswith("server,flows,")
        assert shown.err.startswith(f"pcapstall: Warning: {path}: ")


def test_standard_input() -> None:
    done = run("summary", "-", given=Path(STALLED).read_bytes())
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"11 flows of 1 server: 1 stalled, 1 failed.\n")


def test_what_holds_a_step_of_the_clock_is_left_out_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(CAPTURES / "clock-set" / "capture.pcap")
    assert main(["summary", path]) == 0
    said = capsys.readouterr().out
    (lengths,) = (line.split() for line in said.splitlines() if " ch_fin " in line and line.startswith("10."))
    assert lengths[2:] == ["4", "67.160", "108.521"]
    assert "made them: 1 of ack_ch, 1 of ch_sh, 1 of ch_fin." in " ".join(said.split())
    assert main(["summary", path, "-f", "json", "--filter", "flags != null or id > 0"]) == 0
    assert json.loads(capsys.readouterr().out)["groups"][0]["intervals_ns"]["ch_fin"]["n"] == 4
