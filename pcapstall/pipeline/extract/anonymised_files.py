"""Straces and logs of an anonymised extract: which files there are, what each is called then, their lines rewritten.

Names of files may tell as much as what is in them, so they get new ones: a label, or a number. What becomes of a line
is the anonymise package's matter.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, Final, NamedTuple

from pcapstall.anonymise.log_text import LogText
from pcapstall.anonymise.strace_text import StraceText
from pcapstall.core.textfile import TextSource
from pcapstall.pipeline.ends.given import GivenFile, files_of, files_of_strace
from pcapstall.pipeline.extract.anonymised import Anonymised

STRACE: Final = "strace"
LOG: Final = "log"
_TID: Final = re.compile(r".*\.([0-9]{1,8})(?:\.\w{2,3})?")


class Planned(NamedTuple):
    """One file to be written."""

    source: str
    name: str
    """Of the new file, without a folder."""
    kind: str
    label: str | None


def plan(straces: Sequence[GivenFile], logs: Sequence[GivenFile]) -> list[Planned]:
    """The files that are to be written, each once; logs first, for straces show their lines being written."""
    found: list[Planned] = []
    seen: set[str] = set()
    for kind, given, expand in ((LOG, logs, files_of), (STRACE, straces, files_of_strace)):
        for number, file in enumerate(given, 1):
            paths = [path for path in expand(file.path) if path not in seen]
            seen.update(paths)
            base = f"{file.label or number}.{kind}"
            taken = {planned.name for planned in found}
            if base in taken or any(name.startswith(f"{base}.") for name in taken):
                base = f"{file.label or ''}{number}.{kind}"
            found += [Planned(path, base + _suffix(path, paths, at), kind, file.label) for at, path in enumerate(paths)]
    return found


def _suffix(path: str, paths: Sequence[str], at: int) -> str:
    """What tells the files of a family or a pattern apart: the thread in the name of one of `strace -ff`."""
    thread = _TID.fullmatch(path)
    if len(paths) == 1 and (thread is None or not os.path.exists(path)):
        return ""
    if thread is not None:
        return f".{thread[1]}"
    return f"-{at + 1}" if len(paths) > 1 else ""


def given_again(planned: Sequence[Planned], folder: str, kind: str) -> list[GivenFile]:
    """The files of ``kind`` as they are given to a report of the extract."""
    return [GivenFile(os.path.join(folder, each.name), each.label) for each in planned if each.kind == kind]


class Rewriter:
    """Writes one file after the other; logs are to come first."""

    def __init__(self, anonymised: Anonymised) -> None:
        self._log = LogText(anonymised.mapping, anonymised.text)
        self._strace = StraceText(anonymised.mapping, anonymised.text, self._log.known_line)

    def write(self, planned: Planned, out: BinaryIO) -> int:
        """One file under other names; how many lines it has. InputError when it cannot be read."""
        rewrite: Callable[[bytes], bytes] = self._log.line if planned.kind == LOG else self._strace.line
        count = 0
        for line, end in _lines(planned.source):
            out.write(rewrite(line) + end)
            count += 1
        return count


def _lines(path: str) -> Iterator[tuple[bytes, bytes]]:
    """Each line and how it ends."""
    source = TextSource(path)
    try:
        stream = source.open()
        try:
            rest = b""
            while chunk := stream.read():
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    bare = line.removesuffix(b"\r")
                    yield bare, line[len(bare) :] + b"\n"
            if rest:
                yield rest, b""
        finally:
            stream.close()
    finally:
        source.close()
