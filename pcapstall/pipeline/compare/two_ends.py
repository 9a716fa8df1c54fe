"""Two captures, one at each end, put together: read, paired, put on one clock, judged.

Which packages do what, and in which order; each capture is read as for a report. What is kept of a connection there
ends with its handshake, and is less where that went well: those that stalled or failed at either end are read again.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pcapstall.capture.captures import Captures, open_captures
from pcapstall.capture.interrupting import unless_stopped
from pcapstall.capture.source import Stop
from pcapstall.core.counts import several
from pcapstall.core.errors import InputError, UsageError
from pcapstall.core.garbage import without_garbage
from pcapstall.core.times import format_span, format_utc
from pcapstall.diagnose.two_ends import order
from pcapstall.diagnose.two_ends.clock import Clock, Sample, clock_of
from pcapstall.diagnose.two_ends.pairing import Pair, Pairing, pair_flows
from pcapstall.diagnose.two_ends.scene import Scene, Span, event_samples, is_unrepeated
from pcapstall.flows.flow import Flow
from pcapstall.flows.table import FlowSink, FlowTable
from pcapstall.pipeline.analysis import Analysis, analyse
from pcapstall.pipeline.findings import Findings
from pcapstall.pipeline.follow import follow
from pcapstall.pipeline.options import Options
from pcapstall.pipeline.scan.loop import Listener

Progress = Callable[[Captures], None]

_ORDER_DOUBTS: Final = {
    order.SAME_PLACE: "no packet took longer at one end than at the other: both captures seem to be of one place, so "
    "nothing can be said about the network between them",
    order.UNKNOWN: "which capture is nearer to the client cannot be told; the order given is taken for right",
}
"""What is said of the order of the captures where it is not known."""


@dataclass(slots=True)
class End:
    """What one end's capture holds."""

    paths: list[str]
    analysis: Analysis

    @property
    def findings(self) -> Findings:
        """Its flows."""
        return self.analysis.findings

    @property
    def span(self) -> Span:
        """From its first to its last packet."""
        first = [capture.first_ns for capture in self.analysis.report.captures if capture.first_ns is not None]
        last = [capture.last_ns for capture in self.analysis.report.captures if capture.last_ns is not None]
        return Span(min(first, default=0), max(last, default=0))


@dataclass(slots=True)
class Together:
    """Both ends, paired and on one clock."""

    client: End
    server: End
    pairing: Pairing
    clock: Clock | None
    swapped: bool
    warnings: list[str]
    spans: tuple[Span, Span]
    samples: list[Sample]
    """Packets of which it is certain that both stamps are of the same transmission, once all is done."""

    def scene(self, pair: Pair) -> Scene:
        """A pair, to be judged before the next one is asked for."""
        return Scene(
            pair,
            self.client.findings.case(pair.client),
            self.server.findings.case(pair.server),
            self.clock,
            self.spans,
        )


def read_both(
    first: Sequence[str],
    second: Sequence[str],
    options: Options,
    everything: bool,
    *,
    stop: Stop | None = None,
    progress: Progress | None = None,
) -> tuple[Together | None, list[InputError]]:
    """Read and pair two captures, ``first`` as taken at the client unless the packets say otherwise.

    The errors are of files that could not be read; without a capture at either end there is nothing to put together.
    UsageError when the two are the same, or have no connection in common; KeyboardInterrupt when ``stop`` was thrown,
    for half a reading is not compared.
    """
    options = options._replace(all_flows=True)
    stop = stop or Stop()
    ends: list[End] = []
    for paths in (first, second):
        ends.append(End(list(paths), analyse(paths, options, stop=stop, progress=progress)))
        unless_stopped(stop)
    unreadable = [error for end in ends for error in end.analysis.unreadable]
    if any(not end.analysis.report.captures for end in ends):
        return None, unreadable
    _refuse_same_files(ends)
    client, server = ends
    pairing = _paired(client, server)
    warnings = [warning for end in ends for warning in end.analysis.report.warnings]
    found = order.order_of(pairing.pairs)
    swapped = found == order.SWAPPED
    if swapped:
        client, server = server, client
        pairing = pair_flows(client.findings.flows(), server.findings.flows())
    elif found in _ORDER_DOUBTS:
        warnings.append(_ORDER_DOUBTS[found])
    _note_again(client, server, pairing, everything, options, stop)
    samples = [sample for pair in pairing.pairs for sample in event_samples(pair)]
    clock = clock_of(samples)
    together = Together(client, server, pairing, clock, swapped, warnings, (client.span, server.span), samples)
    _refine(together)
    return together, unreadable


