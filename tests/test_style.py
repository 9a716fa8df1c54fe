"""Habits that no linter knows: what a module says of itself, how long it is, and what no tracked file may hold."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "pcapstall"

LINES_MAX = 300

MACHINE_PATH = re.compile(r"(?<![\w.$}~-])/(?:work|root)/")


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", modules(), ids=name)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring is not None, "a module begins with a docstring"
    assert 3 <= len(docstring.splitlines()) <= 6, "3 to 6 lines: what lives here, and what never does"


@pytest.mark.parametrize("path", modules(), ids=name)
def test_a_module_is_short(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LINES_MAX


def broad_handlers(source: str) -> list[int]:
    """Lines of handlers that catch everything, alone or in a tuple, and do not end by raising it again."""
    broad = {"Exception", "BaseException"}
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or any(isinstance(n, ast.Name) and n.id in broad for n in ast.walk(node.type)))
        and not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)
    ]


@pytest.mark.parametrize("path", [*modules(), ROOT / "setup.py"], ids=name)
def test_no_handler_catches_everything(path: Path) -> None:
    assert broad_handlers(path.read_text(encoding="utf-8")) == []


def shared_defaults(source: str) -> list[int]:
    """Lines of a class that give every instance one and the same dict, list or set."""
    mutable = (ast.Dict, ast.List, ast.Set)
    return [
        line.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.value, mutable) and "ClassVar" not in ast.dump(line)
    ]


@pytest.mark.parametrize("path", modules(), ids=name)
def test_no_default_is_shared_by_all_and_can_be_changed(path: Path) -> None:
    assert shared_defaults(path.read_text(encoding="utf-8")) == []


def test_the_check_sees_shared_defaults() -> None:
    source = "class A(NamedTuple):\n    a: Mapping[str, int] = {}\n    b: list[int] = []\n    c: tuple[int, ...] = ()\n"
    assert shared_defaults(source) == [2, 3]


@pytest.mark.parametrize("clause", ["except:", "except Exception:", "except (OSError, BaseException) as error:"])
def test_the_check_sees_broad_handlers(clause: str) -> None:
    assert broad_handlers(f"try:\n    f()\n{clause}\n    g()\n") == [3]
    assert broad_handlers(f"try:\n    f()\n{clause}\n    g()\n    raise\n") == []


@pytest.mark.parametrize("path", modules(), ids=name)
def test_a_record_that_nobody_changes_is_a_named_tuple(path: Path) -> None:
    """Making a frozen dataclass takes half a millisecond of every start, five times as long as a named tuple."""
    assert "@dataclass(frozen" not in path.read_text(encoding="utf-8")


def test_tracked_text_holds_no_path_of_a_machine() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = [ROOT / tracked for tracked in listing.split("\0") if tracked]
    assert len(paths) > 10
    found = []
    for path in paths:
        if not path.is_file():
            continue  # deleted, not yet committed
        data = path.read_bytes()
        if b"\0" in data[:8192]:
            continue
        found += [
            f"{name(path)}:{number}: {line.strip()}"
            for number, line in enumerate(data.decode(errors="replace").splitlines(), 1)
            if MACHINE_PATH.search(line) and path != Path(__file__)
        ]
    assert found == []


@pytest.mark.parametrize(
    ("line", "found"),
    [("see /work/x", True), ("open('/root/.cache')", True), ("patch/work/x", False), ("$TOP/work/", False)],
)
def test_the_check_knows_a_path_of_a_machine(line: str, found: bool) -> None:
    assert bool(MACHINE_PATH.search(line)) == found
