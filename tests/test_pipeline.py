"""From paths to a report: counts that add up, captures as one, the end of reading."""

import gc
import io
import os
import struct
import sys
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pcapstall.capture.captures import Captures
from pcapstall.capture.source import Stop
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.outcome import Outcome
from pcapstall.diagnose.thresholds import NAMES, STALL_NAMES, make_thresholds
from pcapstall.flows.flow import Flow
from pcapstall.pipeline import Analysis, Options, analyse
from pcapstall.pipeline import follow as module
from pcapstall.pipeline.ends.given import GivenFile
from pcapstall.pipeline.scan.collect import Collector
from pcapstall.pipeline.scan.tally import LengthTally
from pcapstall.report import prose
from pcapstall.report.options import RenderOptions
from pcapstall.report.render import render
from pcapstall.report.thresholds import parse_thresholds

SCRIPTS = Path(__file__).parent.parent / "scripts"
SECOND = 1_000_000_000
ETHERNET = b"\0" * 12 + b"\x08\x00"


def tcp_packet(from_client: bool, seq: int, ack: int, flags: int, payload: bytes = b"", port: int = 40000) -> bytes:
    """An Ethernet frame."""
    source, destination = (b"\x0a\0\0\1", b"\x0a\0\0\2") if from_client else (b"\x0a\0\0\2", b"\x0a\0\0\1")
    ports = (port, 443) if from_client else (443, port)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq, ack, 0x50, flags, 64240, 0, 0) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0) + source + destination
    return ETHERNET + ip + tcp


def handshake(at_ns: int, port: int = 40000) -> list[tuple[int, bytes]]:
    return [
        (at_ns, tcp_packet(True, 1000, 0, 0x02, port=port)),
        (at_ns + 10_000_000, tcp_packet(False, 9000, 1001, 0x12, port=port)),
        (at_ns + 10_020_000, tcp_packet(True, 1001, 9001, 0x10, port=port)),
    ]


