"""Rules for what was lost, or held up, before it came to the capture: holes, gaps in the IP IDs, slow clocks.

The sender is far from here, so losses are seen by what is missing. Losses seen at the sender are in `delivery`.
Compiled.
"""

from mypy_extensions import i64

from pcapstall.core.counts import several
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.proof import least_loss_ns, most_loss_ns, prove
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import Judgement, capture_at, conclude, refs, span, were
from pcapstall.diagnose.rules.turns import NO_TURN, owed
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.split import split
from pcapstall.diagnose.turn import LOST_BEFORE, Owed
from pcapstall.diagnose.verdict import HIGH, MEDIUM, NETWORK, UNKNOWN, Fact

PERSISTS_NS = 1_000_000_000
"""A hole that stays open for so long was retransmitted more than once, and lost each time."""


class Hole:
    """Bytes that are missing, though later ones of the same flight came."""

    def __init__(self, begin: i64, end: i64, beyond: Seg, filled: Seg | None) -> None:
        self.begin: i64 = begin
        self.end: i64 = end
        self.beyond: Seg = beyond
        """The first segment that came from beyond it."""
        self.filled: Seg | None = filled
        """What filled its beginning; None when nothing did."""


def hole_of(case: Case, due: Owed) -> Hole | None:
    """The hole in the flight that was owed, if there is one."""
    sent = due.turn.sent
    # What came before the hello's last byte may have been missing since before that.
    begin_ns: i64 = case.start_ns
    end_ns: i64 = case.end_ns
    if case.stalled == "ch_ack":
        begin_ns = case.flow.ack_ns
    # What is missing may be the hello's first bytes or its last ones; only the first leave a hole behind.
    in_time = case.stalled == "ch_span"
    next_offset: i64 = 0
    segs = case.history.of(due.turn.from_client)
    for seg in segs:
        if not seg.has_data or (in_time and seg.ns > end_ns):
            continue
        if seg.ns >= end_ns and seg is not sent:
            break
        if seg.offset > next_offset and seg.ns >= begin_ns and seg is not sent:
            filled: Seg | None = None
            until_ns: i64 = end_ns
            for other in segs:
                if other.has_data and other.offset <= next_offset < other.end and other.ns >= seg.ns:
                    if not in_time or other.ns <= end_ns:
                        filled = other
                        until_ns = other.ns
                        break
            if _acknowledged(case, due, next_offset, until_ns):
                return None
            return Hole(next_offset, seg.offset, seg, filled)
        if seg.end > next_offset:
            next_offset = seg.end
    return None


def _until(case: Case, hole: Hole) -> int:
    """When it was filled, or the end of the stall."""
    return hole.filled.ns if hole.filled is not None else case.end_ns


def _acknowledged(case: Case, due: Owed, offset: i64, until_ns: i64) -> bool:
    """Whether the other side acknowledged a byte that is not here: the capture missed it, nobody else."""
    for seg in case.history.of(not due.turn.from_client):
        ack = seg.ack
        if ack is not None and ack > offset and seg.ns < until_ns and not seg.is_rst:
            return True
    return False


def black_hole_before(case: Case) -> Judgement:
    """Full segments never come through, smaller ones of the same flight do."""
    due = owed(case)
    if due is None:
        return NO_TURN
    hole = hole_of(case, due)
    if hole is None:
        return "no later bytes came before the missing ones"
    full = case.history.full_size(due.turn.from_client)
    if hole.end - hole.begin < full:
        return "what is missing is smaller than a full segment"
    ours = [seg for seg in case.history.of(due.turn.from_client) if seg.has_data]
    if any(seg.payload_len >= full for seg in ours):
        return "full segments of this side did arrive"
    until = _until(case, hole)
    if until - hole.beyond.ns < PERSISTS_NS:
        return "the hole was filled at the first or second retransmission"
    icmp = facts.too_big(case, due.turn.from_client)
    return conclude(
        case,
        NETWORK,
        "mtu_black_hole",
        HIGH if icmp else MEDIUM,
        f"full segments of the {due.side} vanish on their way while smaller ones arrive: {due.what} was not complete "
        f"for {span(until - hole.beyond.ns)}",
        [_hole_fact(due, hole, until), icmp, facts.handshake(case), facts.place(case)],
        capture_at(due.side),
        split(case.start_ns, case.end_ns, [*due.marks, (hole.beyond.ns, UNKNOWN)], NETWORK),
    )


