"""A stretch of time in which one side owed the next bytes: whether they were late in leaving, or were lost on the way.

The same question stands behind a late ClientHello, ServerHello or Finished; the answer depends on what proves that
nothing was sent before. What is made of it is for the rules. Compiled, for every turn is looked at.
"""

from typing import Final, cast

from mypy_extensions import i64

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.ticks import fits_no_rate, sender_gap

# What proves, or speaks against, that the side sent nothing during its turn.
CAPTURED_THERE: Final = "captured_there"
"""The capture was taken at its host and shows nothing."""
IDS_RUN_ON: Final = "ids_run_on"
"""Its IP IDs go on by one for each segment seen."""
LOST_BEFORE: Final = "lost_before"
"""Its IP IDs say that segments were sent and not seen here."""
NOTHING: Final = "nothing"
"""Neither."""

TRIPS_MIN: Final = 4
"""A silence seen from afar is certain when it takes more round trips than this."""
FIRST_RETRY_NS: Final = 200_000_000
"""The least retransmission timeout of Linux; it doubles each time. RFC 6298 asks for a second."""


class Turn:
    """One side's turn, as seen from here."""

    def __init__(self, from_client: bool, start_ns: int, start_ref: int, end_ns: int, sent: Seg | None) -> None:
        self.from_client: bool = from_client
        self.start_ns: int = start_ns
        self.start_ref: int = start_ref
        """What made it this side's turn."""
        self.end_ns: int = end_ns
        self.sent: Seg | None = sent
        """The segment that ended it; None when it never came, or was not noted."""


class Proof:
    """What is known of one turn."""

    def __init__(self, turn: Turn, anchor: Seg | None, last: Seg | None) -> None:
        self.turn: Turn = turn
        self.kind: str = NOTHING
        self.anchor: Seg | None = anchor
        """This side's last segment before its turn, or at its beginning."""
        self.last: Seg | None = last
        """The segment up to which the proof reaches: the one that ended the turn, or a later one of an open turn."""
        self.lost: int = 0
        """Segments sent and not seen. Some stacks count the IDs of all their connections together."""
        self.ids_exact: bool = False
        """Its IP IDs run on, whatever else proves it."""
        self.sender_ns: int | None = None
        """How long it was at the sender from its last segment before ``last`` to ``last``."""
        self.sender_error_ns: int = 0
        self.here_ns: int = 0
        """The same here."""
        self.clock_odd: bool = False
        """Its timestamps fit no rate in use: they do not count the time that went by here."""

    @property
    def clocks_agree(self) -> bool:
        """Whether the sender's clock says that ``last`` left as late as it came."""
        sender_ns = self.sender_ns
        return sender_ns is not None and sender_ns + self.sender_error_ns >= self.here_ns

    @property
    def held_up_ns(self) -> int:
        """For how long ``last`` was on its way, beyond what its predecessor was, for certain; 0 when not known."""
        sender_ns = self.sender_ns
        if sender_ns is None:
            return 0
        return max(0, self.here_ns - sender_ns - self.sender_error_ns)


_PROVEN: Final = "turn.prove"
"""The name of the proof that was asked for last in what is worked out of a case."""


def prove(case: Case, turn: Turn) -> Proof:
    """Find out what is known of ``turn``; of one and the same turn once."""
    known = case.worked_out.get(_PROVEN)
    if known is not None:
        proof = cast(Proof, known)
        if proof.turn is turn:
            return proof
    proof = _prove(case, turn)
    case.worked_out[_PROVEN] = proof
    return proof


def _prove(case: Case, turn: Turn) -> Proof:
    anchor: Seg | None = None
    previous: Seg | None = None
    last = turn.sent
    after: Seg | None = None
    during: Seg | None = None
    begun: i64 = turn.start_ns
    ended: i64 = turn.end_ns
    segs = [seg for seg in case.history.of(turn.from_client) if not seg.is_rst]
    for seg in segs:
        if seg.ns <= begun:
            if seg is not turn.sent:
                anchor = seg
        else:
            during = seg
            if after is None and seg.ns >= ended:
                after = seg
    if last is None:
        # The first one after the end of an open turn tells of all of it, a later one in it of the most.
        last = after if after is not None else during
    proof = Proof(turn, anchor, last)
    if last is not None:
        lost: int | None = None
        # The ID of a SYN-ACK is none of the count; the first segment after it is where the count begins.
        if anchor is not None and not anchor.is_syn_ack:
            ids = case.client_ids if turn.from_client else case.server_ids
            lost = ids.missing(anchor, last)
        if lost is not None:
            proof.lost = lost
            proof.ids_exact = lost == 0
            proof.kind = IDS_RUN_ON if lost == 0 else LOST_BEFORE
        for seg in segs:
            if seg is last:
                break
            previous = seg
        else:
            previous = None
        if previous is not None:
            _ask_clock(case, proof, previous, last)
    if case.captured_at(turn.from_client):
        proof.kind = CAPTURED_THERE
    return proof


def _ask_clock(case: Case, proof: Proof, previous: Seg, last: Seg) -> None:
    """How long it was, at the sender and here, between ``last`` and the segment before it; and whether the sender's
    timestamps fit no rate in use."""
    proof.here_ns = last.ns - previous.ns
    rate = case.rates.of(proof.turn.from_client, last)
    gap = sender_gap(previous, last, rate)
    if gap is None:
        proof.clock_odd = rate is None and fits_no_rate(previous, last)
    else:
        proof.sender_ns = gap[0]
        proof.sender_error_ns = gap[1]


def is_own_time(case: Case, turn: Turn) -> bool:
    """Whether the way to its side and back, where that lies in the turn, is known to be a small part of it."""
    began = case.history.at(turn.start_ref)
    if began is not None and began.from_client == turn.from_client:
        return True
    trip_ns: int = case.way_ns(turn.from_client)
    if began is not None and began.has_data:
        # Its kernel acknowledged what it waited for: there the way was over.
        for seg in case.history.of(turn.from_client):
            ack = seg.ack
            if seg.ns > began.ns and seg is not turn.sent and ack is not None and ack >= began.end:
                trip_ns = seg.ns - began.ns
                break
    return 0 < TRIPS_MIN * trip_ns < turn.end_ns - turn.start_ns


def least_loss_ns(lost: int) -> int:
    """The least time in which ``lost`` copies of a segment are sent and given up, one after the other.

    The first retry may be a probe (RFC 8985 section 7) that does not double the timeout.
    """
    return FIRST_RETRY_NS << max(0, lost - 1) if lost else 0


def most_loss_ns(lost: int, rtt_ns: int) -> int:
    """The time in which retransmissions of Linux can have lost ``lost`` copies, at most: every timeout doubled, the
    first three round trips long or the minimum, half as much again for what comes on top."""
    first = max(FIRST_RETRY_NS, 3 * rtt_ns)
    return first * ((1 << lost) - 1) * 3 // 2
