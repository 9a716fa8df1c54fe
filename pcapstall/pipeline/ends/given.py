"""Files of either end as the user gives them: ``outbound=FILE``, ``FILE``, a pattern.

What is in them is not looked at here.
"""

import os
import re
from collections.abc import Iterable
from typing import NamedTuple

from pcapstall.core.errors import UsageError
from pcapstall.core.files import files_named


class GivenFile(NamedTuple):
    """A strace or a log."""

    path: str
    """A file, a pattern, or what the names of `strace -ff` files begin with."""
    label: str | None = None
    """What the user calls the process that it is of."""


class Given:
    """All that is given beside the captures."""

    def __init__(self, straces: list[GivenFile], logs: list[GivenFile]) -> None:
        self.straces = straces
        self.logs = logs

    @property
    def paths(self) -> list[str]:
        """The files, for whoever must not write over one."""
        return [name for file in self.straces for name in files_of_strace(file.path)] + [
            name for file in self.logs for name in files_of(file.path)
        ]


def given_files(straces: Iterable[str], logs: Iterable[str]) -> Given:
    """Each of them by `parse_given`."""
    return Given([parse_given(text) for text in straces], [parse_given(text) for text in logs])


def parse_given(text: str) -> GivenFile:
    """``outbound=FILE``, or ``FILE``: a word before the first ``=`` is a label, unless such a file exists.

    UsageError for no name at all, as an unset variable of a script gives.
    """
    if not text:
        raise UsageError("the name of a strace or log is empty")
    label, sign, path = text.partition("=")
    if sign and path and re.fullmatch(r"[\w.-]+", label) and not os.path.exists(text):
        return GivenFile(path, label)
    return GivenFile(text)


def files_of(path: str) -> list[str]:
    """The files that ``path`` stands for; the path itself when there are none, for whoever opens it to say so."""
    return files_named(path) or [path]


def files_of_strace(path: str) -> list[str]:
    """The files of a family, or of a pattern; the path itself when it is neither."""
    if os.path.exists(path):
        return [path]
    import glob  # few have one

    family = [
        name for name in glob.glob(glob.escape(path) + ".*") if re.fullmatch(r"[0-9]+(\.\w+)?", name[len(path) + 1 :])
    ]
    return sorted(family) or files_of(path)


def not_read(names: Iterable[str]) -> list[str]:
    """What to say of files whose reading was ended; nothing of none."""
    said = ", ".join(names)
    return [f"reading was stopped: nothing of {said} is in this report"] if said else []
