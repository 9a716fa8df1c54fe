"""Small captures of some flows: what is in them, what they say, and what stands in their way."""

import io
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import dpkt
import pytest

from pcapstall.capture.captures import open_captures
from pcapstall.cli.main import main
from pcapstall.core.errors import UsageError
from pcapstall.extract.pcap_file import PcapFile
from pcapstall.extract.pcapng_file import Described, PcapngFile
from pcapstall.extract.records import FrameSet, Records, records
from pcapstall.flows.flow import Flow
from pcapstall.pipeline import Analysis, Options, analyse
from pcapstall.pipeline.extract import passes
from pcapstall.pipeline.extract.check import differences
from pcapstall.pipeline.findings import Findings
from pcapstall.report.flow_model import FlowReport

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
STALLED = CAPTURES / "stalled-client-hello" / "capture.pcap"
ALL = sorted(path for path in CAPTURES.glob("*/*.pcap*") if path.suffix in (".pcap", ".pcapng"))

REST_ON_MORE = {
    "happy-eyeballs/capture.pcap": "rests on other flows",
    "mtu-black-hole/capture.pcap": "measured to the end of the capture",
    "mtu-black-hole/capture_server.pcap": "measured to the end of the capture",
    "unanswered-requests/capture.pcap": "measured to the end of the capture",
    "unanswered-requests/capture_server.pcap": "measured to the end of the capture",
}
"""Captures in which a flow is judged by more than its own packets, and what is said of that."""

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
Record = tuple[int, bytes, int, int]


def content(path: Path | str) -> list[Record]:
    cursor = open_captures([str(path)])
    found = [(int(r.ts_ns), passes.data_of(r), int(r.origlen), int(r.linktype)) for r in records(cursor)]
    assert cursor.failed == []
    assert cursor.warnings == []
    return found


