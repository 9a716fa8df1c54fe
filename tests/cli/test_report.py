"""`pcapstall report`: each option does what its help says, and each exit code means what it says."""

import csv
import gzip
import io
import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from cli_support import CAPTURES, HEALTHY, LOST, REFUSED, RING

from pcapstall.cli.main import main
from pcapstall.report.render import PAGE_FORMATS

Output = pytest.CaptureFixture[str]


def report(capsys: Output, *arguments: str, code: int = 0) -> str:
    """What the command prints; it must end with ``code``."""
    ended = main(["report", *arguments])
    shown = capsys.readouterr()
    assert ended == code, shown.err
    return shown.out


def data(capsys: Output, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(report(capsys, *arguments, "-f", "json"))
    return found


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("-o", "-o: the name of the file to write is empty"),
        ("--strace", "the name of a strace or log is empty"),
        ("--log", "the name of a strace or log is empty"),
    ],
)
def test_an_empty_name_is_said_to_be_one(option: str, complaint: str, capsys: Output) -> None:
    """As a script has it whose variable is not set."""
    assert main(["report", HEALTHY, option, ""]) == 2
    assert capsys.readouterr().err == f"pcapstall: {complaint}\n"


class TestFormats:
    def test_the_table_is_for_the_ticket(self, capsys: Output) -> None:
        lines = report(capsys, LOST).splitlines()
        assert lines[0].startswith("1 of 4 flows stalled: ")
        assert lines[1].startswith(f"Read {LOST}: 74 packets, 4 flows, 2.5 s from ")
        assert "10.40.39.45:41001" in lines[5]
        assert lines[5].split()[3] == "ch_ack"
        assert any(line.startswith("3 other flows did not stall or fail") for line in lines)
        assert any(line.startswith("Flow 3: 10.40.39.45:41001 -> 10.40.42.129:443") for line in lines)

    def test_nothing_to_tell(self, capsys: Output) -> None:
        assert report(capsys, HEALTHY).startswith("No stall: 3 flows, all within ")

    @pytest.mark.parametrize("name", PAGE_FORMATS)
    def test_every_format_is_written(self, name: str, capsys: Output) -> None:
        written = report(capsys, LOST, "-f", name)
        assert "10.40.39.45:41001" in written
        assert "\x1b" not in written
        assert written.endswith("\n")

    def test_json_lines_and_csv_have_a_line_for_each_flow(self, capsys: Output) -> None:
        objects = [json.loads(line) for line in report(capsys, LOST, "-f", "jsonl").splitlines()]
        assert objects[0]["schema"] == 1
        rows = list(csv.DictReader(io.StringIO(report(capsys, LOST, "-f", "csv"))))
        assert [row["id"] for row in rows] == [str(flow["id"]) for flow in objects[1:]] == ["1", "2", "3", "4"]

    def test_a_style_of_tabulate(self, capsys: Output) -> None:
        assert "│" in report(capsys, LOST, "-f", "table:simple_grid")

    @pytest.mark.parametrize(
        ("wanted", "hint"), [("jsno", "there are table, markdown"), ("table:nosuch", "no style"), ("csv:x", "styles")]
    )
    def test_an_unknown_format(self, wanted: str, hint: str, capsys: Output) -> None:
        assert main(["report", LOST, "-f", wanted]) == 2
        assert hint in capsys.readouterr().err

    def test_the_same_report_each_time(self, capsys: Output) -> None:
        assert report(capsys, LOST, "--all") == report(capsys, LOST, "--all")


