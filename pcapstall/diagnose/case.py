"""One flow on the table: everything that the rules may look at, worked out once and read many times.

Facts only: what was measured, where the capture was taken, the segments, what else was going on. No conclusion.
"""

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Final, TypeVar, cast

from pcapstall.core.frames import file_of
from pcapstall.diagnose import capture_point
from pcapstall.diagnose.answerers import Answerer
from pcapstall.diagnose.capture_point import Point
from pcapstall.diagnose.clock_steps import LEAST_NS, HostClocks, clocks_in
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.ip_ids import IdCount
from pcapstall.diagnose.knowledge import (
    client_address,
    client_key,
    server_address,
    server_endpoint,
)
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.outcome import Outcome
from pcapstall.diagnose.pairs import Pair
from pcapstall.diagnose.segments import History, Seg
from pcapstall.diagnose.sight import misses_bytes
from pcapstall.diagnose.surroundings import Surroundings
from pcapstall.diagnose.ticks import measured_rate
from pcapstall.diagnose.tls_ports import TLS_PORTS
from pcapstall.diagnose.unseen import goes_back, misses_first_copies
from pcapstall.diagnose.verdict import HIGH, LOW, MEDIUM, at_most
from pcapstall.flows.flow import FLAG_NOTES_CUT, FLAG_TLS_DUE, Flow
from pcapstall.wire.preamble_names import SERVER_FIRST_PORTS
from pcapstall.wire.tls_reader import NEVER
from pcapstall.wire.unread import Unread

T = TypeVar("T")

STEADY_CLOCK: Final = "a capture whose clock did not step"
_SPANS: Final = {
    "syn_synack": ("syn", "syn_ack"),
    "synack_ack": ("syn_ack", "ack"),
    "ack_ch": ("ack", "client_hello_first"),
    "ch_span": ("client_hello_first", "client_hello_last"),
    "ch_ack": ("client_hello_last", "client_hello_acked"),
    "ch_sh": ("client_hello_last", "server_hello_first"),
    "hrr_ch2": ("hello_retry", "client_hello2_first"),
    "ch2_sh": ("client_hello2_last", "server_hello_first"),
    "sh_cfin": ("server_hello_first", "client_finished"),
}
"""The events between which each interval lies."""


