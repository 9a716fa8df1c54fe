"""Lets the tests of pictures import the flows that the report's tests are made of."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "report"))
