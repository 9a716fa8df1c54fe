"""`scripts/soak` for ten seconds: every flow that it makes is accounted for."""

import subprocess
import sys
from pathlib import Path

SOAK = Path(__file__).parents[2] / "scripts" / "soak"


def test_a_short_soak() -> None:
    ended = subprocess.run(
        [sys.executable, str(SOAK), "--minutes", "0.17", "--rate", "20"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stdout
    first, *_, last = ended.stdout.splitlines()
    assert " packets in 10 s" in first
    assert last == "every flow is accounted for"
