"""What an installation holds and what starting it costs; the wheels are built with compilers that fail."""

import ast
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import pcapstall
from pcapstall import _build

ROOT = Path(__file__).parent.parent

# What a table of ten flows must not wait for.
HEAVY = {
    "asyncio", "click", "dpkt", "email", "http", "json", "logging", "lxml", "lz4", "numpy", "pyshark", "socket", "ssl",
    "subprocess", "tabulate", "zstandard",
}  # fmt: skip

# Called as a C compiler: makes empty files for a number of calls, then fails.
FAKE_CC = """#!/bin/sh
count=$(($(cat "$CC_COUNT" 2>/dev/null || echo 0) + 1))
echo $count > "$CC_COUNT"
[ $count -gt "$CC_FAILS_AFTER" ] && exit 1
while [ $# -gt 0 ]; do
    [ "$1" = -o ] && : > "$2"
    shift
done
"""


def start(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout


def test_importing_the_package_loads_nothing() -> None:
    code = "import sys; old = set(sys.modules); import pcapstall; print(*sorted(set(sys.modules) - old))"
    assert start("-c", code).split() == ["pcapstall"]


def test_the_hot_path_loads_no_third_party_but_mypyc_s_own() -> None:
    code = (
        "import sys, importlib; from pcapstall import _build\n"
        "for name in _build.hot_modules(): importlib.import_module(name)\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    loaded = set(start("-c", code).split())
    assert loaded & HEAVY == set()
    assert {"librt", "mypy_extensions"} <= loaded


def test_a_table_of_a_small_capture_loads_only_what_it_needs() -> None:
    """Start-up is nearly all of the time of a small capture."""
    code = (
        "import sys; from pcapstall.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as ended: assert not ended.code, ended.code\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    capture = ROOT / "captures" / "tls13-healthy" / "capture.pcap"
    command = [sys.executable, "-c", code, "report", str(capture)]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    assert set(run.stderr.split()) & (HEAVY - {"click"}) == set()


def test_the_module_is_the_command() -> None:
    assert start("-m", "pcapstall", "--version").startswith(f"pcapstall {pcapstall.__version__}, {_build.kind()}")


def test_hot_modules_are_found_by_their_i64() -> None:
    names = _build.hot_modules()
    assert "pcapstall.core.words" in names
    assert "pcapstall.core.errors" not in names
    assert len(names) == len(set(names)) == len(_build.hot_sources())


def test_kind_goes_by_what_is_loaded(tmp_path: Path) -> None:
    """One extension among plain modules is neither compiled nor interpreted."""
    kind = _build.kind()
    assert kind in {"compiled (mypyc)", "interpreted"}
    assert _build.compiled() == (kind == "compiled (mypyc)")
    copy = tmp_path / "pcapstall"
    shutil.copytree(ROOT / "pcapstall", copy, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    code = (
        "import sys; from pcapstall import _build; import pcapstall.core.words as words\n"
        "words.__file__ = 'words.cpython-311.so'; print(_build.kind())"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert run.stdout.startswith("mixed (1 of ")


def test_the_type_marker_is_installed() -> None:
    assert Path(pcapstall.__file__).with_name("py.typed").is_file()


def test_what_is_no_module_is_installed() -> None:
    """The style and the script of pages: named in pyproject.toml, and where the package is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named = set(project["tool"]["setuptools"]["package-data"]["pcapstall"])
    kept = {".py", ".pyc", ".so"}
    found = {
        path.relative_to(ROOT / "pcapstall").as_posix()
        for path in (ROOT / "pcapstall").rglob("*")
        if path.is_file() and path.suffix not in kept
    }
    assert found == named
    assert [name for name in named if not (Path(pcapstall.__file__).parent / name).is_file()] == []


def test_a_checkout_holds_no_extension() -> None:
    assert list((ROOT / "pcapstall").rglob("*.so")) == [], "extensions shadow the sources beside them"


def copy_project(destination: Path, packages: list[str]) -> Path:
    keep = shutil.ignore_patterns("__pycache__", "*.so")
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(ROOT / name, destination)
    shutil.copytree(ROOT / "tests", destination / "tests", ignore=keep)
    shutil.copytree(ROOT / "docs" / "man", destination / "docs" / "man")
    for name in packages:
        shutil.copytree(ROOT / "pcapstall" / name, destination / "pcapstall" / name, ignore=keep)
    for path in (ROOT / "pcapstall").iterdir():
        if path.is_file():
            shutil.copy(path, destination / "pcapstall")
    return destination


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with the lowest package only; all builds use the same, so each finds what the one before it left."""
    lowest = copy_project(tmp_path_factory.mktemp("tree"), ["core"])
    # Without the types of `pcapstall.analyze`, which are higher up.
    (lowest / "pcapstall" / "__init__.py").write_text(f'"""Lowest."""\n\n__version__ = "{pcapstall.__version__}"\n')
    return lowest


def build(tree: Path, out: Path, extra: Mapping[str, str]) -> tuple[int, str, list[str]]:
    """Build a wheel; the exit status, what was printed and the names in the wheel."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PCAPSTALL_", "PYTHON"))}
    command = [sys.executable, "-m", "pip", "wheel", "-v", "--no-index", "--no-build-isolation", "--no-deps"]
    command += ["-w", str(out), str(tree)]
    run = subprocess.run(command, check=False, capture_output=True, text=True, env=environment | dict(extra))
    names: list[str] = []
    for wheel in out.glob("*.whl"):
        names += zipfile.ZipFile(wheel).namelist()
    return run.returncode, run.stdout + run.stderr, names


def extensions_of(tree: Path) -> int:
    """The group's library, and a shim for each module that is compiled."""
    return 1 + sum((tree / name.replace(".", "/")).with_suffix(".py").exists() for name in _build.hot_modules())


def fake_cc(folder: Path, fails_after: int) -> dict[str, str]:
    script = folder / "cc"
    script.write_text(FAKE_CC)
    script.chmod(0o755)
    return {"CC": str(script), "CC_COUNT": str(folder / "count"), "CC_FAILS_AFTER": str(fails_after)}


def shims(names: list[str]) -> list[str]:
    return [name for name in names if name.endswith(".so")]


@pytest.mark.build
class TestWheels:
    def test_pure(self, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
        packages = [path.name for path in (ROOT / "pcapstall").iterdir() if path.is_dir()]
        tree = copy_project(tmp_path_factory.mktemp("whole"), packages)
        status, output, names = build(tree, tmp_path, {"PCAPSTALL_PURE": "1", "CC": "false"})
        assert status == 0, output
        sources = {str(path.relative_to(tree)) for path in (tree / "pcapstall").rglob("*.py")}
        outside = {name for name in names if ".dist-info/" not in name}
        page = f"pcapstall-{pcapstall.__version__}.data/data/share/man/man1/pcapstall.1"
        data = {f"pcapstall/{name}" for name in ("py.typed", "report/page.css", "report/page.js")}
        assert outside == sources | data | {page}
        assert [path.name for path in tmp_path.glob("*.whl")] == [f"pcapstall-{pcapstall.__version__}-py3-none-any.whl"]
        entry = next(name for name in names if name.endswith("entry_points.txt"))
        with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
            assert "pcapstall = pcapstall.__main__:main" in wheel.read(entry).decode()

    def test_every_extension_or_none(self, tree: Path, tmp_path: Path) -> None:
        """All of them first; then a compiler that fails at once, early and late finds the whole set lying about."""
        whole = extensions_of(tree)
        calls = 2 * whole  # each is compiled, then linked
        for number, (fails_after, expected) in enumerate([(calls, whole), (0, 0), (1, 0), (2, 0), (calls - 1, 0)]):
            folder = tmp_path / str(number)
            folder.mkdir()
            status, output, names = build(tree, folder, fake_cc(folder, fails_after))
            assert status == 0, output
            assert len(shims(names)) == expected, (fails_after, shims(names))
            assert ("will run interpreted" in output) == (expected == 0)
            assert "pcapstall/core/words.py" in names

    def test_a_compiler_makes_a_compiled_one(self, tree: Path, tmp_path: Path) -> None:
        """The lowest package only: scripts/test compiles, installs and tests the whole."""
        if shutil.which("cc") is None:
            pytest.skip("there is no C compiler")
        status, output, names = build(tree, tmp_path, {"PCAPSTALL_REQUIRE_COMPILED": "1"})
        assert status == 0, output
        assert len(shims(names)) == extensions_of(tree)
        (wheel,) = tmp_path.glob("*.whl")
        assert not wheel.name.endswith("-none-any.whl")
        zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
        environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed"), "PYTHONSAFEPATH": "1"}
        code = "from pcapstall import _build, __file__ as where; print(_build.kind(), where)"
        run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
        assert run.stdout.startswith(f"compiled (mypyc) {tmp_path}")

    def test_the_source_distribution_holds_what_a_clone_holds(self, tmp_path: Path) -> None:
        """All but what only the repository needs; and a wheel can be built from it."""
        if not (ROOT / ".git").exists():
            pytest.skip("not a git checkout")
        tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        copy = tmp_path / "clone"
        for name in filter(None, tracked.split("\0")):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, copy / name)
        for left_over in ("pcapstall/core/words.cpython-311.so", "tests/__pycache__/x.pyc", "build/x"):
            (copy / left_over).parent.mkdir(parents=True, exist_ok=True)
            (copy / left_over).touch()
        code = "import setuptools.build_meta as backend; print(backend.build_sdist('dist'))"
        environment = os.environ | {"PYTHONPATH": ""}
        subprocess.run([sys.executable, "-c", code], cwd=copy, check=True, capture_output=True, env=environment)
        (archive,) = (copy / "dist").glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            held = {name.partition("/")[2] for name in packed.getnames() if packed.getmember(name).isfile()}
            packed.extractall(tmp_path / "unpacked", filter="data")
        metadata = {"PKG-INFO", "setup.cfg"} | {name for name in held if ".egg-info/" in name}
        wanted = {name for name in tracked.split("\0") if name and (ROOT / name).is_file()}
        assert held - metadata == wanted - {".gitignore", ".ci/run"}
        (source,) = (tmp_path / "unpacked").iterdir()
        status, output, names = build(source, tmp_path / "wheel", {"PCAPSTALL_PURE": "1"})
        assert status == 0, output
        assert "pcapstall/cli/main.py" in names

    def test_without_mypy(self, tree: Path, tmp_path: Path) -> None:
        blocker = tmp_path / "mypyc"
        blocker.mkdir()
        (blocker / "__init__.py").write_text("raise ImportError('blocked')\n")
        status, output, names = build(tree, tmp_path, {"PYTHONPATH": str(tmp_path)})
        assert status == 0, output
        assert "mypy is not there (blocked)" in output
        assert shims(names) == []

    @pytest.mark.parametrize("broken", ["compiler", "types"])
    def test_a_failure_is_fatal_where_compiled_is_required(self, broken: str, tree: Path, tmp_path: Path) -> None:
        module = tree / "pcapstall" / "core" / "words.py"
        source = module.read_text()
        extra = {"PCAPSTALL_REQUIRE_COMPILED": "1"} | fake_cc(tmp_path, 0 if broken == "compiler" else 10**6)
        try:
            if broken == "types":
                module.write_text(source + '\nWRONG: int = "text"\n')
            status, output, names = build(tree, tmp_path, extra)
        finally:
            module.write_text(source)
        assert status != 0
        assert names == []
        assert "PCAPSTALL_REQUIRE_COMPILED is set" in output

    def test_type_errors_fall_back_where_it_is_not(self, tree: Path, tmp_path: Path) -> None:
        module = tree / "pcapstall" / "core" / "words.py"
        source = module.read_text()
        try:
            module.write_text(source + '\nWRONG: int = "text"\n')
            status, output, names = build(tree, tmp_path, fake_cc(tmp_path, 10**6))
        finally:
            module.write_text(source)
        assert status == 0, output
        assert shims(names) == []
        assert "will run interpreted" in output


def test_an_isolated_build_can_do_without_the_types_of_all_that_is_imported() -> None:
    """Only what the build requires is there then, and one module that mypy misses leaves everything interpreted."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        overrides = tomllib.load(file)["tool"]["mypy"]["overrides"]
    missed = {
        name.split(".")[0]
        for override in overrides
        if override["ignore_missing_imports"]
        for name in override["module"]
    }
    there = {"__future__", "librt", "mypy_extensions", "pcapstall", *sys.stdlib_module_names}
    imported = set()
    for path in (ROOT / "pcapstall").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                imported.add(str(node.module).split(".")[0])
    assert imported - there <= missed


def test_the_build_needs_what_development_installs() -> None:
    """The tests above build without isolation, so the two lists must ask for the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert set(project["build-system"]["requires"]) <= set(project["project"]["optional-dependencies"]["dev"])
