"""What no change of a real capture may do to a verdict: cuts, shifts, renumbering, other orders of files, fewer flows.

Drawn over all captures of the tree; PCAPSTALL_HYPOTHESIS=thorough draws some thousand. The same on simulated
conversations is in `test_properties`.
"""

import random
from collections.abc import Iterable, Iterator
from copy import copy
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from test_properties import PARTY, check_manners, essence
from wire_support import ACK, MS, SYN, readdress, reports, segments_of

from pcapstall.pipeline import Options, analyse
from pcapstall.report.flow_model import FlowReport
from pcapstall.wire.segment import Segment

CAPTURES = Path(__file__).parents[2] / "captures"
PATHS = sorted(CAPTURES.glob("*/*.pcap*"))
PORT_41001 = (41001).to_bytes(2, "big")
PARTS = st.floats(0, 1)
Endpoints = frozenset[tuple[bytes, bytes]]


@cache
def kept(path: Path) -> tuple[Segment, ...]:
    return tuple(segments_of(str(path)))


def segments(path: Path) -> list[Segment]:
    """Its TCP segments, to be changed at will."""
    return [copy(segment) for segment in kept(path)]


@cache
def whole(path: Path) -> dict[tuple[str, str, int], FlowReport]:
    """Its rows, by what stays the same when others are gone: endpoints and the first frame."""
    return by_name(reports(segments(path)))


def by_name(rows: Iterable[FlowReport]) -> dict[tuple[str, str, int], FlowReport]:
    return {(row.client, row.server, row.first_frame): row for row in rows}


def party(row: FlowReport) -> str | None:
    return PARTY.get(row.cause or "")


@given(st.sampled_from(PATHS), PARTS)
def test_a_capture_cut_short_never_names_another_party_for_certain(path: Path, part: float) -> None:
    found = segments(path)
    for name, row in by_name(reports(found[: round(part * len(found))])).items():
        check_manners(row)
        if row.confidence != "high":
            continue
        final = whole(path)[name]
        assert final.cause is not None, "blamed for what was no stall"
        if final.stalled == row.stalled and final.cause != "unknown":
            assert party(row) == party(final)


@given(st.sampled_from(PATHS), PARTS, PARTS)
def test_nor_does_one_that_began_late(path: Path, start: float, end: float) -> None:
    found = segments(path)
    begin, until = sorted((round(start * len(found)), round(end * len(found))))
    finals = {(row.client, row.server): row for row in whole(path).values()}
    for row in reports(found[begin:until]):
        check_manners(row)
        final = finals.get((row.client, row.server))
        if row.confidence == "high" and final is not None and final.stalled == row.stalled:
            assert final.cause == "unknown" or party(row) == party(final)


def faulty(path: Path, found: Iterable[Segment]) -> Iterator[tuple[FlowReport, list[FlowReport]]]:
    """The rows of a capture with faults that are of high confidence, and what the whole one says of those endpoints."""
    finals: dict[frozenset[str], list[FlowReport]] = {}
    for row in whole(path).values():
        finals.setdefault(frozenset((row.client, row.server)), []).append(row)
    for row in reports(found):
        check_manners(row)
        if row.confidence == "high" and party(row) is not None:
            yield row, finals[frozenset((row.client, row.server))]


@example(CAPTURES / "tls13-healthy/capture.pcap", 3.5 / 66, 5000)
@given(st.sampled_from(PATHS), PARTS, st.integers(-60_000, 60_000))
def test_a_clock_that_is_set_blames_nobody_for_certain(path: Path, part: float, step_ms: int) -> None:
    found = segments(path)
    for segment in found[int(part * len(found)) :]:
        segment.ts_ns += step_ms * MS
    for row, finals in faulty(path, found):
        assert party(row) in map(party, finals), (row.stalled, row.verdict)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("slow-path/capture_server.pcap", 2),  # the ACK answers a SYN-ACK that was not captured
        ("slow-path/capture_server.pcap", 21),
        ("late-accept/capture.pcap", 33),  # a bare ACK shows that the hello had been sent
        ("late-accept/capture_server.pcap", 33),
        ("detour/capture.pcap", 40),  # the copy that got through is not the first one captured
    ],
)
def test_captures_that_began_late_and_named_another_party(name: str, missing: int) -> None:
    path = CAPTURES / name
    for row, finals in faulty(path, segments(path)[missing:]):
        assert party(row) in map(party, finals), (row.stalled, row.verdict)


