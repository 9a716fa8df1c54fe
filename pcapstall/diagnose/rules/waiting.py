"""Rules for a turn that passed in silence: the side whose turn it was did not send, or that cannot be told from here.

The proofs are those of `proof`; what was lost on the way has rules of its own, and so has the time before a hello.
Compiled.
"""

from mypy_extensions import i64

from pcapstall.core.counts import several
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.proof import is_own_time, most_loss_ns, prove
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import (
    ANSWER_WAIT,
    AT_CLIENT,
    Judgement,
    capitalised,
    capture_at,
    conclude,
    refs,
    span,
)
from pcapstall.diagnose.rules.turns import NO_TURN, owed
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.split import split
from pcapstall.diagnose.turn import CAPTURED_THERE, IDS_RUN_ON, LOST_BEFORE, Owed, Proof
from pcapstall.diagnose.verdict import (
    CLIENT_PROCESS,
    HIGH,
    MEDIUM,
    SERVER_PROCESS,
    UNKNOWN,
    Fact,
    Verdict,
    at_most,
)

TURN_CAME_LATE = "most of the time had passed when its turn came"


def _came_late(case: Case, due: Owed) -> bool:
    """Whether the side could do nothing for most of the stall: what it waited for came late itself."""
    return 2 * (case.end_ns - due.turn.start_ns) < case.length_ns


def silent(case: Case) -> Judgement:
    """The side whose turn it was sent nothing, and the capture was taken where that would have been seen."""
    due = owed(case)
    if due is None:
        return NO_TURN
    if _came_late(case, due):
        return TURN_CAME_LATE
    proof = prove(case, due.turn)
    if proof.kind != CAPTURED_THERE:
        return f"the capture was not taken at the {due.side}"
    outstanding = _outstanding(case, due)
    if outstanding:
        return outstanding
    gap = None
    if proof.lost:
        if case.end_ns - due.turn.start_ns <= most_loss_ns(proof.lost, case.rtt_ns):
            return "its IP IDs say that it sent segments that are not in the capture"
        gap = Fact(
            f"The {due.side}'s IP IDs skip {proof.lost}: other connections of its host, or segments that the capture "
            f"lacks.",
            refs(proof.anchor.ref if proof.anchor else 0, proof.last.ref if proof.last else 0),
        )
    seen = Fact(
        f"Seen at the {due.side} itself: {_said(case, due)} for {span(case.end_ns - due.turn.start_ns)}, and "
        f"waited for no acknowledgment.",
        refs(due.turn.start_ref, proof.last.ref if proof.last else 0),
    )
    # Where the place is not certain, the sender's own counters may be.
    confidence = HIGH if proof.ids_exact and proof.clocks_agree else case.at_point(HIGH)
    if gap is not None:
        confidence = MEDIUM
    return _late(case, due, confidence, [seen, gap, _id_fact(due, proof), *_context(case, due)], "")


def silent_by_ids(case: Case) -> Judgement:
    """IP IDs run on from the side's last segment to the late one: it sent nothing in between."""
    due = owed(case)
    if due is None:
        return NO_TURN
    if _came_late(case, due):
        return TURN_CAME_LATE
    proof = prove(case, due.turn)
    if proof.kind != IDS_RUN_ON:
        return "IP IDs do not prove that nothing was sent"
    if proof.clock_odd or proof.held_up_ns * 4 > case.length_ns:
        return "the segment left its sender long before it came here"
    outstanding = _outstanding(case, due)
    if outstanding:
        return outstanding
    if due.turn.sent is None and proof.last is not None:
        # Open: what was proven reaches to the last segment of this side that came.
        if 2 * (proof.last.ns - due.turn.start_ns) < case.end_ns - due.turn.start_ns:
            return "the IP IDs run on over a small part of the time only"
    certain = proof.clocks_agree
    clock = None
    if certain and proof.last is not None and proof.sender_ns is not None:
        clock = Fact(
            f"By its TCP timestamps {span(proof.sender_ns)} went by at the {due.side} before that segment, "
            f"here {span(proof.here_ns)}.",
            refs(proof.last.ref),
        )
    confidence = HIGH if certain and is_own_time(case, due.turn) else MEDIUM
    return _late(case, due, confidence, [_id_fact(due, proof), clock, *_context(case, due)], capture_at(due.side))


