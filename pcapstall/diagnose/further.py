"""What else stalled in a flow: every interval over its threshold besides the one that the verdict is about.

Each is judged by the same rules, and told in one sentence of the evidence. The verdict itself is `engine`'s.
"""

from pcapstall.core.times import format_span
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.engine import diagnose
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.spans import holds_step
from pcapstall.diagnose.thresholds import CH_ACK, CH_SH, NAMES, STALL_NAMES, Thresholds
from pcapstall.diagnose.verdict import CAPTURE, UNKNOWN, Fact, Verdict, cause_words


def further_stalls(case: Case, verdict: Verdict, thresholds: Thresholds) -> list[Fact]:
    """A sentence for each interval that stalled besides the one that ``verdict`` on ``case`` is about.

    ``case.intervals`` are those of its flow, and are so afterwards.
    """
    intervals = case.intervals
    worst = int(intervals.stalled)
    facts: list[Fact] = []
    for which in others_over(intervals, thresholds, int(case.pair.rtt_ns())) if case.stalled is not None else ():
        choose(intervals, which)
        other = Case(case.flow, intervals, case.outcome, (case.point, case.point_confidence), case.surroundings)
        judged = diagnose(other) if not _is_same_step(other, case, verdict) else None
        if judged is not None and not (judged.reason == verdict.reason and _is_part(other, case)):
            facts.append(_told(other, judged))
        choose(intervals, worst)
    return facts


def others_over(intervals: Intervals, thresholds: Thresholds, rtt_ns: int) -> list[int]:
    """Which are over their thresholds besides the one that `Intervals.judge` found, as positions in `NAMES`; not what
    a late ACK of the ClientHello explains."""
    found: list[int] = []
    for which, name in enumerate(STALL_NAMES):
        limit_ns: int = getattr(thresholds, name) + (rtt_ns if which == CH_ACK else 0)
        if which != intervals.stalled and _length_of(intervals, name) > limit_ns:
            found.append(which)
    if CH_SH in found and (intervals.stalled == CH_ACK or CH_ACK in found):
        if _length_of(intervals, "ch_sh") - _length_of(intervals, "ch_ack") <= thresholds.ch_sh:
            found.remove(CH_SH)
    return found


def choose(intervals: Intervals, which: int) -> None:
    """Take the interval at ``which`` in `NAMES` for the one that stalled; `Intervals.judge` takes the longest."""
    intervals.stalled = which
    intervals.stalled_ns = _length_of(intervals, NAMES[which])
    intervals.stalled_is_open = getattr(intervals, NAMES[which]) == ABSENT


def _length_of(intervals: Intervals, name: str) -> int:
    closed: int = getattr(intervals, name)
    opened: int = getattr(intervals, "open_" + name)
    return opened if closed == ABSENT else closed


def _is_same_step(other: Case, case: Case, verdict: Verdict) -> bool:
    """Whether the other interval is only as long because the capture's clock was set within it."""
    return verdict.cause == CAPTURE and holds_step(other.start_ns, other.length_ns, case.start_ns, case.length_ns)


def _is_part(other: Case, case: Case) -> bool:
    """Whether most of the other interval is in the stall that was told already."""
    shared_ns = min(other.end_ns, case.end_ns) - max(other.start_ns, case.start_ns)
    return 2 * shared_ns >= other.length_ns


def _told(case: Case, verdict: Verdict) -> Fact:
    more = "more than " if case.is_open else ""
    sure = "" if verdict.cause == UNKNOWN else f", {verdict.confidence} confidence"
    return Fact(
        f"It stalled in {case.stalled} as well, for {more}{format_span(case.length_ns)}: {verdict.sentence}"
        f" ({cause_words(verdict.cause)}{sure}).",
        tuple(ref for ref in (case.start_ref, case.end_ref) if ref),
    )
