"""From what packets say and what a strace shows to one verdict.

Observation replaces inference where it can; what packets know of the network stays. What a strace cannot show is said.
"""

from typing import Final

from pcapstall.core.times import format_span
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.engine import Tried
from pcapstall.diagnose.process.activity import UNKNOWN as NO_ACTIVITY
from pcapstall.diagnose.process.activity import WAITING, doing
from pcapstall.diagnose.process.answering import judge_answering, judge_rest
from pcapstall.diagnose.process.elsewhere import other_connections
from pcapstall.diagnose.process.finding import (
    BOTH_SILENT,
    NO_EVENT_DELIVERED,
    NOT_TRACED,
    Finding,
    WrittenEarly,
)
from pcapstall.diagnose.process.receiver import judge_receiver, listened
from pcapstall.diagnose.process.scene import ANSWER_STAGES, HELLO_STAGES, Scene, Traced
from pcapstall.diagnose.process.sender import judge_sender, not_traced
from pcapstall.diagnose.process.threads import threads_of
from pcapstall.diagnose.process.trust import limits
from pcapstall.diagnose.process.unaccepted import judge_unaccepted
from pcapstall.diagnose.rules.base import capture_at, conclude
from pcapstall.diagnose.rules.facts import late_hello, timer
from pcapstall.diagnose.split import split
from pcapstall.diagnose.verdict import (
    AWAIT_SERVER,
    CAPTURE,
    CLIENT_KERNEL,
    CLIENT_PROCESS,
    HIGH,
    LOW,
    MEDIUM,
    NETWORK,
    SERVER_KERNEL,
    SERVER_PROCESS,
    UNKNOWN,
    Fact,
    Verdict,
    at_most,
)
from pcapstall.diagnose.wishes import wish_for
from pcapstall.match.listeners import BY_LISTENER
from pcapstall.match.matching import Match, Matching

_MANY_CALLS = 2_000

_UNTAKEN: Final = {"syn_synack": ("syn_loss", "the SYN"), "ch_ack": ("client_hello_loss", "the ClientHello")}
"""Intervals in which a server's host may have dropped what it got, the reason that says so, and what that is."""

ANY_STAGE = "any_stage"
"""Tried where no single stage is."""
LISTENED = "listened"
"""Of a SYN without an answer: somebody waited for connections."""


def responsible(case: Case, client: Match | None, server: Match | None) -> Match | None:
    """The matched end that could have acted in the interval that stalled."""
    for match in (client, server):
        if match is None:
            continue
        if case.stalled in HELLO_STAGES and match.end.sends_hello:
            return match
        if case.stalled in ANSWER_STAGES and not match.end.sends_hello:
            return match
        if case.stalled in _UNTAKEN and not match.end.is_client:
            return match
    return None


def look(case: Case, match: Match, matching: Matching) -> Scene | None:
    """The scene to be recorded; None when the clocks contradict each other, so that nothing can be placed."""
    if matching.offset is not None and not matching.offset.consistent:
        return None
    if not matching.index.coverage.has_times:
        return None
    return Scene(case, match, matching)


def judge(case: Case, verdict: Verdict, scene: Scene) -> Verdict:
    """``verdict``, which packets gave, in the light of the recorded ``scene``."""
    way = scene.match.way
    if verdict.cause == CAPTURE:
        return _as_it_was(verdict, way, "the stall is the capture's own making, whatever the process did")
    if case.stalled == "ack_ch" and not scene.match.end.sends_hello:
        answering = judge_answering(scene) if _is_awaited(verdict) else "it was not its turn"
        if isinstance(answering, str):
            return _as_it_was(verdict, way, answering)
        return _the_process(case, verdict, scene, answering)
    if case.stalled == "sh_cfin" and not scene.match.end.sends_hello:
        rest = judge_rest(scene) if verdict.cause == SERVER_PROCESS else "it was not its turn"
        return _as_it_was(verdict, way, rest) if isinstance(rest, str) else _the_process(case, verdict, scene, rest)
    if case.stalled in HELLO_STAGES and verdict.cause in (SERVER_PROCESS, SERVER_KERNEL) and scene.match.end.is_client:
        # The server owed bytes: what the client waited for is what packets show to have come late.
        return _as_it_was(verdict, way, "packets show that it waited for the server")
    if verdict.reason == BOTH_SILENT:
        return _beside(verdict, scene)
    if verdict.cause == NETWORK or AWAIT_SERVER in verdict.parts:
        return _as_it_was(verdict, way, "packets show the network or the other end at fault, whatever the process did")
    if case.stalled in _UNTAKEN:
        return _untaken(case, verdict, scene)
    sending = case.stalled in HELLO_STAGES
    found: Finding | WrittenEarly | str
    if scene.match.way == BY_LISTENER:
        found = judge_unaccepted(scene)
    else:
        found = judge_sender(scene) if sending else judge_receiver(scene)
    if not isinstance(found, WrittenEarly) and _too_late(scene):
        found = not_traced(scene, "the strace begins or ends within the stall")
    if isinstance(found, str):
        return _as_it_was(verdict, way, found)
    if isinstance(found, WrittenEarly):
        return _not_the_process(case, verdict, scene, found)
    return _the_process(case, verdict, scene, found)


