"""What was read of a log, in sentences: how its stamps were placed, and what could not be.

Plain text, not yet escaped; `prose` puts it below the captures and straces.
"""

from typing import Final

from pcapstall.core.counts import several
from pcapstall.core.times import HOUR, MINUTE, format_span, format_utc
from pcapstall.report.model import LogReport

_SOURCES: Final = {
    "lines": "by {lines} that name{s} flows",
    "strace": "by the strace with the same label",
    "writes": "by {lines} that a strace shows being written",
}


def log_lines(log: LogReport) -> list[str]:
    """One line for the log, and what is to be warned of."""
    label = f" ({log.label})" if log.label else ""
    unread = f" ({log.unread} without a stamp, the first is {_number(log)})" if log.unread else ""
    facts = [several(log.lines, "line") + unread, f"{log.about_flows} about flows"]
    clock = _clock(log)
    if clock:
        facts.append(clock)
    lines = [f"Read {log.file}{label}: {', '.join(facts)}."]
    if log.left_out:
        lines.append(f"Warning: {log.file}: {several(log.left_out, 'more line')} about flows, too many to be kept")
    if log.trouble:
        lines.append(f"Warning: {log.file}: {log.trouble}")
    return lines


def _number(log: LogReport) -> str:
    number = (log.first_unread or "?").rpartition(":")[2]
    return f"line {number}: {log.first_unread_text}"


def _clock(log: LogReport) -> str:
    if log.stamps is None:
        return "no stamp in any of these" if log.about_flows else ""
    lines = several(log.matched_lines, "line")
    source = _SOURCES.get(log.clock_source, "").format(lines=lines, s="s" if log.matched_lines == 1 else "")
    if log.clock_source == "nothing":
        return f"its stamps ({log.stamps}) cannot be placed: no line names one flow; their order is all there is"
    if log.start_ns is not None:
        return f"it counts from {format_utc(log.start_ns)}{_error(log)}, {source}"
    said = []
    if log.zone_ns is not None:
        said.append(f"its clock shows {_zone(log.zone_ns)}, {source}")
    offset = log.clock_offset_ns or 0
    if log.clock_error_ns is None:
        said.append("no line tells whether its clock and the capture's agree")
    elif abs(offset) <= log.clock_error_ns:
        by = f", {source}" if source and log.zone_ns is None else ""
        said.append(f"its clock and the capture's agree within {format_span(log.clock_error_ns)}{by}")
    else:
        side = "behind" if offset > 0 else "ahead"
        said.append(f"its clock is {format_span(abs(offset))} {side}{_error(log)}" + (f", {source}" if source else ""))
    return ", ".join(said)


def _error(log: LogReport) -> str:
    return "" if log.clock_error_ns is None else f", give or take {format_span(log.clock_error_ns)}"


def _zone(ns: int) -> str:
    """``UTC+05:30``."""
    hours, rest = divmod(abs(ns), HOUR)
    return f"UTC{'-' if ns < 0 else '+'}{hours:02d}:{rest // MINUTE:02d}"
