"""scripts/rewrite_golden as a module, and the golden files it would write."""

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "captures"
FOLDERS = sorted(path for path in CAPTURES.iterdir() if path.is_dir())


def load_script() -> ModuleType:
    loader = SourceFileLoader("rewrite_golden", str(ROOT / "scripts" / "rewrite_golden"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes
    return module


golden = load_script()
WANTED: dict[Path, list[Path]] = {
    path: captures for folder in FOLDERS for path, captures in golden.goldens(folder).items()
}
"""Each golden file and the captures that it is the report of."""


def label(path: Path) -> str:
    """`probe/expected_server`."""
    return f"{path.parent.name}/{path.stem}"
