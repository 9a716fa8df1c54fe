"""The language of `--fail-if`: one condition on all flows of a report, ``ack_ch.p99 > 1s`` or ``stalled > 3``.

Between two reports there are ``new_stalls``, too, and ``ack_ch.p99 > 2x``: more than twice what it was before. Loaded
when there is a condition to read; `condition_results` judges them. The filter inside ``count(...)`` is `filter`'s.
"""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from pcapstall.report.columns import FLOW_COLUMNS
from pcapstall.report.expression import DURATION, END, NUMBER, WORD, Token, Tokens, did_you_mean
from pcapstall.report.filter import Filter, parse_filter
from pcapstall.report.matchers import COMPARE
from pcapstall.report.names import INTERVALS

STATISTICS: Final = ("n", "min", "p50", "p90", "p99", "max")
"""What can be asked of an interval."""

_COUNTERS: Final = ("flows", "stalled", "failed", "unjudged")
_OF_CHANGES: Final = ("new_stalls", "gone_stalls")
_BARE: Final = ("stalled", "failed", *_OF_CHANGES)
_TIMES: Final = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,3}))?x")
_EXAMPLE: Final = "write stalled, failed, ack_ch.p99 > 1s, flows < 1 or count(tls_outcome = alert) > 0"


class Condition(NamedTuple):
    """One condition."""

    text: str
    """As given."""
    metric: str
    """A counter, ``interval.statistic`` or ``count(...)``."""
    compare: Callable[[int, int], bool]
    """Whether what was found and what is ``wanted`` are as the operator says."""
    wanted: int
    """Nanoseconds or a count; thousandths of what was before when ``relative``."""
    counted: Filter[Any] | None = None
    """The filter of ``count(...)``."""
    relative: bool = False

    @property
    def of_changes(self) -> bool:
        """Whether it is about what is new or gone between two reports."""
        return self.metric in _OF_CHANGES


def parse_condition(text: str, changes: bool = False) -> Condition:
    """The condition ``text``; an ExpressionError points at what is wrong.

    ``changes`` allows what only two reports have.
    """
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
            return Condition(text, metric, COMPARE[">"], 0)
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
    return Condition(text, metric, COMPARE[operator.text], wanted, counted, relative=times is not None)


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
