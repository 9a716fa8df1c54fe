"""Which modules are compiled at installation, and whether the running ones are.

A module that imports `i64` from mypy_extensions is on the hot path and is compiled; there is no other list. setup.py
loads this file by its path before anything is installed, so it imports nothing of pcapstall.
"""

import re
import sys
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent
_HOT: Final = re.compile(r"^from mypy_extensions import (?:.*\W)?i64\b", re.MULTILINE)
_EXTENSION_SUFFIXES: Final = (".so", ".pyd")


def hot_sources() -> list[Path]:
    """The source files of the modules to compile, sorted."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if _is_hot(path.read_text(encoding="utf-8"))]


def _is_hot(source: str) -> bool:
    return "i64" in source and _HOT.search(source) is not None  # a word is found much sooner than the pattern


def hot_modules() -> list[str]:
    """Their dotted names, sorted like the files."""
    return _names_of(hot_sources())


def _names_of(sources: list[Path]) -> list[str]:
    return [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in sources]


def kind() -> str:
    """``compiled (mypyc)`` or ``interpreted``, by what import has loaded or would load; a mixture is said to be one.

    Reads every source file, so it is for `--version` and for tests, not for each run.
    """
    sources = hot_sources()
    names = _names_of(sources)
    for name in [name for name in names if ".core." in name][:1]:
        import_module(name)  # a small one, which fails where any would: they are one library
    count = sum(map(_is_extension, names, sources))
    if names and count == len(names):
        return "compiled (mypyc)"
    return f"mixed ({count} of {len(names)} modules compiled: reinstall)" if count else "interpreted"


def _is_extension(name: str, source: Path) -> bool:
    """Whether a module is one, or will be when it is imported: an extension beside its source goes first."""
    module = sys.modules.get(name)
    if module is not None:
        return (module.__file__ or "").endswith(_EXTENSION_SUFFIXES)
    return any(source.with_name(source.stem + suffix).is_file() for suffix in EXTENSION_SUFFIXES)


def compiled() -> bool:
    """Whether every hot module of this process is a compiled one."""
    return kind() == "compiled (mypyc)"
