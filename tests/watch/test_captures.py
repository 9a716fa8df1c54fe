"""What watch tells of a capture is what report finds in it; each difference has one of a few reasons, named here."""

import json
from pathlib import Path

import pytest
from capture_support import epb, idb, option, shb
from watch_support import MS, ROOT, SECOND, START_NS, Listening, capture, flow

from pcapstall.pipeline import Analysis, Options, analyse
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.thresholds import parse_thresholds, threshold_ns
from pcapstall.report.watching import Standing, line_of

FILES = sorted((ROOT / "captures").rglob("capture*.pcap*"))
THRESHOLDS = parse_thresholds(())

LATER_KNOWN = {
    ("plaintext-idle/capture.pcap", 2, "ack_ch"): "both sides spoke later, and it was no TLS",
    ("plaintext-idle/capture_server.pcap", 2, "ack_ch"): "the same",
    ("segment-lost/capture_server.pcap", 2, "ch_span"): "the first bytes of the hello came last: then it was ack_ch",
}
"""Stalls that were told and that the report, which knows all that came later, does not have."""


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def watched(path: Path) -> tuple[Listening, Analysis]:
    heard = Listening()
    result = heard.watch(str(path))
    report = analyse([str(path)], Options(all_flows=True)).report
    assert result.standing.flows_opened == report.totals.flows
    assert result.standing.flows_open == result.standing.stalled_now == 0
    assert result.standing.packets == sum(capture.packets for capture in report.captures)
    return heard, report


def is_second(flow: FlowReport, interval: str) -> bool:
    """Whether a flow has another stall than the longest one, which the report calls stalled."""
    length = flow.intervals_ns.get(interval)
    if length is None:
        length = flow.open_ns.get(interval)
    return length is not None and length > threshold_ns(THRESHOLDS, interval) and flow.stalled is not None


@pytest.mark.parametrize("path", FILES, ids=name)
def test_the_same_flows_stall_and_fail(path: Path) -> None:
    heard, report = watched(path)
    rows = {flow.id: flow for flow in report.flows}
    told = {(line.flow.id, line.flow.stalled) for line in heard.told() if line.flow.stalled is not None}
    assert {(flow.id, flow.stalled) for flow in rows.values() if flow.stalled is not None} - told == set()
    for flow_id, interval in told:
        flow = rows[flow_id]
        if flow.stalled != interval and not is_second(flow, interval):
            assert (name(path), flow_id, interval) in LATER_KNOWN
    failed = {line.flow.id for line in heard.told() if line.event == "failed"}
    assert failed == {flow.id for flow in rows.values() if flow.failed}


@pytest.mark.parametrize("path", FILES, ids=name)
def test_no_verdict_names_another_party_than_the_report(path: Path) -> None:
    """It may be less sure: what other flows show later is not known yet."""
    heard, report = watched(path)
    rows = {flow.id: flow for flow in report.flows}
    for line in heard.told():
        row = rows[line.flow.id]
        if line.event != "stalled" and line.flow.stalled == row.stalled:
            assert line.flow.cause in (row.cause, "unknown")


@pytest.mark.parametrize("path", FILES, ids=name)
def test_each_stall_is_told_once_and_its_end_once(path: Path) -> None:
    heard, _ = watched(path)
    for flow_id in {line.flow.id for line in heard.told()}:
        lines = [line for line in heard.told() if line.flow.id == flow_id]
        stalled = [line.flow.stalled for line in lines if line.event == "stalled"]
        assert len(set(stalled)) == len(stalled)
        assert len([line for line in lines if line.event == "failed"]) <= 1
        for interval in stalled:
            assert any(line.event != "stalled" and line.flow.stalled == interval for line in lines), interval
        for line in lines:
            if line.event == "stalled":
                assert line.flow.cause is None
                length = line.flow.open_ns[line.flow.stalled or ""]
                assert threshold_ns(THRESHOLDS, line.flow.stalled or "") < length


def test_the_story_of_one_flow() -> None:
    heard = Listening(every_ns=20_000_000_000)
    heard.watch(str(ROOT / "captures" / "stalled-client-hello" / "capture.pcap"))
    assert heard.events() == [("stalled", "ack_ch"), ("failed", "ack_ch"), ("went_on", "ack_ch")]
    first, failed, last = heard.told()
    assert first.flow.open_ns == {"ack_ch": 1_000_000_001}
    assert (failed.flow.tls_outcome, failed.flow.closed_by) == ("closed_before_client_hello", "server")
    assert last.flow.intervals_ns["ack_ch"] == 52_246_868_000
    assert (last.flow.cause, last.flow.confidence) == ("client_process", "high")
    assert [line.event for line in heard.lines if line not in list(heard.told())] == [
        "summary",
        "summary",
        "summary",
        "end",
    ]


def test_a_summary_counts_what_came_before_it_and_nothing_else(tmp_path: Path) -> None:
    """Flows a little apart, so that each packet which lets a summary be told is the first of a flow of its own."""
    starts = [START_NS, *(START_NS + second * SECOND + 7 * MS for second in (1, 2, 3))]
    flows = [flow(number, start) for number, start in enumerate(starts)]
    path = tmp_path / "apart.pcap"
    path.write_bytes(capture(*flows))
    heard = Listening(every_ns=SECOND)
    heard.watch(str(path))
    stands = [line for line in heard.lines if isinstance(line, Standing)]
    assert [(stand.event, stand.flows_opened, stand.packets) for stand in stands] == [
        *(("summary", count, sum(map(len, flows[:count]))) for count in range(1, len(stands))),
        ("end", len(flows), sum(map(len, flows))),
    ]
    assert len(stands) > 2


def test_interfaces_in_batches_are_no_stall(tmp_path: Path) -> None:
    """As dumpcap writes two interfaces: what one of them has of 1.5 s, then what the other has of the same time."""
    busy = [packet for number in range(30) for packet in flow(number, START_NS + number * 100 * MS)]
    other = flow(90, START_NS + 1200 * MS, late_ns=500 * MS)
    stalls = flow(91, START_NS + 200 * MS, late_ns=5000 * MS)
    records = sorted(
        ((ns - START_NS) // (1500 * MS), interface, ns, record)
        for interface, packets in enumerate(([*busy], [*other, *stalls]))
        for ns, record in packets
    )
    path = tmp_path / "batches.pcapng"
    packets = b"".join(epb(record[16:], ns, interface) for _, interface, ns, record in records)
    path.write_bytes(shb() + idb(options=option(9, b"\x09")) * 2 + packets)  # stamps in nanoseconds
    heard = Listening()
    assert heard.watch(str(path)).standing.flows_opened == 32
    assert heard.events() == [("stalled", "ack_ch"), ("went_on", "ack_ch")]


def test_a_clock_that_was_set_is_said() -> None:
    heard, _ = watched(ROOT / "captures" / "clock-set" / "capture.pcap")
    lines = [line_of(told, "text") for told in heard.lines]
    assert [line for line in lines if "ack_ch clock set  " in line or "ch_sh clock set  " in line] == lines[1:4:2]
    assert lines[-1].endswith("the capture's clock was set meanwhile: do not trust what lasted across that")
    assert json.loads(line_of(heard.lines[-1], "jsonl"))["clock_set"] is True
    heard, _ = watched(ROOT / "captures" / "clock-set" / "capture_server.pcap")
    assert "clock" not in line_of(heard.lines[-1], "text")