def _is_awaited(verdict: Verdict) -> bool:
    """Whether most of the time was that of an end which owed an answer."""
    return 2 * verdict.parts.get(AWAIT_SERVER, 0) > sum(verdict.parts.values()) and verdict.cause == SERVER_PROCESS


def _too_late(scene: Scene) -> bool:
    """Whether more than half of the interval is not in the trace."""
    first, last = scene.index.first_ns, scene.index.last_ns
    seen = min(last, scene.end_ns) - max(first, scene.begin_ns)
    # A trace that ends because nothing happened any more ends with the process, or the tracer.
    return seen * 2 < scene.length_ns


def _the_process(case: Case, verdict: Verdict, scene: Scene, found: Finding) -> Verdict:
    is_client = scene.match.end.is_client
    cause = found.cause or (CLIENT_PROCESS if is_client else SERVER_PROCESS)
    did = doing(scene, found.thread, found.late_ns, for_event=found.reason == NO_EVENT_DELIVERED)
    confidence, wishes = HIGH, []
    for cap, wish in [*limits(scene), *found.limits]:
        confidence = at_most(confidence, cap)
        wishes.append(wish)
    sentence = found.sentence
    if did.phrase:
        sentence += f"; {did.phrase}"
    sentence += timer(case) + late_hello(case)
    others = other_connections(scene) if did.name == WAITING else []
    told = did.facts
    if did.name == WAITING and any(fact.in_short for fact in verdict.evidence):
        told = tuple(fact._replace(in_short="") for fact in told)  # packets show what it waited for
    facts: list[Fact] = [*found.facts, *told, *others, *_overhead(scene), *verdict.evidence]
    settle = "" if confidence == HIGH else wish_for(wishes)
    threads, more = threads_of(scene, found.thread)
    if found.reason == NOT_TRACED and verdict.cause != cause:
        noted = _with_note(verdict, facts, settle)
        return noted._replace(traced=Traced(None, scene.match.way, {}, threads, more, found.tried))
    final = conclude(
        case, cause, found.reason, confidence, sentence, facts, settle, _parts(case, verdict, scene, found, cause)
    )
    traced = Traced(did.name or NO_ACTIVITY, scene.match.way, found.stages, threads, more, found.tried)
    return final._replace(traced=traced)


