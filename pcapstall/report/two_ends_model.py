"""Two captures of the same connections as a value: named tuples that mirror the JSON of `pcapstall compare`.

Renderers read these and nothing else. Times are integer nanoseconds; what was not seen is None. No one-way delay is
in here, for none can be measured: only what a packet took longer than the fastest one of its direction.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pcapstall.report.model import CaptureReport, IntervalSummary

SCHEMA: Final = 1
"""Keys keep their names and meaning within a schema number."""

PARTS: Final = (
    "client_process",
    "client_kernel",
    "network_to_server",
    "server_kernel",
    "server_process",
    "network_to_client",
    "network",
    "await_server",
    "unknown",
)
"""What an interval is split into; ``network`` is the fastest round trip, which has no direction."""


class ClockReport(NamedTuple):
    """How the server's clock stands to the client's, at the first packet of the client's capture."""

    offset_ns: int
    """What to add to the client's times to have the server's."""
    error_ns: int
    """How far the true offset may be from that, at most."""
    drift_ppb: int
    """How much faster the server's clock runs, nanoseconds a second; 0 when none shows."""
    fastest_ns: int
    """The fastest way to the server and the fastest way back, together."""
    samples: int
    """Packets at both ends that it rests on."""


class Crossed(NamedTuple):
    """What became of the segments of one direction of one connection, as far as they were noted."""

    sent: int
    lost: int
    spurious: int
    """Sent again though an earlier copy had come."""
    missed: int
    """In one capture only, though both hosts had them."""
    unwatched: int
    """Sent when the other capture may have been over."""
    foreign: int
    """They came and never left their sender's end."""


class TwoEvidence(NamedTuple):
    """One sentence, and where to look."""

    text: str
    client: Mapping[int, list[int]]
    """Frames of the captures at the client, by their index."""
    server: Mapping[int, list[int]]


class PairReport(NamedTuple):
    """One connection, seen at both ends."""

    id: int
    """The row: connections count from 1 in the order of the client's capture."""
    client_flow: int
    """Its row in the report of the capture at the client."""
    server_flow: int
    client: str
    """Endpoints as the client's end has them."""
    server: str
    client_there: str
    """Endpoints as the server's end has them."""
    server_there: str
    sni: str | None
    match: str
    """isns, client_random, client_isn or server_isn."""
    client_outcome: str
    server_outcome: str
    seen_at: str | None
    """client or server: whose capture shows the stall or failure that is judged."""
    stalled: str | None
    stalled_ns: int | None
    is_open: bool
    failed: bool
    parts_ns: Mapping[str, int]
    """They add up to ``stalled_ns``; empty when nothing stalled or the clocks do not agree."""
    cause: str | None
    side: str | None
    reason: str | None
    confidence: str | None
    verdict: str | None
    evidence: Sequence[TwoEvidence]
    would_settle: str | None
    to_server: Crossed | None
    """None when the segments were not noted."""
    to_client: Crossed | None
    changes: Sequence[str]
    """What the path changed in the packets."""


class LoneReport(NamedTuple):
    """A flow that only one capture has, or that may be several of the other's."""

    at: str
    """client or server: whose capture has it."""
    flow: int
    client: str
    server: str
    sni: str | None
    outcome: str
    stalled: str | None
    stalled_ns: int | None
    is_open: bool
    failed: bool
    candidates: Sequence[int]
    """Rows of the other capture that it may be."""
    cause: str | None
    reason: str | None
    confidence: str | None
    verdict: str | None
    evidence: Sequence[TwoEvidence]
    would_settle: str | None


class TwoEnds(NamedTuple):
    """Everything that `pcapstall compare` has to say."""

    version: str
    client_captures: Sequence[CaptureReport]
    server_captures: Sequence[CaptureReport]
    swapped: bool
    """The captures were given in the other order."""
    warnings: Sequence[str]
    clock: ClockReport | None
    """None when the clocks do not agree, or packets of both directions are not at both ends."""
    delays: Mapping[str, IntervalSummary]
    """Of the packets of all handshakes, by ``to_server`` and ``to_client``: how much longer than the fastest one of
    its direction each was on its way. Empty without a clock."""
    changes: Mapping[str, int]
    """What the path changed in the packets, and in how many connections."""
    pairs: Sequence[PairReport]
    """Those to be shown."""
    paired: int
    """All of them."""
    stalled: int
    failed: int
    """Those that did not stall."""
    lone: Sequence[LoneReport]
    """Flows without a partner that stalled or failed, or are ambiguous; with ``--all`` every one."""
    lone_counts: Mapping[str, int]
    """Flows without a partner, by ``client`` and ``server``."""
