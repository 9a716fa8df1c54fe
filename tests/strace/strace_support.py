"""Straces from text, read to plain values that a test can compare."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from pcapstall.core.textfile import BytesStream, TextSource
from pcapstall.strace.body import KIND_NAMES
from pcapstall.strace.detect import Layout
from pcapstall.strace.family import Member, Strace
from pcapstall.strace.feed import LineFeed
from pcapstall.strace.index import Index, index_strace
from pcapstall.strace.lines import StraceReader
from pcapstall.strace.recorder import record
from pcapstall.strace.syscalls import Syscalls
from pcapstall.strace.tasks import Threads
from pcapstall.strace.window import Window, window_of
from pcapstall.strace.wrappers import Wrapper


@dataclass
class Line:
    kind: str
    line: int
    tid: int
    name: str
    args: str
    result: str
    ret: int | None
    errno: str
    time_ns: int
    start_ns: int
    end_ns: int
    duration_ns: int
    comm: str


@dataclass
class Reading:
    lines: list[Line]
    counts: dict[str, int]
    reader: StraceReader
    threads: Threads
    calls: list[Line] = field(default_factory=list)


def read_strace(
    text: str | bytes, tid: int = -1, wrapper: Wrapper | None = None, chunk_size: int = 128 * 1024
) -> Reading:
    data = text.encode() if isinstance(text, str) else text
    threads = Threads()
    reader = StraceReader(LineFeed(BytesStream(data, "memory", chunk_size), wrapper), threads, Syscalls(), 0, tid)
    lines = []
    while reader.next():
        kind = KIND_NAMES[reader.kind]
        body = reader.body
        call = kind in ("call", "resumed")
        half = call or kind == "unfinished"
        lines.append(
            Line(
                kind,
                reader.line,
                reader.thread.tid if half or kind in ("signal", "exit") else -1,
                reader.syscall.name.decode("latin-1") if half else "",
                reader.args[reader.args_start : reader.args_end].decode("latin-1") if half else "",
                reader.buf[body.result_start : body.result_end].decode("latin-1") if call else "",
                body.ret if call and body.returned else None,
                body.errno(reader.buf).decode() if call else "",
                reader.time_ns,
                reader.start_ns,
                reader.end_ns,
                reader.duration_ns,
                reader.thread.comm.decode("latin-1"),
            )
        )
    counts = {KIND_NAMES[kind]: count for kind, count in enumerate(reader.counts) if count}
    return Reading(lines, counts, reader, threads, [line for line in lines if line.kind in ("call", "resumed")])


def index_text(text: str, name: str = "memory") -> Index:
    """A strace in memory, indexed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text)
        source = TextSource(str(path))
        member = Member(source, Layout("", False, True), 0, -1)
        return index_strace(Strace(name, [member]))


def recorded(text: str, start_s: float, end_s: float) -> Window:
    """The window from ``start_s`` to ``end_s`` of a strace in memory, about all its sockets."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        path.write_text(text)
        strace = Strace("trace", [Member(TextSource(str(path)), Layout("", False, True), 0, -1)])
        index = index_strace(strace)
        window = window_of(index.sockets, round(start_s * 1_000_000_000), round(end_s * 1_000_000_000))
        record(strace, [window])
        return window
