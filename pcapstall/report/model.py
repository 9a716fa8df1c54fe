"""The report as a value: named tuples that mirror JSON schema 1 key by key, in its order.

Renderers, filters and conditions read these and nothing else. Its flows are described in `flow_model`, straces and
logs in `end_model`, which are loaded with the first of them. No measuring, no judging and no text layout lives here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pcapstall.report.end_model import LogReport, StraceReport
    from pcapstall.report.flow_model import FlowReport
    from pcapstall.report.pictures.spread import Spread
    from pcapstall.report.timeline import Timeline

SCHEMA: Final = 1
"""Keys keep their names and meaning within a schema number."""


class CaptureReport(NamedTuple):
    """What was read of one capture file. packets = tcp_packets + other_packets + the sum of malformed."""

    file: str
    format: str
    packets: int
    tcp_packets: int
    other_packets: int
    malformed: dict[str, int]
    """How many, by reason."""
    dropped: int | None
    """Packets that the capturing host says it dropped; None when it says nothing."""
    first_ns: int | None
    """Epoch nanoseconds of the earliest packet; None in an empty capture."""
    last_ns: int | None
    linktypes: list[str]
    """libpcap's names without the prefix: EN10MB, LINUX_SLL2."""
    trust: str
    """trustworthy, or what to mistrust."""
    warnings: list[str]


class IntervalSummary(NamedTuple):
    """Nearest-rank percentiles of one interval over some flows, in nanoseconds."""

    n: int
    p50: int
    p90: int
    p99: int
    max: int


class HealthySummary(NamedTuple):
    """The flows that neither stalled nor failed and are not shown one by one."""

    flows: int
    tls_outcomes: dict[str, int]
    """How many flows by tls_outcome, most first."""
    tcp_outcomes: dict[str, int]
    intervals: Mapping[str, IntervalSummary]
    """By name, those of `names.INTERVALS` that any of the flows has; open intervals are left out."""


class Totals(NamedTuple):
    """All flows of the report, shown or not."""

    flows: int
    stalled: int
    failed: int
    stalled_and_failed: int
    """Those that did both."""
    unjudged: int
    """Those of which no interval that could stall was seen, not even open."""
    capture_points: dict[str, int]
    """How many flows by capture point, most first."""


class Report(NamedTuple):
    """Everything that a command has to say."""

    version: str
    """pcapstall's."""
    t0_ns: int
    """The time that `EventReport.rel_ns` counts from."""
    thresholds_ns: Mapping[str, int]
    """``default`` and the intervals that have their own."""
    captures: list[CaptureReport]
    straces: "list[StraceReport]"
    flows: "Iterable[FlowReport]"
    """The flows to be shown, in the order of their ids; read once, so that it may be a generator."""
    healthy: HealthySummary
    totals: Totals
    timelines: Mapping[int, "Timeline"]
    """Of the worst flows, by id; only where pictures are drawn."""
    schema: int = SCHEMA
    filter_text: str | None = None
    """The filter that ``flows``, ``healthy`` and ``totals`` are narrowed to, as it was written; None without one."""
    unfiltered_flows: int | None = None
    """How many flows there are with and without a match; None without a filter."""
    warnings: Sequence[str] = ()
    """What is to be known of the reading as a whole, a sentence each; of a single capture it is in `captures`."""
    logs: "Sequence[LogReport]" = ()
    """In JSON only where there are any."""
    spread: "Spread | None" = None
    """The flows that are not shown, as pictures have them; only where one is drawn."""
    watched_until_ns: int | None = None
    """Epoch nanoseconds until when a live capture was waited on; None where that was not after its last packet. Not in
    JSON: how long each open interval had lasted is."""
