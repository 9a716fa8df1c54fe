"""The ladder of packages, read from the imports of every module; it is described in docs/decisions/0002-ladder.md.

An import inside a function or under TYPE_CHECKING counts like any other.
"""

import ast
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "pcapstall"

BELOW: dict[str, set[str]] = {
    "core": set(),
    "capture": {"core"},
    "wire": {"capture", "core"},
    "flows": {"wire", "capture", "core"},
    "strace": {"core"},
    "logs": {"core"},
    "extract": {"flows", "wire", "capture", "core"},
    "anonymise": {"wire", "capture", "core"},
}
"""What each package may import besides itself; the ones above add up."""
for _name in ("match", "diagnose", "report", "pipeline", "cli"):
    BELOW[_name] = set(BELOW)

STORY = "pipeline"
"""The modules of pipeline that are in none of its sub-packages: from captures to a report."""
PIPELINE: dict[str, set[str]] = {
    "scan": set(),
    "ends": set(),
    "trust": {"scan"},
    "shares": {"scan"},
    STORY: {"scan", "ends", "trust", "shares"},
}
"""What each sub-package of pipeline may import of the others; those that do a command's work add up to nothing."""
for _name in ("watch", "extract", "timeline", "compare", "tshark"):
    PIPELINE[_name] = {"scan", "ends", "trust", "shares", STORY}

TOP = {"pcapstall": {"pipeline", "report"}, "pcapstall._build": set[str](), "pcapstall.__main__": {"cli"}}
"""Modules outside the packages. `pcapstall.__version__` may be read from anywhere."""

LIGHT = {
    "__future__", "abc", "array", "bisect", "collections", "collections.abc", "contextlib", "dataclasses", "enum",
    "errno", "fnmatch", "functools", "gc", "glob", "io", "ipaddress", "librt.strings", "librt.vecs", "math",
    "mypy_extensions", "operator", "os", "os.path", "pathlib", "re", "select", "signal", "stat", "string", "sys",
    "time", "types", "typing", "datetime",
}  # fmt: skip
"""What a compiled module may import at its top level besides pcapstall: start-up is paid by every run."""


