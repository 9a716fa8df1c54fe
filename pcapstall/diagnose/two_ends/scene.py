"""One connection at both ends, ready to be judged: its two cases, what crossed, and both clocks on one line.

Facts only. The stall that is judged is the one that the client's end shows, where it shows one: what the user waited
for.
"""

from functools import cached_property
from typing import Final, NamedTuple

from pcapstall.core.seq import seq_diff
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.segments import AGES_NS, Seg, overlaps
from pcapstall.diagnose.two_ends.clock import Clock, Sample, clock_of, misfit_ns
from pcapstall.diagnose.two_ends.crossings import cross
from pcapstall.diagnose.two_ends.pairing import Pair
from pcapstall.diagnose.two_ends.pieces import Crossings, Piece, Shift
from pcapstall.flows.flow import FLAG_MISSED_BYTES, Flow

SETTLED_NS: Final = 100_000_000
"""A packet is given so long, beyond the fastest round trip, to come to a capture that is about to end."""


class Span(NamedTuple):
    """When a capture began and ended, by its first and last packet."""

    first_ns: int
    last_ns: int


class Line(NamedTuple):
    """Times of both ends as the clock at one end has them (`walk.Times`)."""

    clock: Clock
    of_client: bool
    """Whether it is the client's clock."""
    directed: bool
    """Whether ``clock`` is good enough to tell which way was slow."""

    def at(self, at_client: bool, ns: int) -> int:
        """A stamp of one end."""
        return self.clock.mapped(ns, at_client, self.of_client)

    def fastest_way_ns(self, to_server: bool) -> int:
        """How long the fastest packet of a direction was on its way: half of both, for the line lies midway. Only the
        sum of both directions is ever told."""
        return self.clock.fastest_ns // 2


class Scene:
    """A paired flow."""

    def __init__(self, pair: Pair, client: Case, server: Case, clock: Clock | None, spans: tuple[Span, Span]) -> None:
        self.pair = pair
        self.client = client
        self.server = server
        self.clock = clock
        """Of all connections together; None when they do not agree."""
        self.spans = spans
        """Of the captures at the client and at the server."""

    @cached_property
    def crossings(self) -> Crossings:
        """What left one end and came to the other."""
        return cross(self.client.history, self.server.history, self._shift, self._floor, self)

    @cached_property
    def samples(self) -> list[Sample]:
        """Its packets at both ends, of directions in which each was told from its repetitions."""
        return _samples_of(self.crossings)

    @cached_property
    def misfit_ns(self) -> int:
        """By how much the clocks of the two captures moved against each other during this connection, beyond drift."""
        return misfit_ns(self.samples)

    @cached_property
    def line(self) -> Line | None:
        """The times of both ends on the line of the end that shows the stall."""
        if self.clock is not None:
            return Line(self.clock, self.seen_at_client, True)
        own = clock_of(self.samples)
        return Line(own, self.seen_at_client, False) if own is not None else None

    @property
    def seen_at_client(self) -> bool:
        """Whether the stall or failure is judged as the client's end shows it."""
        return self.client.stalled is not None or (self.server.stalled is None and self.client.outcome.failed)

    @property
    def case(self) -> Case:
        """The end that shows it."""
        return self.client if self.seen_at_client else self.server

    @property
    def wrong(self) -> bool:
        """Whether either end shows a stall or a failure."""
        return any(case.stalled is not None or case.outcome.failed for case in (self.client, self.server))

    def case_at(self, client: bool) -> Case:
        """What one end shows."""
        return self.client if client else self.server

    def piece_of(self, seg: Seg, at_client: bool, last: bool) -> Piece | None:
        """The piece of a segment that one end captured: its first, or its last one."""
        direction = self.crossings.of(seg.from_client)
        pieces = direction.sent if seg.from_client == at_client else direction.came
        found = [piece for piece in pieces if piece.seg is seg]
        return (found[-1] if last else found[0]) if found else None

    @property
    def _shift(self) -> Shift:
        client, server = self.pair.client, self.pair.server
        return Shift(_shift_of(client, server, True), _shift_of(client, server, False))

    def _floor(self, to_server: bool) -> int | None:
        clock = self.clock
        if clock is None:
            return None
        offset = clock.offset_at(int(self.pair.client.first_ns))
        # The fastest way lies midway between the bounds; a little is left for a drift that is not known.
        least = clock.fastest_ns // 2 - clock.fastest_ns // 4 - 100_000
        return (offset if to_server else -offset) + least

    def had_begun(self, at_client: bool, ns: int, by_client: bool) -> bool:
        """`fates.Watch`: a capture has begun with its first packet, of whichever connection."""
        there = self._mapped(at_client, ns, by_client)
        return there is not None and self.spans[not at_client].first_ns <= there

    def goes_on(self, at_client: bool, ns: int, by_client: bool, way: bool) -> bool:
        """`fates.Watch`: it goes on until its last packet."""
        there = self._mapped(at_client, ns, by_client)
        slack = 0 if self.clock is None or not way else self.clock.fastest_ns + SETTLED_NS
        return there is not None and there + slack <= self.spans[not at_client].last_ns

    def leaves_out(self, at_client: bool, ns: int, by_client: bool) -> bool:
        """`fates.Watch`: only so many segments of a connection are noted."""
        gaps = self.case_at(at_client).history.gaps
        if not gaps:
            return False
        there = self._mapped(at_client, ns, by_client)
        if there is None:
            return True
        slack = (self.clock.fastest_ns if self.clock is not None else 0) + SETTLED_NS
        return overlaps(gaps, there - slack, there + slack)

    @cached_property
    def gaps(self) -> dict[bool, list[tuple[int, int]]]:
        """By end, True for the client's: when segments were left out there, by the clock of the end that decides."""
        found: dict[bool, list[tuple[int, int]]] = {}
        for at_client in (True, False):
            own, line = self.case_at(at_client).history.gaps, self.line
            if at_client == self.seen_at_client or not own:
                found[at_client] = own
            elif line is None:
                found[at_client] = [(-AGES_NS, AGES_NS)]
            else:
                found[at_client] = [(line.at(at_client, start), line.at(at_client, end)) for start, end in own]
        return found

    def is_cut_in_interval(self, at_client: bool) -> bool:
        """Whether segments of the slow interval, or of what led to a failure, were left out at one end."""
        case = self.case
        if case.stalled is not None:
            return overlaps(self.gaps[at_client], case.start_ns, case.end_ns)
        return overlaps(self.gaps[at_client], case.flow.first_ns, case.outcome.close_ns or case.flow.last_ns)

    def _mapped(self, at_client: bool, ns: int, by_client: bool) -> int | None:
        return self.clock.mapped(ns, by_client, at_client) if self.clock is not None else None


