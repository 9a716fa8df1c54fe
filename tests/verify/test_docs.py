"""docs/verify.md names every known difference, and shows what comes (but for the versions in the first line)."""

from pathlib import Path

import pytest

from pcapstall.cli.main import main
from pcapstall.report.comparison_model import COMPARED_EVENTS
from pcapstall.report.known_differences import KNOWN

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")


def test_every_known_difference_and_every_event_is_on_the_page() -> None:
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| ")]
    named = {name.strip() for row in rows for name in row.split(",")}
    assert set(KNOWN) <= named
    assert set(COMPARED_EVENTS) <= named


@pytest.mark.usefixtures("tshark")
def test_what_the_page_shows_is_what_comes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    command, shown = PAGE.partition("```console\n$ pcapstall ")[2].partition("```")[0].split("\n", 1)
    assert main(command.split()) == 0
    assert capsys.readouterr().out.splitlines()[:-1] == shown.splitlines()[:-1]
