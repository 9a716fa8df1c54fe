"""What a report says, all of it, and captures that are large enough to be read by several processes."""

import io
import struct
import sys
from pathlib import Path

from pcapstall.diagnose.thresholds import NAMES
from pcapstall.pipeline import Analysis, Options, analyse
from pcapstall.report.options import RenderOptions
from pcapstall.report.render import render

ROOT = Path(__file__).parent.parent.parent
CAPTURES = ROOT / "captures"
PACKETS = 14_000
"""Of the capture that the tests of a run share."""
FILES = sorted(path for path in CAPTURES.rglob("*.pcap*"))


def label(path: Path) -> str:
    return str(path.relative_to(CAPTURES))


def told(analysis: Analysis) -> str:
    """The report as JSON, and the lengths of all flows, shown or not."""
    out = io.StringIO()
    render(analysis.report, out, "json", RenderOptions())
    lengths = {
        (name, with_open): sorted(analysis.tally.lengths(name, with_open).values())
        for name in NAMES
        for with_open in (False, True)
    }
    errors = [str(error) for error in analysis.unreadable]
    return f"{out.getvalue()}{lengths}{sorted(analysis.tally.capture_points.items())}{errors}{analysis.report.warnings}"


def report(*paths: Path, jobs: int = 1, all_flows: bool = False, max_flows: int = 100_000) -> Analysis:
    return analyse([str(path) for path in paths], Options(jobs=jobs, all_flows=all_flows, max_flows=max_flows))


def make_traffic(path: Path, packets: int, flows: int) -> Path:
    """A capture of the benchmark's kind."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import bench_traffic
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    bench_traffic.write(bench_traffic.Mix(packets, flows, stalls=0.1), path)
    return path


def cut_after(path: Path, packets: int, target: Path) -> Path:
    """The first ``packets`` of a little-endian pcap file."""
    data = path.read_bytes()
    at = 24
    for _ in range(packets):
        at += 16 + int(struct.unpack_from("<I", data, at + 8)[0])
    target.write_bytes(data[:at])
    return target


def children() -> set[int]:
    """Processes that this one has started and not waited for."""
    return {int(pid) for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


def in_session(number: int) -> list[str]:
    """What still runs in a session; what has ended, and only waits for whoever started it, does not (proc(5), stat)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(") ")
        except OSError:
            continue  # it has just ended
        state, _, _, session, *_ = rest.split()
        if int(session) == number and state not in "ZX":
            found.append(f"{name})")
    return found
