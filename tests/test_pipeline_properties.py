"""Properties of the whole road from bytes to a report, on the captures of the tree and on what can be made of them.

Cut short, damaged, or no capture at all: the counts add up, nothing is raised, nothing is made up.
"""

import contextlib
import io
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from splitting import pieces, written

from pcapstall.cli.main import main
from pcapstall.pipeline import Analysis, Options, analyse
from pcapstall.report.to_json import flow_object, header

CAPTURES = Path(__file__).parent.parent / "captures"
FILES = sorted(path for path in CAPTURES.rglob("capture*.pcap*"))
SMALL = [path for path in FILES if path.stat().st_size < 16_000]
PATIENCE_S = 20
"""For an example; they take milliseconds."""


def report(paths: Sequence[str]) -> Analysis:
    return analyse(paths, Options(all_flows=True))


def flows(analysis: Analysis) -> list[dict[str, Any]]:
    return [flow_object(flow) for flow in analysis.report.flows]


def check(analysis: Analysis) -> None:
    """What holds of every report, whatever was read."""
    packets = 0
    for capture in analysis.report.captures:
        assert capture.packets == capture.tcp_packets + capture.other_packets + sum(capture.malformed.values())
        packets += capture.tcp_packets
    found = flows(analysis)
    assert analysis.report.totals.flows == len(found)
    assert sum(flow["counts"]["packets"] for flow in found) == packets
    assert [flow["id"] for flow in found] == list(range(1, len(found) + 1))
    assert header(analysis.report)["schema"] == 1
    for flow in found:
        for name, parts in flow["parts_ns"].items():
            whole = flow["intervals_ns"][name]
            if whole is None:
                whole = flow["open_ns"][name]
            assert sum(parts.values()) == whole, name
            assert whole < 0 or min(parts.values()) >= 0, name
        for event in filter(None, flow["events"].values()):
            assert int(event["ns"]) - analysis.report.t0_ns == event["rel_ns"]
            assert 1 <= event["frame"] <= analysis.report.captures[event["file"]].packets


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_captures_of_the_tree(path: Path) -> None:
    analysis = report([str(path)])
    assert analysis.unreadable == []
    check(analysis)


class TestTruncation:
    """What comes after the cut changes nothing of what came before it, but for what it would have decided."""

    CERTAIN = ("syn", "ack", "client_hello_acked", "client_fin", "server_fin", "client_rst", "server_rst")
    """Events that are known when their frame was read."""
    MESSAGES = ("client_hello", "client_hello2", "server_hello")
    """Events that are known when the message's last byte was read."""
    PROVISIONAL = ("server_flight_last", "syn_ack", "client_alert", "server_alert")
    """Events that a later frame may move or take back."""

    @given(st.data())
    def test_at_any_byte(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(FILES), "capture")
        head, records = pieces(path)
        whole = head + b"".join(records)
        size = data.draw(st.integers(len(head), len(whole)), "size")
        with written(whole[:size]) as paths:
            analysis = report(paths)
        check(analysis)
        (capture,) = analysis.report.captures
        kept = capture.packets
        assert len(head) + sum(map(len, records[:kept])) <= size
        assert size < len(head) + sum(map(len, records[: kept + 1])) or kept == len(records)
        with written(whole) as paths:
            full = flows(report(paths))
        found = {(flow["first_frame"], flow["client"]): flow for flow in flows(analysis)}
        expected = {(flow["first_frame"], flow["client"]): flow for flow in full if flow["first_frame"] <= kept}
        assert sorted(found) == sorted(expected)
        for key, flow in expected.items():
            self.compare_events(found[key]["events"], flow["events"], kept)
            self.compare_causes(found[key], flow)

    @staticmethod
    def compare_causes(got: dict[str, Any], full: dict[str, Any]) -> None:
        """Who has seen less may know less, and is never certain of somebody else."""
        if got["confidence"] == "high":
            assert "near_capture_end" not in got["flags"] or got["stalled"] not in got["open_ns"]
            assert got["cause"] == full["cause"] or full["cause"] in (None, "unknown")

    def compare_events(self, got: dict[str, Any], full: dict[str, Any], kept: int) -> None:
        for event in filter(None, [*got.values(), *full.values()]):
            event["rel_ns"] = 0  # of the earliest record, which may lie behind the cut
        for name in self.CERTAIN:
            if full[name] and full[name]["frame"] <= kept:
                assert got[name] == full[name], name
        for name in self.MESSAGES:
            last = full[f"{name}_last"]
            if last and last["frame"] <= kept:
                assert got[f"{name}_first"] == full[f"{name}_first"], name
                assert got[f"{name}_last"] == last, name
        for name, event in got.items():
            assert event is None or event == full[name] or name in self.PROVISIONAL, f"{name} was made up"


class TestGarbage:
    MAGICS = (
        b"\xd4\xc3\xb2\xa1\x02\0\x04\0", b"\xa1\xb2\xc3\xd4\0\x02\0\x04", b"\x4d\x3c\xb2\xa1\x02\0\x04\0",
        b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a", b"\x0a\x0d\x0d\x0a\0\0\0\x1c\x1a\x2b\x3c\x4d", b"\x1f\x8b\x08",
        b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18", b"",
    )  # fmt: skip
    """Beginnings of everything that is read."""

    @given(st.sampled_from(MAGICS), st.binary(max_size=2000), st.booleans())
    def test_any_bytes_as_a_capture(self, magic: bytes, rest: bytes, as_json: bool) -> None:
        begun = time.monotonic()
        with written(magic + rest) as paths:
            stdout, stderr = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
                code = main(["report", *paths, *(["-f", "json"] if as_json else [])])
        assert time.monotonic() - begun < PATIENCE_S
        assert code in (0, 3)
        assert bool(stdout.getvalue()) == (code == 0)
        assert len(stderr.getvalue().splitlines()) == (1 if code else 0)
        assert "Traceback" not in stderr.getvalue()


class TestDamage:
    """Some bytes of a capture are others; of its packets, so that most is still read, or anywhere."""

    @staticmethod
    def flipped(data: bytes, places: list[tuple[int, int]]) -> bytes:
        changed = bytearray(data)
        for place, value in places:
            changed[place % len(changed)] = value
        return bytes(changed)

    PLACES = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=12)

    @given(st.sampled_from(SMALL), PLACES)
    def test_anywhere(self, path: Path, places: list[tuple[int, int]]) -> None:
        begun = time.monotonic()
        with written(self.flipped(path.read_bytes(), places)) as paths:
            analysis = report(paths)
        assert len(analysis.unreadable) + len(analysis.report.captures) == 1
        check(analysis)
        assert time.monotonic() - begun < PATIENCE_S

    @given(st.sampled_from(SMALL), st.lists(st.tuples(st.integers(0, 1 << 20), PLACES), min_size=1, max_size=8))
    def test_in_packets(self, path: Path, changes: list[tuple[int, list[tuple[int, int]]]]) -> None:
        head, records = pieces(path)
        lead = 28 if path.suffix == ".pcapng" else 16
        records = list(records)
        for number, places in changes:
            record = records[number % len(records)]
            tail = record[-4:] if path.suffix == ".pcapng" else b""
            packet = record[lead : len(record) - len(tail)]
            records[number % len(records)] = record[:lead] + self.flipped(packet, places) + tail
        with written(head + b"".join(records)) as paths:
            analysis = report(paths)
        check(analysis)
        assert analysis.report.captures[0].packets == len(records)