def _parts(case: Case, verdict: Verdict, scene: Scene, found: Finding, cause: str) -> dict[str, int]:
    """Up to the write it is the process; from there to the packet its kernel, or the way to the capture."""
    if len(verdict.parts) > 1:
        return dict(verdict.parts)
    rest = CLIENT_KERNEL if cause == CLIENT_PROCESS else SERVER_KERNEL
    if not case.captured_at(scene.match.end.is_client):
        rest = NETWORK
    marks = []
    if found.done_ns is not None:
        done = found.done_ns + scene.offset_ns
        if case.end_ns - done <= max(scene.pad_ns, case.length_ns // 100):
            done = case.end_ns  # within what the clocks allow
        marks.append((done, cause))
    else:
        marks.append((case.end_ns, cause))
    return dict(split(case.start_ns, case.end_ns, marks, rest))


def _not_the_process(case: Case, verdict: Verdict, scene: Scene, found: WrittenEarly) -> Verdict:
    """The bytes were written in time: whatever packets thought of the process is refuted."""
    is_client = scene.match.end.is_client
    here = case.captured_at(is_client)
    facts: list[Fact] = [*found.facts, *verdict.evidence]
    confidence, wishes = MEDIUM, []
    for cap, wish in limits(scene):
        confidence = at_most(confidence, cap)
        wishes.append(wish)
    if here:
        cause = CLIENT_KERNEL if is_client else SERVER_KERNEL
        reason, wish = verdict.reason, "a capture of the same moment on all interfaces of that host"
        if verdict.cause not in (UNKNOWN, cause):
            cause = UNKNOWN
    else:
        cause = NETWORK
        reason = "client_hello_loss" if scene.match.end.sends_hello else "server_hello_loss"
        wish = capture_at(scene.match.end.side)
        if scene.offset is None or scene.offset.error_ns is None:
            confidence, cause = LOW, UNKNOWN
    late = format_span(scene.end_ns - found.written_ns)
    sentence = f"{found.sentence}, and they came here {late} later"
    parts = dict(verdict.parts)
    if len(parts) <= 1:
        process = CLIENT_PROCESS if is_client else SERVER_PROCESS
        parts = dict(split(case.start_ns, case.end_ns, [(found.written_ns + scene.offset_ns, process)], cause))
    final = conclude(case, cause, reason, confidence, sentence, facts, wish_for([wish, *wishes]), parts)
    return final._replace(traced=Traced(None, scene.match.way, found.stages, tried=found.tried))


def _untaken(case: Case, verdict: Verdict, scene: Scene) -> Verdict:
    """A SYN or a ClientHello without an answer, lost or not taken by the server's host: not for a full queue if
    somebody waited there."""
    way = scene.match.way
    reason, what = _UNTAKEN[case.stalled or ""]
    free = listened(scene, scene.begin_ns, what)
    if verdict.cause != UNKNOWN or verdict.reason != reason or free is None or not case.flow.syn_ack_ref:
        return _as_it_was(verdict, way, f"nobody is seen to have waited for connections as {what} came")
    sentence = f"{verdict.sentence}; its queue for connections was empty, so most likely {what} was lost on its way"
    facts = [free, *verdict.evidence]
    final = conclude(case, NETWORK, verdict.reason, MEDIUM, sentence, facts, verdict.would_settle)
    return final._replace(traced=Traced(None, way, {}, tried=[Tried(LISTENED, True, free.text.rstrip("."))]))


def _overhead(scene: Scene) -> list[Fact]:
    """What the tracer itself may have cost: it stops the process twice a call."""
    calls = int(scene.window.calls)
    if calls < _MANY_CALLS:
        return []
    return [scene.fact(f"{calls} calls were traced in it; the tracer stops the process at each and slows it down.")]


def _beside(verdict: Verdict, scene: Scene) -> Verdict:
    """Neither end spoke, and whose turn it was depends on the protocol: what this one did is only told."""
    way = scene.match.way
    owes = scene.match.end.sends_hello and way != BY_LISTENER
    found = judge_sender(scene) if owes else None
    if not isinstance(found, Finding) or _too_late(scene):
        return _as_it_was(verdict, way, "packets do not show whose turn it was, whatever the process did")
    did = doing(scene, found.thread, found.late_ns)
    threads, more = threads_of(scene, found.thread)
    traced = Traced(did.name or NO_ACTIVITY, way, found.stages, threads, more, found.tried)
    evidence = [*verdict.evidence, *(fact for fact in did.facts if fact not in verdict.evidence)]
    return verdict._replace(evidence=evidence, traced=traced)


def _with_note(verdict: Verdict, facts: list[Fact], settle: str) -> Verdict:
    """The trace says nothing, so packets have the last word; what would have shown it is said."""
    own = [fact for fact in facts if fact not in verdict.evidence]
    wish = wish_for((verdict.would_settle, settle))
    settled = verdict.confidence == HIGH
    return verdict._replace(evidence=[*verdict.evidence, *own], would_settle="" if settled else wish)


def _as_it_was(verdict: Verdict, way: str, why: str) -> Verdict:
    return verdict._replace(traced=Traced(None, way, {}, tried=[Tried(ANY_STAGE, False, why)]))