class TestWhichFlows:
    def test_all(self, capsys: Output) -> None:
        listed = [line.split()[1] for line in report(capsys, LOST, "--all").splitlines() if line[:1].isdigit()]
        assert [name for name in listed if name.startswith("10.40.39.45:")] == [
            "10.40.39.45:41001", "10.40.39.45:41876", "10.40.39.45:41886", "10.40.39.45:41002",
        ]  # fmt: skip

    def test_a_filter(self, capsys: Output) -> None:
        found = data(capsys, LOST, "--filter", "ch_ack > 200ms and sni ~ 'server'")
        assert [flow["id"] for flow in found["flows"]] == [3, 4]
        assert report(capsys, LOST, "--filter", "ch_ack > 1h").startswith(
            "None of 4 flows matches the filter ch_ack > 1h.\n"
        )

    def test_a_filter_counts_only_what_it_keeps(self, capsys: Output) -> None:
        assert report(capsys, LOST, "--filter", "server = 10.40.42.129 and id != 1").startswith(
            "1 of 3 flows that match (of 4) stalled"
        )

    @pytest.mark.parametrize(
        ("text", "caret", "hint"),
        [
            ("ack_ch >", 9, "a value is missing"),
            ("ack_ch > 1s and snj ~ 'x'", 17, "no column 'snj'"),
            ("ack_ch > 5", 10, "needs a unit"),
            ("", 1, "a condition is missing"),
        ],
    )
    def test_a_wrong_filter_is_pointed_at(self, text: str, caret: int, hint: str, capsys: Output) -> None:
        assert main(["report", LOST, "--filter", text]) == 2
        shown = capsys.readouterr()
        message, quoted, pointer = shown.err.splitlines()
        assert hint in message
        assert quoted == f"  {text}"
        assert pointer.index("^") == 2 + caret - 1
        assert shown.out == ""


class TestThresholds:
    def test_slow(self, capsys: Output) -> None:
        assert [flow["id"] for flow in data(capsys, LOST)["flows"] if flow["stalled"]] == [3]
        found = data(capsys, LOST, "--slow", "ch_ack=100ms")
        assert found["thresholds_ns"] == {"default": 1_000_000_000, "ch_ack": 100_000_000}
        assert [(flow["id"], flow["stalled"]) for flow in found["flows"] if flow["stalled"]] == [
            (3, "ch_ack"),
            (4, "ch_ack"),
        ]

    def test_one_for_all_and_one_for_each(self, capsys: Output) -> None:
        found = data(capsys, LOST, "--slow", "5s", "--slow", "ch_ack=6s")
        assert found["thresholds_ns"] == {"default": 5_000_000_000, "ch_ack": 6_000_000_000}
        assert [flow["stalled"] for flow in found["flows"]] == [None] * 4

    @pytest.mark.parametrize("text", ["5", "0s", "-1s", "nosuch=1s", "ch_ack=", "=1s", "ch_fin=1s"])
    def test_a_wrong_one(self, text: str, capsys: Output) -> None:
        assert main(["report", LOST, f"--slow={text}"]) == 2
        assert f"--slow {text}" in capsys.readouterr().err


class TestKnowledgeOfTheUser:
    @pytest.mark.parametrize("where", ["client", "server"])
    def test_at(self, where: str, capsys: Output) -> None:
        found = data(capsys, REFUSED, "--at", where)
        assert {flow["capture_point"] for flow in found["flows"]} == {where}

    def test_at_nowhere(self, capsys: Output) -> None:
        assert main(["report", REFUSED, "--at", "home"]) == 2
        assert "'client', 'server'" in capsys.readouterr().err

    @pytest.mark.parametrize("port", ["0", "65536", "https"])
    def test_a_port_that_is_none(self, port: str, capsys: Output) -> None:
        assert main(["report", REFUSED, "--tls", port]) == 2
        assert "--tls" in capsys.readouterr().err

    def test_ports(self, capsys: Output) -> None:
        """A client that says nothing on port 80 is late only where TLS is spoken."""
        idle = str(CAPTURES / "plaintext-idle" / "capture.pcap")
        for ports, reason in ([], "both_silent"), (["--tls", "81"], "both_silent"), (["--tls", "80"], "client_silent"):
            assert data(capsys, idle, *ports)["flows"][0]["reason"] == reason
        assert data(capsys, idle, "--tls", "443", "--tls", "80")["flows"][0]["reason"] == "client_silent"


