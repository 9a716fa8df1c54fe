"""What all tests share: which pcapstall is tested, hypothesis' budget, and where the outside captures are.

Environment: PCAPSTALL_EXPECT=compiled|interpreted ends the run unless that is what was imported;
PCAPSTALL_HYPOTHESIS=thorough draws many more examples, at random; PCAPSTALL_GOLDEN=write rewrites golden texts.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import pcapstall
from pcapstall import _build

ROOT = Path(__file__).parent.parent
TESTED = Path(pcapstall.__file__).parent.parent
"""The folder that the tested package was imported from: the checkout, or site-packages."""

sys.path.insert(0, str(Path(__file__).parent))  # for what tests of several folders share: `splitting`

# Commands that tests start import the same package, wherever they run.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(TESTED), os.environ.get("PYTHONPATH")]))
os.environ["PYTHONSAFEPATH"] = "1"
# Where the width of the output is the test's matter it says so. Readline, which pytest imports, puts one into the
# environment that only processes that are started see.
os.environ["COLUMNS"] = ""

# Whoever runs the tests in the background may have had these ignored (nohup); what tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGXCPU, signal.SIG_DFL)

_SLOW_STARTS = [HealthCheck.too_slow]
settings.register_profile(
    "default", derandomize=True, database=None, max_examples=60, deadline=None, suppress_health_check=_SLOW_STARTS
)
settings.register_profile("thorough", max_examples=3000, deadline=None, suppress_health_check=_SLOW_STARTS)
settings.load_profile(os.environ.get("PCAPSTALL_HYPOTHESIS", "default"))


def pytest_report_header() -> str:
    return f"pcapstall {pcapstall.__version__}, {os.environ.get('PCAPSTALL_EXPECT', 'as found')}, from {TESTED}"


def pytest_sessionstart() -> None:
    expected = os.environ.get("PCAPSTALL_EXPECT")
    if expected and not _build.kind().startswith(expected):
        pytest.exit(f"expected a pcapstall that is {expected}, imported one that is {_build.kind()}", returncode=4)


def _shared(name: str) -> Path:
    folder = ROOT.parent / "shared" / name
    if not folder.is_dir():
        pytest.skip(f"{name} captures are not beside the project")
    return folder


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Real captures with tshark's reading of each in truth/; the test skips where they are not."""
    return _shared("corpus")


@pytest.fixture(scope="session")
def lab() -> Path:
    """Runs of a lab with captures, straces and the truth; the test skips where they are not."""
    return _shared("lab")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(name, text)`` fails when ``text`` is not what the file of that name, in `golden` beside the test, holds.

    PCAPSTALL_GOLDEN=write rewrites the files instead; the difference is then reviewed like any other.
    """
    folder = request.path.parent / "golden"

    def compare(name: str, text: str) -> None:
        path = folder / name
        if os.environ.get("PCAPSTALL_GOLDEN") == "write":
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return compare
