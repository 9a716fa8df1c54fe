"""A flow of the report as a value: named tuples that mirror its keys in JSON schema 1, in their order.

Renderers, filters and conditions read these and nothing else. Times are integer nanoseconds; what was not seen is
None. What straces and logs say of it is in `end_model`. No measuring, no judging and no text layout lives here.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.outcome import FAILED_TCP, FAILED_TLS, NO_SERVER_HELLO, PARTIAL_CLIENT_HELLO
from pcapstall.diagnose.spans import START_EVENTS, holds_step

if TYPE_CHECKING:
    from pcapstall.report.end_model import LogLineReport, ThreadReport

_UNFINISHED_TLS: Final = (PARTIAL_CLIENT_HELLO, NO_SERVER_HELLO)
_CUT: Final = frozenset(("near_capture_end", "one_sided", "snaplen_cut"))


def is_failed(tcp_outcome: str, tls_outcome: str | None, flags: Iterable[str]) -> bool:
    """Whether these outcomes are a failure.

    A probe, a raced connection and what is not TLS are none; a handshake that the capture cut off is none either.
    """
    if tcp_outcome in FAILED_TCP or tls_outcome in FAILED_TLS:
        return True
    return tls_outcome in _UNFINISHED_TLS and _CUT.isdisjoint(flags)


class EventReport(NamedTuple):
    """When and in which frame an event was seen."""

    ns: int
    """Nanoseconds since the Unix epoch."""
    rel_ns: int
    """Nanoseconds since `Report.t0_ns`."""
    frame: int
    """Frame number, from 1 as Wireshark counts."""
    file: int
    """Index into `Report.captures`."""


class AlertReport(NamedTuple):
    """One TLS alert."""

    side: str
    """Who sent it: client or server."""
    level: str | None
    """warning or fatal; None when encrypted."""
    description: str | None
    """Its RFC 8446 section 6 name; None when encrypted."""
    inferred: bool
    """Whether it was inferred from the place and length of an encrypted record."""
    frame: int
    file: int


class Counts(NamedTuple):
    """What was counted in a flow."""

    packets: int = 0
    client_bytes: int = 0
    """Payload bytes of the client's stream, each counted once."""
    server_bytes: int = 0
    syn_retries: int = 0
    syn_ack_retries: int = 0
    client_retransmits: int = 0
    server_retransmits: int = 0
    copies: int = 0
    """The same packet seen again at another interface; never a retransmission."""


NO_COUNTS: Final = Counts()
"""Where nothing was counted."""


class Evidence(NamedTuple):
    """One sentence that supports a verdict, with where to look."""

    text: str
    frames: list[int]
    file: int | None
    """Index into `Report.captures` of the file that ``frames`` are of; None without frames."""
    strace: list[str]
    """Lines of strace files, ``client.strace:66``."""


class FlowReport(NamedTuple):
    """One TCP connection: what was seen, measured and concluded."""

    id: int
    """The row: flows count from 1 in the order of their first frames."""
    first_frame: int
    client: str
    """``10.0.0.1:443`` or ``[2001:db8::1]:443``."""
    server: str
    direction_source: str
    """How client and server were told apart: syn, syn_ack, client_hello, port, first_seen."""
    capture_point: str
    """client, server, middle, local or unknown."""
    capture_point_confidence: str | None
    sni: str | None
    alpn: list[str]
    tls_version: str | None
    cipher: str | None
    ja4: str | None
    resumed: bool | None
    preamble: str | None
    """What came before the ClientHello: a proxy header, CONNECT, STARTTLS, ..."""
    preamble_ns: int | None
    tunnel: str | None
    syn_data: str | None
    """accepted or rejected, when the SYN carried data."""
    events: dict[str, EventReport | None]
    """By name, all of `names.EVENTS` in their order."""
    alerts: list[AlertReport]
    counts: Counts
    intervals_ns: dict[str, int | None]
    """By name, all of `names.INTERVALS` in their order; None when not seen to end."""
    open_ns: dict[str, int]
    """Intervals that began and were not seen to end, with the length they had reached."""
    parts_ns: dict[str, dict[str, int]]
    """For an interval, what it is made of (`names.PARTS`); they add up to it exactly."""
    tcp_outcome: str
    tls_outcome: str | None
    closed_by: str | None
    """client or server."""
    close_kind: str | None
    """fin or rst."""
    server_timer_ns: int | None
    """After how long of silence the server closed."""
    flags: list[str]
    stalled: str | None
    """The interval that stalled."""
    cause: str | None
    side: str | None
    reason: str | None
    activity: str | None
    """What the responsible thread did meanwhile, from strace."""
    confidence: str | None
    """high, medium or low."""
    match: str | None
    """How strace's socket was found to be this flow."""
    verdict: str | None
    """One sentence."""
    evidence: list[Evidence]
    would_settle: str | None
    """What would make the verdict certain; None when it is."""
    logs: "list[LogLineReport] | None" = None
    """The lines of logs that are about it, by time; None without logs."""
    more_logs: int = 0
    """How many more there are."""
    threads: "list[ThreadReport] | None" = None
    """What each thread of the process at fault did meanwhile, the one that had to act first; None without straces."""
    more_threads: int = 0
    """How many more there are."""
    stages_ns: dict[str, int] | None = None
    """What the interval is made of on the side of that process; adds up to it. None without straces."""
    meanwhile: str | None = None
    """What filled the stall, as a clause for the answer; JSON has it as verdict and evidence."""

    @property
    def failed(self) -> bool:
        """Whether the connection failed; see `is_failed`."""
        return is_failed(self.tcp_outcome, self.tls_outcome, self.flags)

    @property
    def first_event(self) -> EventReport | None:
        """What it began with: its SYN, or the earliest of its events; None without any."""
        events = filter(None, self.events.values())
        return self.events.get("syn") or min(events, key=lambda event: event.ns, default=None)

    @property
    def stalled_ns(self) -> int | None:
        """The length of the interval that stalled, closed or open; None when none did."""
        if self.stalled is None:
            return None
        length = self.intervals_ns.get(self.stalled)
        return self.open_ns.get(self.stalled) if length is None else length

    def holds_clock_step(self, name: str, length_ns: int) -> bool:
        """Whether the interval ``name`` stalled by the capture's clock being set, or holds that step, too."""
        if self.reason != "clock_step":
            return False
        stall_ns = self.stalled_ns
        if self.stalled is None or stall_ns is None:
            return False
        return name == self.stalled or holds_step(
            self._start_ns(name), length_ns, self._start_ns(self.stalled), stall_ns
        )

    def _start_ns(self, name: str) -> int:
        """When the interval ``name`` began; `ABSENT` when that was not seen."""
        event = self.events.get(START_EVENTS[name])
        return ABSENT if event is None else event.ns

    @property
    def stall_is_open(self) -> bool:
        """Whether an interval stalled that was not seen to end."""
        return self.stalled is not None and self.intervals_ns.get(self.stalled) is None
