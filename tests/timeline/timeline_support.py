"""Straces that tests write for flow 6 of captures/stalled-client-hello, and the timeline of it."""

import json
import tempfile
from pathlib import Path
from typing import Any

from pcapstall.cli.main import main

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
STALLED = CAPTURES / "stalled-client-hello" / "capture.pcap"
SYN_NS = 1_796_023_451_444_089_000
"""Of its flow 6."""
BEGINNING = [
    (-0.0003, "socket(AF_INET, SOCK_STREAM, IPPROTO_IP) = 5 <0.000010>"),
    (-0.0002, 'bind(5, {sa_family=AF_INET, sin_port=htons(34506), sin_addr=inet_addr("10.40.39.45")}, 16) = 0 <0.0>'),
    (
        -0.0001,
        'connect(5, {sa_family=AF_INET, sin_port=htons(8086), sin_addr=inet_addr("10.40.42.129")}, 16) = 0 <0.003>',
    ),
]


def strace(calls: list[tuple[float, str]], threads: int = 2) -> str:
    """Lines of ``strace -f -ttt -T``, seconds after the SYN; one thread after the other makes a call."""
    lines = []
    for number, (seconds, text) in enumerate(calls):
        ns = SYN_NS + round(seconds * 10**9)
        lines.append(f"{7 + number % threads} {ns // 10**9}.{ns % 10**9 // 1000:06d} {text}\n")
    return "".join(lines)


def run(trace: str, log: bytes, form: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a.strace").write_text(trace)
        (Path(folder) / "a.log").write_bytes(log)
        files = ["--strace", f"{folder}/a.strace", "--log", f"x={folder}/a.log", "-o", f"{folder}/out"]
        code = main(["timeline", str(STALLED), *files, "--flow", "6", "-f", form])
        assert code in (0, 3)
        return (Path(folder) / "out").read_text()


def rows(calls: list[tuple[float, str]]) -> list[dict[str, Any]]:
    """The rows of a timeline with these calls of one thread."""
    found: list[dict[str, Any]] = json.loads(run(strace(calls, 1), b"", "json"))["rows"]
    return found
