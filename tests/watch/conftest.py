"""Lets the tests of this folder import support modules and the scripts, which importlib mode leaves off the path."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "capture"), str(HERE.parent / "cli"), str(HERE.parents[1] / "scripts")]
