"""Lines of a strace read once more, for somebody to look at: given ones, or all of a stretch of time.

What their descriptors mean is not looked at; `recorder` does that.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from pcapstall.strace.body import CALL, EXIT, RESUMED, SIGNAL, UNFINISHED
from pcapstall.strace.family import Lines, Strace
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.syscalls import Syscalls
from pcapstall.strace.tasks import Threads

MAX_TEXT: Final = 160
"""Bytes of arguments that are kept."""


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
    found: dict[int, Excerpt] = {}
    left = set(wanted)
    halves: set[int] = set()
    """First halves that wait for their second one."""
    left_out = 0
    lines = Lines(strace, Threads(), Syscalls())
    try:
        while lines.next():
            reader = lines.reader
            kind = int(reader.kind)
            if kind not in (CALL, UNFINISHED, RESUMED, SIGNAL, EXIT):
                continue
            refs = {int(reader.ref), int(reader.half_ref) if kind == RESUMED else 0}
            if not (wanted and refs & wanted) and not _inside(reader, kind, span_ns):
                if span_ns is None and not left and not halves:
                    break
                continue
            left -= refs
            halves -= refs
            if kind == UNFINISHED:
                halves |= refs - {0}
            excerpt = _excerpt(reader, kind)
            if excerpt.ref not in found and len(found) >= most and not refs & wanted:
                left_out += kind != UNFINISHED
                continue
            found[excerpt.ref] = excerpt
    finally:
        lines.close()
    return [found[ref] for ref in sorted(found)], left_out


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
