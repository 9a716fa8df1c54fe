"""The story on one page: read the captures, follow the flows, measure, judge, and put the report together.

Every step is a package of its own; this module only says in which order they come. While packets are read the garbage
collector is off: nothing in the flows' state makes cycles that die young.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import pcapstall
from pcapstall.capture.captures import Captures, open_captures
from pcapstall.capture.source import Stop
from pcapstall.core.errors import InputError
from pcapstall.core.frames import file_of
from pcapstall.core.garbage import without_garbage
from pcapstall.diagnose.thresholds import make_thresholds
from pcapstall.flows.flow import FLAG_MISSED_BYTES
from pcapstall.flows.kept import MAX_FLOWS, Limits
from pcapstall.flows.table import FlowTable
from pcapstall.pipeline.collect import Collector
from pcapstall.pipeline.dots import FlowDots
from pcapstall.pipeline.findings import Findings
from pcapstall.pipeline.given import GivenFile
from pcapstall.pipeline.live import live_until
from pcapstall.pipeline.scan import FileCounts, Listener, Scan
from pcapstall.pipeline.tally import LengthTally
from pcapstall.pipeline.totals import as_tally, summary_of_counted
from pcapstall.pipeline.trust import bounds_reached, capture_report, cut_short, doubtful_files, loopback_files
from pcapstall.report.model import CaptureReport, FlowReport, HealthySummary, Report
from pcapstall.report.percentiles import Tally
from pcapstall.report.thresholds import parse_thresholds
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import UdpDatagram

if TYPE_CHECKING:
    from pcapstall.pipeline.logs import Logs
    from pcapstall.pipeline.straces import Straces

NOTHING_LEFT_OUT: Final = HealthySummary(0, {}, {}, {})


class Options(NamedTuple):
    """What the user may say about captures."""

    thresholds_ns: dict[str, int] = parse_thresholds(())
    """As `report.thresholds.parse_thresholds` makes them."""
    at: str = ""
    """``client`` or ``server`` when the user knows where the capture was taken."""
    tls_ports: frozenset[int] = frozenset()
    """Ports that speak TLS, besides the well-known ones and those seen to."""
    all_flows: bool = False
    """Whether flows that neither stalled nor failed are shown one by one."""
    straces: Sequence[GivenFile] = ()
    """Straces of either end."""
    max_flows: int = MAX_FLOWS
    """Flows that are followed at once; over it the ones that were idle for longest are closed early."""
    logs: Sequence[GivenFile] = ()
    """Logs of either end."""
    pictures: bool = False
    """Whether pictures will be drawn: `Report.spread` is made."""
    straces_later: bool = False
    """Whether straces are asked about stalls only by `timelines_of`: before, rows have the verdicts of packets."""


@dataclass(frozen=True, slots=True)
class Analysis(Report):
    """A report, and what a command needs besides."""

    tally: Tally = field(default_factory=Tally)
    """All flows, for conditions."""
    unreadable: Sequence[InputError] = ()
    """The files that could not be read, each with the reason."""
    findings: Findings | None = None
    """The shown flows as they were followed, by row."""


class _Ears(Listener):
    """Hands on what the scan hears."""

    def __init__(self, findings: Findings, progress: Callable[[], None] | None) -> None:
        super().__init__()
        self._findings = findings
        self._progress = progress

    def dns(self, datagram: UdpDatagram, ns: int, ref: int) -> None:
        """A DNS message."""
        self._findings.dns.take(datagram, ns, ref)

    def progress(self, now_ns: int) -> None:
        """Reading goes on."""
        if self._progress is not None:
            self._progress()


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
    ends the reading and what was read is reported. ``progress`` is called at first and now and then with what is being
    read; ``stage`` with the name of each stage when it begins; ``before_closing`` with the analysis while straces and
    logs can still be read again.
    """
    options = options or Options()
    stage("opening the captures")
    straces, logs = _open_straces(options.straces), _open_logs(options.logs)
    collector = Collector(make_thresholds(options.thresholds_ns), options.all_flows)
    # Matched with all flows, so that none is taken for another that was counted and let go.
    if options.pictures:
        collector.dots = FlowDots()
    collector.outlined = straces is not None or logs is not None
    findings = Findings(
        collector, options.at, options.tls_ports, options.all_flows, straces, logs, options.straces_later
    )
    cursor = open_captures(list(captures), stop)
    if progress is not None:
        progress(cursor)
    stage("following the flows")
    try:
        ears = _Ears(findings, None if progress is None else lambda: progress(cursor))
        scan, limits = _read(cursor, collector, ears, options.max_flows)
        stage("finding the stalls")
        captures_read = _capture_reports(cursor, scan, collector)
        findings.unread = scan.unread
        shown = findings.settle(loopback_files(captures_read), doubtful_files(captures_read))
        notices = cut_short(cursor.stopped, cursor.bytes_read, cursor.total_bytes)
        notices += bounds_reached(limits, collector)
        made = _put_together(cursor, captures_read, collector, findings, shown, options, straces, logs, notices)
        if before_closing is not None:
            before_closing(made)
        return made
    finally:
        cursor.close()
        for texts in (straces, logs):
            if texts is not None:
                texts.close()


