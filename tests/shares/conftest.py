"""Lets the tests of this folder import `shares_support`, and makes one capture of the benchmark's kind for all."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from shares_support import PACKETS, make_traffic


@pytest.fixture(scope="session")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough packets for several looks for finished flows."""
    return make_traffic(tmp_path_factory.mktemp("traffic") / "traffic.pcap", PACKETS, 700)