class TestFailIf:
    @pytest.mark.parametrize(
        ("condition", "code"),
        [
            ("stalled", 1),
            ("failed", 0),
            ("ch_ack.p99 > 1s", 1),
            ("ch_ack.p50 > 1s", 0),
            ("flows < 1", 0),
            ("count(tls_outcome = established) > 3", 1),
        ],
    )
    def test_conditions(self, condition: str, code: int, capsys: Output) -> None:
        assert main(["report", LOST, "--fail-if", condition]) == code
        shown = capsys.readouterr()
        assert shown.out.startswith("1 of 4 flows stalled")
        assert (f"--fail-if {condition}:" in shown.err) == bool(code)

    def test_any_of_several(self, capsys: Output) -> None:
        assert main(["report", LOST, "--fail-if", "failed", "--fail-if", "stalled"]) == 1
        assert "failed" not in capsys.readouterr().err

    def test_of_the_flows_that_a_filter_keeps(self) -> None:
        assert main(["report", LOST, "--fail-if", "stalled", "--filter", "id != 3"]) == 0

    def test_a_wrong_one_is_pointed_at(self, capsys: Output) -> None:
        assert main(["report", LOST, "--fail-if", "stalled and"]) == 2
        assert "^" in capsys.readouterr().err


class TestInputs:
    def test_a_ring_in_any_order(self, capsys: Output) -> None:
        in_order = data(capsys, *RING)
        assert data(capsys, *reversed(RING)) == in_order
        assert data(capsys, RING[2], RING[0], RING[4], RING[1], RING[3]) == in_order
        assert data(capsys, str(CAPTURES / "ring" / "rotated-*.pcap")) == in_order
        assert [flow["id"] for flow in in_order["flows"] if flow["stalled"]] == [2]
        slow = in_order["flows"][1]["events"]
        assert (slow["ack"]["file"], slow["client_hello_first"]["file"]) == (0, 3)

    def test_a_file_named_twice_is_read_once(self, capsys: Output) -> None:
        once, twice = data(capsys, LOST), data(capsys, LOST, LOST)
        assert twice["captures"][0].pop("warnings") == ["named more than once, read once"]
        assert once["captures"][0].pop("warnings") == []
        assert twice == once
        assert data(capsys, LOST, str(Path(LOST).parent / "." / "capture.pcap"))["captures"][0]["packets"] == 74

    def test_a_file_named_twice_is_told(self, capsys: Output) -> None:
        assert main(["report", LOST, LOST]) == 0
        shown = capsys.readouterr()
        assert "named more than once" in shown.out + shown.err

    def test_evidence_in_several_files_is_one_sentence(self, capsys: Output) -> None:
        told = [line.partition(" [frame")[0] for line in report(capsys, *RING).splitlines() if line.startswith("  - ")]
        assert len(told) > 3
        assert len(told) == len(set(told))

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("missing.pcap", "there is no such file"),
            ("missing-*.pcap", "no file has a name like this"),
            ("folder", "is a directory: name the captures in it"),
            ("empty.pcap", "is empty"),
            ("text.pcap", "not a capture: text"),
            ("short.pcap", "not a capture"),
            ("one.zst", "not a capture: it ends after 1 byte"),
            ("text.gz", "not a capture: text"),
            ("cut.gz", "the gzip data is cut"),
            ("socket", "is a socket"),
            ("zeros.pcap", "not a capture"),
        ],
    )
    def test_what_cannot_be_read(self, name: str, reason: str, tmp_path: Path, capsys: Output) -> None:
        (tmp_path / "folder").mkdir()
        (tmp_path / "empty.pcap").touch()
        (tmp_path / "text.pcap").write_text("tcpdump: no permission\n")
        (tmp_path / "one.zst").write_bytes(b"(")
        (tmp_path / "text.gz").write_bytes(gzip.compress(b"hello"))
        (tmp_path / "cut.gz").write_bytes(gzip.compress(b"hello")[:11])
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(tmp_path / "socket"))
        (tmp_path / "short.pcap").write_bytes(b"\xd4\xc3\xb2")
        (tmp_path / "zeros.pcap").write_bytes(bytes(1000))
        path = str(tmp_path / name)
        assert main(["report", path]) == 3
        shown = capsys.readouterr()
        assert shown.out == ""
        assert len(shown.err.splitlines()) == 1
        assert shown.err.startswith(f"pcapstall: {path}: ")
        assert reason in shown.err

    def test_one_unreadable_of_two(self, tmp_path: Path, capsys: Output) -> None:
        missing = str(tmp_path / "missing.pcap")
        assert main(["report", missing, LOST]) == 3
        shown = capsys.readouterr()
        assert shown.out.startswith("1 of 4 flows stalled")
        assert shown.err == f"pcapstall: {missing}: there is no such file\n"

    def test_no_name(self, capsys: Output) -> None:
        assert main(["report", ""]) == 2
        assert "empty" in capsys.readouterr().err

    def test_a_header_alone_is_a_capture_without_packets(self, tmp_path: Path, capsys: Output) -> None:
        path = tmp_path / "header.pcap"
        path.write_bytes(Path(LOST).read_bytes()[:24])
        assert report(capsys, str(path)).startswith("No TCP connection in what was read.\n")

    def test_a_link_type_that_nobody_reads_is_told(self, tmp_path: Path, capsys: Output) -> None:
        path = tmp_path / "user0.pcap"
        before = Path(LOST).read_bytes()
        path.write_bytes(before[:20] + (147).to_bytes(4, "little") + before[24:])
        text = report(capsys, str(path))
        assert text.startswith("No TCP connection in what was read.\n")
        assert "packets of link type USER0 are counted as other, for pcapstall does not read it" in text
        assert "`pcapstall verify` measures them if tshark does" in text
        assert len(data(capsys, str(path))["captures"][0]["warnings"]) == 1
        assert "link type" not in report(capsys, LOST)

    def test_a_cut_capture_is_read_to_the_cut_and_warned_of(self, tmp_path: Path, capsys: Output) -> None:
        path = tmp_path / "cut.pcap"
        path.write_bytes(Path(LOST).read_bytes()[:2000])
        text = report(capsys, str(path))
        assert "Warning: " in text
        assert "frame 8, offset 1935" in text
        found = data(capsys, str(path))["captures"][0]
        assert (found["packets"], len(found["warnings"])) == (7, 1)

    @pytest.mark.parametrize("name", ["\udcff.pcap", "new\nline.pcap", "\x1b[31mred.pcap", "ü €.pcap"])
    def test_file_names_hold_anything(self, name: str, tmp_path: Path, capsys: Output) -> None:
        path = tmp_path / name
        path.write_bytes(Path(REFUSED).read_bytes())
        assert len(report(capsys, str(path)).split("Read ")[1].splitlines()[0].split(": 4 packets")) == 2
        path.unlink()
        assert main(["report", str(path)]) == 3
        shown = capsys.readouterr()
        assert "\x1b" not in shown.err
        assert len(shown.err.splitlines()) == 1


