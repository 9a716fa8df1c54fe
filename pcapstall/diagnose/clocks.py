"""Rates of hosts' timestamp clocks, from their other connections: the offset differs, the rate does not.

Asked when a flow's own segments do not tell. How a rate is measured is in `ticks`.
"""

from collections.abc import Iterable
from typing import Final

from pcapstall.diagnose.histories import Histories
from pcapstall.diagnose.knowledge import client_address, client_key, server_address
from pcapstall.diagnose.ticks import measured_rate
from pcapstall.flows.flow import Flow

ASKED_MAX: Final = 16
"""So many connections of a host are looked at."""


class Clocks:
    """The hosts' clocks, as far as the segments of the flows kept tell."""

    def __init__(self, flows: Iterable[Flow], histories: Histories) -> None:
        self.histories = histories
        self._flows: dict[bytes, list[tuple[Flow, bool]]] = {}
        """By address: flows of the host, and whether it is their client."""
        self._rates: dict[tuple[int, bool], int | None] = {}
        """By the flow's id and side: what its own segments tell."""
        for flow in flows:
            if flow.first_note is None:
                continue
            key = client_key(flow)
            for address, is_client in ((client_address(key), True), (server_address(key), False)):
                known = self._flows.setdefault(address, [])
                if len(known) < ASKED_MAX:
                    known.append((flow, is_client))

    def rate(self, address: bytes, besides: Flow) -> int | None:
        """Ticks a second of the host at ``address``, from other flows than ``besides``; None when they do not tell, or
        do not agree."""
        rates = {self._own(flow, is_client) for flow, is_client in self._flows.get(address, ()) if flow is not besides}
        rates.discard(None)
        return rates.pop() if len(rates) == 1 else None

    def _own(self, flow: Flow, is_client: bool) -> int | None:
        asked = (flow.id, is_client)
        if asked not in self._rates:
            self._rates[asked] = measured_rate(self.histories.of(flow).of(is_client))
        return self._rates[asked]
