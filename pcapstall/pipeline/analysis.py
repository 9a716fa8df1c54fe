"""The story on one page: read the captures, follow the flows, measure, judge, and put the report together.

Every step is a package of its own; this module only says in which order they come. While packets are read the garbage
collector is off: nothing in the flows' state makes cycles that die young.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import pcapstall
from pcapstall.capture.captures import Captures
from pcapstall.capture.interrupting import interrupting
from pcapstall.capture.source import Stop
from pcapstall.core.counts import add_counts
from pcapstall.core.errors import InputError
from pcapstall.core.frames import file_of
from pcapstall.flows.flow import FLAG_MISSED_BYTES
from pcapstall.pipeline.ends.given import GivenFile
from pcapstall.pipeline.findings import Findings
from pcapstall.pipeline.follow import Followed, follow_captures
from pcapstall.pipeline.options import Options
from pcapstall.pipeline.scan.collect import Collector
from pcapstall.pipeline.scan.files import Files
from pcapstall.pipeline.scan.loop import FileCounts
from pcapstall.pipeline.scan.tally import LengthTally
from pcapstall.pipeline.totals import as_tally, summary_of_counted
from pcapstall.pipeline.trust.captures import (
    bounds_reached,
    capture_report,
    cut_short,
    doubtful_files,
    loopback_files,
    with_steps,
)
from pcapstall.report.model import CaptureReport, HealthySummary, Report
from pcapstall.report.percentiles import Tally

if TYPE_CHECKING:
    from pcapstall.pipeline.ends.logs import Logs
    from pcapstall.pipeline.ends.straces import Straces
    from pcapstall.report.flow_model import FlowReport

ROWS_PAY: Final = 128
"""Rows for which it pays to have a process make a part of them."""
NOTHING_LEFT_OUT: Final = HealthySummary(0, {}, {}, {})


class Analysis(NamedTuple):
    """A report, and what a command needs besides."""

    report: Report
    tally: Tally
    """All flows, for conditions."""
    unreadable: Sequence[InputError]
    """The files that could not be read, each with the reason."""
    findings: Findings
    """The shown flows as they were followed, by row."""
    alone: str
    """Why one process did what several were to do; empty when that is not so."""


def analyse(
    captures: Sequence[str],
    options: Options | None = None,
    *,
    stop: Stop | None = None,
    progress: Callable[[Captures], None] | None = None,
    stage: Callable[[str], None] = lambda _name: None,
    before_closing: Callable[["Analysis"], None] | None = None,
) -> Analysis:
    """Analyse ``captures``: paths, glob patterns or ``-``, read as one.

    Files that cannot be read are in `Analysis.unreadable`; nothing is raised for them. ``stop`` thrown, or Ctrl-C,
    ends the reading and what was read is reported: of captures, and then, thrown anew, of straces and logs. While these
    are opened, and where nothing is read any more, a signal ends all by KeyboardInterrupt: there the first one, here
    the second. ``progress`` is called at first and now and then with what is being read; ``stage`` with the name of
    each stage when it begins; ``before_closing`` with the analysis while straces and logs can still be read again.
    """
    options = options or Options()
    stage("opening the captures")
    straces: Straces | None = None
    logs: Logs | None = None
    stop = stop or Stop()
    try:
        with interrupting(stop, 1):  # a pipe may say nothing, and there is nothing yet to report
            straces = _open_straces(options.straces)
            logs = _open_logs(options.logs)
        stage("following the flows")
        followed = follow_captures(captures, options, straces, logs, stop, progress)
        stage("finding the stalls")
        files, findings = followed.files, followed.findings
        captures_read = _capture_reports(files, followed.collector)
        findings.unread = files.unread
        with interrupting(stop, 2):
            shown = findings.settle(stop, loopback_files(captures_read), doubtful_files(captures_read))
        captures_read = with_steps(captures_read, findings.stepped_files)
        notices = _both_ends(captures_read, stop) if len(captures_read) > 1 and not files.stopped else []
        made = _put_together(followed, captures_read, shown, options, straces, logs, notices)
        if before_closing is not None:
            before_closing(made)
        return made
    finally:
        for texts in (straces, logs):
            if texts is not None:
                texts.close()


def _open_straces(files: Sequence[GivenFile]) -> "Straces | None":
    if not files:
        return None
    from pcapstall.pipeline.ends.straces import Straces  # as long to import as the rest, and most reports have none

    return Straces(files)


def _open_logs(files: Sequence[GivenFile]) -> "Logs | None":
    if not files:
        return None
    from pcapstall.pipeline.ends.logs import Logs  # for the same reason

    return Logs(files)


def _both_ends(captures: Sequence[CaptureReport], stop: Stop) -> list[str]:
    from pcapstall.pipeline.trust.same_packets import told_of_both_ends  # of several captures only

    return told_of_both_ends(captures, stop)


def _put_together(
    followed: Followed,
    captures: list[CaptureReport],
    shown: LengthTally,
    options: Options,
    straces: "Straces | None",
    logs: "Logs | None",
    notices: Sequence[str],
) -> Analysis:
    files, collector, findings, limits, alone = followed
    missing = [said for texts in (straces, logs) if texts is not None for said in texts.stopped]
    cut = cut_short(files.stopped, files.bytes_read, files.total_bytes)
    t0_ns = min((capture.first_ns for capture in captures if capture.first_ns is not None), default=0)
    everything = LengthTally()
    everything.absorb(collector.counted)
    everything.absorb(collector.beyond)
    everything.absorb(shown)
    tally = as_tally(everything, findings.capture_points())
    report = Report(
        version=pcapstall.__version__,
        t0_ns=t0_ns,
        thresholds_ns=options.thresholds_ns,
        captures=captures,
        straces=straces.reports() if straces is not None else [],
        flows=_Rows(findings, t0_ns, _row_makers(options, straces, logs)),
        healthy=NOTHING_LEFT_OUT if options.all_flows else summary_of_counted(collector.counted),
        totals=tally.totals(),
        timelines={},
        warnings=[*cut, *missing, *notices, *bounds_reached(limits, collector)],
        logs=logs.reports() if logs is not None else [],
        spread=collector.dots.spread() if collector.dots is not None else None,
        watched_until_ns=_watched_until(captures, collector),
    )
    unreadable = [*files.failed, *(straces.unreadable if straces else ()), *(logs.unreadable if logs else ())]
    return Analysis(report, tally, unreadable, findings, alone)


def _watched_until(captures: Sequence[CaptureReport], collector: Collector) -> int | None:
    """Until when a live capture was waited on after its last packet; None of others."""
    last_ns = max((capture.last_ns for capture in captures if capture.last_ns is not None), default=None)
    until_ns = max(collector.watched_until, default=0)
    return until_ns if last_ns is not None and until_ns > last_ns else None


def _capture_reports(files: Files, collector: Collector) -> list[CaptureReport]:
    missed: dict[int, int] = {}
    for flow in collector.kept:
        if flow.flags & FLAG_MISSED_BYTES:
            missed[file_of(flow.first_ref)] = missed.get(file_of(flow.first_ref), 0) + 1
    add_counts(missed, collector.missed_bytes)
    return [
        capture_report(
            info, files.counts.get(index, FileCounts()), missed.get(index, 0), files.unread.fragments.get(index, 0)
        )
        for index, info in enumerate(files.infos)
    ]


def _row_makers(options: Options, straces: "Straces | None", logs: "Logs | None") -> int:
    """How many processes may make rows; 0 for as many as pay.

    Straces and logs are read by one. Most of all flows are healthy: to hand their rows over is as much as to make them.
    """
    return 1 if options.all_flows or straces is not None or logs is not None else options.jobs


class _Rows:
    """The rows of the report, made one after the other each time they are asked for."""

    def __init__(self, findings: Findings, t0_ns: int, jobs: int) -> None:
        self._findings = findings
        self._t0_ns = t0_ns
        self._jobs = jobs

    def __iter__(self) -> "Iterator[FlowReport]":
        findings = self._findings
        if self._jobs == 1 or len(findings.flows()) < ROWS_PAY:
            return findings.rows(self._t0_ns)
        from pcapstall.pipeline.shares.forked import cores  # few reports have so many
        from pcapstall.pipeline.shares.rows import rows_by_several

        processes = min(self._jobs or cores(), 2 * len(findings.flows()) // ROWS_PAY)
        if processes == 1:
            return findings.rows(self._t0_ns)
        return rows_by_several(findings.flows(), lambda flow: findings.row_of(flow, self._t0_ns), processes)
