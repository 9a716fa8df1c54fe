"""What is to be known of a capture's name before anything is read: that it is one, and that it can be read as often.

Which files a name stands for, and whether they can be read at all, is found by whoever reads them.
"""

import os
import stat
import sys
from collections.abc import Sequence

import click

from pcapstall.capture.source import STDIN
from pcapstall.core.errors import UsageError


def check_inputs(captures: Sequence[str]) -> None:
    """Standard input must be a pipe or a file: nobody types a capture."""
    if "" in captures:
        raise UsageError("the name of a capture is empty")
    if any(capture in STDIN for capture in captures) and sys.stdin is not None and sys.stdin.isatty():
        raise UsageError(
            f"standard input is a terminal: pipe a capture into it, tcpdump -w - | pcapstall {_command()} -"
        )


def check_read_twice(path: str) -> None:
    """UsageError when ``path`` gives what it has only once; one that is not there is for the reader to tell."""
    if path in STDIN:
        raise UsageError(f"{_command()} reads a capture twice, so standard input will not do: save it to a file first")
    if os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode):
        raise UsageError(f"{_command()} reads a capture twice, so the pipe {path} will not do: save it to a file first")


def _command() -> str | None:
    return click.get_current_context().info_name