def _samples_of(crossings: Crossings) -> list[Sample]:
    """Each packet that was captured at both ends."""
    found: list[Sample] = []
    for direction in crossings.both:
        if not direction.certain:
            continue
        for piece in direction.sent:
            other = piece.partner
            if other is not None and direction.from_client:
                found.append(Sample(piece.ns, other.ns, True))
            elif other is not None:
                found.append(Sample(other.ns, piece.ns, False))
    return found


def event_samples(pair: Pair) -> list[Sample]:
    """The packets of the handshake at both ends: the first one of each kind that left, and the first one that came. An
    arrival is later than the first departure, whichever copy it is; so none whose first copy the capture at its sender
    may lack."""
    client, server = pair.client, pair.server
    found: list[Sample] = []
    if server.syn_retries > client.syn_retries or client.syn_ack_retries > server.syn_ack_retries:
        return found  # first copies are missing where they left
    for name, to_server in _EVENTS:
        mine, theirs = getattr(client, f"{name}_ref"), getattr(server, f"{name}_ref")
        if name not in _SYNS and _lacks_first(pair, to_server):
            continue
        if mine and theirs and not (name == "ack" and _lacks_ack(pair)):
            found.append(Sample(getattr(client, f"{name}_ns"), getattr(server, f"{name}_ns"), to_server))
    return found


def _lacks_first(pair: Pair, to_server: bool) -> bool:
    """Whether the capture at the sender may lack a first copy: it lacks bytes, or fewer repetitions left than came."""
    sender, receiver = (pair.client, pair.server) if to_server else (pair.server, pair.client)
    left, came = (flow.client() if to_server else flow.server() for flow in (sender, receiver))
    return bool(sender.flags & FLAG_MISSED_BYTES) or came.retransmits > left.retransmits


def _lacks_ack(pair: Pair) -> bool:
    """Whether what completes the handshake is another segment in the client's capture than the one that came: there the
    bare ACK is missing, and the next one, with data, stands for it."""
    client, server = pair.client, pair.server
    if client.ack_ref == client.client_hello_first_ref and server.ack_ref != server.client_hello_first_ref:
        return True
    left, came = (next((note for note in flow.notes() if note.ref == flow.ack_ref), None) for flow in (client, server))
    return left is not None and came is not None and left.payload_len > 0 and came.payload_len == 0


def is_unrepeated(pair: Pair) -> bool:
    """Whether nothing was sent twice, as far as either end shows, and its segments are not looked at one by one."""
    if pair.client.note_count and pair.server.note_count:
        return False
    return all(
        not (flow.syn_retries or flow.syn_ack_retries or flow.opener.retransmits or flow.answerer.retransmits)
        for flow in (pair.client, pair.server)
    )


_SYNS: Final = ("syn", "syn_ack")
_EVENTS: Final = (
    ("syn", True),
    ("syn_ack", False),
    ("ack", True),
    ("client_hello_first", True),
    ("server_hello_first", False),
    ("client_finished", True),
)


def _shift_of(client: Flow, server: Flow, of_client: bool) -> int:
    """By how much offsets of the capture at the server are larger: nothing where both saw where the stream begins."""
    if (client.syn_ref or client.syn_ack_ref) and (server.syn_ref or server.syn_ack_ref):
        return 0
    mine, theirs = (client.client(), server.client()) if of_client else (client.server(), server.server())
    if mine.base_seq < 0 or theirs.base_seq < 0:
        return 0
    return int(seq_diff(mine.base_seq, theirs.base_seq))
