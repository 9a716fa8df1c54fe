"""What no change of a capture may do to a verdict, tried on simulated conversations and on the project's captures."""

from copy import copy
from pathlib import Path

import pytest
import test_verdicts as talks
from hypothesis import given
from hypothesis import strategies as st
from wire_support import ACK, MS, SECOND, START_NS, Road, flows_of, readdress, reports, segments_of

from pcapstall.pipeline import Options, analyse
from pcapstall.report.flow_model import FlowReport
from pcapstall.wire.segment import Segment

CAPTURES = Path(__file__).parents[2] / "captures"
NAMES = ("stalled-client-hello", "late-accept", "mtu-black-hole", "server-hello-lost", "client-hello-lost", "middle")
PARTY = {
    "network": "network",
    "client_process": "client",
    "client_kernel": "client",
    "server_process": "server",
    "server_kernel": "server",
}
ROADS = {
    "silent client": talks.silent_client,
    "silent client, random IDs": lambda: talks.silent_client(counts_ids=False),
    "silent client, no timestamps": lambda: talks.silent_client(timestamps=False),
    "slow server": talks.slow_server,
    "slow server, random IDs": lambda: talks.slow_server(counts_ids=False),
    "hello lost": talks.lost_hello,
    "server hello lost": talks.lost_server_hello,
    "server hello lost, random IDs": lambda: talks.lost_server_hello(counts_ids=False),
    "black hole": talks.black_hole,
    "SYN lost": lambda: talks.lost_syn(False),
    "SYN-ACK lost": lambda: talks.lost_syn(True),
    "proxy": lambda: talks.connect(2 * SECOND, 3 * MS),
}
CASES = [(name, at) for name in ROADS for at in talks.WHERE]


def view(name: str, at: str) -> list[Segment]:
    return ROADS[name]().captured(at)


def essence(row: FlowReport) -> tuple[object, ...]:
    return row.stalled, row.cause, row.reason, row.confidence, row.parts_ns, row.tcp_outcome, row.tls_outcome, row.flags


def check_parts(row: FlowReport) -> None:
    for name, parts in row.parts_ns.items():
        closed = row.intervals_ns[name]
        assert sum(parts.values()) == (row.open_ns[name] if closed is None else closed)
        assert min(parts.values()) >= 0


def check_manners(row: FlowReport) -> None:
    """What holds for every row."""
    check_parts(row)
    stalled_or_failed = row.stalled is not None or row.failed
    assert (row.cause is not None) == (row.verdict is not None) == stalled_or_failed
    if row.cause is None:
        return
    assert (row.would_settle is None) == (row.confidence == "high")
    assert row.verdict is not None
    assert not row.verdict.endswith(".")
    assert row.reason
    assert row.cause == "unknown" or row.confidence != "high" or row.evidence
    for evidence in row.evidence:
        assert evidence.text.endswith(".")
        assert evidence.frames == list(dict.fromkeys(evidence.frames))


@pytest.mark.parametrize(("name", "at"), CASES)
def test_manners(name: str, at: str) -> None:
    for row in reports(view(name, at)):
        check_manners(row)
        assert row.stalled is None or row.parts_ns


@pytest.mark.parametrize(("name", "at"), CASES)
def test_a_shorter_capture_never_blames_another_party_for_certain(name: str, at: str) -> None:
    segments = view(name, at)
    (whole,) = reports(segments)
    for count in range(1, len(segments)):
        (row,) = reports(segments[:count])
        check_manners(row)
        if row.confidence == "high" and whole.cause != "unknown":
            assert PARTY[row.cause or ""] == PARTY[whole.cause or ""], f"cut to {count} segments"


@pytest.mark.parametrize(("name", "at"), CASES)
def test_a_lost_packet_never_blames_another_party_for_certain(name: str, at: str) -> None:
    segments = view(name, at)
    (whole,) = reports(segments)
    for missing in range(len(segments)):
        for row in reports(segments[:missing] + segments[missing + 1 :]):
            check_manners(row)
            if row.confidence == "high" and whole.cause not in (None, "unknown"):
                assert PARTY[row.cause or ""] == PARTY[whole.cause or ""], f"without segment {missing + 1}"


