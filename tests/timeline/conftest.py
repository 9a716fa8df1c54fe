"""Compares a timeline with its golden file, and lets the tests import `timeline_support`."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
GOLDEN = HERE / "golden"


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """``golden(name, text)`` fails when ``text`` is not what the file of that name holds.

    PCAPSTALL_GOLDEN=write rewrites the files instead; the difference is then reviewed like any other.
    """

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if os.environ.get("PCAPSTALL_GOLDEN") == "write":
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return compare