class Case:
    """A stalled or failed flow."""

    def __init__(
        self, flow: Flow, intervals: Intervals, outcome: Outcome, point: Point, surroundings: Surroundings
    ) -> None:
        self.flow = flow
        self.intervals = intervals
        self.outcome = outcome
        self.point, self.point_confidence = point
        self.surroundings = surroundings
        self.key = client_key(flow)
        self.stalled = intervals.stalled_name()
        self.is_open = intervals.stalled_is_open
        self.length_ns = intervals.stalled_ns if self.stalled else 0
        self.start_ns, self.start_ref = self._start()
        self.end_ns = self.start_ns + self.length_ns
        self.end_ref = 0 if self.is_open or self.stalled is None else self._end_ref()
        self.worked_out: dict[object, object] = {}
        """What several rules ask for, by whoever works it out (`once_a_case`, `turn.prove`)."""

    @cached_property
    def history(self) -> History:
        """The segments of the handshake."""
        return self.surroundings.histories.of(self.flow)

    @cached_property
    def client_ids(self) -> IdCount:
        """The IP IDs of the side that opened the connection."""
        return IdCount(self.history, True)

    @cached_property
    def server_ids(self) -> IdCount:
        """The IP IDs of the other side."""
        return IdCount(self.history, False)

    @cached_property
    def pair(self) -> Pair:
        """The two hosts."""
        return self.surroundings.knowledge.pair_of(self.flow)

    @cached_property
    def answerer(self) -> Answerer | None:
        """Who answers here for the server, and for all others; None when the server does, as far as is known."""
        answerers = self.surroundings.answerers
        return answerers.of(self.key) if answerers is not None else None

    @property
    def at_client(self) -> bool:
        """Whether everything that the client's host sends is seen here."""
        return self.point in (capture_point.CLIENT, capture_point.LOCAL)

    @property
    def at_server(self) -> bool:
        """Whether everything that the server's host sends is seen here."""
        return self.point in (capture_point.SERVER, capture_point.LOCAL)

    @property
    def hello_from_client(self) -> bool:
        """Whether the TLS client is the side that opened the connection; an active FTP client accepts."""
        return not self.flow.client_hello_first_ref or self.flow.tls_client_is_opener == self.flow.opener_is_client

    def captured_at(self, from_client: bool) -> bool:
        """Whether the capture was taken at the host of this side."""
        return self.at_client if from_client else self.at_server

    @property
    def client_address(self) -> bytes:
        """Of the host that opened the connection."""
        return client_address(self.key)

    @property
    def server_address(self) -> bytes:
        """Of the other host."""
        return server_address(self.key)

    @cached_property
    def unread(self) -> list[Unread]:
        """Packets between the two hosts during the stall that could not be read: what was due may be among them."""
        if self.stalled is None or self.surroundings.unread is None:
            return []
        return self.surroundings.unread.between(self.client_address, self.server_address, self.start_ns, self.end_ns)

    @property
    def lacks_packets(self) -> bool:
        """Whether bytes that a side acknowledged, or had by SACK, are not in the capture, or only a late copy is."""
        return (
            misses_bytes(self.flow.client())
            or misses_bytes(self.flow.server())
            or self.history.sacks_unseen()
            or misses_first_copies(self.history)
        )

    @cached_property
    def host_clocks(self) -> HostClocks:
        """What the hosts' own clocks say of the stall."""
        return clocks_in(self.history, self.start_ns, self.end_ns, self.tick_rate)

    @property
    def clock_is_doubtful(self) -> bool:
        """Whether stamps of this connection may be off: they go back, the hosts' clocks do not bear out the stall, or
        not the handshake that tells where the capture was taken."""
        if goes_back(self.history) or (self.stalled is not None and self.host_clocks.casts_doubt):
            return True
        flow, pair = self.flow, self.pair
        if not (flow.syn_ref and flow.syn_ack_ref and flow.ack_ref):
            return False
        return any(
            smallest in (NEVER, end_ns - start_ns)
            and end_ns - start_ns >= LEAST_NS
            and clocks_in(self.history, start_ns, end_ns, self.tick_rate).casts_doubt
            for smallest, start_ns, end_ns in (
                (pair.syn_synack_ns, flow.syn_ns, flow.syn_ack_ns),
                (pair.synack_ack_ns, flow.syn_ack_ns, flow.ack_ns),
            )
        )

    @property
    def is_doubtful(self) -> bool:
        """Whether its capture says itself that packets are missing, or that its clock jumped."""
        return file_of(self.flow.first_ref) in self.surroundings.doubtful_files

    @property
    def server_port(self) -> int:
        """Where the connection was opened to."""
        return int.from_bytes(self.key[-2:], "big")

    @cached_property
    def speaks_tls(self) -> bool:
        """Whether the server's endpoint is known to speak TLS: by its port, by other flows, by the user, or because
        the client has just asked for it."""
        return (
            self.flow.flags & FLAG_TLS_DUE != 0
            or self.server_port in TLS_PORTS
            or self.server_port in self.surroundings.tls_ports
            or self.surroundings.knowledge.speaks_tls(server_endpoint(self.key))
        )

    @property
    def server_speaks_first(self) -> bool:
        """Whether the port is that of a protocol in which the server greets."""
        return self.server_port in SERVER_FIRST_PORTS and self.server_port not in self.surroundings.tls_ports

    @cached_property
    def rtt_ns(self) -> int:
        """The smallest round trip between the hosts that is known, as seen from here; 0 when unknown."""
        return self.way_ns(False)

    def way_ns(self, to_client: bool) -> int:
        """The smallest round trip from here to one side and back that is known; 0 when unknown."""
        pair = self.pair
        ns = pair.synack_ack_ns if to_client else pair.syn_synack_ns
        if ns == NEVER:
            ns = pair.retried_synack_ack_ns if to_client else pair.retried_syn_synack_ns
        if ns == NEVER:
            return 0
        fastest_ns = self.history.fastest_ack_ns(not to_client)
        return int(ns) if fastest_ns is None else min(int(ns), fastest_ns)

    def tick_rate(self, from_client: bool, without: tuple[Seg, ...] = ()) -> int | None:
        """Ticks a second of a side's timestamps, from its other segments."""
        rate = measured_rate(self.history.of(from_client), without)
        if rate is not None:
            return rate
        address = self.client_address if from_client else self.server_address
        return self.surroundings.clocks.rate(address, self.flow)

    def caps(self, anywhere: bool) -> list[tuple[str, str]]:
        """What keeps a verdict from being certain: the most that it can be, and why. ``anywhere``: it is the same
        wherever the capture was taken, as long as nothing speaks against where that seems to be."""
        found: list[tuple[str, str]] = []
        if self.is_open and self.intervals.cut_by_capture:
            found.append((MEDIUM, "a capture that goes on until the connection ends"))
        if self.point == capture_point.UNKNOWN and not (anywhere and self.point_confidence is None):
            found.append((MEDIUM, "knowing where the capture was taken (--at)"))
        if self.lacks_packets:
            found.append((MEDIUM, "a capture that lacks no packets"))
        elif self.is_doubtful:
            found.append((MEDIUM, "a capture that dropped no packets and whose clock did not step"))
        elif self.clock_is_doubtful:
            found.append((MEDIUM, STEADY_CLOCK))
        if self.unread:
            found.append((MEDIUM, "a capture in which every packet between these hosts can be read"))
        if self.stalled is not None and not self.history.segs:
            found.append((MEDIUM, "a capture that holds the beginning of this connection"))
        if self.flow.flags & FLAG_NOTES_CUT:
            found.append((MEDIUM, "a capture of this connection alone"))
        if self.outcome.one_sided:
            found.append((LOW, "a capture of both directions"))
        return found

    def at_point(self, confidence: str) -> str:
        """``confidence`` in what rests on where the capture was taken."""
        return at_most(confidence, self.point_confidence if self.point_confidence in (HIGH, MEDIUM, LOW) else MEDIUM)

    def _start(self) -> tuple[int, int]:
        if self.stalled is None:
            return 0, 0
        flow = self.flow
        name = _SPANS[self.stalled][0]
        if name == "client_hello_first" and not flow.client_hello_first_ref:
            name = "partial_hello"
        return getattr(flow, f"{name}_ns"), getattr(flow, f"{name}_ref")

    def _end_ref(self) -> int:
        flow = self.flow
        assert self.stalled is not None
        name = _SPANS[self.stalled][1]
        if self.stalled == "ch_sh" and flow.hello_retry_ref:
            name = "hello_retry"
        if name == "client_hello_first" and not flow.client_hello_first_ref:
            name = "partial_hello"
        ref: int = getattr(flow, f"{name}_ref")
        return ref


def once_a_case(work: Callable[[Case], T]) -> Callable[[Case], T]:
    """``work``, done once for a case however many rules ask for it."""

    @wraps(work)
    def asked(case: Case) -> T:
        known = case.worked_out.get(work, case)
        if known is not case:
            return cast(T, known)
        found = case.worked_out[work] = work(case)
        return found

    return asked


def closed(intervals: Intervals, name: str) -> int | None:
    """The length of a closed interval; None without one."""
    ns: int = getattr(intervals, name)
    return None if ns == ABSENT else ns
