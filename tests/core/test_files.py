"""Names on the command line: files, patterns, and files whose names look like patterns."""

from pathlib import Path

import pytest

from pcapstall.core.files import files_named


def test_what_a_name_stands_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.pcap", "a.pcap", "x[1].pcap", "x1.pcap"):
        Path(name).touch()
    Path("gone[2].pcap").symlink_to("nowhere")
    assert files_named("*.pcap") == ["a.pcap", "b.pcap", "gone[2].pcap", "x1.pcap", "x[1].pcap"]
    assert files_named("x[1].pcap") == ["x[1].pcap"], "a file of that name is meant"
    assert files_named("x[12].pcap") == ["x1.pcap"]
    assert files_named("gone[2].pcap") == ["gone[2].pcap"], "whoever opens it says what is wrong"
    assert files_named("none.pcap") == files_named("none*") == files_named("") == []
