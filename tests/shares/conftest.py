"""Lets the tests of this folder import `shares_support`, and makes one capture of the benchmark's kind for all."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from shares_support import PACKETS, make_traffic


@pytest.fixture(scope="session")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough packets for several looks for finished flows."""
    return make_traffic(tmp_path_factory.mktemp("traffic") / "traffic.pcap", PACKETS, 700)


@pytest.fixture
def nobody_waits_for_children() -> Iterator[None]:
    """SIGCHLD is ignored, as a program may inherit it; the kernel then keeps nothing of a child that is over."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)