def test_a_step_in_the_handshake_does_not_move_the_capture() -> None:
    """The clock is set by half a second between SYN-ACK and ACK: the capture seems to be at the server, where no TTL
    tells better."""
    path = CAPTURES / "syn-lost/capture.pcap"
    flow = [segment for segment in segments(path) if PORT_41001 in (segment.key[-4:-2], segment.key[-2:])]
    acked = next(at for at, segment in enumerate(flow) if segment.flags & (SYN | ACK) == ACK)
    for at, segment in enumerate(flow):
        segment.ttl = 64
        segment.ts_ns += 500 * MS * (at >= acked)
    assert not list(faulty(path, flow))


@example(CAPTURES / "tls13-healthy/capture_server.pcap", 5.5 / 66, 2000, True)
@example(CAPTURES / "smtp-starttls/capture_server.pcap", 66.5 / 97, 2000, True)
@given(st.sampled_from(PATHS), PARTS, st.integers(50, 20_000), st.booleans())
def test_nor_does_a_late_copy_of_what_the_capture_missed(path: Path, part: float, late_ms: int, missed: bool) -> None:
    found = segments(path)
    at = min(int(part * len(found)), len(found) - 1)
    again = copy(found[at])
    again.ts_ns += late_ms * MS
    if missed:
        del found[at]
    found.append(again)
    found.sort(key=lambda segment: segment.ts_ns)
    for row, finals in faulty(path, found):
        assert party(row) in map(party, finals), (row.stalled, row.verdict)


@given(st.sampled_from(PATHS), st.integers(-(10**17), 10**17))
def test_a_shifted_clock_changes_nothing(path: Path, shift: int) -> None:
    found = segments(path)
    for segment in found:
        segment.ts_ns += shift
    assert [essence(row) for row in reports(found)] == [essence(row) for row in whole(path).values()]


@given(st.sampled_from(PATHS), st.randoms(use_true_random=False))
def test_other_addresses_change_nothing(path: Path, rng: random.Random) -> None:
    found = segments(path)
    renamed: dict[bytes, bytes] = {}

    def rename(address: bytes) -> bytes:
        if address[0] == 127 or address == bytes(15) + b"\1":
            return address
        if address not in renamed:
            # Global unicast of either family, no two the same.
            head = bytes([rng.randrange(16, 100)]) if len(address) == 4 else b"\x20\x01"
            renamed[address] = head + rng.randbytes(len(address) - len(head) - 1) + bytes([len(renamed)])
        return renamed[address]

    for segment in found:
        key, half = segment.key, (len(segment.key) - 4) // 2
        readdress(segment, rename(key[:half]) + rename(key[half:-4]) + key[-4:])
    assert [essence(row) for row in reports(found)] == [essence(row) for row in whole(path).values()]


@given(st.sampled_from(PATHS), st.randoms(use_true_random=False))
def test_other_flows_may_settle_a_verdict_and_never_turn_it(path: Path, rng: random.Random) -> None:
    """Some of a capture's connections alone, against all of them."""
    found = segments(path)
    ends = sorted({endpoints(segment) for segment in found}, key=sorted)
    chosen = set(rng.sample(ends, rng.randint(1, len(ends)))) if ends else set()
    some = [segment for segment in found if endpoints(segment) in chosen]
    end_ns = max((segment.ts_ns for segment in found), default=0)
    for name, row in by_name(reports(some, watched_ns=end_ns)).items():
        final = whole(path)[name]
        assert row.stalled == final.stalled
        if party(row) is not None and party(final) is not None:
            assert party(row) == party(final)


def endpoints(segment: Segment) -> Endpoints:
    half = (len(segment.key) - 4) // 2
    key = segment.key
    return frozenset({(key[:half], key[-4:-2]), (key[half:-4], key[-2:])})


@pytest.mark.parametrize("pattern", ["rotated-*.pcap", "ring_*.pcapng"])
def test_the_order_of_files_changes_nothing(pattern: str) -> None:
    paths = [str(path) for path in sorted(CAPTURES.glob(f"ring/{pattern}"))]
    assert len(paths) > 2
    expected = [essence(row) for row in analyse(paths, Options(all_flows=True)).report.flows]
    rng = random.Random(3)
    for _ in range(4):
        rng.shuffle(paths)
        assert [essence(row) for row in analyse(paths, Options(all_flows=True)).report.flows] == expected


def test_nor_does_that_of_captures_of_other_times() -> None:
    paths = [str(path) for path in PATHS if path.parent.name in {"slow-server", "late-banner", "slow-path"}]
    paths = [path for path in paths if path.endswith("/capture.pcap")]
    expected = [essence(row) for row in analyse(paths, Options(all_flows=True)).report.flows]
    assert [essence(row) for row in analyse(paths[::-1], Options(all_flows=True)).report.flows] == expected
