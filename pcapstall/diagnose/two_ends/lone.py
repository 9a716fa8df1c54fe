"""A connection that only one capture has: what that one says of it, and that its SYNs never came to the other end.

What may be the same connection in both is decided in `pairing`.
"""

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.engine import diagnose
from pcapstall.diagnose.outcome import FILTERED, PROHIBITED
from pcapstall.diagnose.rules.base import times
from pcapstall.diagnose.two_ends.clock import Clock
from pcapstall.diagnose.two_ends.scene import Span
from pcapstall.diagnose.two_ends.verdict import TwoFact, TwoVerdict, fact_of
from pcapstall.diagnose.verdict import MEDIUM, TO_SERVER
from pcapstall.diagnose.wishes import wish_for


def judge_lone(case: Case, at_client: bool) -> TwoVerdict | None:
    """What the capture that has it says alone; None for a connection of which nothing is said."""
    verdict = diagnose(case)
    if verdict is None:
        return None
    return TwoVerdict(
        verdict.cause,
        verdict.reason,
        verdict.confidence,
        verdict.sentence,
        [fact_of(fact, at_client) for fact in verdict.evidence],
        verdict.would_settle,
        {},
        named_side=verdict.named_side,
    )


def judge_never_there(case: Case, clock: Clock | None, span: Span, known: bool) -> TwoVerdict | None:
    """The same for the client's end, with SYNs that the capture at the server, which ran for ``span``, does not have:
    they did not come so far, if it was watching. ``known``: it has other connections to that port and address."""
    alone = judge_lone(case, True)
    if alone is None or clock is None or case.outcome.tcp not in (FILTERED, PROHIBITED):
        return alone
    syns = [seg for seg in case.history.client if seg.is_syn]
    watched = [seg for seg in syns if span.first_ns <= clock.to_server(seg.ns) <= span.last_ns]
    refs = tuple(seg.ref for seg in syns)
    if watched:
        count = f"{len(watched)} of" if len(watched) < len(syns) else "all of"
        fact = TwoFact(f"The capture at the server has none of these SYNs; it was running for {count} them.", refs)
    else:
        fact = TwoFact("The capture at the server has none of these SYNs, nor any packet from after them.", refs)
    alone = alone._replace(evidence=[fact, *alone.evidence])
    if case.outcome.tcp == PROHIBITED:
        return alone
    lacking = [] if watched else ["a capture at the server that surely went on until then"]
    if not known:
        lacking.append("knowing that the capture at the server would show that port and address")
    sent = times(len(syns))
    return alone._replace(
        cause=TO_SERVER,
        reason="filtered",
        confidence=MEDIUM,
        sentence=f"the SYN was sent {sent} and never came to the server's end: filtered, or lost on the way",
        would_settle=wish_for(lacking) or "a capture between the two ends",
        named_side=None,
    )