def _open_straces(files: Sequence[GivenFile]) -> "Straces | None":
    if not files:
        return None
    from pcapstall.pipeline.straces import Straces  # as long to import as the rest, and most reports have none

    return Straces(files)


def _open_logs(files: Sequence[GivenFile]) -> "Logs | None":
    if not files:
        return None
    from pcapstall.pipeline.logs import Logs  # for the same reason

    return Logs(files)


def _read(cursor: Captures, collector: Collector, ears: Listener, max_flows: int) -> tuple[Scan, Limits]:
    """Every packet through the flow table into the collector."""
    table = FlowTable(collector, collector.thresholds.least(), max_flows=max_flows)
    with without_garbage():
        scan = follow(cursor, table, ears)
        collector.watched_until = scan.watched_until
        table.finish()
    return scan, table.limits


def follow(cursor: Captures, table: FlowTable, ears: Listener) -> Scan:
    """Every packet through the flow table, which is to be finished then; Ctrl-C stops the cursor and ends it."""
    began_ns = time.time_ns()
    scan = Scan(table, Decoder(), ears)
    try:
        scan.run(cursor)
    except KeyboardInterrupt:
        cursor.stop()
    scan.end(live_until(began_ns, scan.latest_ns, cursor))
    return scan


def _put_together(
    cursor: Captures,
    captures: list[CaptureReport],
    collector: Collector,
    findings: Findings,
    shown: LengthTally,
    options: Options,
    straces: "Straces | None",
    logs: "Logs | None",
    notices: Sequence[str],
) -> Analysis:
    t0_ns = min((capture.first_ns for capture in captures if capture.first_ns is not None), default=0)
    everything = LengthTally()
    everything.absorb(collector.counted)
    everything.absorb(collector.beyond)
    everything.absorb(shown)
    tally = as_tally(everything, findings.capture_points())
    return Analysis(
        version=pcapstall.__version__,
        t0_ns=t0_ns,
        thresholds_ns=options.thresholds_ns,
        captures=captures,
        straces=straces.reports() if straces is not None else [],
        flows=_Rows(findings, t0_ns),
        healthy=NOTHING_LEFT_OUT if options.all_flows else summary_of_counted(collector.counted),
        totals=tally.totals(),
        warnings=notices,
        tally=tally,
        unreadable=[*cursor.failed, *(straces.unreadable if straces else ()), *(logs.unreadable if logs else ())],
        findings=findings,
        logs=logs.reports() if logs is not None else [],
        spread=collector.dots.spread() if collector.dots is not None else None,
    )


def _capture_reports(cursor: Captures, scan: Scan, collector: Collector) -> list[CaptureReport]:
    missed: dict[int, int] = {}
    for flow in collector.kept:
        if flow.flags & FLAG_MISSED_BYTES:
            missed[file_of(flow.first_ref)] = missed.get(file_of(flow.first_ref), 0) + 1
    for index, count in collector.missed_bytes.items():
        missed[index] = missed.get(index, 0) + count
    return [
        capture_report(
            info, scan.files.get(index, FileCounts()), missed.get(index, 0), scan.unread.fragments.get(index, 0)
        )
        for index, info in enumerate(cursor.infos())
    ]


class _Rows:
    """The rows of the report, made one after the other each time they are asked for."""

    def __init__(self, findings: Findings, t0_ns: int) -> None:
        self._findings = findings
        self._t0_ns = t0_ns

    def __iter__(self) -> Iterator[FlowReport]:
        return self._findings.rows(self._t0_ns)