def filled_by_other_work(case: Case) -> Judgement:
    """Another exchange of the client's host fills the gap: that is what it waited for."""
    due = owed(case)
    if due is None or not due.turn.from_client:
        return "it was not the client's turn"
    if prove(case, due.turn).kind == LOST_BEFORE:
        return "segments of the client were lost"
    other = _other_work(case, due)
    if other is None:
        return "no lookup and no other connection of the client's host fills the gap"
    found = _late(case, due, MEDIUM, [other, *_context(case, due)[:-1]], AT_CLIENT)
    what = "another connection" if "connection" in other.text else "a name in DNS"
    return found._replace(sentence=f"{found.sentence}, most likely waiting for {what} meanwhile")


def undecided(case: Case) -> Judgement:
    """Nothing tells whether it was sent late or lost on its way."""
    due = owed(case)
    if due is None:
        return NO_TURN
    if case.stalled in ANSWER_WAIT:
        return _slow_server_likely(case, due)
    proof = prove(case, due.turn)
    if 2 * proof.held_up_ns > case.length_ns:
        return "the segment was held up on its way"
    came = "did not come for" if case.is_open else "came only after"
    if proof.kind == CAPTURED_THERE:
        lacking = due.other_side
        told = f"What the {due.side} had sent was not all acknowledged: its host may have held the rest back."
    else:
        lacking = due.side
        told = f"The capture was not taken at the {due.side}: whether earlier copies were lost cannot be seen."
    seen = Fact(told, refs(due.turn.start_ref, case.end_ref))
    clock = None
    if proof.sender_ns is not None and proof.last is not None:
        clock = Fact(
            f"By its TCP timestamps the copy that arrived left the {due.side} {span(proof.sender_ns)} after the "
            f"segment before it; earlier copies may have been lost.",
            refs(proof.last.ref),
        )
    return conclude(
        case,
        UNKNOWN,
        due.late_reason,
        MEDIUM,
        f"{due.what} {came} {span(case.length_ns)}; from here it cannot be told whether the {due.side} was "
        f"silent or the network lost it" + facts.timer(case, silence_is_cause=False),
        [seen, clock, *_context(case, due)],
        capture_at(lacking),
        split(case.start_ns, case.end_ns, due.marks, UNKNOWN),
    )


def _slow_server_likely(case: Case, due: Owed) -> Judgement:
    """The kernel acknowledged the hello at once: the process waited, if the answer was not lost again and again."""
    flow = case.flow
    if case.stalled == "ch_sh":
        if flow.client_hello_acked_ref == 0:
            return "the ClientHello was not acknowledged"
        if _came_late(case, due):
            return TURN_CAME_LATE
    acked = Fact(
        f"The server's kernel acknowledged the ClientHello after {span(due.turn.start_ns - case.start_ns)}.",
        refs(due.turn.start_ref),
    )
    came = f"came {span(case.end_ns - due.turn.start_ns)} later" if not case.is_open else "never came"
    return conclude(
        case,
        SERVER_PROCESS if due.side == "server" else CLIENT_PROCESS,
        due.late_reason,
        MEDIUM,
        f"the {due.side}'s kernel had the ClientHello, and its process {_answered(case)} "
        f"{span(case.end_ns - due.turn.start_ns)}, unless the answer was lost again and again",
        [acked, Fact(f"{capitalised(due.what)} {came}.", refs(case.end_ref)), *_context(case, due)],
        capture_at(due.side),
        split(case.start_ns, case.end_ns, due.marks, due.process),
    )


def _late(case: Case, due: Owed, confidence: str, evidence: list[Fact | None], would_settle: str) -> Verdict:
    """The verdict on a side that was late with what it owed."""
    parts = split(case.start_ns, case.end_ns, due.marks, due.process)
    reason = due.late_reason
    if not due.certain:
        confidence = at_most(confidence, MEDIUM)
        would_settle = would_settle or f"knowing that the {due.side} had got all that it waited for"
    waited = span(case.end_ns - due.turn.start_ns)
    if case.stalled in ANSWER_WAIT:
        sentence = f"the {due.side} had the ClientHello, and its process {_answered(case)} {waited}"
    else:
        sentence = f"the {due.side} was silent for {waited}"
        if case.stalled in ("ch_span", "sh_cfin") or _sent_meanwhile(case, due):
            sentence = f"the {due.side} sent {due.what} only after {waited}"
            if case.is_open:
                sentence = f"the {due.side} never sent {due.what}, for {waited}"
        sentence += facts.timer(case) + facts.late_hello(case)
        if case.is_open and case.outcome.server_timer_ns > 0:
            reason = "server_timer"
    return conclude(case, due.process, reason, confidence, sentence, evidence, would_settle, parts)


