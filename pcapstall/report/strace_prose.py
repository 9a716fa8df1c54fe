"""What was read of a strace, in a sentence: its processes and their flows, its clock, what it lacks.

Plain text, not yet escaped; `prose` puts it below the captures.
"""

from pcapstall.core.counts import several
from pcapstall.report.clock_prose import offset_words, zone_words
from pcapstall.report.end_model import StraceReport
from pcapstall.report.prose import numbered


def strace_line(strace: StraceReport) -> str:
    """One line for the strace."""
    facts = [several(strace.lines, "line") + (f" ({strace.unread} not understood)" if strace.unread else "")]
    for process in strace.processes:
        if process.flows:
            flows = numbered("flow", process.flows)
            facts.append(f"process {process.pid} is the {process.side or 'unknown side'} of {flows}")
    if not any(process.flows for process in strace.processes):
        facts.append("no socket of it is a flow of the capture")
    elif strace.unmatched_sockets:
        facts.append(f"{several(len(strace.unmatched_sockets), 'socket')} matched no flow")
    if strace.zone_ns is not None:
        facts.append(f"its times of day are {zone_words(strace.zone_ns) if strace.zone_ns else 'UTC'}")
    if strace.clock_offset_ns is not None:
        facts.append(offset_words(strace.clock_offset_ns, strace.clock_error_ns))
    facts += strace.notices
    label = f" ({strace.label})" if strace.label else ""
    return f"Read {strace.file}{label}: {', '.join(facts)}."
