"""What every rule is made of: its name, the stages it is tried for, and how a conclusion is put together.

The limits that hold for all conclusions are laid on here, so that no rule can forget them. Compiled, like the rules.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from mypy_extensions import i64

from pcapstall.core.counts import several
from pcapstall.core.times import format_span
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.split import split
from pcapstall.diagnose.verdict import CLIENT, HIGH, Fact, Verdict, within
from pcapstall.diagnose.wishes import wish_for

FAILURE: Final = "failure"
"""The stage of a flow that failed and did not stall."""

AT_CLIENT: Final = "a capture at the client"
AT_SERVER: Final = "a capture at the server"

HELLO_WAIT: Final = ("ack_ch", "hrr_ch2", "ch_span")
"""Stages in which the client owes bytes of a hello."""
ANSWER_WAIT: Final = ("ch_sh", "ch2_sh")
"""Stages in which the server owes its hello."""

Judgement = Verdict | str
"""A conclusion, or why the rule does not hold."""


class Rule:
    """One rule."""

    def __init__(self, name: str, stages: tuple[str, ...], judge: Callable[[Case], Judgement]) -> None:
        self.name: str = name
        self.stages: tuple[str, ...] = stages
        """Intervals that stalled, or `FAILURE`: for anything else it is not tried."""
        self.judge: Callable[[Case], Judgement] = judge


def conclude(
    case: Case,
    cause: str,
    reason: str,
    confidence: str,
    sentence: str,
    facts: Iterable[Fact | None],
    would_settle: str = "",
    parts: Mapping[str, int] | None = None,
    side: str | None = None,
    anywhere: bool = False,
) -> Verdict:
    """A verdict within the limits of the case: ``confidence`` is lowered by what the capture lacks.

    ``anywhere``: the conclusion is the same wherever the capture was taken.
    """
    final, lacking = within(confidence, case.caps(anywhere))
    wanted = [would_settle, *lacking] if would_settle else lacking
    if parts is None:
        parts = split(case.start_ns, case.end_ns, (), cause) if case.stalled else {}
    settle = "" if final == HIGH else wish_for(wanted) or _other_end(cause)
    return Verdict(
        cause=cause,
        reason=reason,
        confidence=final,
        sentence=sentence,
        evidence=[fact for fact in (*facts, _unread(case)) if fact is not None],
        would_settle=settle,
        parts=parts,
        named_side=side,
    )


def _unread(case: Case) -> Fact | None:
    """What could not be read and may have been what was due."""
    if not case.unread:
        return None
    fragments: i64 = 0
    malformed: i64 = 0
    for unread in case.unread:
        fragments += unread.fragments
        if unread.fragments == 0:
            malformed += 1
    said = [several(malformed, "malformed packet")] if malformed else []
    if fragments:
        said.append(f"{several(fragments, 'fragment')} whose other parts are not in the capture")
    if not said:
        return None
    which = refs(*[unread.ref for unread in case.unread[:3]])
    return Fact(f"Between these hosts there came meanwhile {' and '.join(said)}: not read.", which)


def _other_end(cause: str) -> str:
    return AT_SERVER if cause.startswith("server") else AT_CLIENT


def capture_at(side: str) -> str:
    """The capture that would show what this side did."""
    return AT_CLIENT if side == CLIENT else AT_SERVER


def capitalised(text: str) -> str:
    """``text`` as it begins a sentence."""
    return text[0].upper() + text[1:]


def span(ns: int) -> str:
    """A length for a sentence."""
    return format_span(ns)


def times(count: int) -> str:
    """``once``, ``twice``, ``3 times``."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def were(count: int) -> str:
    """The verb that goes with `core.counts.several`."""
    return "was" if count == 1 else "were"


def refs(*frames: int) -> tuple[int, ...]:
    """Frame references, those of what was not seen left out."""
    return tuple([frame for frame in frames if frame])
