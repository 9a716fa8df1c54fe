"""`pcapstall timeline` on real runs: the whole page, every format, what is asked for and what cannot be had."""

import csv
import io
import json
import os
import re
import signal
import struct
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pcapstall.capture.source import Stop
from pcapstall.cli import reading
from pcapstall.cli.main import main
from pcapstall.core.textfile import TextSource, TextStream
from pcapstall.flows.flow import Flow
from pcapstall.match.packet_moments import Packet
from pcapstall.pipeline.timeline import timeline as timeline_module
from pcapstall.report.render import PAGE_FORMATS

Golden = Callable[[str, str], None]
Output = pytest.CaptureFixture[str]
ROOT = Path(__file__).resolve().parents[2]
STALLED = ROOT / "captures" / "stalled-client-hello"
CAPTURE = str(STALLED / "capture.pcap")
FLOW = "10.40.39.45:34506"
LAB = ("c1_futex_lock", "h1_syn_lost", "n2_wrong_mask")


def given(*sides: str, folder: Path = STALLED, logs: bool = True) -> list[str]:
    words = []
    for side in sides:
        words += ["--strace", f"{side}={folder / side}.strace"]
        if logs:
            words += ["--log", f"{side}={folder / side}.log"]
    return words


BOTH = given("outbound", "inbound")


def timeline(capsys: Output, *arguments: str, code: int = 0) -> str:
    ended = main(["timeline", *arguments])
    shown = capsys.readouterr()
    assert ended == code, shown.err
    return shown.out


def rows(capsys: Output, *arguments: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(timeline(capsys, *arguments, "-f", "json"))["rows"]
    return found


def set_back(capture: bytes, seconds: int) -> bytes:
    """A little-endian pcap of which the second half of the records is stamped so much earlier."""
    starts, at = [], 24
    while at < len(capture):
        starts.append(at)
        at += 16 + struct.unpack_from("<I", capture, at + 8)[0]
    made = bytearray(capture)
    for start in starts[len(starts) // 2 :]:
        struct.pack_into("<I", made, start, struct.unpack_from("<I", capture, start)[0] - seconds)
    return bytes(made)


def pcap(steps: Sequence[tuple[bool, int, int, int, bytes]]) -> bytes:
    """Of one client and server, a millisecond apart: from the client, sequence, acknowledgment, flags, payload."""
    made = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for number, (from_client, seq, ack, flags, payload) in enumerate(steps, 1):
        ends = [(b"\x0a\0\0\1", 40000), (b"\x0a\0\0\2", 443)]
        (source, sport), (destination, dport) = ends if from_client else ends[::-1]
        tcp = struct.pack(">HHIIBBHHH", sport, dport, seq, ack, 0x50, flags, 64000, 0, 0) + payload
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), number, 0, 64, 6, 0) + source + destination + tcp
        made += struct.pack("<IIII", 1_700_000_000, number * 1000, len(ip), len(ip)) + ip
    return made


def place(found: list[dict[str, Any]], event: str, actor: str = "") -> int:
    """Where the first row of that kind is; it must be there."""
    numbers = [at for at, row in enumerate(found) if row["event"].startswith(event) and row["actor"].startswith(actor)]
    assert numbers, (event, actor, [(row["event"], row["actor"]) for row in found])
    return numbers[0]