def write(path: Path, packets: list[tuple[int, bytes]]) -> str:
    records = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1)]
    for ns, packet in packets:
        records.append(struct.pack("<IIII", ns // SECOND, ns % SECOND, len(packet), len(packet)) + packet)
    path.write_bytes(b"".join(records))
    return str(path)


def test_counts_add_up(tmp_path: Path) -> None:
    packets = [
        *handshake(SECOND),
        (3 * SECOND, ETHERNET[:12] + b"\x08\x06" + b"\0" * 28),
        (4 * SECOND, ETHERNET + b"\x45\0"),
    ]
    report = analyse([write(tmp_path / "a.pcap", packets)], Options(all_flows=True)).report
    (capture,) = report.captures
    assert (capture.packets, capture.tcp_packets, capture.other_packets) == (5, 3, 1)
    assert sum(capture.malformed.values()) == 1
    assert capture.trust == "trustworthy"
    assert report.totals.flows == 1
    assert report.totals.capture_points == {"client": 1}
    assert [flow.capture_point for flow in report.flows] == ["client"]


def test_rows_can_be_read_twice(tmp_path: Path) -> None:
    report = analyse([write(tmp_path / "a.pcap", handshake(SECOND))], Options(all_flows=True)).report
    assert list(report.flows) == list(report.flows)
    assert len(list(report.flows)) == 1


def test_a_silent_client_is_shown_and_a_healthy_flow_is_counted(tmp_path: Path) -> None:
    closing = [
        (2 * SECOND, tcp_packet(True, 1001, 9001, 0x11, port=40001)),
        (2 * SECOND + 1, tcp_packet(False, 9001, 1002, 0x11, port=40001)),
    ]
    packets = [*handshake(SECOND), *handshake(SECOND + 5, 40001), *closing, (9 * SECOND, ETHERNET + b"\0")]
    report, tally, *_ = analyse([write(tmp_path / "a.pcap", sorted(packets))])
    (flow,) = report.flows
    assert (flow.stalled, flow.open_ns["ack_ch"]) == ("ack_ch", 8 * SECOND - 10_020_000)
    assert flow.flags == ["near_capture_end"]
    assert report.healthy.tls_outcomes == {"probe": 1}
    assert (report.totals.flows, report.totals.stalled) == (2, 1)
    assert tally.flows == 2
    assert tally.lengths("ack_ch", with_open=True).longest() == 8 * SECOND - 10_020_000


def test_files_of_a_ring_are_one_capture_in_any_order(tmp_path: Path) -> None:
    packets = handshake(SECOND)
    late = [(20 * SECOND, tcp_packet(False, 9001, 1001, 0x11))]
    first = write(tmp_path / "ring0", packets)
    second = write(tmp_path / "ring1", late)
    rows = [list(analyse(paths).report.flows) for paths in ([first, second], [second, first])]
    assert rows[0] == rows[1]
    (flow,) = rows[0]
    assert flow.open_ns == {"ack_ch": 19 * SECOND - 10_020_000}
    close = flow.events["server_fin"]
    assert close is not None
    assert (close.file, close.frame) == (1, 1)


def test_nobody_watched_between_two_captures(tmp_path: Path) -> None:
    """An hour lies between the files: the flow that is open at the end of the first was not silent for an hour."""
    first = write(tmp_path / "a.pcap", [*handshake(SECOND), (5 * SECOND, ETHERNET + b"\0")])
    second = write(tmp_path / "b.pcap", handshake(3600 * SECOND, 40001))
    flow = next(iter(analyse([first, second], Options(all_flows=True)).report.flows))
    assert flow.open_ns == {"ack_ch": 4 * SECOND - 10_020_000}


def test_a_clock_that_jumps_is_no_silence(tmp_path: Path) -> None:
    packets = [*handshake(SECOND), *handshake(1_400_000_000 * SECOND, 40001)]
    report = analyse([write(tmp_path / "a.pcap", packets)], Options(all_flows=True)).report
    assert [flow.stalled for flow in report.flows] == [None, None]
    assert report.captures[0].trust == "clock_steps"


def test_unreadable_files_are_told_and_the_others_read(tmp_path: Path) -> None:
    good = write(tmp_path / "a.pcap", handshake(SECOND))
    report, _, unreadable, *_ = analyse([good, str(tmp_path / "missing.pcap")])
    assert [error.path for error in unreadable] == [str(tmp_path / "missing.pcap")]
    assert [capture.file for capture in report.captures] == [good]


def test_a_stop_reports_what_was_read(tmp_path: Path) -> None:
    stop = Stop()
    stop.throw()
    report = analyse([write(tmp_path / "a.pcap", handshake(SECOND))], stop=stop).report
    assert report.totals.flows <= 1


def test_malformed_reasons_of_two_files_stay_apart(tmp_path: Path) -> None:
    first = write(tmp_path / "a.pcap", [(SECOND, ETHERNET + b"\x45\0")])
    second = write(tmp_path / "b.pcap", handshake(2 * SECOND))
    report = analyse([first, second]).report
    assert [sum(capture.malformed.values()) for capture in report.captures] == [1, 0]
    assert [capture.tcp_packets for capture in report.captures] == [0, 3]


@pytest.mark.parametrize("name", ["zeek--hrr.pcap", "ndpi--webex.pcap", "pcapplusplus--pcapng-example.pcapng.zst"])
def test_totals_of_real_captures_add_up(corpus: Path, name: str) -> None:
    everything, all_lengths, *_ = analyse([str(corpus / name)], Options(all_flows=True))
    some, some_lengths, *_ = analyse([str(corpus / name)])
    rows = list(everything.flows)
    for capture in everything.captures:
        assert capture.packets == capture.tcp_packets + capture.other_packets + sum(capture.malformed.values())
    assert everything.totals == some.totals
    assert everything.totals.flows == len(rows) == some.healthy.flows + len(list(some.flows))
    assert everything.totals.stalled == sum(row.stalled is not None for row in rows)
    assert everything.totals.failed == sum(row.failed for row in rows)
    for interval in ("syn_synack", "ack_ch", "ch_sh"):
        kept = [row for row in rows if (row.stalled, row.cause) != (interval, "capture")]
        lengths = sorted(ns for row in kept if (ns := row.intervals_ns[interval]) is not None)
        for tally in (all_lengths, some_lengths):
            assert sorted(tally.lengths(interval).values()) == lengths


def flood(tries: int, ports: int, apart_ns: int) -> list[tuple[int, bytes]]:
    """SYNs from ever other ports, each sent ``tries`` times, a second apart."""
    return sorted(
        (SECOND + port * apart_ns + again * SECOND, tcp_packet(True, 1000, 0, 0x02, port=port + 1))
        for port in range(ports)
        for again in range(tries)
    )


def text(analysis: Analysis) -> str:
    out = io.StringIO()
    render(analysis.report, out, "table", RenderOptions(width=None, color=False))
    return out.getvalue()


def test_a_flood_of_syns_is_counted_and_not_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pcap", flood(1, 30_000, 1000) + handshake(40 * SECOND, 50_000))
    live: list[int] = []

    def progress(captures: Captures) -> None:
        live.append(sum(isinstance(kept, Flow) for kept in gc.get_objects()))

    analysis = analyse([path], Options(max_flows=500), progress=progress)
    assert max(live) - min(live) < 600
    assert len(live) > 5
    assert (analysis.report.totals.flows, analysis.report.totals.failed) == (30_001, 0)
    assert sum(analysis.report.totals.capture_points.values()) == 30_001
    closed = int(analysis.report.warnings[0].split()[0])
    assert analysis.report.warnings == [f"{closed} flows were closed early to stay within --max-flows 500"]
    assert 29_000 < closed < 30_001
    assert f"Warning: {analysis.report.warnings[0]}\n" in text(analysis)


def test_flows_that_ended_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While packets are read no garbage is looked for: a cycle that nobody breaks would stay until the end."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import bench_traffic

    mix = bench_traffic.Mix(30_000, 3000, live=10, chain_len=(500, 800), clients=bench_traffic._COMPACT)
    assert bench_traffic.write(mix, tmp_path / "a.pcap") == 30_000
    live: list[Counter[str]] = []

    def progress(captures: Captures) -> None:
        kept = (type(thing) for thing in gc.get_objects())
        # str(): of classes that other tests have made it may be a descriptor.
        ours = (kind for kind in kept if str(kind.__module__).startswith(("pcapstall.flows", "pcapstall.wire")))
        live.append(Counter(kind.__name__ for kind in ours))
        if not gc.is_tracked(flow):
            sizes = Counter(trace.size for trace in tracemalloc.take_snapshot().traces)
            live[-1].update(Flow=sizes[sys.getsizeof(flow)], HalfFlow=sizes[sys.getsizeof(flow.opener)])

    flow = Flow(b"", 0, 0, 0)
    gc.collect()
    tracemalloc.start()
    analysis = analyse([str(tmp_path / "a.pcap")], progress=progress)
    tracemalloc.stop()
    assert analysis.report.totals.flows == 3000
    assert len(live) == 8
    live = [counts - live[0] for counts in live]  # without what other tests have left
    assert 0 < live[-1]["Flow"] < 800  # those of the fullest moment, which are written on again
    for name in live[-1]:
        assert live[-1][name] < 1.5 * live[3][name] + 100, name


def test_too_many_failed_flows_are_counted_and_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def small(*arguments: object) -> Collector:
        collector = Collector(*arguments)  # type: ignore[arg-type]
        collector.rows_max = 100
        return collector

    monkeypatch.setattr(module, "Collector", small)
    path = write(tmp_path / "a.pcap", flood(4, 1000, 1000))
    analysis = analyse([path], Options())
    totals = analysis.report.totals
    assert (totals.flows, totals.failed, totals.stalled) == (1000, 1000, 1000)
    assert len(list(analysis.report.flows)) == 100
    assert analysis.report.healthy.flows == 0
    assert analysis.report.warnings == ["900 more flows are counted but not shown: there are too many"]
    assert text(analysis).startswith("1000 of 1000 flows stalled")


def test_flows_that_logs_may_be_about_are_counted_and_let_go(tmp_path: Path) -> None:
    """A log changes nothing in what is kept, shown and said of flows; lines are found of those that were let go."""
    log = tmp_path / "a.log"
    log.write_text("1970-01-01T00:00:41Z of 10.0.0.1:50000\n1970-01-01T00:00:01Z of 10.0.0.1:400\n")
    path = write(tmp_path / "a.pcap", flood(1, 10_000, 1000) + handshake(40 * SECOND, 50_000))
    without, made = (analyse([path], Options(max_flows=500, logs=logs)) for logs in ([], [GivenFile(str(log), None)]))
    told, silent = made.report, without.report
    assert (told.warnings, told.healthy, told.totals) == (silent.warnings, silent.healthy, silent.totals)
    assert len(made.findings._candidates) == len(without.findings._candidates) < 600
    assert [flow.id for flow in told.flows] == [flow.id for flow in silent.flows]
    assert told.logs[0].about_flows == 2


def test_within_bounds_nothing_is_said(tmp_path: Path) -> None:
    assert analyse([write(tmp_path / "a.pcap", handshake(SECOND))], Options()).report.warnings == []


@pytest.mark.parametrize("wrong", [-(10**18), 3 * 10**17])
def test_one_wrong_stamp_ends_no_watch(tmp_path: Path, wrong: int) -> None:
    """A client is silent for 60 s, and one packet of another flow has a stamp years away."""
    packets = handshake(2 * 10**18) + handshake(2 * 10**18 + SECOND, 40001)
    packets.append((2 * 10**18 + 2 * SECOND + wrong, tcp_packet(True, 1001, 9001, 0x10, port=40001)))
    packets += handshake(2 * 10**18 + 60 * SECOND, 40002)
    report = analyse([write(tmp_path / "a.pcap", packets)], Options(all_flows=True)).report
    first = next(iter(report.flows))
    assert (first.stalled, first.open_ns["ack_ch"] // SECOND) == ("ack_ch", 60)


def test_where_the_clock_jumped_for_good_nobody_watched(tmp_path: Path) -> None:
    packets = handshake(SECOND) + handshake(SECOND + 20 * SECOND, 40001) + handshake(90_000 * SECOND, 40002)
    report = analyse([write(tmp_path / "a.pcap", packets)], Options(all_flows=True)).report
    first = next(iter(report.flows))
    assert first.open_ns["ack_ch"] // SECOND == 20


def test_a_clock_that_always_jumps_costs_no_search_for_each_flow() -> None:
    class Stamps(list[int]):
        looks = 0

        def __getitem__(self, index):  # type: ignore[no-untyped-def]
            Stamps.looks += 1
            return super().__getitem__(index)

        def __iter__(self) -> Iterator[int]:
            Stamps.looks += len(self)
            return super().__iter__()

    collector = Collector(make_thresholds(parse_thresholds(())), False)
    collector.watched_until = Stamps(range(0, 2_000_000, 2))
    flow = Flow(b"", 1, 0, 0)
    for flow.last_ns, until in (5, 6), (6, 6), (1_999_998, 1_999_998), (1_999_999, 1_999_999):
        assert collector.watched(flow) == until
    assert Stamps.looks < 100


def test_flows_without_a_length_take_no_room_in_the_tally(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million SYNs that nobody answers are counted, and that is all."""
    collectors: list[Collector] = []

    def noted(*arguments: object) -> Collector:
        collectors.append(Collector(*arguments))  # type: ignore[arg-type]
        return collectors[0]

    monkeypatch.setattr(module, "Collector", noted)
    analyse([write(tmp_path / "a.pcap", flood(1, 2000, 1000) + handshake(SECOND, 50_000))], Options(max_flows=50))
    assert collectors[0].counted.flows + len(collectors[0].kept) == 2001
    assert sum(map(len, collectors[0].counted.closed)) < 10


@pytest.mark.parametrize(("age_ns", "stalled"), [(0, 1), (3600 * SECOND, 0)])
def test_a_live_capture_goes_on_until_its_pipe_ends(tmp_path: Path, age_ns: int, stalled: int) -> None:
    """Nothing comes any more of a connection that hangs: the waiting shows by this host's clock alone."""
    fifo = tmp_path / "live"
    os.mkfifo(fifo)
    old = Path(write(tmp_path / "a.pcap", handshake(time.time_ns() - 20_000_000 - age_ns))).read_bytes()

    def feed() -> None:
        with fifo.open("wb") as pipe:
            pipe.write(old)
            pipe.flush()
            time.sleep(0.4)

    feeder = threading.Thread(target=feed)
    feeder.start()
    report = analyse([str(fifo)], Options(parse_thresholds(["300ms"]))).report
    feeder.join()
    assert report.totals.stalled == stalled
    assert (report.watched_until_ns is not None) == bool(stalled)
    if stalled:
        (flow,) = report.flows
        (said,) = (line for line in prose.what_was_read(report) if line.startswith("Read "))
        assert " UTC, watched for " in said
        assert flow.stalled == "ack_ch"
        assert 300_000_000 < flow.open_ns["ack_ch"] < 5 * SECOND


def test_the_tally_has_the_length_of_each_interval_by_its_name() -> None:
    """One after the other has a length, and no other has."""
    intervals, outcome = Intervals(), Outcome()
    flow = Flow(b"", 1, 0, 0)
    for position, name in enumerate(NAMES):
        tally = LengthTally()
        setattr(intervals, name, 1000 + position)
        tally.add(flow, intervals, outcome, False)
        setattr(intervals, name, ABSENT)
        lengths = [tally.closed[at].values() for at in range(len(NAMES))]
        assert lengths == [[1000 + position] if at == position else [] for at in range(len(NAMES))]
        assert (tally.unjudged == 0) == (name in STALL_NAMES and name not in ("ch_ack", "ch_sh"))


def test_connections_that_still_wait_are_told_first(tmp_path: Path) -> None:
    assert "1 had sent no ClientHello when the capture ended" in text(
        analyse([write(tmp_path / "a.pcap", handshake(SECOND))])
    )


@pytest.mark.parametrize("what", ["malformed", "fragment", "others"])
def test_what_cannot_be_read_between_two_hosts_may_be_what_is_missing(tmp_path: Path, what: str) -> None:
    """The client's segment of 1 ms after the ACK is damaged, or half of it is missing, or it is another host's."""
    hello = tcp_packet(True, 1001, 9001, 0x18, b"\x16\x03\x01\x00\x20" + b"h" * 31)
    damaged = bytearray(hello)
    if what == "malformed":
        damaged[14 + 20 + 12] = 0x20
    else:
        damaged[14 + 6] = 0x20
    if what == "others":
        damaged[14 + 15] = 77
    packets = [*handshake(SECOND), (SECOND + 11_000_000, bytes(damaged))]
    for at, seq, ack, flags in ((4, 1001, 9001, 0x10), (5, 1001, 9001, 0x11)):
        packets.append((at * SECOND, tcp_packet(True, seq, ack, flags)))
    packets.append((5 * SECOND + 10_000_000, tcp_packet(False, 9001, 1002, 0x11)))
    report = analyse([write(tmp_path / "a.pcap", packets)], Options(at="client")).report
    (capture,) = report.captures
    lacks = "1 fragment of a packet lacks its other parts, which are not in the capture: they were not read"
    assert capture.warnings == ([] if what == "malformed" else [lacks])
    (row,) = report.flows
    assert (row.stalled, row.reason) == ("ack_ch", "client_silent")
    assert row.confidence == ("high" if what == "others" else "medium")
    said = [one.text for one in row.evidence]
    assert any("sent no payload that can be read" in text for text in said) == (what != "others")
    assert any(text.startswith("Between these hosts there came meanwhile 1 ") for text in said) == (what != "others")
