"""Where a report goes: standard output or a file, looked at before anything is read.

Whatever goes wrong with it becomes one sentence; a reader that has had enough (`| head`) is no error. What is written
is not known here.
"""

import glob
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TextIO

import click

from pcapstall.core.errors import PcapstallError, UsageError
from pcapstall.report.untrusted import printable

STDOUT: Final = "-"


def say(text: str) -> None:
    """Write ``text`` to standard error; what it quotes may hold anything but the end of its own line."""
    click.echo("\n".join(printable(line) for line in f"pcapstall: {text}".split("\n")), err=True)


def complain(error: PcapstallError) -> None:
    """Say ``error``: wrong usage may take several lines that point at the place, everything else is one line."""
    say(str(error) if isinstance(error, UsageError) else printable(str(error)))


def write_any_text() -> None:
    """Let standard output take every character, escaped where its encoding (LANG, PYTHONIOENCODING) has none."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def check(output: str | None, captures: Sequence[str]) -> None:
    """UsageError when ``output`` cannot be written, or is one of ``captures``: a pipe may be read for days before."""
    if output is None or output == STDOUT:
        return
    folder = os.path.dirname(output) or os.curdir
    if not os.path.isdir(folder):
        raise UsageError(f"-o {output}: there is no folder {folder}")
    if not os.path.exists(output):
        if not os.access(folder, os.W_OK):
            raise UsageError(f"-o {output}: no permission to write in {folder}")
        return
    for capture in captures:
        for path in [capture] if os.path.exists(capture) else glob.glob(capture):
            if os.path.samefile(output, path):
                raise UsageError(f"-o {output}: that is a capture to be read, it would be overwritten")


@contextmanager
def opened(output: str | None) -> Iterator[TextIO]:
    """Standard output, or the file ``output``; UsageError when it cannot be written.

    When whoever reads it has had enough (a broken pipe), what is left of the block is not run, and that is no error.
    """
    path = None if output == STDOUT else output
    try:
        if path is not None:
            with open(path, "w", encoding="utf-8", errors="backslashreplace") as out:
                yield out
        elif sys.stdout is None:
            raise UsageError("standard output is closed")
        else:
            yield sys.stdout
            sys.stdout.flush()
    except BrokenPipeError:
        if path is None:
            discard()
    except OSError as error:
        if path is None:
            discard()
        raise UsageError(f"{'standard output' if path is None else f'-o {path}'}: {error.strerror}") from error


def discard() -> None:
    """What standard output still holds back is not to be written any more, not even at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
