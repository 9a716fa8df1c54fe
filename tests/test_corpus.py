"""Real captures against tshark's reading of them: the differences are those of docs/corpus-differences.md, no other.

The scorer lies beside the captures and talks to a command line; here its command runs in this process. Without the
captures the tests skip.
"""

import contextlib
import importlib.util
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import zstandard

from pcapstall.capture.opening import open_capture
from pcapstall.pipeline import Options, analyse
from pcapstall.report.options import RenderOptions
from pcapstall.report.render import render

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "corpus-differences.md"

DIFFERENCE = re.compile(r"^(?P<capture>[\w.-]+--[\w.-]+): .+$")
BYTES = re.compile(r"^(?P<where>frame \d+|file) at 0x(?P<offset>[0-9a-f]+): (?P<data>(?:[0-9a-f]{2} )*[0-9a-f]{2})$")
TOTAL = re.compile(r"^(\d+) of (\d+) values right, (\d+) captures failed$")


def quoted() -> Iterator[str]:
    """The lines of the page's blocks."""
    for block in re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        yield from block.splitlines()


def documented() -> list[str]:
    return [line for line in quoted() if DIFFERENCE.match(line)]


def evidence() -> list[tuple[str, str, int, bytes]]:
    """Capture, frame or file, offset and bytes of what the page quotes."""
    found: list[tuple[str, str, int, bytes]] = []
    capture = ""
    for line in quoted():
        if difference := DIFFERENCE.match(line):
            capture = difference["capture"]
        elif cited := BYTES.match(line):
            found.append((capture, cited["where"], int(cited["offset"], 16), bytes.fromhex(cited["data"])))
    return found


def report(path: str) -> str:
    """What `pcapstall report PATH -f json --all` prints; empty when it cannot be read."""
    analysis = analyse([path], Options(all_flows=True))
    out = io.StringIO()
    if not analysis.unreadable:
        render(analysis.report, out, "json", RenderOptions(all_flows=True))
    return out.getvalue()


def run(command: list[str], **_: Any) -> SimpleNamespace:
    """Stands for subprocess.run: the scorer's `pcapstall report PATH -f json --all`."""
    assert command[0] == "pcapstall"
    assert command[1] == "report"
    assert command[3:] == ["-f", "json", "--all"]
    text = report(command[2])
    return SimpleNamespace(returncode=0 if text else 3, stdout=text, stderr="")


def load_scorer() -> ModuleType:
    path = ROOT.parent / "shared" / "tools" / "score_corpus.py"
    if not path.is_file():
        pytest.skip("the scorer is not beside the project")
    spec = importlib.util.spec_from_file_location("score_corpus", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
    return module


@pytest.fixture(scope="module")
def score(corpus: Path) -> list[str]:
    """The lines that the scorer prints."""
    scorer: Any = load_scorer()
    scorer.subprocess = SimpleNamespace(run=run, TimeoutExpired=TimeoutError)
    scorer.open = lambda path: io.StringIO(Path(path).read_text(encoding="utf-8"))  # it leaves its files open
    out = io.StringIO()
    arguments = sys.argv
    sys.argv = ["score_corpus", "-v", str(corpus)]
    try:
        with contextlib.redirect_stdout(out), pytest.raises(SystemExit):
            scorer.main()
    finally:
        sys.argv = arguments
    return out.getvalue().splitlines()


def test_the_differences_are_the_documented_ones(score: list[str]) -> None:
    found = [line for line in score if DIFFERENCE.match(line)]
    page = documented()
    assert sorted(set(found) - set(page)) == [], "differences that docs/corpus-differences.md does not explain"
    assert sorted(set(page) - set(found)) == [], "differences of docs/corpus-differences.md that are none any more"
    assert len(found) == len(page)


def test_the_totals_are_those_of_the_page(score: list[str]) -> None:
    totals = [match for line in score if (match := TOTAL.match(line))]
    assert len(totals) == 1
    right, compared, failed = (int(number) for number in totals[0].groups())
    assert failed == 0
    assert compared - right == len(documented())
    assert f"{right:,} of {compared:,} values are the same" in " ".join(PAGE.read_text(encoding="utf-8").split())


def test_every_difference_rests_on_bytes() -> None:
    assert {capture for capture, _, _, _ in evidence()} == {line.partition(": ")[0] for line in documented()}


def frame_of(path: Path, number: int) -> bytes:
    cursor = open_capture(str(path))
    while cursor.next():
        if cursor.frame == number:
            return cursor.buf[cursor.start : cursor.start + cursor.caplen]
    raise AssertionError(f"{path.name} has no frame {number}")


@pytest.mark.parametrize(("capture", "where", "offset", "data"), evidence())
def test_the_quoted_bytes_are_in_the_capture(corpus: Path, capture: str, where: str, offset: int, data: bytes) -> None:
    path = corpus / capture
    if where == "file":
        whole = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
    else:
        whole = frame_of(path, int(where.removeprefix("frame ")))
    assert whole[offset : offset + len(data)].hex(" ") == data.hex(" ")
