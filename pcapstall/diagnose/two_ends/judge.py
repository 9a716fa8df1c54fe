"""The verdict from both ends: the largest part of the interval is the cause, and the packets of both captures say why.

What happened inside a host is told by the rules for one capture, asked of the capture at that host; what happened
between the hosts is told here, and only by packets that left one end and did not come, or came late, to the other.
"""

from collections.abc import Mapping
from typing import Final

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.engine import diagnose
from pcapstall.diagnose.proof import prove
from pcapstall.diagnose.rules.base import capitalised, span
from pcapstall.diagnose.rules.turns import owed
from pcapstall.diagnose.two_ends import losses
from pcapstall.diagnose.two_ends.caps import capped
from pcapstall.diagnose.two_ends.clock_steps import clock_step
from pcapstall.diagnose.two_ends.fates import RETRANSMITTED_NS
from pcapstall.diagnose.two_ends.resets import foreign_reset, own_reset
from pcapstall.diagnose.two_ends.scene import Scene
from pcapstall.diagnose.two_ends.stages import walk_stage
from pcapstall.diagnose.two_ends.verdict import TwoFact, TwoVerdict, fact_at, fact_of
from pcapstall.diagnose.two_ends.walk import LOSS, Step, Walk
from pcapstall.diagnose.verdict import (
    CLIENT_KERNEL,
    CLIENT_PROCESS,
    HIGH,
    LOW,
    MEDIUM,
    NETWORK,
    RANK,
    SERVER_KERNEL,
    SERVER_PROCESS,
    SIDES,
    TO_CLIENT,
    TO_SERVER,
    UNKNOWN,
    Verdict,
    at_most,
    side_of,
)
from pcapstall.flows.notebook import RETRANSMISSION

_AT_CLIENT: Final = frozenset((CLIENT_PROCESS, CLIENT_KERNEL))
_HOSTS: Final = frozenset((CLIENT_PROCESS, CLIENT_KERNEL, SERVER_PROCESS, SERVER_KERNEL))
_BLOCKED: Final = ("zero_window", "nagle_delayed_ack", "clock_step", "missed_by_capture")
"""Reasons that one capture shows by itself, and that a walk from packet to packet does not see."""
_NO_ACK: Final = ("synack_ack", "client_silent")
"""The client had sent its ACK, which is not here, and owed its hello: to a walk that ACK is what it was late with."""
_NOBODY_KNOWS: Final = ("both_silent", "await_server", "not_tls")
"""Reasons that rest on what a port speaks."""
_DEFAULT_REASON: Final = {
    CLIENT_PROCESS: "client_silent",
    CLIENT_KERNEL: "ack_loss",
    SERVER_PROCESS: "server_slow_hello",
    SERVER_KERNEL: "syn_dropped_by_host",
}
_WHO: Final = {
    CLIENT_PROCESS: "the client's process",
    CLIENT_KERNEL: "the client's host",
    SERVER_PROCESS: "the server's process",
    SERVER_KERNEL: "the server's host",
}
_FACTS_MAX: Final = 3
"""So many facts of the capture at one host go with the verdict."""


def judge(scene: Scene) -> TwoVerdict | None:
    """The verdict on a connection that stalled or failed at either end; None for any other."""
    if not scene.wrong:
        return None
    if scene.case.stalled is None:
        return _failure(scene)
    alone = {at_client: diagnose(scene.case_at(at_client)) for at_client in (True, False)}
    blocked = alone[scene.seen_at_client]
    if blocked is not None and (blocked.reason in _BLOCKED or (scene.case.stalled, blocked.reason) == _NO_ACK):
        return _taken_over(scene, blocked, scene.seen_at_client, blocked.parts)
    stepped = clock_step(scene)
    if stepped is not None:
        return stepped
    walker = walk_stage(scene)
    if walker is None:
        return _without_clock(scene, alone)
    case, walk = scene.case, walker.walk
    parts = walk.parts(case.start_ns, case.end_ns)
    cause = max(parts, key=lambda part: parts[part])
    network = sum(ns for part, ns in parts.items() if part.startswith(NETWORK))
    if 2 * network > case.length_ns and not cause.startswith(NETWORK):
        cause = max((part for part in parts if part.startswith(NETWORK)), key=lambda part: parts[part])
    if cause == UNKNOWN:
        return _unknown(scene, parts)
    if cause in _HOSTS:
        verdict = _host(scene, walk, cause, alone[cause in _AT_CLIENT], parts)
        return _doubted(verdict, cause in _AT_CLIENT) if walker.unwatched else verdict
    return _network(scene, walk, cause, parts)


