"""The pages of docs/: every command has one, it names all of the command's options, and what it shows is what comes."""

import re
import shlex
from pathlib import Path

import click
import pytest

from pcapstall.cli.main import COMMANDS, main, root
from pcapstall.report.columns import FLOW_COLUMNS

ROOT = Path(__file__).resolve().parents[2]
SHOWN = re.compile(r"^```\n\$ pcapstall (?P<arguments>.*)\n(?P<output>(?:.*\n)*?)```$", re.MULTILINE)


def page(name: str) -> str:
    path = ROOT / "docs" / f"{name}.md"
    assert path.is_file(), f"pcapstall {name} has no docs/{name}.md"
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_a_page_that_names_its_options(name: str) -> None:
    text = page(name)
    assert text.startswith(f"# pcapstall {name}\n")
    command = root.get_command(click.Context(root), name)
    assert command is not None
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    shown = [option for option in options if not option.hidden]
    assert [option.opts[-1] for option in shown if not any(f"`{way}" in text for way in option.opts)] == []


@pytest.mark.parametrize("name", list(COMMANDS))
def test_what_a_page_shows_is_what_comes(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    for example in SHOWN.finditer(page(name)):
        if " -o " in example["arguments"]:
            continue  # would write into the checkout
        main(shlex.split(example["arguments"]))
        written = [line for line in capsys.readouterr().out.splitlines() if line]
        parts = [part.strip("\n") for part in example["output"].split("...\n")]
        expected = [line for part in parts for line in part.splitlines() if line]
        # `...` stands for lines that are left out; those that are shown come in this order.
        remaining = iter(written)
        missing = [line for line in expected if line not in remaining]
        assert missing == []
        if len(parts) == 1:
            assert written == expected


def test_the_page_on_filters_has_every_column_under_its_kind() -> None:
    cells = [line.split("|") for line in page("report").splitlines() if line.startswith("| ") and line.count("|") == 5]
    by_kind = {row[1].strip(): set(row[4].replace(",", " ").split()) for row in cells}
    for kind in {column.kind for column in FLOW_COLUMNS.values()}:
        assert by_kind[kind] == {name for name, column in FLOW_COLUMNS.items() if column.kind == kind}
