"""Lines of a strace read once more, for somebody to look at: given ones, or all of a stretch of time.

What their descriptors mean is not looked at; `recorder` does that.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from pcapstall.strace.body import CALL, EXIT, RESUMED, SIGNAL, UNFINISHED
from pcapstall.strace.family import SETTLED_NS, Lines, Strace
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.syscalls import Syscalls
from pcapstall.strace.tasks import Threads

MAX_TEXT: Final = 160
"""Bytes of arguments that are kept."""
NEVER_NS: Final = 1 << 61
"""Later than every line, and higher than every reference."""
_LOOK_EVERY: Final = 4096


@dataclass(slots=True)
class Excerpt:
    """One call, signal or exit."""

    ref: int
    """The line, or that of the first half."""
    end_ref: int
    tid: int
    """0 when the trace does not say."""
    name: str
    """Of the call; empty for a signal or an exit."""
    text: str
    """Its arguments; a signal's or exit's words."""
    result: str
    """As printed, an error with its name only: ``-1 EAGAIN``."""
    start_ns: int
    end_ns: int
    """-1 when that is unknown."""


def excerpts(
    strace: Strace, wanted: Set[int], span_ns: tuple[int, int] | None = None, most: int = 10_000
) -> tuple[list[Excerpt], int]:
    """The lines ``wanted``, and what begins or ends within ``span_ns``; how many more than ``most`` there are."""
    picked = _Picked(wanted, span_ns, most)
    threads = Threads()
    lines = Lines(strace, threads, Syscalls())
    first_ns, last_ns = span_ns or (NEVER_NS, -1)
    number = 0
    try:
        more = lines.skip(min(wanted, default=NEVER_NS), first_ns)
        while more:
            reader = lines.reader
            if reader.kind <= EXIT:
                picked.look_at(reader)
            number += 1
            if picked.complete() and (span_ns is None or number % _LOOK_EVERY == 0):
                over = len(strace.members) == 1 and int(reader.time_ns) > last_ns + SETTLED_NS
                if span_ns is None or (over and not threads.inside_since(last_ns)):
                    break
            more = lines.next()
    finally:
        lines.close()
    return [picked.found[ref] for ref in sorted(picked.found)], picked.left_out


class _Picked:
    """The lines that were asked for, as far as they were met."""

    def __init__(self, wanted: Set[int], span_ns: tuple[int, int] | None, most: int) -> None:
        self.found: dict[int, Excerpt] = {}
        self.left_out = 0
        self._wanted = wanted
        self._span_ns = span_ns
        self._most = most
        self._left = set(wanted)
        self._halves: set[int] = set()
        """First halves that wait for their second one."""

    def complete(self) -> bool:
        """Whether nothing is missing but what else happens in the span."""
        return not self._left and not self._halves

    def look_at(self, reader: StraceReader) -> None:
        """Keep the line that ``reader`` is at, if it is asked for."""
        kind = int(reader.kind)
        refs = {int(reader.ref), int(reader.half_ref) if kind == RESUMED else 0}
        if not (self._wanted and refs & self._wanted) and not _inside(reader, kind, self._span_ns):
            return
        self._left -= refs
        self._halves -= refs
        if kind == UNFINISHED:
            self._halves |= refs - {0}
        excerpt = _excerpt(reader, kind)
        if excerpt.ref not in self.found and len(self.found) >= self._most and not refs & self._wanted:
            self.left_out += kind != UNFINISHED
            return
        self.found[excerpt.ref] = excerpt


def _inside(reader: StraceReader, kind: int, span_ns: tuple[int, int] | None) -> bool:
    if span_ns is None or reader.time_ns < 0:
        return False
    start = int(reader.start_ns) if kind in (CALL, RESUMED) and reader.start_ns >= 0 else int(reader.time_ns)
    end = int(reader.end_ns) if kind in (CALL, RESUMED) and reader.end_ns >= 0 else int(reader.time_ns)
    return start <= span_ns[1] and end >= span_ns[0]


def _excerpt(reader: StraceReader, kind: int) -> Excerpt:
    body = reader.body
    ref = int(reader.ref)
    if kind in (SIGNAL, EXIT):
        text = _text(reader.buf[body.args_start : body.args_end])
        return Excerpt(ref, ref, int(reader.thread.tid), "", text, "", int(reader.time_ns), int(reader.time_ns))
    name = reader.syscall.name.decode("ascii", "replace")
    if kind == UNFINISHED:
        text = _text(reader.buf[body.args_start : body.args_end])
        return Excerpt(ref, ref, int(reader.thread.tid), name, text, "unfinished", int(reader.time_ns), -1)
    first = int(reader.half_ref) if kind == RESUMED and reader.half_ref else ref
    result = str(int(body.ret)) if body.returned else "?"
    if body.ret < 0:
        result = " ".join(filter(None, (result, body.errno(reader.buf).decode("ascii", "replace"))))
    start = int(reader.start_ns) if reader.start_ns >= 0 else int(reader.time_ns)
    text = _text(reader.args[reader.args_start : reader.args_end])
    return Excerpt(first, ref, int(reader.thread.tid), name, text, result, start, int(reader.end_ns))


def _text(text: bytes) -> str:
    shown = text[:MAX_TEXT].decode("utf-8", "backslashreplace")
    return shown + "..." if len(text) > MAX_TEXT else shown
