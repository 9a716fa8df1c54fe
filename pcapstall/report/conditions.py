"""The language of `--fail-if`: a condition on all flows of a report, ``ack_ch.p99 > 1s`` or ``stalled > 3``.

Each condition is parsed before anything is read and judged when everything was. A condition on what no flow has does
not hold, and its result says so. The filter inside ``count(...)`` is `filter`'s.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pcapstall.core.times import format_span
from pcapstall.report.columns import FLOW_COLUMNS
from pcapstall.report.expression import DURATION, END, NUMBER, WORD, Token, Tokens, did_you_mean
from pcapstall.report.filter import Filter, parse_filter
from pcapstall.report.matchers import COMPARE
from pcapstall.report.model import INTERVALS
from pcapstall.report.percentiles import Tally, percentile

STATISTICS: Final = ("n", "min", "p50", "p90", "p99", "max")
"""What can be asked of an interval."""

_COUNTERS: Final = ("flows", "stalled", "failed", "unjudged")
_BARE: Final = ("stalled", "failed")
_EXAMPLE: Final = "write stalled, failed, ack_ch.p99 > 1s, flows < 1 or count(tls_outcome = alert) > 0"


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """Whether one condition holds, and why."""

    text: str
    """The condition as given."""
    holds: bool
    detail: str
    """What was found: ``ack_ch.p99 is 52.1 s over 37 flows``, ``no flow has ack_ch``."""


@dataclass(frozen=True, slots=True)
class _Condition:
    text: str
    metric: str
    """A counter, ``interval.statistic`` or ``count(...)``."""
    operator: str
    wanted: int
    counted: Filter[Any] | None = None
    """The filter of ``count(...)``."""


class FailConditions:
    """The conditions of a command line. Parsed when made: an ExpressionError points at what is wrong."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._conditions = [_parse(text) for text in texts]
        self._counts = [0] * len(self._conditions)

    @property
    def reads_flows(self) -> bool:
        """Whether any condition has a ``count(...)``, so that every flow must be given to `add`."""
        return any(condition.counted for condition in self._conditions)

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
        return [
            _judge(condition, count, tally) for condition, count in zip(self._conditions, self._counts, strict=True)
        ]


def _judge(condition: _Condition, count: int, tally: Tally) -> ConditionResult:
    interval, dot, statistic = condition.metric.partition(".")
    if condition.counted is not None:
        value = count
        detail = f"{condition.metric} is {count}"
    elif not dot:
        value = getattr(tally, condition.metric)
        detail = f"{condition.metric} is {value}"
    else:
        # An open interval counts as long as it had become: the percentile is then at least what is said.
        lengths = tally.lengths(interval, with_open=True)
        if not lengths and statistic != "n":
            return ConditionResult(condition.text, False, f"no flow has {interval}")
        value = _statistic(lengths, statistic)
        shown = str(value) if statistic == "n" else format_span(value)
        detail = f"{condition.metric} is {shown} over {len(lengths)} {'flow' if len(lengths) == 1 else 'flows'}"
    return ConditionResult(condition.text, COMPARE[condition.operator](value, condition.wanted), detail)


def _statistic(lengths: list[int], statistic: str) -> int:
    if statistic == "n":
        return len(lengths)
    if statistic == "min":
        return lengths[0]
    if statistic == "max":
        return lengths[-1]
    return percentile(lengths, int(statistic[1:]))


def _parse(text: str) -> _Condition:
    tokens = Tokens(text)
    token = tokens.take()
    if token.kind == END:
        tokens.fail(token, f"a condition is missing: {_EXAMPLE}")
    metric = token.text.lower()
    counted: Filter[Any] | None = None
    if metric == "count" and token.kind == WORD and tokens.take_if("("):
        start = tokens.peek.start
        counted = parse_filter(tokens, FLOW_COLUMNS)
        metric = f"count({text[start : tokens.peek.start].strip()})"
        if not tokens.take_if(")"):
            tokens.fail(tokens.peek, "')' is missing after the filter of count(...)")
    else:
        _check_metric(tokens, token, metric)
    operator = tokens.take_if(*COMPARE)
    if operator is None:
        if metric in _BARE and tokens.peek.kind == END:
            return _Condition(text, metric, ">", 0)
        tokens.fail(tokens.peek, f"{metric} is compared with a number: one of {' '.join(COMPARE)} belongs here")
    wanted = _wanted(tokens, tokens.take(), metric, operator.text)
    tokens.expect_end()
    return _Condition(text, metric, operator.text, wanted, counted)


def _check_metric(tokens: Tokens, token: Token, metric: str) -> None:
    if token.kind == WORD and metric in _COUNTERS:
        return
    interval, dot, statistic = metric.partition(".")
    if token.kind == WORD and interval in INTERVALS:
        if statistic in STATISTICS:
            return
        what = f"has no statistic {statistic!r}" if dot else "has a value for each flow"
        choices = ", ".join(f"{interval}.{name}" for name in STATISTICS)
        tokens.fail(token, f"{interval} {what}; ask for one of {choices}")
    if token.kind == WORD and metric in FLOW_COLUMNS:
        tokens.fail(token, f"{metric} has a value for each flow: write count({metric} ...) > 0")
    known = [*_COUNTERS, *(f"{name}.{of}" for name in INTERVALS for of in STATISTICS)]
    tokens.fail(token, f"{token.text!r} is nothing that can be asked{did_you_mean(metric, known) or '; ' + _EXAMPLE}")


def _wanted(tokens: Tokens, token: Token, metric: str, operator: str) -> int:
    """The right side of a condition: a duration for a statistic of an interval, else a whole number."""
    is_duration = "." in metric and not metric.endswith(".n") and not metric.startswith("count(")
    if token.kind == END:
        what, example = ("duration", f"{metric} {operator} 1s") if is_duration else ("number", f"{metric} {operator} 0")
        tokens.fail(token, f"a {what} is missing after {operator!r}: {example}")
    if is_duration:
        if token.kind == NUMBER:
            tokens.fail(token, f"{metric} is a duration and needs a unit: {token.text}ms or {token.text}s")
        if token.kind != DURATION:
            tokens.fail(token, f"{metric} is compared with a duration: 500ms or 1s")
    elif token.kind != NUMBER:
        hint = f": did you mean count({metric} = {token.text}) > 0?" if metric in FLOW_COLUMNS else ""
        tokens.fail(token, f"{metric} is compared with a whole number{hint}")
    return token.number
