"""Rates of hosts' timestamp clocks, from their other connections: the offset differs, the rate does not.

How a rate is measured is in `ticks`. Compiled: all that were kept are sorted in for the first verdict.
"""

from collections.abc import Iterable
from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.histories import Histories
from pcapstall.diagnose.knowledge import client_address, client_key, server_address
from pcapstall.diagnose.segments import History, Seg
from pcapstall.diagnose.ticks import measured_rate
from pcapstall.flows.flow import Flow

ASKED_MAX: Final = 16
"""So many connections of a host are looked at."""


class Clocks:
    """The hosts' clocks, as far as the segments of the flows kept tell."""

    def __init__(self, flows: Iterable[Flow], histories: Histories) -> None:
        self.histories: Histories = histories
        self._flows: dict[bytes, list[tuple[Flow, bool]]] = {}
        """By address: flows of the host, and whether it is their client."""
        self._rates: dict[int, int | None] = {}
        """By the flow's id and side, in one number: what its own segments tell."""
        for flow in flows:
            if flow.book is None:
                continue
            key = client_key(flow)
            self._know(client_address(key), flow, True)
            self._know(server_address(key), flow, False)

    def _know(self, address: bytes, flow: Flow, is_client: bool) -> None:
        known = self._flows.get(address)
        if known is None:
            self._flows[address] = [(flow, is_client)]
        elif len(known) < ASKED_MAX:
            known.append((flow, is_client))

    def rate(self, address: bytes, besides: Flow) -> int | None:
        """Ticks a second of the host at ``address``, from other flows than ``besides``; None when they do not tell, or
        do not agree."""
        flows = self._flows.get(address)
        if flows is None:
            return None
        found: int | None = None
        for flow, is_client in flows:
            if flow is besides:
                continue
            own = self._own(flow, is_client)
            if own is None:
                continue
            if found is not None and own != found:
                return None
            found = own
        return found

    def _own(self, flow: Flow, is_client: bool) -> int | None:
        asked: i64 = flow.id * 2
        if is_client:
            asked += 1
        if asked not in self._rates:
            self._rates[asked] = measured_rate(self.histories.of(flow).of(is_client))
        return self._rates[asked]


class Rates:
    """Ticks a second of the timestamps of one flow's sides: as its own segments tell, or the hosts' other flows."""

    def __init__(self, history: History, flow: Flow, clocks: Clocks | None) -> None:
        self._history: History = history
        self._flow: Flow = flow
        self._clocks: Clocks | None = clocks

    def of(self, from_client: bool, without: Seg | None = None) -> int | None:
        """Those of one side, the step that leads to ``without`` left out; None when unknown."""
        rate = measured_rate(self._history.of(from_client), without)
        clocks = self._clocks
        if rate is not None or clocks is None:
            return rate
        key = client_key(self._flow)
        if from_client:
            return clocks.rate(client_address(key), self._flow)
        return clocks.rate(server_address(key), self._flow)
