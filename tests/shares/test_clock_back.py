"""Clocks that step back and forth, and ports that are used again: several processes say what one says."""

import struct
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from shares_support import CAPTURES, report, told

from pcapstall import _build
from pcapstall.pipeline.scan import loop
from pcapstall.pipeline.shares import workers
from pcapstall.pipeline.shares.forked import Failure
from pcapstall.pipeline.shares.workers import Workers
from pcapstall.wire.segment import ACK, FIN, SYN

START_MS = 1_700_000_000_000
HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
CLIENTS = 40
STEPS = (-300_000, -70_000, -30_000, -5_000, -1_500, 0, 1_500, 5_000, 30_000, 70_000, 300_000)


def record(ms: int, port: int, from_client: bool, flags: int, seq: int, ack: int) -> bytes:
    """A segment without payload over Ethernet."""
    ends = (b"\x0a\0\0\1", b"\x0a\0\0\2"), (port, 443)
    (source, destination), (sport, dport) = ends if from_client else (ends[0][::-1], ends[1][::-1])
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40, 0, 0, 64, 6, 0) + source + destination
    tcp = struct.pack(">HHIIBBHHH", sport, dport, seq, ack, 0x50, flags, 64240, 0, 0)
    frame = bytes(12) + b"\x08\0" + ip + tcp
    return struct.pack("<IIII", ms // 1000, ms % 1000 * 1000, len(frame), len(frame)) + frame


def connection(ms: int, port: int, ends_after: int) -> list[bytes]:
    """A handshake, and FINs of both sides ``ends_after`` ms later; always with the same numbers."""
    later = ms + ends_after
    return [
        record(ms, port, True, SYN, 1000, 0),
        record(ms, port, False, SYN | ACK, 9000, 1001),
        record(ms, port, True, ACK, 1001, 9001),
        record(later, port, True, FIN | ACK, 1001, 9001),
        record(later, port, False, FIN | ACK, 9001, 1002),
        record(later, port, True, ACK, 1002, 9002),
    ]


def capture(rounds: list[tuple[int, int, int]]) -> bytes:
    """All clients again and again: by how much the clock steps before, how long they live, how far they are apart."""
    found = [HEADER]
    ms = START_MS
    for step, ends_after, apart in rounds:
        ms += step
        for client in range(CLIENTS):
            found.extend(connection(ms, 40_000 + client * 7, ends_after))
            ms += apart
    return b"".join(found)


def json_of(path: Path, jobs: int, all_flows: bool) -> str:
    """The report, and what else is told; all shares are followed by this process."""

    def not_started(self: Workers, index: int) -> None:
        self._unstarted[index] = Failure("is not needed", "")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "EXPIRE_EVERY", 64)
        patch.setattr(Workers, "_start", not_started)
        patch.setattr(workers, "warn_redone", lambda *_: None)
        several = report(path, jobs=jobs, all_flows=all_flows)
    assert not several.alone
    return told(several)


ROUNDS = st.lists(
    st.tuples(st.sampled_from(STEPS), st.sampled_from((0, 20, 900, 4000)), st.sampled_from((1, 40, 700))),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("all_flows", [False, True])
@settings(max_examples=15, deadline=None)
@example([(0, 20, 40)] + [(-1_500, 20, 40), (-1_500, 0, 1), (5_000, 20, 40), (-5_000, 900, 1)] * 3)
@given(ROUNDS)
def test_shares_say_what_one_process_says(all_flows: bool, rounds: list[tuple[int, int, int]]) -> None:
    if _build.compiled():
        pytest.skip("how often finished flows are looked for is compiled in")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "back.pcap"
        path.write_bytes(capture(rounds))
        alone = json_of(path, 1, all_flows)
        for jobs in (2, 3, 5):
            assert json_of(path, jobs, all_flows) == alone


def test_a_capture_again_and_again(tmp_path: Path) -> None:
    """Its clock steps back 299 times by a minute."""
    data = (CAPTURES / "stalled-client-hello" / "capture.pcap").read_bytes()
    path = tmp_path / "again.pcap"
    path.write_bytes(data[:24] + data[24:] * 300)
    alone = told(report(path))
    for jobs in (2, 3):
        several = report(path, jobs=jobs)
        assert not several.alone
        assert told(several) == alone
