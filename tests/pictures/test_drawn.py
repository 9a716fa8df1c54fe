"""The pictures of docs/ are what `plot` draws, and the README shows one."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_pictures_of_the_pages_are_up_to_date() -> None:
    """The golden picture of a flow with straces and logs of both ends, too."""
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "draw_pictures"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    said = f"{ended.stdout}{ended.stderr}"
    assert ended.returncode == 0, f"{said}: run scripts/draw_pictures, and look at what changed"


def test_the_readme_shows_one() -> None:
    assert "](docs/pictures/stalled-client-hello.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")
