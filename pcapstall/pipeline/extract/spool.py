"""Pipes as files, for whoever reads a capture more than once: what comes is put into a file that goes away afterwards.

Bounded, and ended by Ctrl-C like any reading of a pipe. What the bytes are is not looked at.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from pcapstall.capture.source import STDIN, Stop, can_be_read_again, open_source
from pcapstall.core.errors import UsageError

SPOOL_MAX: Final = 4_000_000_000
"""Bytes of one pipe; more is better saved where its owner knows of it."""


@contextmanager
def as_files(captures: Sequence[str], stop: Stop) -> Iterator[dict[str, str]]:
    """For each of ``captures`` in its order the name to read it by, and the name that it was given.

    UsageError for a pipe that gives more than `SPOOL_MAX`, or when there is no room; InputError for one that cannot be
    read. ``stop`` thrown ends a pipe, and what had come of it is there.
    """
    with ExitStack() as stack:
        names: dict[str, str] = {}
        for given in dict.fromkeys(captures):
            path = given if can_be_read_again(given) else _spool(given, stop, stack)
            names[path] = given
        yield names


def _spool(given: str, stop: Stop, stack: ExitStack) -> str:
    name = "standard input" if given in STDIN else given
    source = open_source(given, stop)
    stack.callback(source.close)
    try:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pcapstall-"))
    except OSError as error:
        raise UsageError(f"{name} cannot be kept in a temporary file (TMPDIR): {error.strerror}") from error
    path = os.path.join(folder, "spool")
    length = 0
    try:
        with open(path, "xb") as file:
            while chunk := source.read():
                length += len(chunk)
                if length > SPOOL_MAX:
                    most = f"{SPOOL_MAX // 10**9} GB"
                    raise UsageError(f"{name} gives more than {most}, and it is read more than once: save it to a file")
                file.write(chunk)
    except OSError as error:
        raise UsageError(f"{name} cannot be kept in {folder} (TMPDIR): {error.strerror}") from error
    return path