def _doubted(verdict: TwoVerdict, at_client: bool) -> TwoVerdict:
    """``verdict`` on a host whose capture may have been over."""
    lacking = f"a capture at the {side_of(at_client)} that surely was running until then"
    settle = f"{verdict.would_settle} and {lacking}" if verdict.would_settle else lacking
    return verdict._replace(confidence=at_most(verdict.confidence, MEDIUM), would_settle=settle)


def _host(scene: Scene, walk: Walk, cause: str, alone: Verdict | None, parts: Mapping[str, int]) -> TwoVerdict:
    """A host had all that it waited for: why it was late is what its own capture shows."""
    at_client = cause in _AT_CLIENT
    shown = _turn_fact(scene, walk.of(cause)[0], at_client)
    if alone is None:
        return _host_alone(scene, walk, cause, shown, parts)
    facts = [shown, *(fact_of(fact, at_client) for fact in alone.evidence if fact.refs)][: 1 + _FACTS_MAX]
    facts += losses.summary(scene, facts)
    if alone.cause == cause:
        sure = MEDIUM if _skips(scene.case_at(at_client)) else HIGH
        if alone.confidence == LOW or alone.reason == "both_silent":
            sure = LOW
        confidence, settle = capped(scene, sure, cause)
        settle = alone.would_settle or settle if sure != HIGH else settle
        return TwoVerdict(cause, alone.reason, confidence, alone.sentence, facts, settle, parts, alone.named_side)
    if alone.cause == UNKNOWN and alone.reason in _NOBODY_KNOWS:
        parts = {UNKNOWN if part == cause else part: ns for part, ns in parts.items()}
    if alone.reason in _NOBODY_KNOWS or alone.side not in (None, SIDES[cause]):
        # Whose turn it was is a question about the protocol, which a second capture does not answer.
        confidence, settle = capped(scene, at_most(alone.confidence, MEDIUM), cause)
        settle = alone.would_settle or settle
        return TwoVerdict(
            alone.cause, alone.reason, confidence, alone.sentence, facts[1:], settle, parts, alone.named_side
        )
    return _host_alone(scene, walk, cause, shown, parts)


def _host_alone(scene: Scene, walk: Walk, cause: str, shown: TwoFact, parts: Mapping[str, int]) -> TwoVerdict:
    """No rule for one capture says why: only that the host was late."""
    confidence, settle = capped(scene, HIGH, cause)
    spent = sum(step.end_ns - step.start_ns for step in walk.of(cause))
    sentence = f"{_WHO[cause]} had all that it waited for, and took {span(spent)} of the {span(scene.case.length_ns)}"
    reason = _DEFAULT_REASON[cause]
    if cause == SERVER_KERNEL and scene.case.stalled != "syn_synack":
        reason = "accept_queue_full"
    return TwoVerdict(cause, reason, confidence, sentence, [shown, *losses.summary(scene)], settle, parts)


def _network(scene: Scene, walk: Walk, cause: str, parts: Mapping[str, int]) -> TwoVerdict:
    """The way between the two captures: lost, or late."""
    steps = [step for step in walk.of(cause) if step.why == LOSS] if cause in (TO_SERVER, TO_CLIENT) else []
    whole = sum(step.end_ns - step.start_ns for step in walk.of(cause))
    lost = sum(step.end_ns - step.start_ns for step in steps)
    certain = all(direction.certain for direction in scene.crossings.both) or not steps
    wanted, settle = capped(scene, HIGH if certain else MEDIUM, cause)
    if not certain:
        settle = settle or "IP IDs or TCP timestamps, which tell repetitions apart"
    if steps and 2 * lost >= whole:
        return losses.loss(scene, steps, cause == TO_SERVER, wanted, settle, parts)
    return _slow_path(scene, cause, walk, wanted, settle, parts)


def _slow_path(
    scene: Scene, cause: str, walk: Walk, confidence: str, settle: str, parts: Mapping[str, int]
) -> TwoVerdict:
    clock = scene.clock
    step = walk.of(cause)[0]
    copy, arrival = step.pieces[0], step.pieces[-1]
    from_client = copy.seg.from_client
    if cause == NETWORK or clock is None:
        fastest = clock.fastest_ns if clock is not None else None
        told = f": no packet was there and back in less than {span(fastest)}" if fastest else ""
        sentence = (
            f"the way between the two ends took {span(parts.get(NETWORK, 0))} of the {span(scene.case.length_ns)}{told}"
        )
        return TwoVerdict(NETWORK, "high_rtt", confidence, sentence, [*losses.summary(scene)], settle, parts)
    late = step.end_ns - step.start_ns
    what = losses.named(scene, copy, from_client)[0]
    to = side_of(not from_client)
    sentence = f"{what} was on its way to the {to} for {span(late)} longer than the fastest packet"
    if late > RETRANSMITTED_NS and not _is_repeated(scene):
        # Whoever waits so long for an ACK sends again: without that a clock may have been set.
        confidence = at_most(confidence, MEDIUM)
        settle = settle or "captures whose clocks are not set while they run"
    error = clock.error_at(scene.pair.client.first_ns) - clock.fastest_ns // 2
    fact = fact_at(
        from_client,
        f"It left one end and came to the other {span(late)} later than the fastest packet of this direction would have"
        + (f", give or take {span(error)}." if error > 0 else "."),
        (copy.seg.ref,),
        (arrival.seg.ref,),
    )
    return TwoVerdict(cause, "high_rtt", confidence, sentence, [fact, *losses.summary(scene)], settle, parts)


