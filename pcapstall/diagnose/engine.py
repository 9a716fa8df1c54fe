"""Tries the rules on a case, in their order, and tells which held and why the others did not.

The only place where rules are run. What they are is in `rules.table`.
"""

from typing import NamedTuple

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.rules.answered_for import as_far_as_seen
from pcapstall.diagnose.rules.base import FAILURE, conclude
from pcapstall.diagnose.rules.table import BY_CAPTURE, RULES_OF
from pcapstall.diagnose.verdict import LOW, UNKNOWN, Verdict


class Tried(NamedTuple):
    """One rule that was tried."""

    rule: str
    held: bool
    why: str
    """The verdict's sentence, or why the rule did not hold."""


def diagnose(case: Case) -> Verdict | None:
    """The verdict on a flow that stalled or failed; None for any other."""
    stage = _stage(case)
    if stage is None:
        return None
    for rule in RULES_OF[stage]:
        judgement = rule.judge(case)
        if not isinstance(judgement, str):
            return as_far_as_seen(case, judgement)
    return _unexplained(case)


def made_by_capture(case: Case) -> str | None:
    """The reason of a stall that is the capture's own making, as `diagnose` says, in less time; None for any other."""
    for rule in BY_CAPTURE:
        judgement = rule.judge(case)
        if not isinstance(judgement, str):
            return judgement.reason
    return None


def explain(case: Case) -> list[Tried]:
    """All rules of the stage that stalled, in order. The first that held made the verdict."""
    stage = _stage(case)
    tried: list[Tried] = []
    for rule in RULES_OF[stage] if stage is not None else ():
        judgement = rule.judge(case)
        if isinstance(judgement, str):
            tried.append(Tried(rule.name, False, judgement))
        else:
            tried.append(Tried(rule.name, True, as_far_as_seen(case, judgement).sentence))
    return tried


def _stage(case: Case) -> str | None:
    if case.stalled is not None:
        return case.stalled
    return FAILURE if case.outcome.failed else None


def _unexplained(case: Case) -> Verdict:
    return conclude(
        case,
        UNKNOWN,
        case.outcome.tls or case.outcome.tcp,
        LOW,
        "the handshake was not finished, and nothing in the capture says why",
        [],
        "a capture that goes on until the connection ends",
    )
