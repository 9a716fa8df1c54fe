"""The captures in the tree and their makers belong together: each folder has a scenario, a README and clean texts."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "captures"
SCRIPTS = ROOT / "scripts"
FOLDERS = sorted(path.name for path in CAPTURES.iterdir() if path.is_dir())
TEXTS = sorted(path for path in CAPTURES.rglob("*") if path.suffix in {".md", ".log", ".strace"})
LIMIT = 6_000_000


@pytest.fixture(scope="module")
def lab():
    sys.path.insert(0, str(SCRIPTS))
    try:
        import lab.main as main
        import lab.scenario as scenario

        assert isinstance(main, ModuleType)
        yield scenario
    finally:
        sys.path.remove(str(SCRIPTS))


@pytest.mark.parametrize("path", sorted((SCRIPTS / "lab").rglob("*.py")), ids=lambda path: path.stem)
def test_each_maker_compiles_and_says_what_it_is(path):
    module = compile(path.read_text(), str(path), "exec")
    assert module.co_consts[0].strip(), "a module begins with its docstring"


def test_every_folder_has_a_scenario_and_every_scenario_a_folder(lab):
    assert set(FOLDERS) == set(lab.SCENARIOS)


@pytest.mark.parametrize("name", FOLDERS)
def test_readme_names_the_maker_and_the_files_its_checks_read_exist(lab, name):
    readme = (CAPTURES / name / "README.md").read_text()
    assert readme.startswith(f"# {name}\n")
    assert f"`scripts/make_captures {name}`" in readme
    scenario = lab.SCENARIOS[name]
    assert scenario.checks
    for check in scenario.checks:
        assert any((CAPTURES / name).glob(check.file)), check.file


def test_the_list_of_all_names_each_folder():
    listed = re.findall(r"^\| \[([^]]+)\]\(", (CAPTURES / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == FOLDERS


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_texts_tell_nothing_of_the_machine_they_were_made_on(path):
    assert not re.search(rb"/(root|home|work|tmp)/[\w.-]+", path.read_bytes())


def test_all_captures_stay_small():
    assert sum(path.stat().st_size for path in CAPTURES.rglob("*") if path.is_file()) < LIMIT
