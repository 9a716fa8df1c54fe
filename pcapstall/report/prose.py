"""A report in sentences: the answer, what was read, the healthy flows in one line. Plain text, not yet escaped.

Every renderer escapes these for its own format. What is said of a single flow is in `happening` and `stories`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from pcapstall.core.counts import several
from pcapstall.core.times import MS, format_ms, format_span, format_utc
from pcapstall.report.facts import warning
from pcapstall.report.grid import decimals
from pcapstall.report.model import CaptureReport, Report, Totals
from pcapstall.report.names import STALL_INTERVALS
from pcapstall.report.percentiles import longest as longest_lengths
from pcapstall.report.percentiles import outcome_counts, ranks_of

if TYPE_CHECKING:
    from pcapstall.report.flow_model import FlowReport

POINTS: Final = {
    "client": "captured at the client",
    "server": "captured at the server",
    "middle": "captured between client and server",
    "local": "captured on one host",
    "unknown": "capture point unknown",
}
"""Where a capture was taken, in words."""
_TAKE_ANOTHER: Final = " Take a capture of both directions that begins before the connections do."
_SILENCE_NS: Final = 100 * MS
"""A live capture that was silent for less at its end was watched for about as long as its packets took."""
DOUBTS_FIRST: Final = 4
"""So many lines of what to mistrust stand before a table; more would hide it."""
_NUMBERS_MAX: Final = 8
_HEALTHY_INTERVALS: Final = ("syn_synack", "ack_ch", "ch_ack", "ch_sh")


def headline(report: Report, flows: "Sequence[FlowReport]") -> str:
    """The answer in one sentence; ``flows`` are the shown ones, worst first."""
    totals = report.totals
    failed = totals.failed - totals.stalled_and_failed
    if totals.flows == 0:
        if report.unfiltered_flows:
            return f"None of {several(report.unfiltered_flows, 'flow')} matches {_filter(report)}."
        return "No TCP connection in what was read."
    if totals.stalled == 0 and failed == 0:
        return _nothing_wrong(report, flows)
    from pcapstall.report.trouble import what_went_wrong  # nothing did in most

    return what_went_wrong(report, flows)


def flows_counted(report: Report) -> str:
    """How many flows the numbers are about: ``11 flows``, ``1 flow that matches (of 11)``."""
    said = several(report.totals.flows, "flow")
    if report.unfiltered_flows is None:
        return said
    return f"{said} that {'matches' if report.totals.flows == 1 else 'match'} (of {report.unfiltered_flows})"


def _filter(report: Report) -> str:
    return f"the filter {report.filter_text}" if report.filter_text else "the filter"


def _nothing_wrong(report: Report, flows: "Sequence[FlowReport]") -> str:
    totals = report.totals
    longest = {name: ns for name, ns in longest_lengths(report.healthy.intervals).items() if name in STALL_INTERVALS}
    for flow in flows:
        for name in STALL_INTERVALS:
            length = flow.intervals_ns.get(name)
            if length is not None:
                longest[name] = max(longest.get(name, length), length)
    name, length = max(longest.items(), key=lambda item: item[1], default=("", 0))
    if totals.unjudged == totals.flows or length <= 0:
        # A ClientHello in one segment has a ch_span of 0, which is no step that could have been slow.
        return (
            f"Nothing to judge: {flows_counted(report)}, but no step of a TCP or TLS handshake from its start to its"
            f" end (seen midway, cut short or not TLS).{_TAKE_ANOTHER if _are_midway(report, flows) else ''}"
        )
    said = f"No stall: {flows_counted(report)}, all within {format_span(length)} at every step (longest: {name})"
    if waiting := _waiting(report, flows):
        said += f", but {waiting} had sent no ClientHello when the capture ended"
    if totals.unjudged:
        said += f"; {totals.unjudged} of them showed no handshake to judge"
    return said + "."


def _are_midway(report: Report, flows: "Sequence[FlowReport]") -> bool:
    """Whether connections were there before the capture."""
    return "seen_midway" in report.healthy.tcp_outcomes or any(flow.tcp_outcome == "seen_midway" for flow in flows)


def _waiting(report: Report, flows: "Sequence[FlowReport]") -> int:
    """How many connections were open at the end without a ClientHello: too short a wait to be a stall so far."""
    return report.healthy.tls_outcomes.get("no_client_hello", 0) + sum(
        flow.tls_outcome == "no_client_hello" for flow in flows
    )


def what_was_read(report: Report) -> list[str]:
    """One line for the captures and one for each strace and log; then what to mistrust and all warnings."""
    return [_captures_line(report), *_texts_read(report), *_mistrusted(report)]


def read_before(report: Report) -> list[str]:
    """What has to be known before a table is looked at: a line of the captures, and the first things to mistrust."""
    mistrusted = _mistrusted(report)
    first = mistrusted[: _first(mistrusted)]
    more = len(mistrusted) - len(first)
    return [_captures_line(report), *first, *([warning(f"{more} more to be mistrusted are told last")] if more else [])]


def read_after(report: Report) -> list[str]:
    """The rest of `what_was_read`, which is told last: straces and logs, and what else to mistrust."""
    mistrusted = _mistrusted(report)
    return [*_texts_read(report), *mistrusted[_first(mistrusted) :]]


def _first(mistrusted: Sequence[str]) -> int:
    """How many are told before a table: all, unless they would hide it."""
    return len(mistrusted) if len(mistrusted) <= DOUBTS_FIRST else DOUBTS_FIRST - 1


def _texts_read(report: Report) -> list[str]:
    if not report.straces and not report.logs:
        return []
    from pcapstall.report.log_prose import log_lines  # most have neither
    from pcapstall.report.strace_prose import strace_line

    return [*map(strace_line, report.straces), *(line for log in report.logs for line in log_lines(log))]


def _mistrusted(report: Report) -> list[str]:
    lines = list(map(warning, report.warnings))
    for capture in report.captures:
        lines.extend(_doubts(capture))
        lines.extend(warning(f"{capture.file}: {text}") for text in capture.warnings)
    return lines


def _captures_line(report: Report) -> str:
    captures = report.captures
    if not captures:
        return "No capture was read."
    packets = sum(capture.packets for capture in captures)
    tcp = sum(capture.tcp_packets for capture in captures)
    facts = [several(packets, "packet") + ("" if tcp == packets else f" ({tcp} TCP)")]
    if report.unfiltered_flows is None:
        facts.append(several(report.totals.flows, "flow"))
    else:
        facts.append(f"{several(report.unfiltered_flows, 'flow')}, {report.totals.flows} by {_filter(report)}")
    if time := time_covered(captures):
        facts.append(time)
        facts += _watched(report)
    facts.extend(dict.fromkeys(linktype for capture in captures for linktype in capture.linktypes))
    points = report.totals.capture_points
    if len(points) == 1:
        point = next(iter(points))
        facts.append(POINTS.get(point, f"capture point {point}"))
    elif points:
        facts.append("capture point " + _counts(points))
    return f"Read {names_of(captures)}: {', '.join(facts)}."


def _watched(report: Report) -> list[str]:
    """For how long a live capture was waited on, where its packets took less: what still lasts counts to its end."""
    first = [capture.first_ns for capture in report.captures if capture.first_ns is not None]
    last = [capture.last_ns for capture in report.captures if capture.last_ns is not None]
    if report.watched_until_ns is None or not first or not last:
        return []
    watched = format_span(report.watched_until_ns - min(first))
    if watched == format_span(max(last) - min(first)) or report.watched_until_ns - max(last) < _SILENCE_NS:
        return []
    return [f"watched for {watched}"]


def names_of(captures: Sequence[CaptureReport]) -> str:
    """The files, of more than three the first and the last."""
    names = [capture.file for capture in captures]
    return f"{len(names)} captures ({names[0]} ... {names[-1]})" if len(names) > 3 else ", ".join(names)


def time_covered(captures: Sequence[CaptureReport]) -> str:
    """From their first packet to their last one: ``3.2 s from 2021-05-19 17:29:02.123456 UTC``; empty without any.

    Of a clock that was set the length says little, and that is said.
    """
    first = [capture.first_ns for capture in captures if capture.first_ns is not None]
    last = [capture.last_ns for capture in captures if capture.last_ns is not None]
    if not first or not last:
        return ""
    was_set = " by a clock that was set" if any("clock_steps" in capture.trust for capture in captures) else ""
    length_ns = max(last) - min(first)
    when = f"{format_span(length_ns)} from" if length_ns else "all at"
    return f"{when} {format_utc(min(first))}{was_set}"


def doubts(report: Report) -> list[str]:
    """Those lines of `what_was_read` that say why a capture is less to be trusted."""
    return [doubt for capture in report.captures for doubt in _doubts(capture)]


def _doubts(capture: CaptureReport) -> list[str]:
    found: list[str] = []
    if capture.trust != "trustworthy":
        found.append(f"to be read with care: {capture.trust.replace('_', ' ')}")
    if capture.dropped:
        found.append(f"{several(capture.dropped, 'packet')} dropped by the capturing host")
    if capture.malformed:
        found.append(f"{several(sum(capture.malformed.values()), 'packet')} malformed ({_counts(capture.malformed)})")
    return [f"{capture.file}: {doubt}" for doubt in found]


def healthy_line(report: Report, others: bool) -> str:
    """The flows that are not shown, in one line; empty when all are. ``others``: whether some are shown."""
    healthy = report.healthy
    if healthy.flows == 0:
        return ""
    outcomes = outcome_counts(healthy.tls_outcomes, healthy.tcp_outcomes)
    said = f"{several(healthy.flows, 'other flow' if others else 'flow')} did not stall or fail"
    if outcomes:
        said += f" ({_counts(outcomes)})"
    spreads: dict[tuple[str, ...], list[str]] = {}
    for name in _HEALTHY_INTERVALS:
        if name in healthy.intervals:
            summary = healthy.intervals[name]
            ranks = ranks_of(summary.n)
            lengths = [getattr(summary, rank) for rank in ranks]
            digits = decimals(lengths)
            spreads.setdefault(ranks, []).append(f"{name} {'/'.join(format_ms(ns, digits) for ns in lengths)}")
    for ranks, spread in spreads.items():
        said += f"; {'/'.join(ranks) + ' ' if len(ranks) > 1 else ''}in ms: {', '.join(spread)}"
    return said + "."


def numbered(noun: str, values: Sequence[int]) -> str:
    """``frame 3``, ``frames 3, 9, 12``, as `numbers` has them."""
    return f"{noun if len(values) == 1 else noun + 's'} {numbers(values)}"


def numbers(values: Sequence[int]) -> str:
    """``3, 9, 12``; what is beyond `_NUMBERS_MAX` is counted."""
    shown = ", ".join(map(str, values[:_NUMBERS_MAX]))
    return f"{shown} and {len(values) - _NUMBERS_MAX} more" if len(values) > _NUMBERS_MAX else shown


def closing_line(totals: Totals, elapsed_ns: int, width: int) -> str:
    """The last line on a terminal, as pytest has one: what came of it, between rules that are as long as there is room.

    A flow that stalled and failed counts as stalled.
    """
    failed = totals.failed - totals.stalled_and_failed
    others = totals.flows - totals.stalled - failed
    counts = f"{totals.stalled} stalled, " + (f"{failed} failed, " if failed else "") + several(others, "other")
    said = f" {counts} of {several(totals.flows, 'flow')} in {elapsed_ns / 1e9:.2f} s "
    return said.center(width, "=") if len(said) + 2 <= width else said.strip()


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
