"""Reads a log from its first line to its last and keeps what somebody wants, in bounded memory.

Every line ends as one of: stamped, belonging to the line before, or unread. What is wanted is asked of a `Wanted`.
"""

import re
from collections.abc import Iterator
from typing import Final, Protocol

from pcapstall.core.errors import InputError
from pcapstall.core.textfile import NO_TEXT, TextSource, TextStream
from pcapstall.logs.endpoints import Endpoint
from pcapstall.logs.formats import LEADING, LONGEST, Found, formats_of
from pcapstall.logs.lines import MAX_MORE, MAX_TEXT, LogFile, LogLine
from pcapstall.logs.stamps import Stamp

MAX_LINE: Final = 64 * 1024
"""Of a longer line the rest is passed over."""
MAX_KEPT: Final = 20_000
"""Lines kept of one file."""
_SAMPLE_LINES: Final = 500
_MAX_LESSONS: Final = 50
"""So often a file may change its format, or show none."""
_MAGICS: Final = (
    *NO_TEXT,
    (b"LPKSHHRH", "a systemd journal: give what journalctl -o short-iso-precise --file FILE prints"),
)
_COLOR: Final = re.compile(rb"\x1b\[[\d;]*[A-Za-z]")
# 2026-11-30T07:24:02.083943123+00:00 stdout P ...: part of a line that goes on in the next one.
_CRI: Final = re.compile(rb"^\S{20,40} (stdout|stderr) ([PF])(?::\S+)? ")


class Wanted(Protocol):
    """Says which lines are kept."""

    def names(self, line: bytes) -> tuple[Endpoint, ...] | None:
        """The endpoints for which ``line`` is wanted, which may be none; None when it is not, whenever it was."""

    def fits(self, endpoints: tuple[Endpoint, ...], stamp: Stamp | None) -> bool:
        """Whether a line that names ``endpoints`` is wanted with this stamp."""


def read_log(source: TextSource, wanted: Wanted) -> LogFile:
    """Read ``source``; InputError when it is no text."""
    stream = source.open()
    try:
        return _Reader(source.path, stream, wanted).run()
    finally:
        stream.close()


class _Reader:
    def __init__(self, path: str, stream: TextStream, wanted: Wanted) -> None:
        self._stream = stream
        self._wanted = wanted
        self._file = LogFile(path)
        self._found: list[Found] = []
        self._lessons = 0
        self._last: LogLine | None = None
        """The line that is kept and may go on."""
        self._partial: dict[bytes, tuple[int, bytes]] = {}
        """By stream, the line whose last part is still to come: its number and what there is of it."""

    def run(self) -> LogFile:
        file = self._file
        known = -1
        for lines in self._blocks():
            if file.stamped <= known or not self._found:
                # No stamp in the whole block before: another program may go on in this one.
                self._learn(lines)
            known = file.stamped
            for line in lines:
                file.lines += 1
                self._take(line)
        self._flush()
        file.kept.sort(key=_number)  # a line in parts was kept when its last part came
        file.trouble = self._stream.trouble
        file.formats = [found.format.name for found in self._found]
        return file

    def _blocks(self) -> Iterator[list[bytes]]:
        """Whole lines, as many as are there at once."""
        rest, first, passing = b"", True, False
        while chunk := self._stream.read():
            if first:
                _check(self._file.path, chunk)
                first = False
            if passing:
                newline = chunk.find(b"\n")
                if newline < 0:
                    continue
                chunk, passing = chunk[newline:], False
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            if len(rest) > MAX_LINE:
                rest, passing = rest[:MAX_LINE], True
            if lines:
                yield lines
        if first and self._stream.trouble:
            raise InputError(self._file.path, self._stream.trouble)
        if rest:
            yield [rest]

    def _learn(self, lines: list[bytes]) -> None:
        if self._lessons < _MAX_LESSONS:
            self._lessons += 1
            names = {found.format.name for found in self._found}
            more = formats_of([_clean(line) for line in lines[:_SAMPLE_LINES]])
            self._found += [found for found in more if found.format.name not in names]

    def _take(self, line: bytes) -> None:
        line = _clean(line)
        if line.find(b" std", 19, 45) >= 0:
            cri = _CRI.match(line)
            if cri is not None:
                self._take_part(line, cri)
                return
        if self._partial:
            self._flush()
        self._stamped(line, self._file.lines)

    def _take_part(self, line: bytes, cri: "re.Match[bytes]") -> None:
        """A line of a container runtime: put together when it comes in parts, those of the two streams mixed."""
        number, begun = self._partial.pop(cri[1], (self._file.lines, b""))
        whole = begun + line[cri.end() :] if begun else line
        if cri[2] == b"F":
            self._stamped(whole, number)
        else:
            self._partial[cri[1]] = number, whole[:MAX_LINE]

    def _flush(self) -> None:
        """What came of the lines whose last part does not."""
        for number, begun in sorted(self._partial.values()):
            self._stamped(begun, number)
        self._partial.clear()

    def _stamped(self, line: bytes, number: int) -> None:
        file = self._file
        named = self._wanted.names(line)
        if named is None and self._has_stamp(line):
            # What most lines are: the stamp itself is not read.
            file.stamped += 1
            self._last = None
            return
        stamp, stamp_end = self._stamp(line)
        if stamp is None and file.stamped:
            file.continued += 1
            self._go_on(line)
            return
        if stamp is not None:
            file.stamped += 1
        elif line.strip():
            file.unread += 1
            if file.first_unread is None:
                file.first_unread = (number, _text(line[:MAX_TEXT]))
        self._last = None
        if named is None or not self._wanted.fits(named, stamp):
            return
        if len(file.kept) >= MAX_KEPT:
            file.left_out += 1
            return
        self._last = LogLine(number, _text(line[:MAX_TEXT]), stamp, stamp_end, named)
        file.kept.append(self._last)

    def _has_stamp(self, line: bytes) -> bool:
        """Whether the line has what looks like a stamp of the file's main format."""
        if not self._found:
            return False
        found = self._found[0]
        match = found.format.pattern.search(line, 0, found.latest + LONGEST)
        return match is not None and match.start() <= found.latest

    def _stamp(self, line: bytes) -> tuple[Stamp | None, int]:
        for found in self._found:
            hit = found.format.find(line, found.latest)
            if hit is not None:
                start, stamp, end = hit
                return stamp, end if start <= LEADING else 0
        return None, 0

    def _go_on(self, line: bytes) -> None:
        """The line has no stamp: it belongs to the one before."""
        last = self._last
        if last is None or not line.strip():
            return
        last.more_lines += 1
        if len(last.more) < MAX_MORE:
            last.more.append(_text(line[:MAX_TEXT]))


def _number(line: LogLine) -> int:
    return line.number


def _clean(line: bytes) -> bytes:
    """Without the carriage return of its end, colours and what is too long."""
    line = line[:MAX_LINE].rstrip(b"\r")
    return _COLOR.sub(b"", line) if b"\x1b" in line else line


def _text(line: bytes) -> str:
    return line.decode("utf-8", "backslashreplace")


def _check(path: str, head: bytes) -> None:
    """InputError when a file that begins so is no log."""
    for magic, what in _MAGICS:
        if head.startswith(magic):
            raise InputError(path, f"is {what}" if what.startswith("a ") else what)
    sample = head[:8192]
    if sample.count(b"\0") * 20 > len(sample):
        raise InputError(path, f"is no log: starts with {sample[:4].hex(' ')}, which is no text")
