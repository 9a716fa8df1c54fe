"""Whether the bytes that a side owed were late in leaving, or were lost on the way: what proves the one or the other.

The same question stands behind a late ClientHello, ServerHello or Finished; the answer depends on what proves that
nothing was sent before. What is made of it is for the rules. Compiled, for every turn is looked at.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.ticks import fits_no_rate, sender_gap
from pcapstall.diagnose.turn import CAPTURED_THERE, IDS_RUN_ON, LOST_BEFORE, Proof, Turn

TRIPS_MIN: Final = 4
"""A silence seen from afar is certain when it takes more round trips than this."""
RTO_MIN_NS: Final = 200_000_000
"""The least retransmission timeout of Linux; it doubles each time. RFC 6298 asks for a second."""


def prove(case: Case, turn: Turn) -> Proof:
    """Find out what is known of ``turn``; of one and the same turn once."""
    proof = case.proof
    if proof is None or proof.turn is not turn:
        proof = case.proof = _prove(case, turn)
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
    return RTO_MIN_NS << max(0, lost - 1) if lost else 0


def most_loss_ns(lost: int, rtt_ns: int) -> int:
    """The time in which retransmissions of Linux can have lost ``lost`` copies, at most: every timeout doubled, the
    first three round trips long or the minimum, half as much again for what comes on top."""
    first = max(RTO_MIN_NS, 3 * rtt_ns)
    return first * ((1 << lost) - 1) * 3 // 2
