"""The manual page: made from the commands' help, complete, clean roff, and part of an installation."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from pcapstall.cli.main import COMMANDS, root

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "man" / "pcapstall.1"


def test_the_page_is_up_to_date() -> None:
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "make_man"), "--check"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, f"{ended.stdout}{ended.stderr}: a help text has changed, run scripts/make_man"


def test_it_has_every_command_and_every_option() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("\\-", "-")
    for name in COMMANDS:
        assert f".SS pcapstall {name} " in text
        command = root.get_command(click.Context(root), name)
        assert command is not None
        section = text.partition(f".SS pcapstall {name} ")[2].partition("\n.S")[0]
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert [way for way in parameter.opts if way not in section] == []


def test_it_is_clean_roff() -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    ended = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z", str(PAGE)], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_it_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    files = project["tool"]["setuptools"]["data-files"]
    assert files == {"share/man/man1": [PAGE.relative_to(ROOT).as_posix()]}
