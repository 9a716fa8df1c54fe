"""The language of `--fail-if`: a condition on all flows of a report, ``ack_ch.p99 > 1s`` or ``stalled > 3``.

Between two reports there are ``new_stalls``, too, and ``ack_ch.p99 > 2x``: more than twice what it was before.
Each is parsed before anything is read and judged when everything was. On what no flow has it does not hold, and its
result says so. The filter inside ``count(...)`` is `filter`'s.
"""

import re
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
_OF_CHANGES: Final = ("new_stalls", "gone_stalls")
_BARE: Final = ("stalled", "failed", *_OF_CHANGES)
_TIMES: Final = re.compile(r"(\d{1,9})(?:\.(\d{1,3}))?x")
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
    """Nanoseconds or a count; thousandths of what was before when ``relative``."""
    counted: Filter[Any] | None = None
    """The filter of ``count(...)``."""
    relative: bool = False


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
        found = zip(self._conditions, self._counts, strict=True)
        return [_judge(condition, _measure(condition, count, tally)) for condition, count in found]


class ChangeConditions:
    """The conditions of a command line that compares two reports; of a plain one the later report is judged."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._conditions = [_parse(text, changes=True) for text in texts]
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
            if condition.metric in _OF_CHANGES:
                count = new if condition.metric == "new_stalls" else gone
                measured = _Measured(count, f"{condition.metric} is {count}")
            else:
                measured = _measure(condition, later, after)
            base = _measure(condition, earlier, before) if condition.relative else None
            results.append(_judge(condition, measured, base))
        return results


@dataclass(frozen=True, slots=True)
class _Measured:
    """What a condition asks for, in one report."""

    value: int | None
    """None where no flow has it."""
    detail: str


def _measure(condition: _Condition, count: int, tally: Tally) -> _Measured:
    interval, dot, statistic = condition.metric.partition(".")
    if condition.counted is not None:
        return _Measured(count, f"{condition.metric} is {count}")
    if not dot:
        value = getattr(tally, condition.metric)
        return _Measured(value, f"{condition.metric} is {value}")
    # An open interval counts as long as it had become: the percentile is then at least what is said.
    lengths = tally.lengths(interval, with_open=True)
    if not lengths and statistic != "n":
        return _Measured(None, f"no flow has {interval}")
    value = _statistic(lengths, statistic)
    shown = str(value) if statistic == "n" else format_span(value)
    return _Measured(
        value, f"{condition.metric} is {shown} over {len(lengths)} {'flow' if len(lengths) == 1 else 'flows'}"
    )


def _judge(condition: _Condition, found: _Measured, before: _Measured | None = None) -> ConditionResult:
    """``before`` is what a relative condition compares with."""
    if found.value is None:
        return ConditionResult(condition.text, False, found.detail)
    compare = COMPARE[condition.operator]
    if before is None:
        return ConditionResult(condition.text, compare(found.value, condition.wanted), found.detail)
    detail = f"{found.detail}; before, {before.detail}"
    holds = before.value is not None and compare(1000 * found.value, condition.wanted * before.value)
    return ConditionResult(condition.text, holds, detail)


def _statistic(lengths: list[int], statistic: str) -> int:
    if statistic == "n":
        return len(lengths)
    if statistic == "min":
        return lengths[0]
    if statistic == "max":
        return lengths[-1]
    return percentile(lengths, int(statistic[1:]))


def _parse(text: str, changes: bool = False) -> _Condition:
    """One condition; ``changes`` allows what only two reports have."""
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
        _check_metric(tokens, token, metric, (*_COUNTERS, *_OF_CHANGES) if changes else _COUNTERS)
    operator = tokens.take_if(*COMPARE)
    if operator is None:
        if metric in _BARE and tokens.peek.kind == END:
            return _Condition(text, metric, ">", 0)
        tokens.fail(tokens.peek, f"{metric} is compared with a number: one of {' '.join(COMPARE)} belongs here")
    times = _TIMES.fullmatch(tokens.peek.text) if tokens.peek.kind == WORD else None
    if times is not None:
        value = tokens.take()
        if not changes or metric in _OF_CHANGES:
            tokens.fail(value, f"{value.text} is so many times what it was before: only pcapstall diff knows that")
        wanted = int(times[1]) * 1000 + int((times[2] or "0").ljust(3, "0"))
    else:
        wanted = _wanted(tokens, tokens.take(), metric, operator.text)
    tokens.expect_end()
    return _Condition(text, metric, operator.text, wanted, counted, relative=times is not None)


def _check_metric(tokens: Tokens, token: Token, metric: str, counters: tuple[str, ...]) -> None:
    if token.kind == WORD and metric in counters:
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
    known = [*counters, *(f"{name}.{of}" for name in INTERVALS for of in STATISTICS)]
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
