"""Straces and logs that change between one reading and the next, or while they are read."""

import os
from pathlib import Path

import pytest

from pcapstall.core.errors import InputError
from pcapstall.core.textfile import TextSource

LINES = b"12:00:00 x\n" * 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log."""
    path = tmp_path / "server.log"
    path.write_bytes(LINES)
    return path


def read_all(source: TextSource, keep_open: bool) -> tuple[bytes, str]:
    """What there is of it, and why no more."""
    stream = source.open(64, keep_open)
    found = b""
    while chunk := stream.read():
        found += chunk
    stream.close()
    return found, stream.trouble


@pytest.mark.parametrize("keep_open", [True, False])
@pytest.mark.parametrize("left", [0, 500])
def test_one_that_was_cut_is_told(path: Path, left: int, keep_open: bool) -> None:
    """As logrotate does with copytruncate."""
    source = TextSource(str(path))
    os.truncate(path, left)
    found, trouble = read_all(source, keep_open)
    assert found == LINES[:left]
    assert (
        trouble
        == f"cut to {left} bytes while it was read, of {len(LINES)} (copy first what is written anew or rotated)"
    )


@pytest.mark.parametrize("keep_open", [True, False])
def test_one_that_grows_or_stays_is_read(path: Path, keep_open: bool) -> None:
    source = TextSource(str(path))
    assert read_all(source, keep_open) == (LINES, "")
    with path.open("ab") as file:
        file.write(LINES)
    assert read_all(source, keep_open) == (LINES + LINES, "")


def test_another_file_of_its_name_is_not_taken_for_it(path: Path) -> None:
    source = TextSource(str(path))
    os.rename(path, path.with_suffix(".1"))
    path.write_bytes(LINES)
    with pytest.raises(InputError, match="another file has its name now"):
        source.open()
    assert read_all(source, keep_open=False) == (
        b"",
        "cannot be read on: another file has its name now (copy first what is rotated)",
    )
