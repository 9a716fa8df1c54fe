"""From captures to finished flows: one table that sees every packet, or several processes with a share of the flows.

Both ways come to the same, so that whoever goes on from here does not know which it was. What is made of the flows is
told elsewhere.
"""

import gc
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from pcapstall.capture.captures import Captures, open_captures
from pcapstall.capture.pcap import RECORD_HEADER
from pcapstall.capture.source import Stop, can_be_read_again
from pcapstall.core.garbage import without_garbage
from pcapstall.core.lacking import lack_of
from pcapstall.diagnose.thresholds import make_thresholds
from pcapstall.flows.kept import Limits
from pcapstall.flows.table import FlowTable
from pcapstall.pipeline.ends import given
from pcapstall.pipeline.findings import Findings
from pcapstall.pipeline.options import AS_MANY_AS_PAY, DASK, Options
from pcapstall.pipeline.scan.collect import Collector
from pcapstall.pipeline.scan.dots import FlowDots
from pcapstall.pipeline.scan.files import Files, files_of
from pcapstall.pipeline.scan.live import live_until
from pcapstall.pipeline.scan.loop import FileCounts, Listener, Scan
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import UdpDatagram

if TYPE_CHECKING:
    from pcapstall.pipeline.ends.logs import Logs
    from pcapstall.pipeline.ends.straces import Straces
    from pcapstall.pipeline.shares.result import ShareResult

PAYS_PACKETS: Final = 800_000
"""With fewer, a second process saves hardly any waiting for the processor time that it takes: each copies all bytes."""
SAMPLE_PACKETS: Final = 1_000
"""By which the size of all is judged."""
RECORD_MIN_LEN: Final = RECORD_HEADER + 54
"""Bytes of pcap's record of a segment over IPv4 and Ethernet, without options and payload; pcapng's has some more."""


class Followed(NamedTuple):
    """Everything was read, by itself or not."""

    files: Files
    collector: Collector
    findings: Findings
    limits: Limits
    alone: str
    """Why one process did what several were to do; empty when that is not so."""


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


def follow_captures(
    paths: Sequence[str],
    options: Options,
    straces: "Straces | None",
    logs: "Logs | None",
    stop: Stop | None = None,
    progress: Callable[[Captures], None] | None = None,
) -> Followed:
    """Follow the flows of ``paths``, as `analysis.analyse` tells; ``straces`` and ``logs`` are matched with them."""
    alone = _why_alone(options, straces is not None or logs is not None)
    if not alone:
        stop = stop or Stop()
        followed = _where_there_is_room(lambda: _in_parallel(paths, options, stop, progress))
        if isinstance(followed, Followed):
            return followed
        alone = followed
    captures = open_captures(list(paths), stop)
    if progress is not None:
        progress(captures)
    collector, findings = _begin(options, straces, logs)
    table = FlowTable(collector, collector.thresholds.least(), max_flows=options.max_flows)
    try:
        with without_garbage():
            scan = follow(captures, table, _Ears(findings, None if progress is None else lambda: progress(captures)))
            collector.watched_until = scan.watched_until
            table.finish()
        return Followed(files_of(captures, scan), collector, findings, table.limits, alone)
    finally:
        captures.close()


def follow(captures: Captures, table: FlowTable, ears: Listener) -> Scan:
    """Every packet through the flow table, which is to be finished then; Ctrl-C stops the reading and ends it."""
    began_ns = time.time_ns()
    scan = Scan(table, Decoder(), ears)
    try:
        scan.run(captures)
    except KeyboardInterrupt as interrupt:
        captures.stop(str(interrupt))
    scan.end(live_until(began_ns, scan.latest_ns, captures))
    return scan


def _begin(
    options: Options, straces: "Straces | None" = None, logs: "Logs | None" = None
) -> tuple[Collector, Findings]:
    collector = Collector(make_thresholds(options.thresholds_ns), options.all_flows)
    if options.pictures:
        collector.dots = FlowDots()
    # Matched with all flows, so that none is taken for another that was counted and let go.
    collector.outlined = straces is not None or logs is not None
    return collector, Findings(
        collector,
        options.at,
        options.tls_ports,
        options.all_flows,
        straces,
        logs,
        options.straces_later,
    )


def _why_alone(options: Options, is_matched: bool) -> str:
    """Why it takes one process, whatever the captures are; empty where it does not."""
    if is_matched:
        return "straces and logs are matched with all flows by one process"
    return "a picture of all flows is made by one process" if options.pictures else ""