def _is_repeated(scene: Scene) -> bool:
    """Whether anything was sent again."""
    return any(piece.seg.kind == RETRANSMISSION for direction in scene.crossings.both for piece in direction.sent)


def _failure(scene: Scene) -> TwoVerdict:
    """No stall, but a failure: who sent what ended it is seen at its sender."""
    found = foreign_reset(scene) or own_reset(scene)
    if found is not None:
        return found
    verdicts = [
        (at_client, verdict)
        for at_client in (True, False)
        if (verdict := diagnose(scene.case_at(at_client))) is not None
    ]
    # The capture at the side that is named knows most.
    at_client, best = max(verdicts, key=lambda item: (item[1].side == side_of(item[0]), RANK[item[1].confidence]))
    return _taken_over(scene, best, at_client, {})


def _without_clock(scene: Scene, alone: dict[bool, Verdict | None]) -> TwoVerdict:
    """The clocks do not agree, or the end was not noted: what each capture says alone, parts left out."""
    mine = alone[scene.seen_at_client]
    assert mine is not None
    theirs = alone[not scene.seen_at_client]
    if theirs is not None and theirs.side == side_of(not scene.seen_at_client):
        # The other end blames itself, and it was captured there.
        return _taken_over(scene, theirs, not scene.seen_at_client, {})
    verdict = _taken_over(scene, mine, scene.seen_at_client, mine.parts)
    lacking = ""
    if scene.misfit_ns > 0:
        lacking = "captures whose clocks are not set while they run"
    elif mine.side == side_of(not scene.seen_at_client):
        # The capture at that end might have shown it, and does not.
        lacking = f"a capture of both directions at the {mine.side}"
    if not lacking:
        return verdict
    settle = verdict.would_settle or lacking
    return verdict._replace(confidence=at_most(verdict.confidence, MEDIUM), would_settle=settle)


def _taken_over(scene: Scene, verdict: Verdict, at_client: bool, parts: Mapping[str, int]) -> TwoVerdict:
    """What one capture says, within its limits."""
    confidence, settle = capped(scene, verdict.confidence, verdict.cause, (at_client,))
    facts = [fact_of(fact, at_client) for fact in verdict.evidence]
    return TwoVerdict(
        verdict.cause,
        verdict.reason,
        confidence,
        verdict.sentence,
        [*facts, *losses.summary(scene, facts)],
        "" if confidence == HIGH else verdict.would_settle or settle,
        parts,
        verdict.named_side,
    )


def _unknown(scene: Scene, parts: Mapping[str, int]) -> TwoVerdict:
    length = span(scene.case.length_ns)
    return TwoVerdict(
        UNKNOWN,
        scene.case.stalled or "",
        LOW,
        f"a packet that decides about the {length} is in one capture only, though both ends had it",
        losses.summary(scene),
        "captures at both ends that lack no packets",
        parts,
    )


def _skips(case: Case) -> bool:
    """Whether IP IDs say that the host sent something that its own capture lacks."""
    due = owed(case)
    return due is not None and prove(case, due.turn).lost > 0


def _turn_fact(scene: Scene, step: Step, at_client: bool) -> TwoFact:
    """What the host had, and when it sent what it owed."""
    name = side_of(at_client)
    length = span(step.end_ns - step.start_ns)
    if not step.pieces:
        text = f"At the {name}'s end nothing was sent for {length}, and all that had been sent to it had come."
        return fact_at(at_client, text, (scene.case.start_ref,))
    piece = step.pieces[0]
    what = losses.named(scene, piece, at_client)[0]
    waited = losses.named(scene, step.pieces[1], not at_client)[0] if len(step.pieces) > 1 else ""
    refs = [one.seg.ref for one in reversed(step.pieces)]
    if waited:
        text = f"{capitalised(what)} left the {name}'s own end {length} after {waited} had come there."
    else:
        text = f"{capitalised(what)} left the {name}'s own end after {length}, in which it waited for nothing."
        refs.insert(0, scene.case.start_ref)
    return fact_at(at_client, text, refs)