@pytest.mark.parametrize(("name", "at"), CASES)
@pytest.mark.parametrize("shift", [-(10**17), 1, 10**17])
def test_a_shifted_clock_changes_nothing(name: str, at: str, shift: int) -> None:
    segments = view(name, at)
    expected = [essence(row) for row in reports(segments)]
    for segment in segments:
        segment.ts_ns += shift
    assert [essence(row) for row in reports(segments)] == expected


@given(st.sampled_from(CASES), st.binary(min_size=8, max_size=8), st.integers(1024, 0xFFFF))
def test_other_addresses_change_nothing(case: tuple[str, str], addresses: bytes, port: int) -> None:
    """Any addresses but loopback's, and two that differ."""
    if addresses[:4] == addresses[4:] or addresses[0] == addresses[4] == 127:
        return
    segments = view(*case)
    expected = [essence(row) for row in reports(segments)]
    old, new = segments[0].key, addresses[:4] + addresses[4:] + port.to_bytes(2, "big") + segments[0].key[-2:]
    back = new[4:8] + new[:4] + new[10:] + new[8:10]
    for segment in segments:
        readdress(segment, new if segment.key == old else back)
    assert [essence(row) for row in reports(segments)] == expected


@pytest.mark.parametrize(("name", "at"), CASES)
def test_more_healthy_flows_never_turn_one_party_into_another(name: str, at: str) -> None:
    """They may settle what was unknown."""
    (alone,) = reports(view(name, at))
    healthy = Road(client_port=40500)
    begin = healthy.handshake(40 * SECOND)
    healthy.c(begin + MS, ACK, talks.HELLO)
    talks.answer(healthy, begin + MS)
    together = reports(talks.merged(view(name, at), healthy.captured(at)))[0]
    if alone.cause not in (None, "unknown"):
        assert together.cause in (alone.cause, "unknown")
    assert together.stalled == alone.stalled


@pytest.mark.parametrize("name", NAMES)
def test_captures_cut_short(name: str) -> None:
    for path in sorted((CAPTURES / name).glob("capture*.pcap")):
        segments = segments_of(str(path))
        whole = {row.id: row for row in reports(segments)}
        for count in range(1, len(segments), 7):
            for row in reports([copy(segment) for segment in segments[:count]]):
                check_manners(row)
                final = whole[row.id]
                if row.confidence == "high" and final.stalled == row.stalled and final.cause != "unknown":
                    assert PARTY[row.cause or ""] == PARTY[final.cause or ""], f"{path.name} cut to {count} segments"


def test_every_capture_has_manners() -> None:
    paths = sorted(CAPTURES.glob("*/*.pcap*"))
    assert len(paths) > 40
    for path in paths:
        for row in analyse([str(path)], Options(all_flows=True)).report.flows:
            check_manners(row)


def test_real_captures_have_manners(corpus: Path, lab: Path) -> None:
    for path in [*sorted(corpus.glob("*.pcap*")), *sorted(lab.glob("*/capture*.pcap*"))]:
        for row in analyse([str(path)], Options(all_flows=True)).report.flows:
            check_manners(row)


def test_start_is_not_special() -> None:
    """A capture from the beginning of time, where a stamp of 0 is a stamp like any other."""
    segments = view("silent client", "client")
    for segment in segments:
        segment.ts_ns -= START_NS
    (row,) = reports(segments)
    assert (row.stalled, row.cause, row.confidence) == ("ack_ch", "client_process", "high")


FOLDERS = sorted({path.parent.name for path in CAPTURES.rglob("capture*.pcap*")})


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_healthy_connection_does_not_fail_for_want_of_a_direction(folder: str) -> None:
    """Each side alone of the connections that are healthy in captures of the tree."""
    for path in (CAPTURES / folder).glob("capture*.pcap*"):
        segments = segments_of(str(path))
        for flow, row in zip(flows_of(segments), reports(segments), strict=True):
            if row.stalled is not None or row.failed:
                continue
            for key in flow.key, flow.answer_key:
                for alone in reports([segment for segment in segments if segment.key == key]):
                    assert not alone.failed, (path, row.id, alone.tcp_outcome, alone.tls_outcome)
                    assert alone.stalled is None, (path, row.id, alone.stalled)
