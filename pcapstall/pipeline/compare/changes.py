"""Reads the two sides of a comparison in time: each is a capture that is analysed, or a report that was written before.

Which of the two a file is, is told by its first byte, packed or not. What became of the one in the other is
`report.changes`'.
"""

import os
from collections.abc import Callable, Sequence
from typing import Final

from pcapstall.capture.captures import Captures
from pcapstall.capture.opening import unpacked
from pcapstall.capture.source import STDIN, Source, Stop, can_be_read_again, open_source
from pcapstall.core.errors import InputError
from pcapstall.pipeline.analysis import analyse
from pcapstall.pipeline.options import Options
from pcapstall.report.changes import Side
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.from_json import read_report
from pcapstall.report.model import Report
from pcapstall.report.prose import what_was_read

_MAKE_JSON: Final = "pcapstall report -f json"


def read_side(
    name: str,
    options: Options,
    keep: Callable[[FlowReport], bool] | None,
    see: Callable[[FlowReport], None],
    *,
    stop: Stop | None = None,
    progress: Callable[[Captures], None] | None = None,
) -> Side:
    """The flows in ``name`` that ``keep`` keeps; ``see`` is shown each of them.

    ``name`` is a capture, a pattern of captures, or a report as JSON; InputError when it cannot be read at all.
    """
    report = _written_report(name, stop)
    failed: Sequence[InputError] = ()
    if report is None:
        report, _, failed, _, _ = analyse([name], options, stop=stop, progress=progress)
        if not report.captures or (failed and not report.totals.flows):
            raise next(iter(failed), InputError(name, "there is nothing to read"))
    side = Side(name)
    side.unreadable = list(failed)
    side.about, *doubts = what_was_read(report)
    side.remarks = [str(error) for error in failed] + doubts
    side.thresholds_ns = dict(report.thresholds_ns)
    for flow in report.flows:
        if keep is None or keep(flow):
            side.add(flow)
            see(flow)
    return side


def _written_report(name: str, stop: Stop | None) -> Report | None:
    """The report that the file ``name`` holds; None when it is something else, for the analysis to tell what."""
    if name not in STDIN and not os.path.lexists(name):
        return None  # a pattern, or nothing
    source = open_source(name, stop)
    try:
        inner = unpacked(source)
        if inner.peek(1).lstrip()[:1] in (b"{", b"["):
            return read_report(name, _all_of(inner))
        if not can_be_read_again(name):
            why = f"diff reads a capture from a file; through a pipe it takes a report: {_MAKE_JSON} - | pcapstall diff"
            raise InputError(name, why)
    finally:
        source.close()
    return None


def _all_of(source: Source) -> bytes:
    parts = []
    while chunk := source.read():
        parts.append(chunk)
    if source.trouble:
        raise InputError(source.path, source.trouble)
    return b"".join(parts)


def thresholds_differ(before: Side, after: Side) -> bool:
    """Whether a stall of the one might be none in the other, for no reason but what was called one."""
    return before.thresholds_ns != after.thresholds_ns