class TestOutput:
    @pytest.mark.parametrize(
        ("name", "start"),
        [
            ("a.html", "<!DOCTYPE html>"),
            ("a.MD", "**1 of 4"),
            ("a.json", '{"schema": 1'),
            ("a.jsonl", '{"schema": 1'),
            ("a.csv", "id,"),
            ("a.txt", "1 of 4"),
            ("a", "1 of 4"),
        ],
    )
    def test_the_name_chooses_the_format(self, name: str, start: str, tmp_path: Path, capsys: Output) -> None:
        path = tmp_path / name
        report(capsys, LOST, "-o", str(path))
        assert path.read_text().startswith(start)
        report(capsys, LOST, "-o", str(path), "-f", "table")
        assert path.read_text().startswith("1 of 4")

    @pytest.mark.parametrize(
        "command", [("report",), ("summary",), ("timeline", "--flow", "1"), ("diff", LOST), ("verify",)]
    )
    @pytest.mark.parametrize("suffix", [".pdf", ".docx", ".XLSX", ".png"])
    def test_a_name_that_asks_for_what_there_is_not(
        self, command: tuple[str, ...], suffix: str, tmp_path: Path, capsys: Output
    ) -> None:
        path = tmp_path / f"a{suffix}"
        assert main([*command, LOST, "-o", str(path)]) == 2
        assert f"there is no format for {suffix.lower()}; there are .html, " in capsys.readouterr().err
        assert not path.exists()

    def test_a_table_in_a_file_of_any_name(self, tmp_path: Path, capsys: Output) -> None:
        for name, options in (("a.pdf", ["-f", "table"]), ("a.2026-11-30", [])):
            report(capsys, LOST, "-o", str(tmp_path / name), *options)
            assert (tmp_path / name).read_text().startswith("1 of 4")

    def test_to_a_file(self, tmp_path: Path, capsys: Output) -> None:
        path = tmp_path / "report.txt"
        on_screen = report(capsys, LOST)
        assert report(capsys, LOST, "-o", str(path)) == ""
        assert path.read_text() == on_screen

    def test_to_standard_output_by_its_name(self, capsys: Output) -> None:
        assert report(capsys, LOST, "-o", "-") == report(capsys, LOST)

    def test_over_what_was_there(self, tmp_path: Path, capsys: Output) -> None:
        path = tmp_path / "report.json"
        path.write_text("x" * 100_000)
        assert report(capsys, LOST, "-f", "json", "-o", str(path)) == ""
        assert len(json.loads(path.read_text())["flows"]) == 4

    @pytest.mark.parametrize("place", ["nosuch/report.txt", "file/report.txt", "."])
    def test_to_an_impossible_place_is_told_before_anything_is_read(
        self, place: str, tmp_path: Path, capsys: Output
    ) -> None:
        (tmp_path / "file").touch()
        assert main(["report", "nosuch.pcap", "-o", str(tmp_path / place)]) == 2
        assert "nosuch.pcap" not in capsys.readouterr().err

    def fail_late(self, monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
        """Rendering writes much, and then fails."""

        def broken(_report: Any, out: Any, *_: Any) -> None:
            out.write("half " * 100_000)
            raise error

        monkeypatch.setattr("pcapstall.report.to_table.render", broken)

    @pytest.mark.parametrize(
        ("error", "code", "said"),
        [
            (OSError(28, "No space left on device"), 2, "No space left on device\n"),
            (BrokenPipeError(32, "Broken pipe"), 2, "Broken pipe\n"),
            (KeyboardInterrupt(), 130, "nothing was written\n"),
        ],
    )
    @pytest.mark.parametrize("before", [None, "the report of yesterday"])
    def test_half_a_file_is_never_left(
        self, before: str | None, error: BaseException, code: int, said: str, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch, capsys: Output,
    ) -> None:  # fmt: skip
        path = tmp_path / "report.txt"
        if before is not None:
            path.write_text(before)
        self.fail_late(monkeypatch, error)
        assert main(["report", LOST, "-o", str(path)]) == code
        assert capsys.readouterr().err.endswith(f": {said}")
        assert [entry.name for entry in tmp_path.iterdir()] == ([] if before is None else ["report.txt"])
        assert before is None or path.read_text() == before

    def test_a_file_that_must_be_written_in_place_is_said_to_be_incomplete(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
    ) -> None:
        """It has another name, too: a new file would leave that one behind."""
        path = tmp_path / "report.txt"
        path.write_text("before")
        os.link(path, tmp_path / "other.txt")
        report(capsys, LOST, "-o", str(path))
        assert (tmp_path / "other.txt").read_text().startswith("1 of 4 flows")
        self.fail_late(monkeypatch, OSError(28, "No space left on device"))
        assert main(["report", LOST, "-o", str(path)]) == 2
        assert capsys.readouterr().err.endswith("No space left on device; what is there now is not complete\n")

    def test_a_link_and_the_permissions_of_a_file_stay(self, tmp_path: Path, capsys: Output) -> None:
        path = tmp_path / "report.txt"
        path.write_text("before")
        path.chmod(0o640)
        link = tmp_path / "link.txt"
        link.symlink_to(path)
        report(capsys, LOST, "-o", str(link))
        assert link.is_symlink()
        assert path.read_text().startswith("1 of 4 flows")
        assert path.stat().st_mode & 0o777 == 0o640

    def test_to_a_full_disk(self, capsys: Output) -> None:
        assert main(["report", LOST, "-o", "/dev/full"]) == 2
        assert capsys.readouterr().err == "pcapstall: -o /dev/full: No space left on device\n"

    @pytest.mark.parametrize("pattern", ["capture.pcap", "cap*.pcap", "link.pcap"])
    def test_not_over_a_capture(self, pattern: str, tmp_path: Path, capsys: Output) -> None:
        path = tmp_path / "capture.pcap"
        before = Path(LOST).read_bytes()
        path.write_bytes(before)
        (tmp_path / "link.pcap").symlink_to(path)
        assert main(["report", str(tmp_path / pattern), "-o", str(path)]) == 2
        assert "overwritten" in capsys.readouterr().err
        assert main(["summary", str(tmp_path / pattern), "-o", str(path)]) == 2
        assert main(["report", REFUSED, "--strace", f"a={path}", "-o", str(path)]) == 2
        assert "overwritten" in capsys.readouterr().err
        assert path.read_bytes() == before

    def test_nothing_is_written_when_nothing_was_read(self, tmp_path: Path) -> None:
        path = tmp_path / "report.txt"
        assert main(["report", str(tmp_path / "missing.pcap"), "-o", str(path)]) == 3
        assert not path.exists()


class TestLogs:
    STALLED = CAPTURES / "stalled-client-hello"

    def given(self, *sides: str) -> list[str]:
        return [
            word
            for side in sides
            for word in (
                "--log",
                f"{side}={self.STALLED / side}.log",
                "--strace",
                f"{side}={self.STALLED / side}.strace",
            )
        ]

    def test_lines_are_told_with_their_flow(self, capsys: Output) -> None:
        shown = report(capsys, str(self.STALLED / "capture.pcap"), "--log", f"in={self.STALLED / 'inbound.log'}")
        (line,) = [line for line in shown.splitlines() if "TLS detection timed out" in line]
        assert line.startswith("  - Log, 10.0 s after the SYN: INFO worker-2 inbound:accept{")
        assert line.endswith("[inbound.log:8]")
        assert "inbound.log (in): 12 lines, 12 about flows, it counts from 2026-11-30 07:24:01.9" in shown

    def test_lines_in_json(self, capsys: Output) -> None:
        made = data(capsys, str(self.STALLED / "capture.pcap"), *self.given("outbound", "inbound"))
        assert [(log["label"], log["lines"], log["unread"], log["clock_source"]) for log in made["logs"]] == [
            ("outbound", 46, 0, "strace"),
            ("inbound", 12, 0, "writes"),
        ]
        (flow,) = [flow for flow in made["flows"] if flow["client"].endswith(":34506")]
        places = [line["where"].rpartition("/")[2] for line in flow["logs"]]
        assert places == ["outbound.log:23", "inbound.log:8", "outbound.log:41", "outbound.log:42"]
        assert all(len(flow["logs"]) >= 4 for flow in made["flows"])
        first = flow["logs"][0]
        assert first["ns"] == "1796023451444303000"
        assert first["since_syn_ns"] == int(first["ns"]) - int(flow["events"]["syn"]["ns"])

    def test_what_has_no_stamp_is_counted_with_an_example(self, capsys: Output, tmp_path: Path) -> None:
        log = tmp_path / "a.log"
        log.write_text(f"banner {'x' * 99}\nversion 1\n2026-11-30T07:24:02Z a\n  more\n")
        shown = report(capsys, str(self.STALLED / "capture.pcap"), "--log", str(log))
        assert "a.log: 4 lines (2 without a stamp, the first is line 1: banner xxx" in shown
        (told,) = data(capsys, str(self.STALLED / "capture.pcap"), "--log", str(log))["logs"]
        assert (told["lines"], told["unread"], told["first_unread"]) == (4, 2, f"{log}:1")
        assert len(told["first_unread_text"]) == 60

    def test_without_logs_json_has_no_word_of_them(self, capsys: Output) -> None:
        made = data(capsys, str(self.STALLED / "capture.pcap"))
        assert "logs" not in made
        assert all("logs" not in flow for flow in made["flows"])

    def test_what_cannot_be_read_is_told(self, capsys: Output, tmp_path: Path) -> None:
        capture = str(self.STALLED / "capture.pcap")
        main(["report", capture, "--log", str(tmp_path / "none"), "--log", f"x={capture}", "--log", str(tmp_path)])
        shown = capsys.readouterr()
        assert [line.rpartition(": ")[2] for line in shown.err.splitlines()] == [
            "No such file or directory",
            "is a directory",
            "name it without --strace and --log",
        ]
        assert shown.out.startswith("1 of 11 flows stalled")

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            (["--log", "outbound.strace"], "is strace's output: give it as --strace, not as --log"),
            (["--strace", "outbound.log"], "a log is given as --log"),
            (["--strace", "capture.pcap"], "is a packet capture: name it without --strace and --log"),
            (["outbound.strace"], "not a capture: strace's output: give it as --strace"),
            (["outbound.log"], "give a log as --log"),
            (["inbound.log"], "give a log as --log"),
        ],
    )
    def test_what_was_given_for_another_thing_is_told(self, given: list[str], said: str, capsys: Output) -> None:
        words = [word if word.startswith("-") else str(self.STALLED / word) for word in given]
        assert main(["report", str(self.STALLED / "capture.pcap"), *words]) == 3
        shown = capsys.readouterr()
        (line,) = shown.err.splitlines()
        assert line.startswith(f"pcapstall: {words[-1]}: ")
        assert said in line
        assert shown.out.startswith("1 of 11 flows stalled")

    def test_the_output_is_not_one_of_them(self, capsys: Output, tmp_path: Path) -> None:
        log = tmp_path / "a.log"
        log.write_text("x\n")
        assert main(["report", LOST, "--log", f"a={log}", "-o", str(log)]) == 2
        assert log.read_text() == "x\n"