def _sent_meanwhile(case: Case, due: Owed) -> list[Seg]:
    """What the side sent in its turn that was not what it owed."""
    first_ns, last_ns = due.turn.start_ns, due.turn.sent.ns if due.turn.sent is not None else case.end_ns
    segs = case.history.of(due.turn.from_client)
    return [seg for seg in segs if seg.has_data and first_ns < seg.ns < last_ns and seg.ref != due.turn.start_ref]


def _said(case: Case, due: Owed) -> str:
    segs = _sent_meanwhile(case, due)
    if not segs:
        return "it sent no payload that can be read" if case.unread else "it sent no payload"
    return f"it sent {several(len(segs), 'segment')} with payload, and not all of {due.what},"


def _answered(case: Case) -> str:
    return "did not answer for" if case.is_open else "answered only after"


def _context(case: Case, due: Owed) -> list[Fact | None]:
    """What goes with every verdict on a turn; what else the host was doing comes last."""
    return [
        facts.handshake(case),
        facts.deferred(case),
        facts.close(case),
        facts.place(case),
        _other_work(case, due),
    ]


def _other_work(case: Case, due: Owed) -> Fact | None:
    """A lookup, or a whole connection, of the host that fills the gap."""
    if due.turn.from_client:
        host = case.client_address
    else:
        host = case.server_address
    start, end = due.turn.start_ns, case.end_ns
    lookup = case.surroundings.dns.filling(host, start, end)
    if lookup is not None:
        answer, waited = "and got no answer", "got no"
        if lookup.answered_ref:
            took = span(lookup.answered_ns - lookup.asked_ns)
            answer, waited = f"and got an answer {took} later", f"waited {took} for a"
        return Fact(
            f"Meanwhile the {due.side}'s host asked for {lookup.name} in DNS {answer}.",
            refs(lookup.asked_ref, lookup.answered_ref),
            in_short=f"meanwhile its host {waited} DNS answer about {lookup.name}",
        )
    other = case.surroundings.neighbours.filling(host, case.key, start, end)
    if other is None:
        return None
    waited = span(other.last_ns - other.first_ns)
    what, in_short = f"had another connection, for {waited}; its last segment", f"had another connection for {waited}"
    if not other.first_ref:
        in_short = f"waited {waited} on another connection for an answer"
        what = f"{in_short}, which"
    return Fact(
        f"Meanwhile the {due.side}'s host {what} came {span(end - other.last_ns)} before this one went on.",
        refs(other.first_ref, other.last_ref),
        in_short=f"meanwhile its host {in_short}",
    )


def _outstanding(case: Case, due: Owed) -> str:
    """Why the silence may not be the side's own although it was captured there; empty when it is."""
    start_ns: i64 = due.turn.start_ns
    mine = [
        seg.end
        for seg in case.history.of(due.turn.from_client)
        if seg.has_data and seg.ns <= start_ns and seg is not due.turn.sent
    ]
    acks = [
        seg.ack
        for seg in case.history.of(not due.turn.from_client)
        if seg.ack is not None and seg.ns < case.end_ns and not seg.is_rst
    ]
    return "earlier bytes of its own were not acknowledged" if mine and max(acks, default=0) < max(mine) else ""


def _id_fact(due: Owed, proof: Proof) -> Fact | None:
    if proof.anchor is None or proof.last is None or proof.lost or proof.anchor.ip_id < 0:
        return None
    if (proof.last.ip_id - proof.anchor.ip_id) & 0xFFFF > 64 or proof.anchor.ip_id == proof.last.ip_id:
        return None
    return Fact(
        f"The {due.side}'s IP IDs run on from {proof.anchor.ip_id:#06x} to {proof.last.ip_id:#06x} without a gap: "
        f"nothing was sent in between that is not here.",
        refs(proof.anchor.ref, proof.last.ref),
    )
