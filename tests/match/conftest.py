"""Lets the tests of this folder import the packets of `tests/diagnose` and the straces of `tests/diagnose/process`."""

import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent
sys.path.insert(0, str(TESTS / "diagnose"))
sys.path.insert(0, str(TESTS / "diagnose" / "process"))
