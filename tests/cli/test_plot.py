"""`pcapstall plot`: each format, what is drawn of what, and what is said when it cannot be."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pcapstall.cli.main import main
from pcapstall.report.pictures import png
from pcapstall.report.pictures.svg import Picture

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
STALLED = str(CAPTURES / "stalled-client-hello" / "capture.pcap")
Output = pytest.CaptureFixture[str]


def drawn(path: Path, *arguments: str) -> bytes:
    assert main(["plot", STALLED, *arguments, "-o", str(path)]) == 0
    return path.read_bytes()


def test_the_whole_capture_with_the_answer_above_it(tmp_path: Path) -> None:
    root = ElementTree.fromstring(drawn(tmp_path / "a.svg"))
    lines = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert lines[0].startswith("1 of 11 flows stalled: 10.40.39.45:34506 sent its ClientHello")
    assert "client process (1)" in lines
    assert "no stall (10)" in lines
    assert any(line.startswith("ack_ch") for line in lines)


def test_one_flow(tmp_path: Path) -> None:
    text = drawn(tmp_path / "a.svg", "--flow", "6").decode()
    assert "The client was silent for 52.2 s" in text
    assert "Flow 6: 10.40.39.45:34506 -&gt; 10.40.42.129:8086" in text


def test_a_healthy_flow_is_drawn_too(tmp_path: Path) -> None:
    assert "No stall, established." in drawn(tmp_path / "a.svg", "--flow", "1").decode()


def test_of_a_pipe_to_standard_output() -> None:
    with open(STALLED, "rb") as capture:
        ended = subprocess.run(
            [sys.executable, "-m", "pcapstall", "plot", "-", "--flow", "6"],
            stdin=capture, capture_output=True, check=True,
        )  # fmt: skip
    assert ended.stdout.startswith(b"<svg ")
    assert b"[frame 148]" in ended.stdout
    assert ended.stderr == b""


def test_a_page(tmp_path: Path) -> None:
    page = drawn(tmp_path / "a.html").decode()
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<figure") == 2


def test_a_filter(tmp_path: Path) -> None:
    text = drawn(tmp_path / "a.svg", "--filter", "ack_ch < 1s").decode()
    assert "no stall (10)" in text
    assert "client process (" not in text


def test_a_capture_without_a_connection_says_so(tmp_path: Path) -> None:
    path, empty = tmp_path / "a.svg", tmp_path / "empty.pcap"
    empty.write_bytes(Path(STALLED).read_bytes()[:24])
    assert main(["plot", str(empty), "-o", str(path)]) == 0
    assert "No TCP connection in what was read." in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-o", "a.pdf"), "-o a.pdf: a picture is svg, png or html"),
        (("-f", "jpeg"), "-f jpeg: a picture is svg, png or html"),
        (("--flow", "99"), "--flow 99: there is no such row; rows go from 1 to 11"),
        (("--flow", "6", "--filter", "ack_ch < 1s"), "--flow 6: none of 10 flows is meant"),
        (("--flow", "sni = 'influxdb.metrics'"), "11 flows are meant"),
        (("--filter", "ack_ch >"), "is missing"),
    ],
)
def test_what_cannot_be_drawn(arguments: tuple[str, ...], said: str, capsys: Output) -> None:
    assert main(["plot", STALLED, *arguments]) == 2
    assert said in capsys.readouterr().err


def test_png(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py", reason="resvg-py is not installed: pip install '.[png]'")
    data = drawn(tmp_path / "a.png", "--flow", "6")
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert width > 1000
    assert height > 800


def test_png_without_the_package_says_what_to_install(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    path = tmp_path / "a.png"
    assert main(["plot", STALLED, "-o", str(path)]) == 2
    assert "pip install '.[png]' in a clone (from an index 'pcapstall[png]')" in capsys.readouterr().err
    assert not path.exists()


def test_png_without_a_font_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    class Blank:
        def svg_to_bytes(self, **_: object) -> bytes:
            return b"nothing but the page"

    monkeypatch.setitem(sys.modules, "resvg_py", Blank())
    with pytest.raises(png.UsageError, match="no font"):
        png.png_of(Picture(10, 10, "", []))
