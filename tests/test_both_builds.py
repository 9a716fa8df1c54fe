"""The compiled installation says the same as the interpreted checkout, of damaged captures too.

Of the captures of the tree themselves tests/captures/test_golden.py says so, for scripts/test runs it with either
build. Here machine words meet what no capture has on purpose: numbers that wrap at 64 bits where they are compiled and
do not where they are not. Only the compiled run has both; it reads the same files with the checkout's sources.
"""

import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from pcapstall import _build
from pcapstall.pipeline import Options, analyse
from pcapstall.report.to_json import flow_object, header

ROOT = Path(__file__).parent.parent
FILES = sorted(path for path in (ROOT / "captures").rglob("*.pcap*") if path.stat().st_size < 24_000)
DAMAGED_PER_FILE = 5
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF)


def write_all(folder: Path) -> None:
    """Each capture as it is, and with stamps, lengths, sequence numbers and whatever else changed."""
    draw = random.Random(1)
    for number, path in enumerate(FILES):
        data = path.read_bytes()
        (folder / f"{number:03}-0.pcap").write_bytes(data)
        for variant in range(1, DAMAGED_PER_FILE + 1):
            changed = bytearray(data)
            for _ in range(draw.randint(1, 30)):
                at = draw.randrange(24, len(changed) - 4)
                if draw.random() < 0.3:
                    changed[at : at + 4] = struct.pack(">I", draw.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)))
                else:
                    changed[at] = draw.choice((*EXTREMES, draw.randrange(256)))
            (folder / f"{number:03}-{variant}.pcap").write_bytes(changed)


def digests(folder: Path) -> dict[str, str]:
    """For each file what is read and concluded, as a digest."""
    found: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        analysis = analyse([str(path)], Options(all_flows=True))
        errors = [error.reason for error in analysis.unreadable]
        text = json.dumps([errors, header(analysis.report), [flow_object(flow) for flow in analysis.report.flows]])
        found[path.name] = hashlib.sha256(text.encode()).hexdigest()
    return found


def test_they_say_the_same_of_damaged_captures() -> None:
    if not _build.compiled():
        pytest.skip("this is the interpreted build alone; scripts/test runs the compiled one as well")
    with tempfile.TemporaryDirectory() as folder:
        write_all(Path(folder))
        compiled = digests(Path(folder))
        command = [sys.executable, __file__, folder]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
        ended = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, timeout=120)
        kind, interpreted = json.loads(ended.stdout)
        assert kind == "interpreted"
        assert len(compiled) == len(FILES) * (DAMAGED_PER_FILE + 1)
        assert [name for name in compiled if compiled[name] != interpreted[name]] == []


if __name__ == "__main__":
    sys.stdout.write(json.dumps([_build.kind(), digests(Path(sys.argv[1]))]))