def _in_parallel(
    paths: Sequence[str], options: Options, stop: Stop, progress: Callable[[Captures], None] | None
) -> Followed | str:
    """The same by several processes; why not, where one has to: empty where nothing else was asked for or would pay."""
    if options.engine == DASK:
        return _on_cluster(paths, options, stop)
    if options.jobs == 1:
        return ""
    names = [name for path in paths for name in given.files_of(path)]
    if not all(map(can_be_read_again, names)):
        return "a pipe is read by one process"
    total_len = _total_len(names)
    # Where every flow is shown, most of the time goes into the rows, which one process makes.
    if options.jobs == AS_MANY_AS_PAY and (options.all_flows or total_len < PAYS_PACKETS * RECORD_MIN_LEN):
        return ""
    from pcapstall.pipeline.shares.forked import cores  # a small capture needs none
    from pcapstall.pipeline.shares.workers import why_alone

    probe = open_captures(list(paths), stop)
    try:
        alone = why_alone(probe)
        jobs = options.jobs or cores()
        if alone or jobs == 1:
            return alone
        if options.jobs == AS_MANY_AS_PAY and _likely_packets(probe, total_len) < PAYS_PACKETS:
            return ""
    finally:
        probe.close()
    return _in_shares(probe, paths, options, jobs, stop, progress)


def _where_there_is_room(work: Callable[[], Followed | str]) -> Followed | str:
    """What ``work`` comes to; where it lacks memory or descriptors for several processes, one does with less."""
    try:
        return work()
    except (MemoryError, OSError, SystemError) as error:
        lack = lack_of(error)
        if not lack:
            raise
    gc.collect()  # behind the clause nothing of the shares is held any more but by itself
    return f"there was not enough for several ({lack.partition(':')[0]})"


def _total_len(names: Iterable[str]) -> int:
    """Bytes of those that are files of this host."""
    return sum(os.stat(name).st_size for name in names if os.path.isfile(name))


def _likely_packets(probe: Captures, total_len: int) -> int:
    """How many packets there are in ``total_len`` bytes of the files, if the others are as large as the first ones."""
    sampled = sampled_len = 0
    while sampled < SAMPLE_PACKETS and probe.next():
        sampled += 1
        sampled_len += RECORD_HEADER + probe.caplen
    return total_len * sampled // sampled_len if sampled else 0


def _in_shares(
    probe: Captures,
    paths: Sequence[str],
    options: Options,
    jobs: int,
    stop: Stop,
    progress: Callable[[Captures], None] | None,
) -> Followed | str:
    """The same by several processes; if one has to do it over, why."""
    from pcapstall.pipeline.shares.share import Wanted
    from pcapstall.pipeline.shares.workers import Reading

    collector, findings = _begin(options)
    wanted = Wanted(options.thresholds_ns, options.all_flows, options.max_flows, jobs)
    with Reading(paths, probe.sizes(), wanted, stop) as reading:
        captures = reading.captures
        if progress is not None:
            progress(captures)
        ears = _Ears(findings, None if progress is None else lambda: progress(captures))
        scan, results = reading.run(ears, _load_what_comes_later)
        if why := reading.why_over():
            return why
        files = files_of(captures, scan)
    return _put_together(results, files, collector, findings, options)


def _load_what_comes_later() -> None:
    """What puts shares together and makes rows: whoever waits for workers has the time."""
    import pcapstall.diagnose.races
    import pcapstall.pipeline.shares.merge
    import pcapstall.pipeline.verdicts  # noqa: F401


def _on_cluster(paths: Sequence[str], options: Options, stop: Stop) -> Followed | str:
    """The same on a Dask cluster."""
    from pcapstall.pipeline.shares.cluster import follow_on_cluster
    from pcapstall.pipeline.shares.share import Wanted

    collector, findings = _begin(options)
    wanted = Wanted(options.thresholds_ns, options.all_flows, options.max_flows, options.jobs)
    told = follow_on_cluster(paths, wanted, options.scheduler, stop)
    files, dns = told[0].files, told[0].dns
    if files is None or dns is None:
        return "the first share lacks what is known of the files"
    findings.dns = dns
    return _put_together([share.result for share in told], files, collector, findings, options)


def _put_together(
    results: "Sequence[ShareResult]", files: Files, collector: Collector, findings: Findings, options: Options
) -> Followed | str:
    """All shares as one; why not, where one process would have made something else of it."""
    from pcapstall.pipeline.shares.merge import put_together, why_not

    limits = Limits(int(collector.thresholds.least()), options.max_flows)
    limits.left_unread = sum(result.left_unread for result in results)
    counts: dict[int, FileCounts] = {}
    with without_garbage():
        why = why_not(results, options.max_flows) or put_together(results, collector, counts)
    return why or Followed(files._replace(counts=counts), collector, findings, limits, "")
