"""Straces with lines lost at random, by a tracer that was overrun or a log shipper: no claim is too sure then."""

import json
import random
from pathlib import Path

import pytest

from pcapstall.pipeline import Options, analyse
from pcapstall.pipeline.ends.given import GivenFile

LAB = Path(__file__).resolve().parents[2].parent / "shared" / "lab"
RUNS = ("b3_no_epoll_wait_c", "c1_futex_lock", "d3_busy_other_syscalls", "e2_pipe_child", "f1_late_accept",
        "g1_slow_read", "k1_sigstop", "m7_server_forks", "n1_woken_but_busy", "n4_edge_lost")  # fmt: skip
BY_PACKETS = ("client_silent", "server_slow_hello", "server_slow")
"""What packets alone say of these is right, too."""


def verdicts(run: Path, straces: dict[str, Path]) -> dict[int, tuple[str | None, str | None, str | None]]:
    """Cause, reason and confidence of each stalled flow."""
    options = Options(straces=[GivenFile(str(path), side) for side, path in straces.items()])
    analysis = analyse([str(run / "capture.pcap")], options)
    return {flow.id: (flow.cause, flow.reason, flow.confidence) for flow in analysis.report.flows if flow.stalled}


@pytest.mark.skipif(not LAB.exists(), reason="the lab runs are not beside the project")
@pytest.mark.parametrize("name", RUNS)
def test_lost_lines_make_no_wrong_claim_sure(name: str, tmp_path: Path) -> None:
    run = LAB / name
    whole = {side: run / f"{side}.strace" for side in ("client", "server")}
    expected = verdicts(run, whole)
    assert expected
    assert json.loads((run / "truth.json").read_text())["cause"]["party"] in str(expected)
    for seed in range(6):
        chance = random.Random(f"{name} {seed}")
        rate = (0.01, 0.05, 0.2)[seed % 3]
        cut = {}
        for side, path in whole.items():
            lines = path.read_bytes().splitlines(keepends=True)
            cut[side] = tmp_path / f"{side}.strace"
            cut[side].write_bytes(b"".join(line for line in lines if chance.random() >= rate))
        for number, (cause, reason, confidence) in verdicts(run, cut).items():
            if confidence == "high":
                assert cause == expected[number][0], seed
                assert reason == expected[number][1] or reason in BY_PACKETS, seed


def test_halves_without_their_others_are_counted(read) -> None:
    reading = read(
        "7 1796007027.1 read(4,  <unfinished ...>\n7 1796007027.2 getpid() = 7\n"
        '8 1796007027.3 getpid() = 8\n8 1796007027.4 <... read resumed>"y", 1) = 1\n'
    )
    assert (reading.reader.lost_halves, reading.reader.first_lost_ref & 0xFFFF) == (1, 2)
