"""A stretch of time in which one side owed the next bytes: whether they were late in leaving, or were lost on the way.

The same question stands behind a late ClientHello, ServerHello or Finished; the answer depends on what proves that
nothing was sent before. What is made of it is for the rules.
"""

from typing import Final, NamedTuple

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


class Turn(NamedTuple):
    """One side's turn, as seen from here."""

    from_client: bool
    start_ns: int
    start_ref: int
    """What made it this side's turn."""
    end_ns: int
    sent: Seg | None
    """The segment that ended it; None when it never came, or was not noted."""


class Proof(NamedTuple):
    """What is known of one turn."""

    kind: str
    anchor: Seg | None
    """This side's last segment before its turn, or at its beginning."""
    last: Seg | None
    """The segment up to which the proof reaches: the one that ended the turn, or a later one of an open turn."""
    lost: int = 0
    """Segments sent and not seen. Some stacks count the IDs of all their connections together."""
    ids_exact: bool = False
    """Its IP IDs run on, whatever else proves it."""
    sender_ns: int | None = None
    """How long it was at the sender from its last segment before ``last`` to ``last``."""
    sender_error_ns: int = 0
    here_ns: int = 0
    """The same here."""
    clock_odd: bool = False
    """Its timestamps fit no rate in use: they do not count the time that went by here."""

    @property
    def clocks_agree(self) -> bool:
        """Whether the sender's clock says that ``last`` left as late as it came."""
        return self.sender_ns is not None and self.sender_ns + self.sender_error_ns >= self.here_ns

    @property
    def held_up_ns(self) -> int:
        """For how long ``last`` was on its way, beyond what its predecessor was, for certain; 0 when not known."""
        if self.sender_ns is None:
            return 0
        return max(0, self.here_ns - self.sender_ns - self.sender_error_ns)


class _Proven(NamedTuple):
    """The turn that was asked about last."""

    turn: Turn
    proof: Proof


def prove(case: Case, turn: Turn) -> Proof:
    """Find out what is known of ``turn``; of one and the same turn once."""
    known = case.worked_out.get(prove)
    if isinstance(known, _Proven) and known.turn is turn:
        return known.proof
    proof = _prove(case, turn)
    case.worked_out[prove] = _Proven(turn, proof)
    return proof


def _prove(case: Case, turn: Turn) -> Proof:
    segs = [seg for seg in case.history.of(turn.from_client) if not seg.is_rst]
    before = [seg for seg in segs if seg.ns <= turn.start_ns and seg is not turn.sent]
    anchor = before[-1] if before else None
    last = turn.sent
    if last is None:
        # The first one after the end of an open turn tells of all of it, a later one in it of the most.
        during = [seg for seg in segs if turn.start_ns < seg.ns]
        after = [seg for seg in during if seg.ns >= turn.end_ns]
        last = after[0] if after else during[-1] if during else None
    lost: int | None = None
    if anchor is not None and last is not None:
        ids = case.client_ids if turn.from_client else case.server_ids
        if anchor.is_syn_ack:
            # The ID of a SYN-ACK is none of the count; the first segment after it is where the count begins.
            lost = None
        else:
            lost = ids.missing(anchor, last)
    sender, error, here, odd = _clocks(case, turn, segs, last)
    if case.captured_at(turn.from_client):
        kind = CAPTURED_THERE
    elif lost:
        kind = LOST_BEFORE
    elif lost == 0:
        kind = IDS_RUN_ON
    else:
        kind = NOTHING
    return Proof(kind, anchor, last, lost or 0, lost == 0, sender, error, here, odd)


def _clocks(case: Case, turn: Turn, segs: list[Seg], last: Seg | None) -> tuple[int | None, int, int, bool]:
    """How long it was, at the sender and here, between ``last`` and the segment before it; and whether the sender's
    timestamps fit no rate in use."""
    if last is None:
        return None, 0, 0, False
    at = segs.index(last) if last in segs else 0
    if at == 0:
        return None, 0, 0, False
    previous = segs[at - 1]
    here_ns = last.ns - previous.ns
    rate = case.tick_rate(turn.from_client, (last,))
    gap = sender_gap(previous, last, rate)
    if gap is None:
        return None, 0, here_ns, rate is None and fits_no_rate(previous, last)
    return gap[0], gap[1], here_ns, False


def is_own_time(case: Case, turn: Turn) -> bool:
    """Whether the way to its side and back, where that lies in the turn, is known to be a small part of it."""
    began = case.history.at(turn.start_ref)
    if began is not None and began.from_client == turn.from_client:
        return True
    trip_ns = case.way_ns(turn.from_client)
    if began is not None and began.has_data:
        # Its kernel acknowledged what it waited for: there the way was over.
        for seg in case.history.of(turn.from_client):
            if seg.ns > began.ns and seg is not turn.sent and seg.ack is not None and seg.ack >= began.end:
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
