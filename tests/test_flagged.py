"""Every flow that is flagged in captures from outside is on a page of docs/ that says why, with the verdict it got.

The captures lie beside the project; without them the tests skip.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pcapstall.pipeline import Options, analyse
from pcapstall.report.flow_model import FlowReport

DOCS = Path(__file__).parent.parent / "docs"
FLAGGED = DOCS / "flagged-corpus-flows.md"
UNDECIDED = DOCS / "undecided.md"
VIEWS = {"client": "capture.pcap*", "server": "capture_server.pcap*"}


def flagged(paths: Iterable[Path]) -> Iterator[tuple[Path, FlowReport]]:
    """The flows that a report shows without --all."""
    for path in paths:
        for row in analyse([str(path)], Options()).report.flows:
            yield path, row


def ranges(ids: list[int]) -> str:
    """`1, 3-9, 13`."""
    runs: list[list[int]] = []
    for number in ids:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def outcome(row: FlowReport) -> str:
    return row.tls_outcome or row.tcp_outcome


def test_flagged_flows_of_real_captures_are_explained(corpus: Path) -> None:
    found: dict[tuple[str, str], list[int]] = {}
    paths = [*sorted(corpus.glob("*.pcap*")), *sorted(corpus.glob("broken/*.pcap*"))]
    flows = sum(analyse([str(path)], Options()).report.totals.flows for path in paths)
    for path, row in flagged(paths):
        verdict = f"{row.stalled or '-'} {outcome(row)} {row.cause} {row.reason} {row.confidence}"
        found.setdefault((path.name, verdict), []).append(row.id)
    lines = {f"{name}: {ranges(ids)}: {verdict}" for (name, verdict), ids in found.items()}
    text = FLAGGED.read_text(encoding="utf-8")
    blocks = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert {line for block in blocks for line in block.splitlines()} == lines
    count = sum(map(len, found.values()))
    assert f"{count} of {flows} are" in text, f"{count} of {flows} flows are flagged"


def test_verdicts_of_the_lab_that_are_not_certain_are_explained(lab: Path) -> None:
    found = set()
    for view, pattern in VIEWS.items():
        for path, row in flagged(sorted(lab.glob(f"*/{pattern}"))):
            if row.confidence != "high":
                cells = (path.parent.name, view, row.stalled or "-", row.cause, row.reason, row.confidence)
                found.add((*cells, row.would_settle))
    table = re.findall(r"^\| (\w+) \| (client|server) \|(.+)\|$", UNDECIDED.read_text(encoding="utf-8"), re.MULTILINE)
    said = {(run, view, *(cell.strip() for cell in cells.split("|")[:5])) for run, view, cells in table}
    assert said == found
