"""What was read of a log, in sentences: how its stamps were placed, and what could not be.

Plain text, not yet escaped; `prose` puts it below the captures and straces.
"""

from typing import Final

from pcapstall.core.counts import several
from pcapstall.core.times import format_utc
from pcapstall.report.clock_prose import give_or_take, offset_words, zone_words
from pcapstall.report.end_model import LogReport
from pcapstall.report.facts import warning

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
        lines.append(warning(f"{log.file}: {several(log.left_out, 'more line')} about flows, too many to be kept"))
    if log.trouble:
        lines.append(warning(f"{log.file}: {log.trouble}"))
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
        return f"it counts from {format_utc(log.start_ns)}{give_or_take(log.clock_error_ns)}, {source}"
    said = []
    if log.zone_ns is not None:
        said.append(f"its clock shows {zone_words(log.zone_ns)}, {source}")
    offset, error = log.clock_offset_ns or 0, log.clock_error_ns
    if error is None:
        said.append("no line tells whether its clock and the capture's agree")
    else:
        told = log.zone_ns is not None and abs(offset) <= error
        said.append(offset_words(offset, error) + (f", {source}" if source and not told else ""))
    return ", ".join(said)
