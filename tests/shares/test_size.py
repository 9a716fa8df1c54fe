"""A capture that is larger than the memory the program may have."""

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT_KB = 400_000
RECORD_LEN = 60_000
RECORDS = 10_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One connection's bulk data, 600 MB of it; a file with holes, so that it takes no room."""
    path = tmp_path_factory.mktemp("large") / "large.pcap"
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for number in range(RECORDS):
            payload_len = RECORD_LEN - 54
            out.write(struct.pack("<IIII", 1_700_000_000 + number // 1000, number % 1000, RECORD_LEN, RECORD_LEN))
            out.write(bytes(12) + b"\x08\x00")
            out.write(
                struct.pack(
                    ">BBHHHBBH8s", 0x45, 0, RECORD_LEN - 14, number & 0xFFFF, 0, 64, 6, 0, b"\x0a\0\0\1\x0a\0\0\2"
                )
            )
            seq = (1000 + number * payload_len) & 0xFFFFFFFF
            out.write(struct.pack(">HHIIBBHHH", 40000, 443, seq, 1, 0x50, 0x10, 1000, 0, 0))
            out.seek(payload_len, 1)
        out.truncate()
    return path


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_it_is_read_to_its_end(large: Path, jobs: str) -> None:
    assert large.stat().st_size > LIMIT_KB * 1024
    ended = subprocess.run(
        ["bash", "-c", f'ulimit -v {LIMIT_KB}; exec "$0" "$@"', sys.executable, "-m", "pcapstall", "report",
         "--jobs", jobs, "-f", "json", str(large)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    (capture,) = json.loads(ended.stdout)["captures"]
    assert capture["packets"] == capture["tcp_packets"] == RECORDS
    assert ended.stderr == ""
