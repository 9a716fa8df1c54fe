"""Lets the tests of this folder import `verify_support`; gives them tshark, or one that misbehaves."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def tshark() -> str:
    """The path of tshark; the test skips where there is none."""
    path = shutil.which("tshark")
    if path is None:
        pytest.skip("tshark is not installed")
    return path


@pytest.fixture
def fake_tshark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """``fake_tshark(script)`` puts a tshark first in PATH that tells its version and then runs the shell script."""

    def install(script: str, version: str = "echo 'TShark (Wireshark) 4.0.17.'") -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "tshark"
        program.write_text(f'#!/bin/sh\nif [ "$1" = --version ]; then\n{version}\nexit\nfi\n{script}\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return program

    return install
