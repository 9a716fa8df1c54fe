"""Lets the tests of this folder import `strace_support`, and gives the reader as a fixture."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from strace_support import Reading, read_strace


@pytest.fixture
def read() -> Callable[..., Reading]:
    return read_strace
