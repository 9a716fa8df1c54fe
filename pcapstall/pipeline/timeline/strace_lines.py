"""Lines of a strace in a timeline: those that the verdict rests on, or all of the flow's time.

What calls on the flow's socket are is told in `match.call_moments`; here they are as strace printed them.
"""

import re
from collections.abc import Sequence
from typing import Final

from pcapstall.capture.interrupting import ending
from pcapstall.capture.source import Stop
from pcapstall.core.times import format_span
from pcapstall.match.end_trace import LONG_NS, EndTrace
from pcapstall.match.moments import Moment
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.untrusted import shorten
from pcapstall.strace.excerpt import Excerpt, excerpts

_DECORATED: Final = re.compile(r"(\d+)<((?:->|[^>])*)>(?:, |$)")
"""A descriptor with what -y prints of it: ``11<TCP:[127.0.0.1:60838->127.0.0.1:8443]>, ``."""
_ARGUMENTS: Final = 48
"""Characters of a call's arguments that are told."""


def moments_of_lines(
    trace: EndTrace, known: Sequence[Moment], row: FlowReport, everything: bool, stop: Stop
) -> tuple[list[Moment], list[str]]:
    """Lines that the verdict rests on and that are none of ``known``; with ``everything`` all lines of the flow's time.

    And what is missing of them, a sentence each; ``stop`` thrown ends the reading.
    """
    index = trace.matching.index
    shown = {line for moment in known for line in moment.lines}
    wanted = {ref for fact in row.evidence for line in fact.strace if line not in shown and (ref := index.find(line))}
    life = trace.life
    span = (int(life.start_ns), int(life.end_ns)) if everything else None
    if not wanted and span is None:
        return [], []
    read: list[tuple[list[Excerpt], int]] = []
    ending(stop, lambda: read.append(excerpts(index.strace, wanted, span)))
    found, left_out = read[0] if read else ([], 0)
    missing = []
    if not read:
        missing.append(f"Reading was stopped: not all calls of {index.strace.name} are told.")
    if left_out:
        missing.append(f"{left_out} more calls of {index.strace.name} are left out.")
    covers = {pair: moment for moment in known for pair in moment.covers}
    tids = {int(thread.tid) for thread in index.threads if thread.process and thread.process.number in life.processes}
    moments = []
    for excerpt in found:
        folded = covers.get((excerpt.tid, excerpt.name))
        if excerpt.ref in wanted or excerpt.end_ref in wanted:
            if folded is not None and not everything:
                folded.evidence = True
                continue
            moments.append(_told(trace, excerpt))
        elif excerpt.tid in tids and index.where(excerpt.ref) not in shown:
            moments.append(_told(trace, excerpt))
            moments[-1].key = False
    return moments, missing


def _told(trace: EndTrace, excerpt: Excerpt) -> Moment:
    """``recvfrom(9) = 26``, with the rest of its arguments beside it."""
    event, remark = excerpt.text, ""
    length_ns = max(excerpt.end_ns - excerpt.start_ns, 0)
    if excerpt.name:
        decorated = _DECORATED.match(excerpt.text)
        if decorated is not None:
            first, what = decorated[1], decorated[2].rpartition("->")[2].rstrip("]")
            remark = f"{what}: {excerpt.text[decorated.end() :]}".rstrip(": ")
        else:
            first, _, remark = excerpt.text.partition(", ")
        if not first.isalnum():
            first, remark = "", excerpt.text
        event = f"{excerpt.name}({first}) = {excerpt.result}" if first else f"{excerpt.name} = {excerpt.result}"
    remark = shorten(remark, _ARGUMENTS)
    if length_ns >= LONG_NS:
        remark = f"lasts {format_span(length_ns)}" + (f"; {remark}" if remark else "")
    moment = trace.moment(excerpt.start_ns, None, event, excerpt.ref, excerpt.end_ref, remark=remark)
    moment.actor = f"{trace.name} {excerpt.tid}" if excerpt.tid else trace.name
    if length_ns:
        moment.until_ns = moment.ns + length_ns
    return moment
