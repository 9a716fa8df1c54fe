"""What of the page needs the program but no browser: what is read for its pictures, and of what."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pcapstall.cli.main import main
from pcapstall.pipeline.timeline import pictures

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
STALLED = CAPTURES / "stalled-client-hello" / "capture.pcap"


def page_of(path: Path, *arguments: str) -> str:
    assert main(["report", *arguments, "-o", str(path)]) == 0
    return path.read_text(encoding="utf-8")


def figures(page: str) -> list[str]:
    return re.findall(r"<figure.*?</figure>", page, re.DOTALL)


def test_packets_that_are_no_event_are_in_the_picture_of_a_file(tmp_path: Path) -> None:
    page = page_of(tmp_path / "a.html", str(CAPTURES / "client-hello-lost" / "capture.pcap"))
    assert "517 bytes again x 4" in figures(page)[1]
    assert "Drawn from the events" not in page


def test_a_pipe_has_pictures_of_the_events(tmp_path: Path) -> None:
    with open(STALLED, "rb") as capture:
        ended = subprocess.run(
            [sys.executable, "-m", "pcapstall", "report", "-", "-f", "html"],
            stdin=capture, capture_output=True, text=True, check=True,
        )  # fmt: skip
    assert len(figures(ended.stdout)) == 3
    assert "ClientHello" in figures(ended.stdout)[1]
    assert "[frame 148]" in figures(ended.stdout)[1]


def test_flows_that_a_filter_drops_are_in_no_picture(tmp_path: Path) -> None:
    page = page_of(tmp_path / "a.html", str(STALLED), "--filter", "ack_ch < 1s")
    assert "no stall (10)" in page
    assert "client process" not in "".join(figures(page))


def test_only_the_worst_are_read_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: Path) -> None:
    monkeypatch.setattr(pictures, "WORST", 2)
    page = page_of(tmp_path / "a.html", str(corpus / "mercury--top_100_fingerprints.pcap"))
    assert page.count("Drawn from the events of the flow alone") == 48


def test_a_report_in_another_format_reads_the_capture_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("no picture was asked for")

    monkeypatch.setattr(pictures, "with_timelines", fail)
    assert main(["report", str(STALLED), "-f", "json", "-o", str(tmp_path / "a.json")]) == 0


def test_a_timeline_has_its_picture_above_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "flow.html"
    assert main(["timeline", str(STALLED), "--flow", "6", "-o", str(path)]) == 0
    page = path.read_text(encoding="utf-8")
    assert len(figures(page)) == 1
    assert "<details open>" in page
