"""One flow on the table: everything that the rules may look at, worked out once and read many times.

Facts only: what was measured, where the capture was taken, the segments, what else was going on. No conclusion.
Compiled, like all that a verdict takes: a capture of an outage has tens of thousands of such flows.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.frames import file_of
from pcapstall.diagnose import capture_point
from pcapstall.diagnose.answerers import Answerer
from pcapstall.diagnose.capture_point import Point
from pcapstall.diagnose.clock_steps import LEAST_NS, HostClocks, clocks_in
from pcapstall.diagnose.clocks import Rates
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.ip_ids import IdCount
from pcapstall.diagnose.knowledge import (
    client_address,
    client_key,
    server_address,
    server_endpoint,
)
from pcapstall.diagnose.outcome import Outcome
from pcapstall.diagnose.pairs import Pair
from pcapstall.diagnose.segments import History
from pcapstall.diagnose.sight import misses_bytes
from pcapstall.diagnose.spans import END_EVENTS, START_EVENTS
from pcapstall.diagnose.surroundings import Surroundings
from pcapstall.diagnose.tls_ports import TLS_PORTS
from pcapstall.diagnose.turn import Owed, Proof
from pcapstall.diagnose.unseen import goes_back, misses_first_copies
from pcapstall.diagnose.verdict import HIGH, LOW, MEDIUM, at_most
from pcapstall.flows.flow import FLAG_NOTES_CUT, FLAG_TLS_DUE, Flow
from pcapstall.wire.preamble_names import SERVER_FIRST_PORTS
from pcapstall.wire.tls_reader import NEVER
from pcapstall.wire.unread import Unread

NO_LOSS: Final = "a capture that lacks no packets"
TOO_LONG: Final = "nothing: of a handshake of so many packets some in the middle are not looked at"
STEADY_CLOCK: Final = "a capture whose clock did not step"


class Case:
    """A stalled or failed flow."""

    def __init__(
        self, flow: Flow, intervals: Intervals, outcome: Outcome, point: Point, surroundings: Surroundings
    ) -> None:
        self.flow: Flow = flow
        self.intervals: Intervals = intervals
        self.outcome: Outcome = outcome
        self.point: str = point[0]
        self.point_confidence: str | None = point[1]
        self.surroundings: Surroundings = surroundings
        self.key: bytes = client_key(flow)
        self.stalled: str | None = intervals.stalled_name()
        self.is_open: bool = intervals.stalled_is_open
        self.length_ns: int = 0
        self.start_ns: int = 0
        self.start_ref: int = 0
        self.end_ref: int = 0
        if self.stalled is not None:
            self.length_ns = intervals.stalled_ns
            begin = self._seen(START_EVENTS[self.stalled])
            self.start_ns = getattr(flow, f"{begin}_ns")
            self.start_ref = getattr(flow, f"{begin}_ref")
            if not self.is_open:
                ends = END_EVENTS[self.stalled]
                end = ends[0] if getattr(flow, f"{ends[0]}_ref") != 0 else ends[-1]
                self.end_ref = getattr(flow, f"{self._seen(end)}_ref")
        self.end_ns: int = self.start_ns + self.length_ns
        self.proof: Proof | None = None
        """What was found out of a turn last, by `proof.prove`."""
        self.owed: Owed | None = None
        """What was owed in the stage that stalled; `rules.turns.owed` works it out."""
        self.owed_is_known: bool = False
        """Whether it was worked out: a stage may be nobody's turn."""
        self._history: History | None = None
        self._client_ids: IdCount | None = None
        self._server_ids: IdCount | None = None
        self._pair: Pair | None = None
        self._unread: list[Unread] | None = None
        self._host_clocks: HostClocks | None = None
        self._rtt_ns: i64 = -1

    def _seen(self, name: str) -> str:
        """The event that stands for the one called ``name``: of a hello that never was complete what there is of it."""
        if name == "client_hello_first" and self.flow.client_hello_first_ref == 0:
            return "partial_hello"
        return name

    @property
    def history(self) -> History:
        """The segments of the handshake."""
        found = self._history
        if found is None:
            found = self._history = self.surroundings.histories.of(self.flow)
        return found

    @property
    def client_ids(self) -> IdCount:
        """The IP IDs of the side that opened the connection."""
        found = self._client_ids
        if found is None:
            found = self._client_ids = IdCount(self.history, True)
        return found

    @property
    def server_ids(self) -> IdCount:
        """The IP IDs of the other side."""
        found = self._server_ids
        if found is None:
            found = self._server_ids = IdCount(self.history, False)
        return found

    @property
    def pair(self) -> Pair:
        """The two hosts."""
        found = self._pair
        if found is None:
            found = self._pair = self.surroundings.knowledge.pair_of(self.flow)
        return found

    @property
    def answerer(self) -> Answerer | None:
        """Who answers here for the server, and for all others; None when the server does, as far as is known."""
        answerers = self.surroundings.answerers
        return answerers.of(self.key) if answerers is not None else None

    @property
    def at_client(self) -> bool:
        """Whether everything that the client's host sends is seen here."""
        return self.point == capture_point.CLIENT or self.point == capture_point.LOCAL

    @property
    def at_server(self) -> bool:
        """Whether everything that the server's host sends is seen here."""
        return self.point == capture_point.SERVER or self.point == capture_point.LOCAL

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

    @property
    def unread(self) -> list[Unread]:
        """Packets between the two hosts during the stall that could not be read: what was due may be among them."""
        found = self._unread
        if found is None:
            found = []
            packets = self.surroundings.unread
            if self.stalled is not None and packets is not None:
                found = packets.between(self.client_address, self.server_address, self.start_ns, self.end_ns)
            self._unread = found
        return found

    @property
    def lacks_packets(self) -> bool:
        """Whether bytes that a side acknowledged, or had by SACK, are not in the capture, or only a late copy is."""
        return (
            misses_bytes(self.flow.client())
            or misses_bytes(self.flow.server())
            or self.history.sacks_unseen()
            or misses_first_copies(self.history)
        )

    @property
    def host_clocks(self) -> HostClocks:
        """What the hosts' own clocks say of the stall."""
        found = self._host_clocks
        if found is None:
            found = self._host_clocks = clocks_in(self.history, self.start_ns, self.end_ns, self.rates)
        return found

    @property
    def clock_is_doubtful(self) -> bool:
        """Whether stamps of this connection may be off: they go back, the hosts' clocks do not bear out the stall, or
        not the handshake that tells where the capture was taken."""
        if goes_back(self.history) or (self.stalled is not None and self.host_clocks.casts_doubt):
            return True
        flow = self.flow
        pair = self.pair
        if flow.syn_ref == 0 or flow.syn_ack_ref == 0 or flow.ack_ref == 0:
            return False
        return self._tells_falsely(pair.syn_synack_ns, flow.syn_ns, flow.syn_ack_ns) or self._tells_falsely(
            pair.synack_ack_ns, flow.syn_ack_ns, flow.ack_ns
        )

    def _tells_falsely(self, smallest: i64, start_ns: i64, end_ns: i64) -> bool:
        """Whether a half of the handshake may be what tells where the capture was taken, and the hosts' clocks do not
        bear it out."""
        length: i64 = end_ns - start_ns
        if length < LEAST_NS or (smallest != NEVER and smallest != length):
            return False
        return clocks_in(self.history, start_ns, end_ns, self.rates).casts_doubt

    @property
    def is_doubtful(self) -> bool:
        """Whether its capture says itself that packets are missing, or that its clock jumped."""
        return file_of(self.flow.first_ref) in self.surroundings.doubtful_files

    @property
    def server_port(self) -> int:
        """Where the connection was opened to."""
        return int.from_bytes(self.key[-2:], "big")

    @property
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

    @property
    def rtt_ns(self) -> int:
        """The smallest round trip between the hosts that is known, as seen from here; 0 when unknown."""
        if self._rtt_ns < 0:
            self._rtt_ns = self.way_ns(False)
        return self._rtt_ns

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

    @property
    def rates(self) -> Rates:
        """Ticks a second of the sides' timestamps."""
        return Rates(self.history, self.flow, self.surroundings.clocks)

    def caps(self, anywhere: bool) -> list[tuple[str, str]]:
        """What keeps a verdict from being certain: the most that it can be, and why. ``anywhere``: it is the same
        wherever the capture was taken, as long as nothing speaks against where that seems to be."""
        found: list[tuple[str, str]] = []
        if self.is_open and self.intervals.cut_by_capture:
            found.append((MEDIUM, "a capture that goes on until the connection ends"))
        if self.point == capture_point.UNKNOWN and not (anywhere and self.point_confidence is None):
            found.append((MEDIUM, "knowing where the capture was taken (--at)"))
        if self.lacks_packets:
            found.append((MEDIUM, NO_LOSS))
        elif self.is_doubtful:
            found += [(MEDIUM, NO_LOSS), (MEDIUM, STEADY_CLOCK)]
        elif self.clock_is_doubtful:
            found.append((MEDIUM, STEADY_CLOCK))
        if self.unread:
            found.append((MEDIUM, "a capture in which every packet between these hosts can be read"))
        if self.stalled is not None and not self.history.segs:
            found.append((MEDIUM, "a capture that holds the beginning of this connection"))
        if self.flow.flags & FLAG_NOTES_CUT:
            found.append((MEDIUM, TOO_LONG if self.history.is_long else "a capture of this connection alone"))
        if self.outcome.one_sided:
            found.append((LOW, "a capture of both directions"))
        return found

    def at_point(self, confidence: str) -> str:
        """``confidence`` in what rests on where the capture was taken."""
        return at_most(confidence, self.point_confidence if self.point_confidence in (HIGH, MEDIUM, LOW) else MEDIUM)
