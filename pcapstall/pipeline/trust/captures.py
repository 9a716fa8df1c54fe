"""How far a capture can be believed: what its reader noticed becomes a word and warnings of the report.

Losses and clock steps of the capture are said here and never taken for events of the network.
"""

from collections.abc import Container, Sequence
from typing import Final

from pcapstall.capture.info import CaptureInfo
from pcapstall.core.counts import several
from pcapstall.core.times import MS
from pcapstall.flows.kept import Limits
from pcapstall.pipeline.scan.collect import Collector
from pcapstall.pipeline.scan.loop import FileCounts
from pcapstall.pipeline.trust.unread_linktypes import unread_warnings
from pcapstall.report.model import CaptureReport

_LOOPBACK: Final = frozenset(("NULL", "LOOP"))
CLOCK_STEPS: Final = "clock_steps"
_GRAVE: Final = frozenset(("packets_dropped", CLOCK_STEPS, "time_stamps"))

TRUSTWORTHY: Final = "trustworthy"
BACKWARD_NS: Final = MS
"""Records of several queues or interfaces stand in the wrong order by less than this."""


def capture_report(info: CaptureInfo, counts: FileCounts, missed_flows: int, fragments: int = 0) -> CaptureReport:
    """The report's row of one capture file; ``missed_flows`` lack bytes that were acknowledged, ``fragments`` the other
    parts of their packets."""
    warnings = [str(warning).removeprefix(f"{warning.file}: ") for warning in info.warnings]
    if missed_flows:
        warnings.append(f"bytes that were acknowledged are not in the capture, in {several(missed_flows, 'flow')}")
    if fragments:
        lack = "1 fragment of a packet lacks its" if fragments == 1 else f"{fragments} fragments of packets lack their"
        warnings.append(f"{lack} other parts, which are not in the capture: they were not read")
    warnings += unread_warnings(info.linktypes)
    return CaptureReport(
        file=info.path,
        format=info.format,
        packets=info.packets,
        tcp_packets=counts.tcp,
        other_packets=counts.other,
        malformed=dict(sorted(counts.malformed.items())),
        dropped=info.dropped,
        first_ns=info.first_ns,
        last_ns=info.last_ns,
        linktypes=list(info.linktypes),
        trust=", ".join(doubts(info, missed_flows)) or TRUSTWORTHY,
        warnings=warnings,
    )


def bounds_reached(limits: Limits, collector: Collector) -> list[str]:
    """What was left out so that memory stays bounded, a sentence each."""
    found: list[str] = []
    if limits.closed_early:
        were = "1 flow was" if limits.closed_early == 1 else f"{limits.closed_early} flows were"
        found.append(f"{were} closed early to stay within --max-flows {limits.max_flows}")
    if collector.beyond.flows:
        more = "1 more flow is" if collector.beyond.flows == 1 else f"{collector.beyond.flows} more flows are"
        found.append(f"{more} counted but not shown: there are too many")
    if limits.left_unread:
        flows = several(limits.left_unread, "flow")
        found.append(f"TLS of {flows} was left unread: hellos that never became whole would take too much memory")
    return found


def cut_short(stopped: bool, bytes_read: int, total_bytes: int | None) -> list[str]:
    """What is missing of files whose reading was stopped; of a pipe nobody knows what would have come."""
    if not stopped or total_bytes is None or bytes_read >= total_bytes:
        return []
    percent = 100 * bytes_read // total_bytes or "less than 1"
    return [f"reading was stopped after {percent}% of the bytes: what comes later is not in this report"]


def doubts(info: CaptureInfo, missed_flows: int) -> list[str]:
    """What to mistrust."""
    found: list[str] = []
    if info.dropped:
        found.append("packets_dropped")
    if missed_flows:
        found.append("packets_missed")
    if info.clock.backward_max_ns > BACKWARD_NS or info.clock.forward:
        found.append(CLOCK_STEPS)
    if info.absurd_stamps or info.unstamped:
        found.append("time_stamps")
    if info.snaplen_cut:
        found.append("cut_packets")
    return found


def with_steps(captures: Sequence[CaptureReport], stepped: Container[int]) -> list[CaptureReport]:
    """``captures`` where stalls have shown that the clock of some, by their indexes, was set."""
    return [
        _with_doubt(capture, CLOCK_STEPS) if index in stepped else capture for index, capture in enumerate(captures)
    ]


def _with_doubt(capture: CaptureReport, doubt: str) -> CaptureReport:
    known = [] if capture.trust == TRUSTWORTHY else capture.trust.split(", ")
    return capture if doubt in known else capture._replace(trust=", ".join([*known, doubt]))


def loopback_files(captures: Sequence[CaptureReport]) -> frozenset[int]:
    """Indexes of the captures whose only link type is a loopback's."""
    return frozenset(
        index for index, capture in enumerate(captures) if capture.linktypes and _LOOPBACK.issuperset(capture.linktypes)
    )


def doubtful_files(captures: Sequence[CaptureReport]) -> frozenset[int]:
    """Indexes of the captures that say themselves that they lack packets, or whose clock stepped."""
    return frozenset(
        index
        for index, capture in enumerate(captures)
        if capture.dropped or not _GRAVE.isdisjoint(capture.trust.split(", "))
    )
