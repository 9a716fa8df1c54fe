"""What the program says of each capture of the tree, against captures/*/expected*.json; every difference by its key.

Run against the interpreted checkout and against the compiled installation (scripts/test), this is also the test that
both say the same. A change that is meant: scripts/rewrite_golden, and its diff is read before it is committed.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from golden_support import CAPTURES, ROOT, WANTED, golden, label


def differences(got: Any, want: Any, where: str = "") -> list[str]:
    """Every place where two JSON values differ: `flows[2].events.ack.frame: 3, expected 4`."""
    if isinstance(got, dict) and isinstance(want, dict):
        keys = [*want, *(key for key in got if key not in want)]
        places = [(f"{where}.{key}".lstrip("."), got.get(key, "nothing"), want.get(key, "nothing")) for key in keys]
    elif isinstance(got, list) and isinstance(want, list):
        padded = max(len(got), len(want))
        got, want = ([*items, *["nothing"] * (padded - len(items))] for items in (got, want))
        places = [(f"{where}[{index}]", *pair) for index, pair in enumerate(zip(got, want, strict=True))]
    else:
        return [] if got == want else [f"{where}: {_short(got)}, expected {_short(want)}"]
    return [line for place in places for line in differences(place[1], place[2], place[0])]


def _short(value: Any) -> str:
    text = value if value == "nothing" else json.dumps(value)
    return text if len(text) <= 160 else text[:157] + "..."


@pytest.mark.parametrize("path", WANTED, ids=label)
def test_the_report_is_the_golden_one(path: Path) -> None:
    assert path.exists(), "no golden file yet: scripts/rewrite_golden makes it"
    report = golden.report(WANTED[path])
    found = differences(report, json.loads(path.read_text(encoding="utf-8")))
    assert not found, "\n".join([f"{path.relative_to(ROOT)} (if it is meant: scripts/rewrite_golden):", *found])
    assert golden.text_of(report) == path.read_text(encoding="utf-8")


def test_no_golden_file_without_a_capture() -> None:
    assert sorted(CAPTURES.glob("*/expected*.json")) == sorted(WANTED)


class TestScript:
    """On a copy, so that nothing of the tree is touched."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "captures" / "refused"
        folder.mkdir(parents=True)
        for path in (CAPTURES / "refused").iterdir():
            (folder / path.name).write_bytes(path.read_bytes())
        return folder

    def test_nothing_to_change(self, folder: Path) -> None:
        assert golden.rewrite(folder, check=False) == []

    def test_a_change_is_shown_and_written(self, folder: Path) -> None:
        path = folder / "expected.json"
        right = path.read_text()
        path.write_text(right.replace('"tcp_outcome": "refused"', '"tcp_outcome": "filtered"'))
        diff = golden.rewrite(folder, check=True)
        assert [line.strip() for line in diff if line[0] in "+-" and line[1] == " "] == [
            '-      "tcp_outcome": "filtered",',
            '+      "tcp_outcome": "refused",',
        ] * 2
        assert diff[0].startswith("--- a/captures/refused/expected.json")
        assert '"filtered"' in path.read_text(), "--check changes nothing"
        assert golden.rewrite(folder, check=False) == diff
        assert path.read_text() == right

    def test_a_golden_file_without_its_capture_goes(self, folder: Path) -> None:
        (folder / "capture_server.pcap").unlink()
        assert golden.rewrite(folder, check=True)
        assert (folder / "expected_server.json").exists()
        golden.rewrite(folder, check=False)
        assert not (folder / "expected_server.json").exists()

    def test_exit_codes(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(golden, "CAPTURES", folder.parent)
        assert golden.main(["--check"]) == 0
        (folder / "expected.json").write_text("{}\n")
        assert golden.main(["--check", "refused"]) == 1
        assert "+++ b/captures/refused/expected.json" in capsys.readouterr().out
        assert golden.main(["refused"]) == 0
        assert golden.main(["--check"]) == 0
        with pytest.raises(SystemExit) as error:
            golden.main(["no-such-folder"])
        assert error.value.code == 2


def test_differences_are_told_by_their_place() -> None:
    got = {"flows": [{"events": {"ack": {"frame": 3}}, "sni": "a"}], "extra": None}
    want = {"flows": [{"events": {"ack": {"frame": 4}, "syn": {}}, "sni": "a"}, {}]}
    assert differences(got, want) == [
        "flows[0].events.ack.frame: 3, expected 4",
        "flows[0].events.syn: nothing, expected {}",
        "flows[1]: nothing, expected {}",
        "extra: null, expected nothing",
    ]
    assert differences(want, want) == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["capture.pcap", "capture_server.pcap"], {"expected": 1, "expected_server": 1}),
        (["capture.pcapng.zst"], {"expected": 1}),
        (["rotated-20261130-072731.pcap", "rotated-20261130-072732.pcap"], {"expected_rotated": 2}),
        (["ring_00005_2026.pcapng", "ring_00006_2026.pcapng", "a.strace"], {"expected_ring": 2}),
    ],
)
def test_which_captures_make_which_golden_file(tmp_path: Path, names: list[str], expected: dict[str, int]) -> None:
    for name in names:
        (tmp_path / name).touch()
    assert {path.stem: len(captures) for path, captures in golden.goldens(tmp_path).items()} == expected
