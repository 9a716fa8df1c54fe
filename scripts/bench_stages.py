#!/usr/bin/env python3
"""Nanoseconds a packet of each layer of the hot path: reading, and decoding, and following flows.

The loops (bench_loops.py) are compiled together with a copy of the package in build/bench/stages: called from
interpreted code, a method of a compiled class costs many times what it costs in the real run. Each stage is the best
of five in a process of its own; the difference of two lines is the cost of the upper one's last layer.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "build" / "bench" / "stages"
PACKAGES = ("core", "capture", "wire", "flows")
ROUNDS = 5


def build() -> Path:
    """The folder of the compiled copy, built when a source is newer."""
    built = TREE / "built"
    stamp = TREE / "stamp"
    sources = [*(ROOT / "pcapstall").rglob("*.py"), ROOT / "setup.py", ROOT / "scripts" / "bench_loops.py"]
    newest = max(path.stat().st_mtime for path in sources)
    if stamp.exists() and stamp.stat().st_mtime >= newest:
        return built
    print("compiling the stages ...", file=sys.stderr)
    shutil.rmtree(TREE, ignore_errors=True)
    for name in PACKAGES:
        shutil.copytree(
            ROOT / "pcapstall" / name, TREE / "pcapstall" / name, ignore=shutil.ignore_patterns("__pycache__", "*.so")
        )
    for path in (ROOT / "pcapstall").glob("*.py"):
        shutil.copy(path, TREE / "pcapstall")
    shutil.copy(ROOT / "scripts" / "bench_loops.py", TREE / "pcapstall" / "_bench_loops.py")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, TREE)
    shutil.copytree(ROOT / "docs" / "man", TREE / "docs" / "man")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(built), str(TREE)],
        check=True,
        env=os.environ | {"PCAPSTALL_REQUIRE_COMPILED": "1"},
    )
    # The dependencies of the compiled modules themselves.
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(built), "librt", "mypy_extensions"],
        check=True,
    )
    stamp.touch()
    os.utime(stamp, (newest, newest))
    return built


def main(captures: list[str]) -> None:
    """Print a line for each stage of each capture."""
    built = build()
    environment = os.environ | {"PYTHONPATH": str(built), "PYTHONSAFEPATH": "1"}
    code = "import sys; from pcapstall._bench_loops import measure; measure(sys.argv[1], sys.argv[2])"
    for capture in captures:
        print(f"\nstages, {Path(capture).name}: ns a packet")
        for stage in ("read", "decode", "flows"):
            lines = [
                subprocess.run(
                    [sys.executable, "-c", code, stage, capture],
                    check=True,
                    env=environment,
                    stdout=subprocess.PIPE,
                    text=True,
                ).stdout.split()
                for _ in range(ROUNDS)
            ]
            best = min(lines, key=lambda line: float(line[0]))
            print(f"  {stage:<8} {float(best[0]):>8.1f}   {best[1]} packets, {best[2]} TCP, {best[3]} flows, {best[4]}")


if __name__ == "__main__":
    main(sys.argv[1:])
