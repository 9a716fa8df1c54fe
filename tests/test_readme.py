"""What README.md and docs/ tell the reader to type is typed here, and what the README shows of it is compared.

The names of captures in the examples stand for captures of the tree. The first line, which makes an environment and
installs the package into it, is checked to be that; the package of the running environment stands for it.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from pcapstall.cli.main import COMMANDS, main, root

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
CAPTURES = ROOT / "captures"

INSTALL = ["python3 -m venv build/venv", "build/venv/bin/pip install ."]
STAND_INS = {
    "capture.pcap": "client-hello-lost/capture.pcap",
    "before.pcap": "tls13-healthy/capture.pcap",
    "after.pcap": "client-hello-lost/capture.pcap",
    "client.pcap": "client-hello-lost/capture.pcap",
    "server.pcap": "client-hello-lost/capture_server.pcap",
    "ring.pcap0": "ring/rotated-20261130-072731.pcap",
    "ring.pcap1": "ring/rotated-20261130-072732.pcap",
    "ring.pcap2": "ring/rotated-20261130-072733.pcap",
}
"""Names in examples, and the captures that they stand for."""

PLANNED: set[str] = set()
"""Commands that pages speak of before they are there."""

FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`\n]*(?:\n[^`\n]+)?)`")


class Example(NamedTuple):
    page: str
    line: str
    """As it stands there, without its prompt and without what is said of it."""
    shown: tuple[str, ...]
    """What the page shows of its output; `...` stands for lines that are left out."""

    @property
    def arguments(self) -> list[str]:
        """Those of pcapstall, which may come last in a pipe or a list of commands."""
        words = shlex.split(self.line)
        begin = max(number for number, word in enumerate(words) if word.rpartition("/")[2] == "pcapstall")
        return words[begin + 1 :]


def is_example(text: str) -> bool:
    return re.search(r"(?:^|[|&] |/)pcapstall( -| [a-z]+$| [a-z]+ )", text) is not None


def examples() -> Iterator[Example]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(ROOT).as_posix()
        for block in FENCED.findall(text):
            lines = block.splitlines()
            for number, line in enumerate(lines):
                if line.startswith("$ "):
                    yield Example(name, line[2:], tuple(lines[number + 1 :]))
                elif is_example(line):
                    yield Example(name, re.split(r"\s{2,}", line.strip())[0], ())
        for code in INLINE.findall(FENCED.sub("", text)):
            if is_example(code):
                yield Example(name, " ".join(code.split()), ())


EXAMPLES = list(examples())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory in which the examples' captures lie, and the tree's own."""
    for name, capture in STAND_INS.items():
        (tmp_path / name).symlink_to(CAPTURES / capture)
    (tmp_path / "captures").symlink_to(CAPTURES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(arguments: list[str]) -> tuple[int, str]:
    """The exit code and the output; standard input is a capture."""
    with open(CAPTURES / "client-hello-lost" / "capture.pcap", "rb") as capture:
        ended = subprocess.run(
            [sys.executable, "-m", "pcapstall", *arguments], stdin=capture, capture_output=True, text=True, check=False
        )
    assert "Traceback" not in ended.stderr
    return ended.returncode, ended.stdout + ended.stderr


def test_the_pages_have_examples() -> None:
    assert sum(example.page == "README.md" for example in EXAMPLES) >= 6
    assert any(example.shown for example in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.page}: {example.line}"[:100])
def test_an_example_runs(example: Example, place: Path) -> None:
    arguments = example.arguments
    if arguments[0] in PLANNED:
        assert arguments[0] not in COMMANDS, "it is there: take it off the list"
        pytest.skip(f"pcapstall {arguments[0]} is not there yet")
    if not any(not word.startswith("-") or word == "-" for word in arguments[1:]) and arguments[0] in COMMANDS:
        # `pcapstall report`, as one names a command.
        command = root.get_command(click.Context(root), arguments[0])
        assert command is not None
        known = {spelling for parameter in command.params for spelling in (*parameter.opts, "--help", "-h")}
        assert set(arguments[1:]) <= known
        return
    code, output = run(arguments)
    assert code in ((0, 1) if "--fail-if" in arguments else (0,)), output
    if "-o" in arguments:
        assert Path(arguments[arguments.index("-o") + 1]).stat().st_size
    else:
        assert output
    written = iter(output.splitlines())
    for line in example.shown:
        if line == "...":
            continue
        assert line in written, f"the page shows a line that is not there, or not in that place: {line}"


def test_the_first_line_installs_and_reports(place: Path) -> None:
    (line,) = {example.line for example in EXAMPLES if "pip install" in example.line and "venv" in example.line}
    *before, last = line.split(" && ")
    assert before == INSTALL
    command = shlex.split(last)
    assert command[0] == "build/venv/bin/pcapstall"
    code, output = run(command[1:])
    assert code == 0
    assert output.startswith("1 of 11 flows stalled: ")


def test_the_readme_leads_to_every_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
    assert [page for page in pages if f"]({page})" not in text] == []


def test_the_readme_shows_every_command() -> None:
    shown = {example.arguments[0] for example in EXAMPLES if example.page == "README.md"}
    assert shown >= set(COMMANDS)


def test_links_between_pages_lead_somewhere() -> None:
    wrong = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", FENCED.sub("", page.read_text(encoding="utf-8")))
        if not (page.parent / target).exists()
    ]
    assert wrong == []


def test_the_installed_command_is_the_module(capsys: pytest.CaptureFixture[str]) -> None:
    """`pcapstall`, where the environment has it."""
    script = Path(sys.executable).parent / "pcapstall"
    if not script.exists():
        pytest.skip("the package is not installed in this environment")
    assert main(["--help"]) == 0
    ended = subprocess.run([script, "--help"], capture_output=True, text=True, check=True, env=os.environ)
    assert ended.stdout == capsys.readouterr().out