def hole(case: Case) -> Judgement:
    """Later bytes came before earlier ones: those were sent in time and lost."""
    due = owed(case)
    if due is None:
        return NO_TURN
    found = hole_of(case, due)
    if found is None:
        return "no later bytes came before the missing ones"
    until = _until(case, found)
    if 2 * (until - int(found.beyond.ns)) < case.length_ns:
        return "the hole was open for a small part of the time only"
    # That the host goes on at all shows that it would have sent the rest again.
    alive = found.filled is not None or any(
        seg.ns - found.beyond.ns > PERSISTS_NS for seg in case.history.of(due.turn.from_client)
    )
    return conclude(
        case,
        NETWORK,
        due.loss_reason,
        HIGH if alive else MEDIUM,
        f"part of {due.what} was lost on its way: later bytes came {span(until - found.beyond.ns)} before the missing "
        f"ones" + ("" if found.filled else ", which never came"),
        [_hole_fact(due, found, until), facts.handshake(case), facts.place(case)],
        capture_at(due.side),
        split(case.start_ns, case.end_ns, [*due.marks, (found.beyond.ns, UNKNOWN)], NETWORK),
    )


def lost_before_capture(case: Case) -> Judgement:
    """The sender's IP IDs say that segments were sent and not seen here."""
    due = owed(case)
    if due is None:
        return NO_TURN
    proof = prove(case, due.turn)
    if proof.kind != LOST_BEFORE or proof.anchor is None or proof.last is None:
        return "the IP IDs show no gap"
    lost = f"{several(proof.lost, 'segment')} of the {due.side} {were(proof.lost)} lost"
    waited = case.end_ns - due.turn.start_ns
    explained = waited <= most_loss_ns(proof.lost, case.rtt_ns)
    gap = Fact(
        f"The {due.side}'s IP IDs go on from {proof.anchor.ip_id:#06x} to {proof.last.ip_id:#06x}: "
        f"{several(proof.lost, 'segment')} of this connection sent in between never came here.",
        refs(proof.anchor.ref, proof.last.ref),
    )
    context = [gap, facts.handshake(case), facts.close(case), facts.place(case)]
    if explained:
        return conclude(
            case,
            NETWORK,
            due.loss_reason,
            MEDIUM,
            f"{lost} on the way here, and retransmitting took the {span(case.length_ns)} that {due.what} was late",
            context,
            capture_at(due.side),
            split(case.start_ns, case.end_ns, due.marks, NETWORK),
        )
    lost_ns = least_loss_ns(proof.lost)
    return conclude(
        case,
        UNKNOWN,
        due.loss_reason,
        MEDIUM,
        f"{lost} on the way here, which explains some of the {span(case.length_ns)} that {due.what} was late, but not "
        f"all",
        context,
        capture_at(due.side),
        split(case.start_ns, case.end_ns, [*due.marks, (case.end_ns - lost_ns, UNKNOWN)], NETWORK),
    )


def held_up(case: Case) -> Judgement:
    """By the sender's clock the segment left long before it came: it was on its way."""
    due = owed(case)
    if due is None:
        return NO_TURN
    proof = prove(case, due.turn)
    if case.captured_at(due.turn.from_client):
        return "the capture was taken at the sender"
    if due.turn.sent is None or proof.last is None:
        return "nothing came that could have been held up"
    held = proof.held_up_ns
    if 2 * held < case.length_ns:
        return "the sender's timestamps do not say so"
    return conclude(
        case,
        NETWORK,
        "high_rtt",
        MEDIUM,
        f"{due.what} was {span(held)} on its way: by the {due.side}'s clock it left that much earlier",
        [
            Fact(
                f"By its TCP timestamps {span(proof.sender_ns or 0)} went by at the {due.side} before that segment, "
                f"here {span(proof.here_ns)}.",
                refs(proof.last.ref),
            ),
            facts.handshake(case),
            facts.place(case),
        ],
        capture_at(due.side),
        split(case.start_ns, case.end_ns, [*due.marks, (case.end_ns - held, UNKNOWN)], NETWORK),
    )


def _hole_fact(due: Owed, found: Hole, until: int) -> Fact:
    size = found.end - found.begin
    what = f"{size} bytes before it came {span(until - found.beyond.ns)} later"
    if found.filled is None:
        what = f"the {size} bytes before it never came"
    return Fact(
        f"A segment of the {due.side} arrived out of order: {what}.",
        refs(found.beyond.ref, found.filled.ref if found.filled else 0),
    )
