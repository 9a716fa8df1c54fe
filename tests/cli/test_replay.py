"""Traffic that is played again and again, with the same numbers: how many flows there are is no matter of options."""

import json
import struct
from pathlib import Path

import pytest
from cli_support import CAPTURES, run

TIMES = 30
ONE = 11
"""Flows of the capture, all of which connect and end."""


@pytest.fixture(scope="module", params=[70, 200], ids="every {} s".format)
def played(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> str:
    """The stalled client's minute so many times: more packets than the table waits for before it looks around."""
    data = (Path(CAPTURES) / "stalled-client-hello" / "capture.pcap").read_bytes()
    made = bytearray(data[:24])
    for turn in range(TIMES):
        at = 24
        while at < len(data):
            seconds, part, caplen, length = struct.unpack_from("<4I", data, at)
            made += struct.pack("<4I", seconds + turn * request.param, part, caplen, length)
            made += data[at + 16 : at + 16 + caplen]
            at += 16 + caplen
    path = tmp_path_factory.mktemp("played") / "again.pcap"
    path.write_bytes(made)
    return str(path)


@pytest.mark.parametrize("options", [[], ["--all"], ["--jobs", "2"], ["--all", "--jobs", "2"]], ids=" ".join)
def test_a_report_counts_each_time(played: str, options: list[str]) -> None:
    done = run("report", played, *options)
    first = done.stdout.decode().splitlines()[0]
    assert first.startswith(f"{TIMES} of {TIMES * ONE} flows stalled"), first


def test_so_do_data_and_summary(played: str) -> None:
    flows = json.loads(run("report", played, "-f", "json").stdout)["flows"]
    assert len(flows) == TIMES * ONE
    assert sum(flow["counts"]["syn_retries"] for flow in flows) == 0
    assert f"{TIMES * ONE} flows of 1 server: {TIMES} stalled" in run("summary", played).stdout.decode()


def test_so_does_watch(played: str) -> None:
    last = run("watch", played).stdout.decode().splitlines()[-1]
    assert f"0 flows open of {TIMES * ONE}, 0 stalled now, {TIMES} stalled" in last, last
