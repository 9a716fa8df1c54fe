"""Flows as dots: when each began and how long its steps took, for those that are not shown one by one.

Under a hundred bytes a flow. What is drawn of them is known to `overview` and `ecdf`.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from pcapstall.report.flow_model import FlowReport
from pcapstall.report.names import STALL_INTERVALS
from pcapstall.report.percentiles import is_untrusted

STEPS: Final = STALL_INTERVALS
"""The intervals whose distributions may be drawn."""
USUAL: Final = ("syn_synack", "ack_ch", "ch_ack", "ch_sh")
"""Those that are drawn whether anything stalled there or not."""
SERVERS_MAX: Final = 2_000
"""Servers whose lengths are kept, the first ones: a scan of a network talks to millions, once each."""


class Spread:
    """Starts and lengths of flows."""

    def __init__(self) -> None:
        self.starts_ns = array("q")
        """Of the flows that have an ack_ch; so has ``ack_ch_ns``."""
        self.ack_ch_ns = array("q")
        self.without_ack_ch = 0
        """How many flows have none."""
        self.servers: dict[str, dict[str, array[int]]] = {}
        """By server and step, the closed lengths."""
        self.unended: dict[str, dict[str, array[int]]] = {}
        """The same of those that began and were not seen to end; only where there are any."""
        self.stalled: set[str] = set()
        """Steps in which a flow stalled."""

    def add(
        self, start_ns: int, server: str, lengths_ns: Mapping[str, int | None], open_ns: Mapping[str, int] | None = None
    ) -> None:
        """One flow, with its closed lengths and those that were not seen to end."""
        ack_ch = lengths_ns.get("ack_ch")
        if ack_ch is not None:
            self.starts_ns.append(start_ns)
            self.ack_ch_ns.append(ack_ch)
        else:
            self.without_ack_ch += 1
        steps = self.servers.get(server)
        if steps is None:
            if len(self.servers) >= SERVERS_MAX:
                return
            steps = self.servers[server] = {name: array("q") for name in STEPS}
        for name in STEPS:
            length = lengths_ns.get(name)
            if length is not None:
                steps[name].append(length)
        for name, reached in (open_ns or {}).items():
            self.unended.setdefault(server, {}).setdefault(name, array("q")).append(reached)

    def add_flow(self, flow: FlowReport) -> None:
        """A flow that is a row of the report, without the lengths that are the capture's own making."""
        closed, opened = (
            {name: ns for name, ns in lengths.items() if ns is not None and not is_untrusted(flow, name, ns)}
            for lengths in (flow.intervals_ns, flow.open_ns)
        )
        self.add(start_of(flow), flow.server, closed, opened)
        if flow.stalled is not None:
            self.stalled.add(flow.stalled)


def of_flows(flows: Iterable[FlowReport]) -> Spread:
    """Those of ``flows``."""
    found = Spread()
    for flow in flows:
        found.add_flow(flow)
    return found


def steps_of(spreads: Sequence[Spread]) -> list[str]:
    """The steps to be drawn: the usual ones, and those in which something stalled."""
    return [step for step in STEPS if step in USUAL or any(step in spread.stalled for spread in spreads)]


def lengths_of(spreads: Sequence[Spread], server: str, step: str) -> "array[int]":
    """All that ``spreads`` have of a step, in their order."""
    found = [spread.servers[server][step] for spread in spreads if server in spread.servers]
    return found[0] if len(found) == 1 else array("q", chain.from_iterable(found))


def unended_of(spreads: Sequence[Spread], server: str, step: str) -> "array[int]":
    """How far those had come that began and were not seen to end."""
    return array("q", chain.from_iterable(spread.unended.get(server, {}).get(step, ()) for spread in spreads))


def busiest(spreads: Sequence[Spread], most: int) -> dict[str, int]:
    """The servers where one step began most often, and how often; the busiest first.

    None that one of ``spreads`` had no place for: nobody knows how many there were.
    """
    full = [spread for spread in spreads if len(spread.servers) >= SERVERS_MAX]
    counts: dict[str, int] = {}
    for server in {server for spread in spreads for server in spread.servers}:
        if all(server in spread.servers for spread in full):
            counts[server] = max(_begun(spreads, server, name) for name in STEPS)
    found = sorted(counts, key=lambda server: (-counts[server], server))[:most]
    return {server: counts[server] for server in found}


def server_count(spreads: Sequence[Spread]) -> tuple[int, bool]:
    """How many servers ``spreads`` know, and whether that is all of them."""
    known = {server for spread in spreads for server in spread.servers}
    return len(known), all(len(spread.servers) < SERVERS_MAX for spread in spreads)


def _begun(spreads: Sequence[Spread], server: str, step: str) -> int:
    told = [spread for spread in spreads if server in spread.servers]
    return sum(len(spread.servers[server][step]) + len(spread.unended.get(server, {}).get(step, ())) for spread in told)


def start_of(flow: FlowReport) -> int:
    """When a flow began: the moment of its `first_event`; 0 without any."""
    first = flow.first_event
    return first.ns if first is not None else 0
