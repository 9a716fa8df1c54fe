"""Flows by server, SNI or client, as `pcapstall summary` shows them: a tally and a row for each group.

How a tally counts is in `percentiles`, what a row looks like in `summary`.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from pcapstall.core.errors import UsageError
from pcapstall.report.flow_model import FlowReport
from pcapstall.report.model import IntervalSummary
from pcapstall.report.names import INTERVALS
from pcapstall.report.percentiles import Tally, most_first

GROUPS: Final = ("server", "sni", "client")
"""What `tallies_by` can group by."""


class SummaryRow(NamedTuple):
    """The flows of one server, SNI or client."""

    key: str | None
    """The server's endpoint, the SNI (None without one) or the client's address."""
    flows: int
    stalled: int
    failed: int
    tls_outcomes: dict[str, int]
    tcp_outcomes: dict[str, int]
    intervals: Mapping[str, IntervalSummary]
    open: Mapping[str, IntervalSummary]
    """Intervals that were not seen to end, as long as they had become; not in ``intervals``."""
    untrusted: dict[str, int]
    """How many lengths of each interval are in neither: the capture's own making."""


def tallies_by(flows: Iterable[FlowReport], by: str) -> dict[str | None, Tally]:
    """A tally for each server, SNI (None without one) or client (its address: ports are ephemeral).

    UsageError when ``by`` is none of `GROUPS`.
    """
    if by not in GROUPS:
        raise UsageError(f"cannot group by {by!r}: choose one of {', '.join(GROUPS)}")
    tallies: dict[str | None, Tally] = {}
    for flow in flows:
        key = flow.sni if by == "sni" else flow.server if by == "server" else _address(flow.client)
        tally = tallies.get(key)
        if tally is None:
            tally = tallies[key] = Tally()
        tally.add(flow)
    return tallies


def rows_of(tallies: Mapping[str | None, Tally]) -> list[SummaryRow]:
    """The tallies of groups as rows, those with most stalls first."""
    rows = [
        SummaryRow(
            key,
            tally.flows,
            tally.stalled,
            tally.failed,
            most_first(tally.tls_outcomes),
            most_first(tally.tcp_outcomes),
            tally.intervals(),
            tally.open_intervals(),
            {name: tally.untrusted[name] for name in INTERVALS if name in tally.untrusted},
        )
        for key, tally in tallies.items()
    ]
    rows.sort(key=lambda row: (-row.stalled, -row.failed, -row.flows, row.key or ""))
    return rows


def _address(endpoint: str) -> str:
    return endpoint.rpartition(":")[0].strip("[]")