def flows(path: Path, use: Callable[[Analysis], None]) -> None:
    analyse([str(path)], Options(all_flows=True), before_closing=use)


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("path", ALL, ids=name)
def test_an_extract_says_what_the_capture_says(path: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.pcapng"
    whole = content(path)

    def one_by_one(analysis: Analysis) -> None:
        rows = list(analysis.report.flows)
        wanted = [row for row in rows if row.stalled or row.failed][:3] + rows[:1]
        for row in wanted:
            picked = passes.pick(analysis, [row], [str(path)], None)
            with open(small, "wb") as out:
                written = passes.write(out, "pcapng", picked, [str(path)], {}, [])
            expected = [whole[(ref & 0xFFFFFFFF) - 1] for ref in picked.frames]
            assert content(small) == expected
            assert written.packets >= row.counts.packets
            said: list[str] = []
            flows(small, lambda alone, row=row, said=said: said.extend(differences([row], alone.report.flows)))  # type: ignore[misc]
            if said:
                assert REST_ON_MORE.get(name(path), "?") in said[0]

    flows(path, one_by_one)


@pytest.mark.parametrize("wanted", ["pcap", "pcapng"])
def test_another_reader_sees_the_same_packets(wanted: str, tmp_path: Path) -> None:
    small = tmp_path / f"small.{wanted}"
    assert main(["extract", str(STALLED), "--flow", "6", "-o", str(small)]) == 0
    reader = {"pcap": dpkt.pcap.Reader, "pcapng": dpkt.pcapng.Reader}[wanted]
    with open(small, "rb") as file, open(STALLED, "rb") as whole:
        ours = list(reader(file))
        theirs = [packet for number, packet in enumerate(dpkt.pcap.Reader(whole), 1) if number in FRAMES_OF_6]
    assert [(round(float(ts), 6), data) for ts, data in ours] == [(round(float(ts), 6), data) for ts, data in theirs]


FRAMES_OF_6 = (81, 82, 83, 98, 99, 148, 149, 150, 151)


def test_the_verdict_goes_with_the_packets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = tmp_path / "small.pcapng"
    assert main(["extract", str(STALLED), "--flow", "10.40.39.45:34506", "-o", str(small)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{small}: 1 flow, 9 of 167 packets"
    assert lines[1].startswith("Flow 6: 10.40.39.45:34506 sent its ClientHello to 10.40.42.129:8086 52.2 s after")
    assert len(lines) == 2
    comments = comments_in(small)
    assert comments[0].startswith(
        "frame 81 of capture.pcap\nflow 6, 10.40.39.45:34506 -> 10.40.42.129:8086: the client was"
    )
    assert [text.split("\n")[0] for text in comments] == [f"frame {n} of capture.pcap" for n in (81, 82, 83, 98, 148)]
    assert "The server sent a FIN after 10.0 s." in comments[3]


def test_the_folders_of_a_capture_are_not_told(tmp_path: Path) -> None:
    folder = tmp_path / "zqcustomer"
    folder.mkdir()
    (folder / "one.pcap").write_bytes(STALLED.read_bytes())
    small = tmp_path / "small.pcapng"
    assert main(["extract", str(folder / "one.pcap"), "--flow", "6", "-o", str(small)]) == 0
    data = small.read_bytes()
    assert b"1 flow of one.pcap" in data
    assert b"frame 81 of one.pcap" in data
    assert b"zqcustomer" not in data


def comments_in(path: Path) -> list[str]:
    cursor = open_captures([str(path)])
    for _ in records(cursor):
        pass
    return [comment.text for comment in cursor.infos()[0].packet_comments]


def test_several_flows_and_filters(tmp_path: Path) -> None:
    small = tmp_path / "small.pcap"
    assert main(["extract", str(STALLED), "--flow", "1", "--flow", "ack_ch > 10s", "-o", str(small)]) == 0
    made: list[str] = []
    flows(small, lambda analysis: made.extend(row.client for row in analysis.report.flows))
    assert len(made) == 2
    assert "10.40.39.45:34506" in made


@needs_tshark
def test_a_lookup_that_is_cited_comes_along(tmp_path: Path) -> None:
    small = tmp_path / "small.pcapng"
    capture = CAPTURES / "client-waits-for-dns" / "capture.pcap"
    assert main(["extract", str(capture), "--flow", "stalled = ack_ch", "-o", str(small)]) == 0
    shown = subprocess.run(
        ["tshark", "-n", "-r", str(small), "-Y", "dns", "-T", "fields", "-e", "dns.id"], capture_output=True, check=True
    )
    assert len(shown.stdout.split()) == 2


@pytest.fixture
def ring() -> list[str]:
    return sorted(str(path) for path in (CAPTURES / "ring").glob("rotated-*.pcap"))


def test_files_of_a_ring_are_one_capture(ring: list[str], tmp_path: Path) -> None:
    small = tmp_path / "small.pcapng"
    assert main(["extract", *ring, "--flow", "1", "--flow", "2", "--flow", "3", "-o", str(small)]) == 0
    cursor = open_captures([str(small)])
    seen = {int(record.interface) for record in records(cursor)}
    assert seen == {0}


def test_a_pipe_is_kept_and_standard_output_is_a_capture(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pcapstall", "extract", "-", "--flow", "6", "-o", "-"]
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    ended = subprocess.run(
        command,
        input=STALLED.read_bytes(),
        capture_output=True,
        check=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert ended.stderr.decode().startswith("pcapstall: -: 1 flow, 9 of 167 packets\n")
    assert list(temporary.iterdir()) == []
    (tmp_path / "out.pcapng").write_bytes(ended.stdout)
    assert len(content(tmp_path / "out.pcapng")) == 9
    assert comments_in(tmp_path / "out.pcapng")[0].startswith("frame 81 of -\n")


def test_a_reader_that_has_had_enough_is_no_error() -> None:
    command = [sys.executable, "-m", "pcapstall", "extract", str(STALLED), "--flow", "6", "-o", "-"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(30) == 0


def test_the_worst_flow_is_told_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extract", str(STALLED), "--flow", "syn_retries >= 0", "-o", str(tmp_path / "a.pcapng")]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("Flow 6: ")


def test_an_endless_pipe_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pcapstall.capture.source import Stop
    from pcapstall.pipeline.extract import spool

    monkeypatch.setattr(spool, "SPOOL_MAX", 1000)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = subprocess.Popen([sys.executable, "-c", f"open({str(fifo)!r}, 'wb').write(bytes(5000))"])
    with pytest.raises(UsageError, match="gives more than"), spool.as_files([str(fifo)], Stop()):
        pass
    writer.wait(10)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--flow", "99", "-o", "x.pcap"], "--flow 99: there is no such row; rows go from 1 to 11"),
        (["--flow", "6", "--flow", "sni ~ 'nobody'", "-o", "x.pcap"], "none of 11 flows is meant"),
        (["--flow", "6", "-o", str(STALLED)], "that is an input, it would be overwritten"),
        (["--flow", "6", "-o", "nowhere/x.pcap"], "there is no folder nowhere"),
        (["--flow", "6"], "Missing option '-o'"),
        (["--flow", "6 7", "-o", "x.pcap"], "--flow"),
    ],
)
def test_what_cannot_be_done_is_said(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = STALLED.read_bytes()
    assert main(["extract", str(STALLED), *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err or "6 7" in arguments
    assert list(tmp_path.iterdir()) == []
    assert STALLED.read_bytes() == before


def ng(*interfaces: Described) -> tuple[io.BytesIO, PcapngFile]:
    out = io.BytesIO()
    file = PcapngFile(out, "test", [])
    for described in interfaces:
        file.interface(described)
    return out, file


@pytest.fixture
def two_linktypes(tmp_path: Path) -> Path:
    """One connection, each direction on an interface of its own: Ethernet and raw IP."""
    out, file = ng(Described(1, 0, "eth0", "uplink", "tcp"), Described(101, 1, "tun0", snaplen=96, comments=("vpn",)))
    for number, packet in enumerate(content(CAPTURES / "refused" / "capture.pcap")[:2]):
        data = packet[1][14 * number :]
        file.write(number, packet[0] + 7, data, len(data), [(1, b"pod %d" % number), (2, struct.pack("<I", 1))])
    file.statistics(1, 10, 3)
    path = tmp_path / "two.pcapng"
    path.write_bytes(out.getvalue())
    return path


def test_interfaces_and_comments_are_kept(two_linktypes: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.pcapng"
    assert main(["extract", str(two_linktypes), "--flow", "1", "-o", str(small)]) == 0
    assert content(small) == content(two_linktypes)
    cursor = open_captures([str(small)])
    assert all(record.options_ref == record.ref for record in records(cursor))
    info = cursor.infos()[0]
    assert [
        (i.name, i.description, i.filter, i.snaplen, i.dropped, i.received, i.comments) for i in info.interfaces
    ] == [
        ("eth0", "uplink", "tcp", 0, None, None, ()),
        ("tun0", "", "", 96, 3, 10, ("vpn",)),
    ]
    assert {"pod 0", "pod 1"} <= {comment.text for comment in info.packet_comments}


def test_a_pcap_cannot_hold_two_link_types(
    two_linktypes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "small.pcap"
    small.write_text("before")
    assert main(["extract", str(two_linktypes), "--flow", "1", "-o", str(small)]) == 2
    assert "one link type and the flows have EN10MB and RAW: write a .pcapng" in capsys.readouterr().err
    assert small.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.pcap", "two.pcapng"]


@needs_tshark
def test_big_endian_options_are_read(tmp_path: Path, two_linktypes: Path) -> None:
    data = swapped(two_linktypes.read_bytes())
    big = tmp_path / "big.pcapng"
    big.write_bytes(data)
    small = tmp_path / "small.pcapng"
    assert main(["extract", str(big), "--flow", "1", "-o", str(small)]) == 0
    shown = subprocess.run(
        [
            "tshark",
            "-r",
            str(small),
            "-T",
            "fields",
            "-e",
            "frame.interface_name",
            "-e",
            "frame.packet_flags_direction",
        ],
        capture_output=True,
        check=True,
        text=True,
    )
    assert shown.stdout.split() == ["eth0", "0x00000001", "tun0", "0x00000001"]


def swapped(data: bytes) -> bytes:
    """The blocks that `ng` writes, in the other byte order."""
    shapes = {0x0A0D0D0A: "IHHq", 1: "HHI", 6: "IIIII", 5: "III"}
    at, parts = 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        shape = shapes[kind]
        size = struct.calcsize("<" + shape)
        values = struct.unpack_from("<" + shape, data, at + 8)
        body, rest = struct.pack(">" + shape, *values), data[at + 8 + size : at + length - 4]
        if kind == 6:
            kept = (values[3] + 3) & ~3
            body, rest = body + rest[:kept], rest[kept:]
        parts.append(
            struct.pack(">II", kind, length)
            + body
            + b"".join(swapped_options(rest, kind in (5, 6)))
            + struct.pack(">I", length)
        )
        at += length
    return b"".join(parts)


def swapped_options(data: bytes, numbers: bool) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        code, size = struct.unpack_from("<HH", data, at)
        value = data[at + 4 : at + 4 + ((size + 3) & ~3)]
        yield struct.pack(">HH", code, size) + (value[::-1] if numbers and code in (2, 4, 5) else value)
        at += 4 + len(value)


def test_nanoseconds_are_kept_in_a_pcap(tmp_path: Path) -> None:
    small = tmp_path / "small.pcap"
    (capture,) = (CAPTURES / "nanoseconds").glob("capture.pcap*")
    assert main(["extract", str(capture), "--flow", "1", "-o", str(small)]) == 0
    stamps = [record[0] for record in content(small)]
    assert any(ns % 1000 for ns in stamps)
    assert set(stamps) <= {record[0] for record in content(capture)}


@pytest.mark.parametrize("ts_ns", [-1, 1 << 62])
def test_a_pcap_cannot_hold_every_time(ts_ns: int) -> None:
    with pytest.raises(UsageError, match="no time before 1970 or after 2106"):
        PcapFile(io.BytesIO(), True).write(ts_ns, b"x", 1, 1)


def test_a_pcapng_holds_a_time_before_1970(tmp_path: Path) -> None:
    out, file = ng(Described(1, 0))
    file.write(0, -5_000_000_001, b"x" * 20, 20)
    (tmp_path / "old.pcapng").write_bytes(out.getvalue())
    cursor = open_captures([str(tmp_path / "old.pcapng")])
    assert [int(record.ts_ns) for record in records(cursor)] == [-5_000_000_001]


def test_a_set_of_frames() -> None:
    refs = [1, 7, 8, 100_000, (3 << 40) | 5]
    found = FrameSet([*refs, 7])
    assert list(found) == refs
    assert len(found) == 5
    assert all(ref in found for ref in refs)
    assert not any(ref in found for ref in (0, 2, 99_999, 200_000, (1 << 40) | 1, (3 << 40) | 4))


def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    capture = tmp_path / os.fsdecode(b"\xff.pcap")
    capture.write_bytes((CAPTURES / "stalled-client-hello" / "capture.pcap").read_bytes())
    assert main(["extract", str(capture), "--flow", "6", "-o", str(tmp_path / "out.pcapng")]) == 0
    assert b"\\udcff.pcap" in (tmp_path / "out.pcapng").read_bytes()
    for suffix in ("svg", "html", "png"):
        assert main(["plot", str(capture), "-o", str(tmp_path / f"out.{suffix}")]) == 0


def test_what_only_the_extract_calls_open_is_told() -> None:
    made: list[FlowReport] = []
    analyse([str(STALLED)], Options(all_flows=True), before_closing=lambda a: made.extend(a.report.flows))
    row = made[0]._replace(open_ns={})
    (said,) = differences([row], [row._replace(open_ns={"ack_ch": 7})])
    assert "another span for what has not ended (ack_ch)" in said


def test_a_pipe_that_is_stopped_before_anything_came_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    before = signal.getsignal(signal.SIGINT)

    def interrupt() -> None:
        while signal.getsignal(signal.SIGINT) is before:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    assert main(["extract", str(fifo), "--flow", "1", "-o", str(tmp_path / "q.pcapng")]) == 130
    thread.join()
    assert f"pcapstall: {fifo}: is empty" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [fifo]


def test_a_set_of_frames_that_grows_while_it_is_asked() -> None:
    found = FrameSet([9])
    assert found.has(9)
    assert not found.has(10)
    found.add(10)
    assert found.has(10)
    assert len(found) == 2


def test_files_that_take_turns_copy_nothing() -> None:
    """Captures that overlap in time change the file at every record; each file's bits are frozen once."""
    other = 3 << 40
    found = FrameSet([8, other | 9])
    frozen = [found._kept_of(index) for index in (0, 3)]
    for _ in range(3):
        assert found.has(8)
        assert found._latest is frozen[0]
        assert found.has(other | 9)
        assert found._latest is frozen[1]
    found.add(other | 10)
    found.add(8)  # was there
    assert found.has(other | 10)
    assert found.has(8)
    assert found._latest is frozen[0]
    found.add((5 << 40) | 1)
    refs = (8, 10, other | 9, other | 10, (4 << 40) | 1, (5 << 40) | 1)
    assert [ref for ref in refs if found.has(ref)] == list(found)


def test_only_the_records_of_a_set_are_stopped_at() -> None:
    path = CAPTURES / "stalled-client-hello" / "capture.pcap"
    wanted = Records(open_captures([str(path)]), FrameSet([3, 5, 167]))
    found = []
    while (record := wanted.next()) is not None:
        found.append((int(record.ref), int(wanted.number)))
    assert found == [(3, 3), (5, 5), (167, 167)]
    assert wanted.next() is None


@pytest.mark.parametrize("selector", ["6", "10.40.39.45:34506", "10.40.42.129:8086-10.40.39.45:34506"])
def test_no_row_is_made_of_flows_that_are_not_chosen(selector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    row_of = Findings.row_of

    def note(self: Findings, flow: Flow, t0_ns: int) -> FlowReport:
        made.append(int(flow.id))
        return row_of(self, flow, t0_ns)

    monkeypatch.setattr(Findings, "row_of", note)
    path = str(CAPTURES / "stalled-client-hello" / "capture.pcap")
    analyse([path], Options(all_flows=True), before_closing=lambda a: passes.choose(a, [selector]))
    assert made == [6]
