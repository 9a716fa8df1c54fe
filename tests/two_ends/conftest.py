"""Lets the tests of this folder import `two_ends_support`."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