class TestStory:
    def test_the_page(self, capsys: Output, golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(ROOT)
        words = [word.replace(f"{ROOT}/", "") for word in (CAPTURE, *BOTH)]
        golden("stalled.txt", timeline(capsys, *words, "--flow", FLOW))
        golden("stalled.md", timeline(capsys, *words, "--flow", FLOW, "-f", "markdown"))

    def test_it_fits_a_screen(self, capsys: Output) -> None:
        page = timeline(capsys, CAPTURE, *BOTH, "--flow", FLOW).splitlines()
        assert max(map(len, page)) <= 100
        assert sum(bool(re.match(r" *\d+\*? +\d\d:\d\d:\d\d\.\d{3} ", line)) for line in page) <= 30

    def test_a_call_on_another_connection_says_whose(self, capsys: Output) -> None:
        """haproxy passes a hello on: strace -yy prints both ends of the connection that it opens for it."""
        run = ROOT / "tests" / "diagnose" / "process" / "real" / "haproxy-queues"
        found = rows(capsys, f"{run}.pcap.gz", "--flow", "2", "--strace", f"srv={run}.strace.gz")
        (passed,) = [row for row in found if row["event"] == "sendto(11) = 517"]
        assert passed["remark"].startswith("127.0.0.1:8443: ")

    def test_the_story_is_told_in_its_order(self, capsys: Output) -> None:
        found = rows(capsys, CAPTURE, *BOTH, "--flow", FLOW)
        story = [
            ("futex", "outbound 12170"),
            ("connect 11: EINPROGRESS", "outbound 12166"),
            ("SYN", "outbound"),
            ("logs", "outbound.log"),
            ("epoll_ctl adds 11 to epoll set 5", "outbound 12166"),
            ("no wait on epoll set 5", "outbound"),
            ("SYN-ACK", "inbound"),
            ("ACK: connected", "outbound"),
            ("epoll_wait on epoll sets 3, 4, 6, 8 x 332", "outbound, 4 threads"),
            ("accept4 = 7", "inbound 12157"),
            ("logs", "inbound.log"),
            ("close 7", "inbound 12159"),
            ("FIN", "inbound"),
            ("recvfrom(9) = 26", "outbound 12171"),
            ("futex wakes 12170", "outbound 12171"),
            ("epoll_wait on epoll set 5 returns 11", "outbound 12170"),
            ("sendto, 517 bytes", "outbound 12170"),
            ("ClientHello", "outbound"),
            ("recvfrom: end of stream", "outbound 12170"),
            ("close 11", "outbound 12170"),
            ("RST", "inbound"),
        ]
        places = [place(found, *step) for step in story]
        assert places == sorted(places)
        unwaited = found[place(found, "no wait on epoll set 5")]
        assert unwaited["remark"] == "for 52.2 s"
        assert unwaited["evidence"]
        gave_up = found[place(found, "logs", "inbound.log")]
        assert gave_up["remark"].endswith("Connection closed error=TLS detection timed out")
        assert 10_004_000_000 < gave_up["since_syn_ns"] < found[place(found, "FIN", "inbound")]["since_syn_ns"]

    def test_the_verdict_rests_on_rows_that_are_there(self, capsys: Output) -> None:
        made = json.loads(timeline(capsys, CAPTURE, *BOTH, "--flow", FLOW, "-f", "json"))
        evidence = {line for fact in made["flow"]["evidence"] for line in fact["strace"]}
        marked = [row for row in made["rows"] if row["evidence"]]
        assert len(marked) >= 12
        folded = sum(row["count"] > 1 for row in marked)
        shown = {line for row in made["rows"] for line in row["lines"]}
        assert folded
        assert {line for line in evidence if line.endswith((":1525", ":2333", ":2341", ":2330"))} <= shown

    def test_a_shared_clock_keeps_its_order_and_others_say_so(self, capsys: Output) -> None:
        found = rows(capsys, CAPTURE, *BOTH, "--flow", FLOW)
        unsure = [(row["event"], row["actor"]) for row in found if row["unsure"]]
        assert unsure == [("close 11", "outbound 12170")]  # 16 us before its FIN; the clocks agree within 17

    @pytest.mark.parametrize("name", LAB)
    def test_runs_of_the_lab(
        self, name: str, lab: Path, capsys: Output, golden: Golden, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for file in (lab / name).iterdir():
            (tmp_path / file.name).symlink_to(file)
        monkeypatch.chdir(tmp_path)
        (capture,) = tmp_path.glob("capture.pcap*")
        words = [capture.name, *given("client", "server", folder=Path(), logs=False)]
        golden(f"lab.{name}.txt", timeline(capsys, *words, "--flow", "stalled"))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("60", "Times are since the SYN (2026-11-30 07:24:11.444089 UTC by the capture's clock), in ms."),
        ("100", "Times are UTC by the capture's clock; since the SYN (2026-11-30 07:24:11.444089 UTC), in ms."),
    ],
)
def test_the_time_of_day_is_explained_where_it_is_shown(
    columns: str, said: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    shown = timeline(capsys, CAPTURE, "--flow", "6")
    assert said in " ".join(shown.split())
    assert (" Time " in shown) == (columns == "100")


class TestWhatIsAskedFor:
    @pytest.mark.parametrize(
        "selector",
        ["6", "10.40.39.45:34506", "10.40.39.45:34506-10.40.42.129:8086", "10.40.42.129:8086 -> 10.40.39.45:34506",
         "stalled", "ack_ch > 50s and sni ~ 'influx'"],
    )  # fmt: skip
    def test_selectors(self, selector: str, capsys: Output) -> None:
        assert json.loads(timeline(capsys, CAPTURE, "--flow", selector, "-f", "json"))["flow"]["id"] == 6

    @pytest.mark.parametrize(
        ("selector", "said"),
        [
            ("7777", "--flow 7777: there is no such row; rows go from 1 to 11\n"),
            ("0", "there is no such row"),
            ("10.40.39.45", "11 flows are meant, name one by its row or its ports:\n  6: 10.40.39.45:34506 -> "),
            ("10.40.39.45-10.40.42.129", "11 flows are meant, name one by its row or its ports:\n"),
            ("10.40.39.4", "none of 11 flows is meant"),
            ("10.40.39.0/24", "a network is asked for by a filter: "),
            ("10.40.39.45:1", "none of 11 flows is meant"),
            ("10.40.42.129:8086", "11 flows are meant, name one by its row or its ports:\n  6: 10.40.39.45:34506 -> "),
            ("10.40.39.45:99999", "is not a port"),
            ("10.40.39.45:http", "is not a port; write "),
            ("ack_ch < 1s", "10 flows are meant, name one by its row:\n"),
            ("no column", "there is no column 'no'"),
            ("", "a condition is missing here"),
        ],
    )
    def test_what_means_no_flow_or_several(self, selector: str, said: str, capsys: Output) -> None:
        assert main(["timeline", CAPTURE, "--flow", selector]) == 2
        shown = capsys.readouterr()
        assert said in shown.err
        assert shown.out == ""

    def test_everything(self, capsys: Output) -> None:
        found = rows(capsys, CAPTURE, *BOTH, "--flow", FLOW, "--all")
        frames = [row["frames"][0] for row in found if row["source"] == "packet"]
        assert frames == [81, 82, 83, 98, 99, 148, 149, 150, 151]
        assert any(row["event"] == "bind" for row in found)
        assert any("Routes renewed" in row["remark"] for row in found)
        key = rows(capsys, CAPTURE, *BOTH, "--flow", FLOW)
        assert len(found) > 800 > len(key)
        assert [row["ns"] for row in found] == sorted((row["ns"] for row in found), key=int)

    @pytest.mark.parametrize("name", PAGE_FORMATS)
    def test_every_format(self, name: str, capsys: Output) -> None:
        page = timeline(capsys, CAPTURE, *BOTH, "--flow", FLOW, "-f", name)
        assert "accept4 = 7" in page
        assert "\x1b" not in page
        assert page.endswith("\n")

    def test_data_is_the_same_in_each(self, capsys: Output) -> None:
        found = rows(capsys, CAPTURE, *BOTH, "--flow", FLOW)
        lines = timeline(capsys, CAPTURE, *BOTH, "--flow", FLOW, "-f", "jsonl").splitlines()
        assert [json.loads(line) for line in lines[1:]] == found
        table = list(csv.DictReader(io.StringIO(timeline(capsys, CAPTURE, *BOTH, "--flow", FLOW, "-f", "csv"))))
        assert [row["ns"] for row in table] == [row["ns"] for row in found]
        assert list(table[0]) == list(found[0])

    def test_to_a_file(self, capsys: Output, tmp_path: Path) -> None:
        path = tmp_path / "a.md"
        assert timeline(capsys, CAPTURE, "--flow", FLOW, "-o", str(path)) == ""
        assert path.read_text().startswith("**Flow 6, ")

    @pytest.mark.parametrize("columns", [60, 80, 120, 200])
    def test_the_table_fits_its_terminal(self, columns: int, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
        from pcapstall.cli import terminal

        monkeypatch.setattr(terminal, "width_of", lambda _out: columns)
        page = timeline(capsys, CAPTURE, *BOTH, "--flow", FLOW).splitlines()
        table = page[page.index("") + 1 : page.index("", page.index("") + 1)]
        assert max(map(len, table)) <= columns
        assert ("Time" in table[0].split()) == (columns >= 90)

    def test_a_style_of_tabulate_fits_too(self, capsys: Output) -> None:
        page = timeline(capsys, CAPTURE, *BOTH, "--flow", FLOW, "-f", "table:grid").splitlines()
        assert max(len(line) for line in page if line.startswith(("|", "+"))) <= 100


class TestWhatThereIs:
    def test_packets_alone(self, capsys: Output) -> None:
        found = rows(capsys, CAPTURE, "--flow", FLOW)
        assert [(row["event"], row["actor"]) for row in found] == [
            ("SYN", "client"),
            ("SYN-ACK", "server"),
            ("ACK: connected", "client"),
            ("FIN", "server"),
            ("ClientHello", "client"),
            ("FIN", "client"),
            ("RST", "server"),
            ("RST again", "server"),
        ]

    def test_a_healthy_flow(self, capsys: Output) -> None:
        found = rows(capsys, CAPTURE, *BOTH, "--flow", "1")
        events = [row["event"] for row in found if row["source"] == "packet"]
        for event in ("SYN", "ClientHello", "client's Finished"):
            assert event in events
        assert timeline(capsys, CAPTURE, "--flow", "1").startswith(
            "Flow 1, 10.40.39.45:34482 -> 10.40.42.129:8086 (influxdb.metrics): no stall, established.\n"
        )

    def test_one_end_and_no_label(self, capsys: Output) -> None:
        found = rows(capsys, CAPTURE, "--strace", str(STALLED / "inbound.strace"), "--flow", FLOW)
        assert place(found, "accept4 = 7", "server 12157") < place(found, "close 7", "server 12159")

    def test_what_was_sent_again_is_one_row(self, capsys: Output) -> None:
        found = rows(capsys, str(ROOT / "captures" / "client-hello-lost" / "capture.pcap"), "--flow", "stalled")
        (again,) = [row for row in found if "again" in row["event"]]
        assert (again["event"], again["count"], again["actor"]) == ("517 bytes again x 4", 4, "client")
        assert len(again["frames"]) == 4

    def test_what_was_overtaken_on_its_way_was_sent_once(self, capsys: Output, tmp_path: Path) -> None:
        steps = [(True, 100, 0, 2, b""), (False, 900, 101, 18, b""), (True, 101, 901, 16, b"")]
        steps += [(False, seq, 101, 24, b"a" * 100) for seq in (901, 1101, 1001, 1201, 901)]
        steps += [(True, 101, 1301, 16, b"")]
        path = tmp_path / "a.pcap"
        path.write_bytes(pcap(steps))
        found = rows(capsys, str(path), "--flow", "1", "--all")
        assert [(row["event"], row["frames"]) for row in found if row["actor"] == "server"] == [
            ("SYN-ACK", [2]),
            ("first bytes", [4]),
            ("PSH ACK, 100 bytes", [5]),
            ("PSH ACK, 100 bytes", [6]),
            ("PSH ACK, 100 bytes", [7]),
            ("100 bytes again", [8]),
        ]

    def test_a_window_that_closes(self, capsys: Output) -> None:
        capture = str(ROOT / "captures" / "zero-window" / "capture.pcap")
        found = rows(capsys, capture, "--flow", "1")
        assert any(row["remark"].endswith("its window is closed") for row in found)

    def test_copies_of_a_packet_are_told_once(self, capsys: Output) -> None:
        capture = str(ROOT / "captures" / "any-interface-copies" / "capture.pcap")
        flows = json.loads(timeline(capsys, capture, "--flow", "1", "-f", "json"))
        assert sum(row["event"] == "SYN" for row in flows["rows"]) == 1
        assert not any("again" in row["event"] for row in flows["rows"])

    def test_a_pipe_cannot_be_read_again(self, capsys: Output, tmp_path: Path) -> None:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        writer = threading.Thread(target=lambda: fifo.write_bytes(Path(CAPTURE).read_bytes()))
        writer.start()
        made = json.loads(timeline(capsys, str(fifo), "--flow", FLOW, "-f", "json"))
        writer.join()
        assert [row["event"] for row in made["rows"]][:5] == ["SYN", "SYN-ACK", "ACK: connected", "FIN", "ClientHello"]
        assert made["notices"] == [
            "A pipe cannot be read again: of its packets only those of a slow handshake are known."
        ]

    def test_packets_behind_a_step_of_the_clock(self, capsys: Output, tmp_path: Path) -> None:
        """The clock is set back in the middle of the flow: its last packet is stamped before its first."""
        stepped = tmp_path / "stepped.pcap"
        stepped.write_bytes(set_back(Path(CAPTURE).read_bytes(), 3600))
        before, after = (
            {frame for row in rows(capsys, path, "--flow", FLOW, "--all") for frame in row["frames"]}
            for path in (CAPTURE, str(stepped))
        )
        assert after == before != set()

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_ctrl_c_ends_the_second_reading(self, number: int, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
        read = timeline_module.packets_of

        def interrupted(
            flows: Sequence[Flow], captures: Sequence[str], stop: Stop | None = None
        ) -> list[tuple[list[Packet], str]]:
            os.kill(os.getpid(), number)
            return read(flows, captures, stop)

        monkeypatch.setattr(timeline_module, "packets_of", interrupted)
        made = json.loads(timeline(capsys, CAPTURE, "--flow", FLOW, "-f", "json"))
        assert made["rows"] == []
        assert made["notices"] == [
            "Reading was stopped: of the flow's packets only those that were read by then are looked at."
        ]

    def test_ctrl_c_in_the_first_reading_leaves_the_second_alone(
        self, capsys: Output, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(name: str) -> None:
            if name == "finding the stalls":
                os.kill(os.getpid(), signal.SIGINT)

        expected = rows(capsys, CAPTURE, "--flow", FLOW)
        monkeypatch.setattr(reading, "stages", interrupted)
        assert rows(capsys, CAPTURE, "--flow", FLOW) == expected

    def test_a_line_without_a_time_is_told_below(self, capsys: Output, tmp_path: Path) -> None:
        log = tmp_path / "a.log"
        log.write_text("one 10.40.39.45:34506\ntwo 10.40.39.45:34506\n")
        page = timeline(capsys, CAPTURE, "--log", str(log), "--flow", FLOW)
        assert page.count("\n- ") == 2
        assert page.index("- one 10.40.39.45:34506 [a.log:1]") < page.index("- two")

    def test_a_strace_whose_clock_contradicts_itself_is_left_out(self, capsys: Output, tmp_path: Path) -> None:
        """Sockets of two flows, one of them moved by an hour."""
        text = (STALLED / "outbound.strace").read_text()
        moved = re.sub(r"17960235", "17960271", text)
        path = tmp_path / "moved.strace"
        path.write_text(moved)
        made = json.loads(timeline(capsys, CAPTURE, "--strace", str(path), "--flow", "1", "-f", "json"))
        assert any("cannot be placed" in notice for notice in made["notices"])
        assert all(row["source"] == "packet" for row in made["rows"])

    def test_what_cannot_be_read_is_told(self, capsys: Output, tmp_path: Path) -> None:
        assert main(["timeline", CAPTURE, str(tmp_path / "none.pcap"), "--flow", FLOW]) == 3
        assert "Flow 6, " in capsys.readouterr().out


@pytest.mark.parametrize("selector", [FLOW, "6", "stalled"])
def test_a_strace_is_read_twice_and_for_the_lines_of_the_evidence(
    selector: str, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    open_source = TextSource.open

    def counted(self: TextSource, *arguments: Any) -> TextStream:
        opened.append(self.path)
        return open_source(self, *arguments)

    monkeypatch.setattr(TextSource, "open", counted)
    page = timeline(capsys, CAPTURE, *given("outbound", logs=False), "--flow", selector)
    assert "no thread waited on that set" in page or "epoll" in page
    # The first time it is what tells that the file is a strace; for a filter, the verdicts of all flows are needed.
    assert opened.count(str(STALLED / "outbound.strace")) == (5 if selector == "stalled" else 4)