def _paired(client: End, server: End) -> Pairing:
    """The connections that both captures have."""
    pairing = pair_flows(client.findings.flows(), server.findings.flows())
    if not pairing.pairs:
        raise UsageError(_nothing_common(client, server))
    if order.is_copy(pairing.pairs):
        raise UsageError(
            "both captures hold the same packets at the same times: one is a copy of the other. Give one that was taken"
            " at the client and one that was taken at the server."
        )
    return pairing


def _refine(together: Together) -> None:
    """All packets of the handshakes that are looked at bound the clocks, too; if they fit."""
    crossed = [
        sample
        for pair in together.pairing.pairs
        if pair.client.note_count and pair.server.note_count
        for sample in together.scene(pair).samples
    ]
    together.clock = clock_of([*together.samples, *crossed]) or together.clock
    exact = [pair for pair in together.pairing.pairs if is_unrepeated(pair)]
    together.samples = crossed + [sample for pair in exact for sample in event_samples(pair)]
    if together.clock is None:
        together.warnings.append(
            "the two clocks cannot be brought together (one of them was set, or packets of one direction are missing): "
            "nothing is said that would rest on both"
        )


def _note_again(client: End, server: End, pairing: Pairing, everything: bool, options: Options, stop: Stop) -> None:
    """Read the connections that stalled or failed at either end again, with all of their segments."""
    wanted = [
        pair for pair in pairing.pairs if everything or _is_wrong(client, pair.client) or _is_wrong(server, pair.server)
    ]
    if not wanted:
        return
    here = _read_again(client.paths, [pair.client for pair in wanted], options, stop)
    there = _read_again(server.paths, [pair.server for pair in wanted], options, stop)
    pairing.pairs = [
        Pair(here.get(pair.client.first_ref, pair.client), there.get(pair.server.first_ref, pair.server), pair.way)
        for pair in pairing.pairs
    ]


def _is_wrong(end: End, flow: Flow) -> bool:
    case = end.findings.case(flow)
    return case.stalled is not None or case.outcome.failed


class _Wanted(FlowSink):
    """Keeps the flows that are asked for."""

    def __init__(self, firsts: set[int]) -> None:
        self._firsts = firsts
        self.found: dict[int, Flow] = {}

    def forgets(self, flow: Flow) -> bool:
        """Never: flows that were forgotten would make others count differently than before."""
        return False

    def take(self, flow: Flow) -> bool:
        """Keep it, if it is wanted."""
        if flow.first_ref not in self._firsts:
            return False
        self.found[flow.first_ref] = flow
        return True


def _read_again(paths: list[str], wanted: Sequence[Flow], options: Options, stop: Stop) -> dict[int, Flow]:
    """The same flows with their segments, by their first frames."""
    sink = _Wanted({int(flow.first_ref) for flow in wanted})
    table = FlowTable(sink, max(options.thresholds_ns.values()), max_flows=options.max_flows)
    table.limits.kept_keys.update(flow.key for flow in wanted)
    cursor = open_captures(paths, stop)
    try:
        with without_garbage():
            follow(cursor, table, Listener())
            table.finish()
    finally:
        cursor.close()
    if cursor.stopped:
        raise KeyboardInterrupt(stop.by)
    return sink.found


def _refuse_same_files(ends: Sequence[End]) -> None:
    files = [[capture.file for capture in end.analysis.report.captures] for end in ends]
    for one in files[0]:
        for other in files[1]:
            if os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other):
                raise UsageError(
                    f"{one} is given for both ends: give one capture that was taken at the client and one at the server"
                )


def _nothing_common(client: End, server: End) -> str:
    """Why no connection is in both, as far as that can be told, and what to do."""
    lines = ["the two captures have no connection in common, by initial sequence numbers and ClientHellos."]
    for end in (client, server):
        span = end.span
        files = ", ".join(capture.file for capture in end.analysis.report.captures)
        flows = end.analysis.report.totals.flows
        lines.append(
            f"  {files}: {several(flows, 'flow')}, {format_utc(span.first_ns)} and "
            f"{format_span(span.last_ns - span.first_ns)} on"
        )
    lines.append(
        "Take both at the same time, from before the connections begin. A proxy ends connections: what comes out of it"
        " is another one, so capture both ends of one leg."
    )
    return "\n".join(lines)
