"""Which modules are compiled at installation, and whether the running ones are.

A module that imports `i64` from mypy_extensions is on the hot path and is compiled; there is no other list. setup.py
loads this file by its path before anything is installed, so it imports nothing of pcapstall.
"""

import re
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent
_HOT: Final = re.compile(r"^from mypy_extensions import (?:.*\W)?i64\b", re.MULTILINE)
_EXTENSION_SUFFIXES: Final = (".so", ".pyd")


def hot_sources() -> list[Path]:
    """The source files of the modules to compile, sorted."""
    return [path for path in sorted(PACKAGE.rglob("*.py")) if _HOT.search(path.read_text(encoding="utf-8"))]


def hot_modules() -> list[str]:
    """Their dotted names, sorted like the files."""
    return [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in hot_sources()]


def kind() -> str:
    """``compiled (mypyc)`` or ``interpreted``, by what import really loads; a mixture is said to be one.

    Imports every hot module (some 20 ms compiled), so it is for `--version` and for tests, not for each run.
    """
    import importlib

    names = hot_modules()
    files = [importlib.import_module(name).__file__ or "" for name in names]
    count = sum(file.endswith(_EXTENSION_SUFFIXES) for file in files)
    if names and count == len(names):
        return "compiled (mypyc)"
    return f"mixed ({count} of {len(names)} modules compiled: reinstall)" if count else "interpreted"


def compiled() -> bool:
    """Whether every hot module of this process is a compiled one."""
    return kind() == "compiled (mypyc)"