def _load_build() -> ModuleType:
    # From the checkout, also when the tests run against an installed package.
    spec = importlib.util.spec_from_file_location("_checkout_build", PACKAGE / "_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(name: str) -> str:
    """`pcapstall.wire.link` is of `wire`, `pcapstall.pipeline` of `pipeline`; the top modules are of none."""
    if name in TOP or not name.startswith("pcapstall."):
        return ""
    return name.split(".")[1]


def part_of(name: str) -> str:
    """`pcapstall.pipeline.scan.loop` is of `scan`, `pcapstall.pipeline.analysis` of the story; others are of none."""
    if layer_of(name) != "pipeline":
        return ""
    parts = name.split(".")
    return parts[2] if len(parts) > 2 and (PACKAGE / "pipeline" / parts[2]).is_dir() else STORY


def imports(tree: ast.AST, importer: str, is_package: bool) -> list[tuple[int, str]]:
    """Every imported module, absolute, with its line. `from pcapstall import wire` is an import of both."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = importer.split(".")
                kept = parts[: len(parts) - node.level + (1 if is_package else 0)]
                base = ".".join([*kept, *([base] if base else [])])
            found.append((node.lineno, base))
            if base == "pcapstall.pipeline":
                found += [(node.lineno, f"{base}.{alias.name}") for alias in node.names]
            if base == "pcapstall":
                names = [alias.name for alias in node.names if alias.name != "__version__"]
                found += [(node.lineno, f"pcapstall.{name}") for name in names]
        elif isinstance(node, ast.Call) and _is_import_module(node.func):
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    found.append((node.lineno, argument.value))
    return found


def _is_import_module(func: ast.expr) -> bool:
    return (isinstance(func, ast.Attribute) and func.attr == "import_module") or (
        isinstance(func, ast.Name) and func.id in {"import_module", "__import__"}
    )


def violations(source: str, name: str, is_package: bool = False) -> list[str]:
    """The imports of ``source`` that go up or sideways."""
    layer = layer_of(name)
    allowed = TOP[name] if name in TOP else BELOW[layer] | {layer}
    part = part_of(name)
    parts = PIPELINE[part] | {part} if part else set(PIPELINE)
    return [
        f"line {line}: {name} imports {target}"
        for line, target in imports(ast.parse(source), name, is_package)
        if (layer_of(target) and layer_of(target) not in allowed) or (part_of(target) and part_of(target) not in parts)
    ]


def all_modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", all_modules(), ids=module_name)
def test_imports_go_down_the_ladder(path: Path) -> None:
    name = module_name(path)
    assert name in TOP or layer_of(name) in BELOW, f"{name} belongs to no package of the ladder"
    assert part_of(name) in {"", *PIPELINE}, f"{name} is in no sub-package of the pipeline's ladder"
    assert violations(path.read_text(encoding="utf-8"), name, path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("name", "source", "line"),
    [
        ("pcapstall.core.times", "from pcapstall.wire.link import Linktype", 1),
        ("pcapstall.strace.line", "import pcapstall.flows.flow", 1),
        ("pcapstall.logs.stamps", "def f():\n    from pcapstall.strace import line", 2),
        ("pcapstall.wire.link", "if TYPE_CHECKING:\n    from pcapstall import flows", 2),
        ("pcapstall.flows.flow", "from ..report import model", 1),
        ("pcapstall.flows.flow", "import importlib\nimportlib.import_module('pcapstall.report.model')", 2),
        ("pcapstall.report.model", "from pcapstall.pipeline import analyse", 1),
        ("pcapstall._build", "import pcapstall.core.times", 1),
        ("pcapstall.pipeline.scan.collect", "from pcapstall.pipeline.shares import merge", 1),
        ("pcapstall.pipeline.shares.workers", "def f():\n    from pcapstall.pipeline import follow", 2),
        ("pcapstall.pipeline.ends.logs", "from pcapstall.pipeline import analyse", 1),
        ("pcapstall.pipeline.follow", "from pcapstall.pipeline.watch.run import watch", 1),
        ("pcapstall.pipeline.watch.run", "from ..extract import passes", 1),
    ],
)
def test_the_check_sees_every_way_up(name: str, source: str, line: int) -> None:
    found = violations(source, name)
    assert found
    assert found[0].startswith(f"line {line}:")


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("pcapstall.flows.flow", "from pcapstall.wire.segment import Segment\nfrom . import head"),
        ("pcapstall.cli.main", "def f():\n    import pcapstall.pipeline"),
        ("pcapstall.report.model", "from pcapstall import __version__"),
        ("pcapstall.match.pairs", "from pcapstall.strace.line import read"),
        ("pcapstall.pipeline.follow", "from pcapstall.pipeline.shares.workers import Reading"),
        ("pcapstall.pipeline.watch.run", "from pcapstall.pipeline.analysis import Options\nfrom . import clock"),
    ],
)
def test_the_check_allows_the_way_down(name: str, source: str) -> None:
    assert violations(source, name) == []


def _top_level(tree: ast.Module) -> ast.Module:
    """The statements that run when the module is imported: no function bodies, nothing under TYPE_CHECKING."""

    class Strip(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            return None

        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if "TYPE_CHECKING" in ast.unparse(node.test) else self.generic_visit(node)

    return ast.fix_missing_locations(Strip().visit(tree))


def test_pictures_know_no_page_and_no_file() -> None:
    """Nor a format: whoever writes one draws with them."""
    for path in sorted((PACKAGE / "report" / "pictures").glob("*.py")):
        found = imports(ast.parse(path.read_text(encoding="utf-8")), module_name(path), path.name == "__init__.py")
        names = [target.rpartition(".")[2] for _, target in found if target.startswith("pcapstall.report.")]
        assert [name for name in names if name.startswith("to_") or name in {"page", "render", "options"}] == []
        assert {"os", "pathlib", "io"}.isdisjoint(target for _, target in found)


def hot_modules() -> list[str]:
    names: list[str] = _load_build().hot_modules()
    return names


@pytest.mark.parametrize("name", hot_modules())
def test_a_compiled_module_imports_only_light_things(name: str) -> None:
    tree = _top_level(ast.parse((ROOT / (name.replace(".", "/") + ".py")).read_text(encoding="utf-8")))
    heavy = [
        f"line {line}: {target}"
        for line, target in imports(tree, name, False)
        if not target.startswith("pcapstall") and target not in LIGHT
    ]
    assert heavy == []


def test_the_hot_path_is_compiled() -> None:
    """The modules that every packet passes: one that loses its `i64` would silently be interpreted."""
    expected = {"core.words", "core.seq", "core.frames", "capture.cursor", "wire.segment", "flows.flow"}
    assert {f"pcapstall.{name}" for name in expected} <= set(hot_modules())
