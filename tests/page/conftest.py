"""A headless Chromium for the tests of the page, one for all of them; they skip where there is none."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "report"))

from chromium import Chromium


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium to look at the page with (apt-get install chromium)")
    with Chromium(program, tmp_path_factory.mktemp("chromium")) as browser:
        yield browser
