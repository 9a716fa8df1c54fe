"""The clock of a log whose lines a strace shows being written: the writer's own.

A line is stamped before it is written. On one host both stamps are of one clock, so the strace's offset is the log's;
a log that counts from its start gets that start.
"""

from collections.abc import Mapping
from typing import Final

from pcapstall.core.times import SECOND
from pcapstall.logs.lines import LogFile, LogLine
from pcapstall.logs.stamps import ABSOLUTE, ELAPSED
from pcapstall.match.log_clock import BY_WRITES, LogClock, counted
from pcapstall.match.offset import Offset, nearest
from pcapstall.strace.written import key_of

_MAX_KEYS: Final = 2_000
_LATE_NS: Final = SECOND
"""A line that is written so long after its stamp was held back: it says nothing about the clock."""
_LEAST_NS: Final = 1_000_000
"""What one line alone may have waited."""


def keys_of(file: LogFile) -> dict[bytes, LogLine]:
    """The lines of ``file`` by how a strace shows their beginnings; none for beginnings that several have."""
    found: dict[bytes, LogLine] = {}
    twice: set[bytes] = set()
    for line in file.kept[:_MAX_KEYS]:
        key = key_of(line.text) if line.stamp is not None and line.stamp_end else b""
        if key in found:
            twice.add(key)
        elif key:
            found[key] = line
    return {key: line for key, line in found.items() if key not in twice}


def clock_by_writes(
    clock: LogClock, file: LogFile, written: Mapping[bytes, tuple[int, Offset, str]], near_ns: int
) -> LogClock:
    """``clock`` made sure by the writes; as it is where they say nothing, or too little."""
    lines = keys_of(file)
    delays: list[int] = []
    offset: Offset | None = None
    host = ""
    for key, (start_ns, strace, name) in written.items():
        line = lines.get(key)
        if line is None or line.stamp is None or line.stamp.kind != clock.kind:
            continue
        if offset is None:
            offset, host = strace, name
        if strace is offset:
            written_ns = start_ns + strace.ns - strace.skew_ns
            delays.append(written_ns - counted(line.stamp, near_ns - strace.skew_ns))
    if offset is None or not delays:
        return clock
    if clock.kind == ELAPSED:
        delays.sort()
        least, middle = delays[0], delays[len(delays) // 2]
        own = max(middle - least, _LEAST_NS if len(delays) == 1 else 0)
        return clock._replace(
            offset_ns=least + offset.skew_ns,
            error_ns=own + offset.slack_ns,
            source=BY_WRITES,
            lines=len(delays),
            of_lines=len(lines),
            host=host,
            own_error_ns=own,
        )
    # A stamp and the host's time of the write are apart by the zone, and by what the line waited.
    zone = 0 if clock.kind == ABSOLUTE else nearest(min(delays))
    prompt = sum(-_LEAST_NS <= delay - zone <= _LATE_NS for delay in delays)
    if prompt * 2 < len(delays):
        return clock
    return clock._replace(
        offset_ns=zone + offset.skew_ns,
        error_ns=offset.slack_ns,
        zone_ns=None if clock.kind == ABSOLUTE else -zone,
        source=BY_WRITES,
        lines=prompt,
        of_lines=len(lines),
        host=host,
    )
