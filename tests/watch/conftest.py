"""Lets the tests of this folder import `logs_support`, which importlib mode does not put on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
