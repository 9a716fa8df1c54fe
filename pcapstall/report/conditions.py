"""The conditions of `--fail-if`, judged over all flows of one report, or of two that are compared.

Each is parsed before anything is read and judged when everything was. On what no flow has it does not hold, and its
result says so. How a condition is written is `condition_language`'s.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pcapstall.core.counts import several
from pcapstall.core.lengths import Lengths
from pcapstall.core.times import format_span
from pcapstall.report.percentiles import Tally, percentile

if TYPE_CHECKING:
    from pcapstall.report.condition_language import Condition


class ConditionResult(NamedTuple):
    """Whether one condition holds, and why."""

    text: str
    """The condition as given."""
    holds: bool
    detail: str
    """What was found: ``ack_ch.p99 is 52.1 s over 37 flows``, ``no flow has ack_ch``."""


class FailConditions:
    """The conditions of a command line. Parsed when made: an ExpressionError points at what is wrong."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._conditions = _parsed(list(texts))
        self._counts = [0] * len(self._conditions)

    @property
    def reads_flows(self) -> bool:
        """Whether any condition has a ``count(...)``, so that every flow must be given to `add`."""
        return any(condition.counted for condition in self._conditions)

    @property
    def metrics(self) -> list[tuple[str, str]]:
        """Each condition as given, and what it asks for."""
        return [(condition.text, condition.metric) for condition in self._conditions]

    @property
    def columns_used(self) -> frozenset[str]:
        """The columns that filters in ``count(...)`` read."""
        used = (condition.counted.columns_used for condition in self._conditions if condition.counted)
        return frozenset().union(*used)

    def add(self, flow: Any) -> None:
        """Let ``count(...)`` see a flow: a `FlowReport` or what has its attributes."""
        for index, condition in enumerate(self._conditions):
            if condition.counted is not None and condition.counted(flow):
                self._counts[index] += 1

    def results(self, tally: Tally) -> list[ConditionResult]:
        """Judge each condition over the flows of ``tally``, in the order given."""
        found = zip(self._conditions, self._counts, strict=True)
        return [_judge(condition, _measure(condition, count, tally)) for condition, count in found]

    def group_results(self, tally: Tally, groups: Mapping[str, Tally]) -> list[ConditionResult]:
        """The same where flows are grouped: a condition on a percentile, or another statistic of an interval, is judged
        for each group, and over all flows where it holds for none. What was found names the group."""
        results: list[ConditionResult] = []
        for condition, whole in zip(self._conditions, self.results(tally), strict=True):
            found: list[ConditionResult] = []
            if condition.counted is None and "." in condition.metric:
                judged = ((key, _judge(condition, _measure(condition, 0, group))) for key, group in groups.items())
                found = [result._replace(detail=f"{key}: {result.detail}") for key, result in judged if result.holds]
            results += found or [whole]
        return results


class ChangeConditions:
    """The conditions of a command line that compares two reports; of a plain one the later report is judged."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._conditions = _parsed(list(texts), changes=True)
        self._counts = [[0, 0] for _ in self._conditions]

    def see_before(self, flow: Any) -> None:
        """Let ``count(...)`` see a flow of the earlier report."""
        self._see(flow, 0)

    def see_after(self, flow: Any) -> None:
        """Let ``count(...)`` see a flow of the later report."""
        self._see(flow, 1)

    def _see(self, flow: Any, side: int) -> None:
        for condition, counts in zip(self._conditions, self._counts, strict=True):
            if condition.counted is not None and condition.counted(flow):
                counts[side] += 1

    def results(self, before: Tally, after: Tally, new: int, gone: int) -> list[ConditionResult]:
        """Judge each condition; ``new`` and ``gone`` are how many kinds of stall came and went."""
        results = []
        for condition, (earlier, later) in zip(self._conditions, self._counts, strict=True):
            if condition.of_changes:
                count = new if condition.metric == "new_stalls" else gone
                measured = _Measured(count, f"{condition.metric} is {count}")
            else:
                measured = _measure(condition, later, after)
            base = _measure(condition, earlier, before) if condition.relative else None
            results.append(_judge(condition, measured, base))
        return results


def _parsed(texts: list[str], changes: bool = False) -> "list[Condition]":
    if not texts:
        return []
    from pcapstall.report.condition_language import parse_condition  # start-up is most of a small capture's time

    return [parse_condition(text, changes) for text in texts]


class _Measured(NamedTuple):
    """What a condition asks for, in one report."""

    value: int | None
    """None where no flow has it."""
    detail: str


def _measure(condition: "Condition", count: int, tally: Tally) -> _Measured:
    interval, dot, statistic = condition.metric.partition(".")
    if condition.counted is not None:
        return _Measured(count, f"{condition.metric} is {count}")
    if not dot:
        value = getattr(tally, condition.metric)
        return _Measured(value, f"{condition.metric} is {value}")
    # An open interval counts as long as it had become: the percentile is then at least what is said.
    lengths = tally.lengths(interval, with_open=True)
    if not len(lengths) and statistic != "n":
        return _Measured(None, f"no flow has {interval}")
    value = _statistic(lengths, statistic)
    shown = str(value) if statistic == "n" else format_span(value)
    return _Measured(value, f"{condition.metric} is {shown} over {several(len(lengths), 'flow')}")


def _judge(condition: "Condition", found: _Measured, before: _Measured | None = None) -> ConditionResult:
    """``before`` is what a relative condition compares with."""
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
