"""Two captures in sentences and a table: the answer, what was read, the connections, each verdict with its evidence.

Plain text, not yet escaped; terminals and markup lay the same pieces out. What is said of one capture alone is in
`prose`.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from pcapstall.core.counts import several
from pcapstall.core.times import format_span
from pcapstall.diagnose.verdict import cause_words
from pcapstall.report.facts import warning
from pcapstall.report.model import CaptureReport, IntervalSummary
from pcapstall.report.prose import names_of, numbered, time_covered
from pcapstall.report.stories import Story, sum_of
from pcapstall.report.two_ends_model import LoneReport, PairReport, TwoEnds, TwoEvidence

_PART_WORDS: Final = {
    "client_process": "client process",
    "client_kernel": "client host",
    "network_to_server": "network to the server",
    "server_kernel": "server host",
    "server_process": "server process",
    "network_to_client": "network to the client",
    "network": "fastest round trip",
    "await_server": "waiting for the server",
    "unknown": "unknown",
}
_FOUND_BY: Final = {
    "isns": "initial sequence numbers",
    "client_random": "the ClientHello's random",
    "client_isn": "the client's initial sequence number",
    "server_isn": "the server's initial sequence number",
}
_WAYS: Final = (("to_server", "to the server"), ("to_client", "to the client"))
MANY: Final = 200
"""Of fewer packets the 99th percentile is all but the longest."""
LONE_SHOWN: Final = 10
"""Flows without a partner that are listed, without ``--all``."""


def worst_first(pairs: Sequence[PairReport]) -> list[PairReport]:
    """Stalled connections, the longest stall first, then failed ones, then the others."""
    return sorted(pairs, key=lambda p: (0 if p.stalled else 1 if p.failed else 2, -(p.stalled_ns or 0), p.id))


def headline(report: TwoEnds) -> str:
    """The answer in one sentence."""
    of = f"of {several(report.paired, 'connection')} seen at both ends"
    if not (report.stalled or report.failed):
        bad = next((lone for lone in report.lone if lone.stalled or lone.failed), None)
        if bad is not None:
            return f"No stall in {several(report.paired, 'connection')} seen at both ends; but {_lone_sentence(bad)}."
        return f"No stall: {several(report.paired, 'connection')} seen at both ends, none stalled or failed."
    if report.stalled:
        said = f"{report.stalled} {of} stalled" + (f" and {report.failed} more failed" if report.failed else "")
    else:
        said = f"No stall, but {report.failed} {of} failed"
    worst = worst_first(report.pairs)[0]
    which = "; the worst" if report.stalled > 1 else "; the first" if not report.stalled and report.failed > 1 else ""
    length = f"{worst.stalled} {format_span(worst.stalled_ns)}, " if worst.stalled and worst.stalled_ns else ""
    sure = f"{cause_words(worst.cause or 'unknown')}, {worst.confidence} confidence"
    return f"{said}{which}: {worst.verdict} ({length}{sure})."


def read_before(report: TwoEnds) -> Iterator[str]:
    """What has to be known before the table: what both have, and what to mistrust; a line each."""
    yield _pairs(report)
    if report.swapped:
        yield "The captures were given the other way round: by its round trips the second one is the client's."
    for name, captures in (("client", report.client_captures), ("server", report.server_captures)):
        for capture in captures:
            if capture.trust != "trustworthy":
                yield f"{capture.file}, at the {name}: to be read with care: {capture.trust.replace('_', ' ')}"
            yield from (warning(f"{capture.file}: {text}") for text in capture.warnings)
    yield from (warning(f"{text.rstrip('.')}.") for text in report.warnings)


def read_after(report: TwoEnds) -> Iterator[str]:
    """What was read, and how it was put together: a line each, told last."""
    yield _captures("Client's end", report.client_captures)
    yield _captures("Server's end", report.server_captures)
    yield from _clock(report)
    if report.changes:
        told = [f"{text} ({several(count, 'connection')})" for text, count in report.changes.items()]
        yield f"Between the captures: {'; '.join(told)}."


def _captures(name: str, captures: Sequence[CaptureReport]) -> str:
    facts = [several(sum(capture.packets for capture in captures), "packet"), time_covered(captures)]
    return f"{name}: {names_of(captures)}: {', '.join(filter(None, facts))}."


def _pairs(report: TwoEnds) -> str:
    ways: dict[str, int] = {}
    for pair in report.pairs:
        ways[pair.match] = ways.get(pair.match, 0) + 1
    odd = [f"{count} of those shown by {_FOUND_BY[way]}" for way, count in ways.items() if way != "isns"]
    said = f"{several(report.paired, 'connection')} {'is' if report.paired == 1 else 'are'} in both captures"
    said += f" ({', '.join(odd)})" if odd else ""
    alone = [f"{count} only at the {end}'s" for end, count in report.lone_counts.items() if count]
    return f"{said}{''.join(f', {text}' for text in alone)}."


def _clock(report: TwoEnds) -> Iterator[str]:
    clock = report.clock
    if clock is None:
        return
    ahead = "ahead of" if clock.offset_ns >= 0 else "behind"
    if abs(clock.offset_ns) <= clock.error_ns:
        said = f"The clocks of both ends agree within {format_span(clock.error_ns)}"
    else:
        said = (
            f"The server's clock is {format_span(abs(clock.offset_ns))} {ahead} the client's, give or take "
            f"{format_span(clock.error_ns)}"
        )
    if clock.drift_ppb:
        faster = "faster" if clock.drift_ppb > 0 else "slower"
        said += f", and runs {abs(clock.drift_ppb) / 1000:.1f} us a second {faster}"
    yield f"{said} (bounds from {several(clock.samples, 'packet')})."
    above = [f"{way} {_spread(report.delays[name])}" for name, way in _WAYS if name in report.delays]
    said = f"The fastest round trip between the captures took {format_span(clock.fastest_ns)}"
    yield f"{said}; above the fastest packet of its direction: {', '.join(above)}." if above else f"{said}."


def _spread(summary: IntervalSummary) -> str:
    ranks = ("p50", "p99", "max") if summary.n >= MANY else ("p50", "max")
    return ", ".join(f"{rank} {format_span(getattr(summary, rank))}" for rank in ranks)


def healthy_line(report: TwoEnds) -> str:
    """The connections that are not in the table; empty when all are."""
    others = report.paired - len(report.pairs)
    if not others:
        return ""
    more = "other " if report.pairs else ""
    return f"{several(others, f'{more}connection')} stalled at neither end and failed at none."


def lone_lines(report: TwoEnds, everything: bool) -> Iterator[str]:
    """Flows of one capture only, one a line; those that may be several of the other's say so. Those with a verdict have
    a story of their own."""
    listed = [lone for lone in report.lone if not is_told(lone)]
    shown = listed if everything else listed[:LONE_SHOWN]
    for lone in shown:
        yield _upper(_lone_sentence(lone)) + "."
    if len(listed) > len(shown):
        yield f"And {len(listed) - len(shown)} more that only one capture has; --all shows everything."


def is_told(lone: LoneReport) -> bool:
    """Whether there is more to tell of it than a line."""
    return lone.verdict is not None and not lone.candidates


def _lone_sentence(lone: LoneReport) -> str:
    name = f"{lone.client} -> {lone.server}" + (f" ({lone.sni})" if lone.sni else "")
    if lone.candidates:
        other = "server" if lone.at == "client" else "client"
        rows = " or ".join(str(row) for row in lone.candidates[:4])
        return (
            f"flow {lone.flow} of the {lone.at}'s capture, {name}, may be flow {rows} of the {other}'s: left unpaired"
        )
    said = f"flow {lone.flow}, {name}, is in the {lone.at}'s capture only: "
    if lone.verdict:
        return f"{said}{lone.verdict} ({cause_words(lone.cause or 'unknown')}, {lone.confidence} confidence)"
    return said + lone.outcome


def pair_story(pair: PairReport, report: TwoEnds) -> Story:
    """One connection, told at length."""
    there = ""
    if (pair.client, pair.server) != (pair.client_there, pair.server_there):
        there = f"at the server's end {pair.client_there} -> {pair.server_there}"
    found = [] if pair.match == "isns" else [f"paired by {_FOUND_BY[pair.match]}"]
    if pair.client_flow != pair.server_flow:
        found.append(f"flow {pair.client_flow} at the client, {pair.server_flow} at the server")
    return Story(
        f"Connection {pair.id}",
        f"{pair.client} -> {pair.server}",
        ", ".join(filter(None, (pair.sni, there, *found))),
        _upper(pair.verdict or "no verdict") + ".",
        _finding(pair),
        sum_of(pair.stalled, pair.parts_ns, _PART_WORDS),
        [(evidence.text, place(evidence, report)) for evidence in pair.evidence],
        pair.would_settle or "",
    )


def lone_story(lone: LoneReport, report: TwoEnds) -> Story:
    """A flow of one capture, told at length."""
    length = f"{lone.stalled} {format_span(lone.stalled_ns)}; " if lone.stalled and lone.stalled_ns else ""
    return Story(
        f"Only at the {lone.at}, flow {lone.flow}",
        f"{lone.client} -> {lone.server}",
        lone.sni or "",
        _upper(lone.verdict or "no verdict") + ".",
        f"{length}outcome {lone.outcome}; cause {lone.cause}, {lone.reason}; confidence {lone.confidence}",
        "",
        [(evidence.text, place(evidence, report)) for evidence in lone.evidence],
        lone.would_settle or "",
    )


def _finding(pair: PairReport) -> str:
    found: list[str] = []
    if pair.stalled and pair.stalled_ns is not None:
        at_least = "more than " if pair.is_open else ""
        found.append(f"{pair.stalled} {at_least}{format_span(pair.stalled_ns)}, as the {pair.seen_at}'s end has it")
    if pair.client_outcome == pair.server_outcome:
        found.append(f"outcome {pair.client_outcome}")
    else:
        found.append(f"outcome {pair.client_outcome} at the client, {pair.server_outcome} at the server")
    reason = None if pair.reason == pair.client_outcome else pair.reason
    found.append("cause " + ", ".join(filter(None, (pair.cause, reason))))
    found.append(f"confidence {pair.confidence}")
    return "; ".join(found)


def place(evidence: TwoEvidence, report: TwoEnds) -> str:
    """``client frames 3, 9; server frame 4``; the file is named where an end has several."""
    places: list[str] = []
    for name, frames, captures in (
        ("client", evidence.client, report.client_captures),
        ("server", evidence.server, report.server_captures),
    ):
        places += [_frames(name, numbered, file, captures) for file, numbered in frames.items()]
    return "; ".join(places)


def _frames(name: str, frames: Sequence[int], file: int, captures: Sequence[CaptureReport]) -> str:
    said = numbered(f"{name} frame", frames)
    return f"{said} of {captures[file].file}" if len(captures) > 1 and file < len(captures) else said


def _upper(text: str) -> str:
    return text[0].upper() + text[1:] if text.startswith(("the ", "a ", "no ", "flow ", "for ", "full ")) else text
