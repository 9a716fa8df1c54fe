"""The conditions of `--fail-if`, judged over all flows of one report, or of two that are compared.

Each is parsed before anything is read and judged when everything was. How a condition is written is
`condition_language`'s, and how one is judged `condition_results`': loaded where there are any.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pcapstall.report.percentiles import Tally

if TYPE_CHECKING:
    from pcapstall.report.condition_language import Condition
    from pcapstall.report.condition_results import ConditionResult


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

    def results(self, tally: Tally) -> "list[ConditionResult]":
        """Judge each condition over the flows of ``tally``, in the order given."""
        if not self._conditions:
            return []
        from pcapstall.report.condition_results import judge, measure

        found = zip(self._conditions, self._counts, strict=True)
        return [judge(condition, measure(condition, count, tally)) for condition, count in found]

    def group_results(self, tally: Tally, groups: Mapping[str, Tally]) -> "list[ConditionResult]":
        """The same where flows are grouped: a condition on a percentile, or another statistic of an interval, is judged
        for each group, and over all flows where it holds for none. What was found names the group."""
        if not self._conditions:
            return []
        from pcapstall.report.condition_results import judge, measure

        results: list[ConditionResult] = []
        for condition, whole in zip(self._conditions, self.results(tally), strict=True):
            found: list[ConditionResult] = []
            if condition.counted is None and "." in condition.metric:
                judged = ((key, judge(condition, measure(condition, 0, group))) for key, group in groups.items())
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

    def results(self, before: Tally, after: Tally, new: int, gone: int) -> "list[ConditionResult]":
        """Judge each condition; ``new`` and ``gone`` are how many kinds of stall came and went."""
        if not self._conditions:
            return []
        from pcapstall.report.condition_results import Measured, judge, measure

        results = []
        for condition, (earlier, later) in zip(self._conditions, self._counts, strict=True):
            if condition.of_changes:
                count = new if condition.metric == "new_stalls" else gone
                measured = Measured(count, f"{condition.metric} is {count}")
            else:
                measured = measure(condition, later, after)
            base = measure(condition, earlier, before) if condition.relative else None
            results.append(judge(condition, measured, base))
        return results


def _parsed(texts: list[str], changes: bool = False) -> "list[Condition]":
    if not texts:
        return []
    from pcapstall.report.condition_language import parse_condition  # start-up is most of a small capture's time

    return [parse_condition(text, changes) for text in texts]
