"""One share of a capture, followed to its end: what every worker does, in a process of this host or on a cluster.

A share is all connections of which both directions' endpoints give one number (wire.spread); whoever follows it reads
every record and follows its own. Nothing here knows how many workers there are, or where.
"""

from typing import NamedTuple

from pcapstall.capture.captures import Captures
from pcapstall.diagnose.dns import DnsLog
from pcapstall.diagnose.thresholds import make_thresholds
from pcapstall.flows.packing import make_packable
from pcapstall.flows.share import Share
from pcapstall.flows.table import FlowTable
from pcapstall.pipeline.scan.files import Files, files_of
from pcapstall.pipeline.scan.loop import FileCounts, Listener, Scan
from pcapstall.pipeline.shares.collect import ShareCollector
from pcapstall.pipeline.shares.result import ShareResult, packed, result_of
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import UdpDatagram
from pcapstall.wire.unread import Unread, UnreadPackets

make_packable(FileCounts)
make_packable(UnreadPackets)
make_packable(Unread, 0, 0, 0)


class Wanted(NamedTuple):
    """What a worker needs to know."""

    thresholds_ns: dict[str, int]
    all_flows: bool
    max_flows: int
    shares: int
    """How many there are."""


class Told(NamedTuple):
    """What a worker on another host has to tell."""

    result: ShareResult
    files: Files | None
    """Of the first share."""
    dns: DnsLog | None
    """Likewise."""


def follow_share(captures: Captures, wanted: Wanted, index: int, listener: Listener) -> tuple[ShareResult, Scan]:
    """Read ``captures`` to their end, and follow the flows of the share ``index``."""
    share = Share(index, wanted.shares)
    thresholds = make_thresholds(wanted.thresholds_ns)
    collector = ShareCollector(thresholds, wanted.all_flows, share)
    table = FlowTable(collector, thresholds.least(), max_flows=wanted.max_flows, share=share)
    scan = Scan(table, Decoder(), listener)
    scan.run(captures)
    scan.end()
    collector.watched_until = scan.watched_until
    table.finish()
    return result_of(captures, scan, table, collector), scan


def follow_and_tell(captures: Captures, wanted: Wanted, index: int) -> Told:
    """The same, for somebody who reads nothing himself."""
    dns = DnsLog()
    result, scan = follow_share(captures, wanted, index, _Resolver(dns))
    if index:
        return Told(packed(result), None, None)
    return Told(packed(result), files_of(captures, scan), dns)


class _Resolver(Listener):
    """Keeps the lookups."""

    def __init__(self, log: DnsLog) -> None:
        super().__init__()
        self._log = log

    def dns(self, datagram: UdpDatagram, ns: int, ref: int) -> None:
        """A DNS message."""
        self._log.take(datagram, ns, ref)