class TestBothEnds:
    """Captures of both ends given as if they were one."""

    @pytest.mark.parametrize("name", ["stalled-client-hello", "mtu-black-hole", "clock-set", "filtered-syn"])
    def test_they_are_for_compare(self, name: str, capsys: Output) -> None:
        folder = CAPTURES / name
        files = [str(folder / "capture.pcap"), str(folder / "capture_server.pcap")]
        (line,) = [line for line in report(capsys, *files).splitlines() if "show the same packets" in line]
        assert line.startswith(f"Warning: {files[0]} and {files[1]} show the same packets")
        assert line.endswith(f"pcapstall compare {files[0]} {files[1]}")
        (warning,) = data(capsys, *files)["warnings"]
        assert "show the same packets" in warning

    def test_of_many_files_the_two_are_found(self, capsys: Output) -> None:
        ends = [str(CAPTURES / "slow-server" / f"capture{end}.pcap") for end in ("", "_server")]
        assert f"compare {ends[0]} {ends[1]}" in report(capsys, *RING, *ends)

    def test_files_of_a_ring_are_not(self, capsys: Output) -> None:
        assert "compare" not in report(capsys, *RING)
        assert "compare" not in report(capsys, *RING[:2])
        assert "compare" not in report(capsys, LOST, REFUSED)
