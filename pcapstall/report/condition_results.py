"""How a condition of `--fail-if` is judged: what it asks for is measured and compared, and the result says both.

On what no flow has a condition does not hold. Which flows count is told by `conditions`.
"""

from typing import NamedTuple

from pcapstall.core.counts import several
from pcapstall.core.lengths import Lengths
from pcapstall.core.times import format_span
from pcapstall.report.condition_language import Condition
from pcapstall.report.percentiles import Tally, percentile


class ConditionResult(NamedTuple):
    """Whether one condition holds, and why."""

    text: str
    """The condition as given."""
    holds: bool
    detail: str
    """What was found: ``ack_ch.p99 is 52.1 s over 37 flows``, ``no flow has ack_ch``."""


class Measured(NamedTuple):
    """What a condition asks for, in one report."""

    value: int | None
    """None where no flow has it."""
    detail: str


def measure(condition: Condition, count: int, tally: Tally) -> Measured:
    """What ``condition`` asks for of the flows of ``tally``; ``count`` of them hold for its ``count(...)``."""
    interval, dot, statistic = condition.metric.partition(".")
    if condition.counted is not None:
        return Measured(count, f"{condition.metric} is {count}")
    if not dot:
        value = getattr(tally, condition.metric)
        return Measured(value, f"{condition.metric} is {value}")
    # An open interval counts as long as it had become: the percentile is then at least what is said.
    lengths = tally.lengths(interval, with_open=True)
    if not len(lengths) and statistic != "n":
        return Measured(None, f"no flow has {interval}")
    value = _statistic(lengths, statistic)
    shown = str(value) if statistic == "n" else format_span(value)
    return Measured(value, f"{condition.metric} is {shown} over {several(len(lengths), 'flow')}")


def judge(condition: Condition, found: Measured, before: Measured | None = None) -> ConditionResult:
    """Whether ``condition`` holds; ``before`` is what a relative condition compares with."""
    if found.value is None:
        return ConditionResult(condition.text, False, found.detail)
    if before is None:
        return ConditionResult(condition.text, condition.compare(found.value, condition.wanted), found.detail)
    detail = f"{found.detail}; before, {before.detail}"
    holds = before.value is not None and condition.compare(1000 * found.value, condition.wanted * before.value)
    return ConditionResult(condition.text, holds, detail)


def _statistic(lengths: Lengths, statistic: str) -> int:
    if statistic == "n":
        return len(lengths)
    if statistic == "min":
        return lengths.of_rank(1)
    if statistic == "max":
        return lengths.longest()
    return percentile(lengths, int(statistic[1:]))
