"""Compiles the hot path with mypyc while a wheel is built; everything else is in pyproject.toml.

Compiled or not is all or nothing: without mypy, without a C compiler, or when any part fails, the wheel holds the same
modules as plain Python and no trace of the attempt. Two environment variables decide:

PCAPSTALL_PURE=1               do not compile
PCAPSTALL_REQUIRE_COMPILED=1   fail the build rather than fall back

An editable installation (`pip install -e`) is never compiled: an extension beside an edited source would shadow it.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import textwrap
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import BaseError, CCompilerError

ROOT = Path(__file__).parent
GENERATED = "build/mypyc"
PURE = os.environ.get("PCAPSTALL_PURE", "") not in {"", "0"}
REQUIRED = os.environ.get("PCAPSTALL_REQUIRE_COMPILED", "") not in {"", "0"}
# All that the modules call of each other is in one library: calls need not go through its symbol table, and may be
# inlined (10 to 18% of the time of following flows).
DIRECT_CALLS = ["-fvisibility=hidden", "-fno-plt"] if os.name == "posix" else []
BUILDING = not {"bdist_wheel", "build", "build_ext", "install"}.isdisjoint(sys.argv)


def hot_sources() -> list[str]:
    """The modules to compile, relative to the project, as pcapstall/_build.py tells them."""
    spec = importlib.util.spec_from_file_location("_build", ROOT / "pcapstall" / "_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [os.path.relpath(path, ROOT) for path in module.hot_sources()]


def fall_back(why: str) -> None:
    """Say that the wheel will be interpreted, or end the build where that is not wanted."""
    if REQUIRED:
        sys.exit(f"pcapstall: PCAPSTALL_REQUIRE_COMPILED is set, and {why}")
    print(f"pcapstall: {why}; the package will run interpreted, about 30 times slower", file=sys.stderr)


def extensions() -> list[Extension]:
    """The C of all hot modules, one group; empty when there is not to be any, or cannot be."""
    if PURE or not BUILDING:
        return []
    try:
        from mypyc.build import mypycify
    except ImportError as error:
        fall_back(f"mypy is not there ({error})")
        return []
    try:
        found: list[Extension] = mypycify(
            hot_sources(),
            opt_level="3",
            debug_level="0",
            group_name="pcapstall",
            target_dir=GENERATED,
        )
    except SystemExit as error:
        # mypycify has printed the type errors and exits with 1, or with a sentence.
        reason = "mypy found errors (above)" if error.code == 1 else str(error.code)
        fall_back(f"the hot modules cannot be translated: {reason}")
        return []
    for extension in found:
        # A new compiler's new warning about generated C is no reason to run 30 times slower.
        kept = [flag for flag in extension.extra_compile_args if flag != "-Werror"]
        extension.extra_compile_args = kept + DIRECT_CALLS
    return found


class BuildPy(build_py):
    """Starts from an empty folder: what an earlier build left (a deleted module, an extension) stays out."""

    def run(self) -> None:
        if not self.editable_mode:
            shutil.rmtree(Path(self.build_lib) / "pcapstall", ignore_errors=True)
            for left_over in Path(self.build_lib).glob("pcapstall__mypyc*"):
                left_over.unlink()
        super().run()


class BuildExt(build_ext):
    """Builds every extension or leaves none."""

    def run(self) -> None:
        try:
            super().run()
            missing = [path for path in self.get_outputs() if not Path(path).is_file()]
        except (BaseError, CCompilerError, OSError) as error:
            missing = [str(error)]
        if not missing:
            return
        for path in self.get_outputs():
            Path(path).unlink(missing_ok=True)
        self.extensions = []
        fall_back(f"the extensions cannot be built: {textwrap.shorten(missing[0], 160)}")


setup(ext_modules=extensions(), cmdclass={"build_py": BuildPy, "build_ext": BuildExt})
