"""The language of `--filter`: a condition on the columns of a flow, compiled to a predicate.

``ack_ch > 1s and sni ~ 'api'``, ``not stalled or server in (10.0.0.0/8, 192.168.0.1)``. What is absent compares false
with everything but null; an open interval is only known to have lasted at least so long. Tokens are in `expression`.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic

from pcapstall.report.columns import (
    COUNT,
    DURATION,
    ENDPOINT,
    FLOW_COLUMNS,
    TEXT,
    TEXTS,
    TRUTH,
    Column,
    FlowT,
    Value,
)
from pcapstall.report.expression import DURATION as DURATION_TOKEN
from pcapstall.report.expression import END, NUMBER, OPERATOR, STRING, WORD, Token, Tokens, did_you_mean
from pcapstall.report.matchers import COMPARE, Test, endpoint_is, length_is, search_of, texts_are

_OPERATORS: Final = {
    DURATION: ("=", "!=", "<", "<=", ">", ">=", "in"),
    COUNT: ("=", "!=", "<", "<=", ">", ">=", "in"),
    TEXT: ("=", "!=", "~", "!~", "in"),
    TEXTS: ("=", "!=", "~", "!~", "in"),
    ENDPOINT: ("=", "!=", "~", "!~", "in"),
    TRUTH: ("=", "!="),
}
_KEYWORDS: Final = ("and", "or", "not", "in", "null", "true", "false")
_MAX_DEPTH: Final = 64
_FAMILIAR: Final = "; some are client, server, sni, ack_ch, ch_ack, ch_sh, stalled, failed, cause, tls_outcome"
_EXAMPLE: Final = "write, say, ack_ch > 1s and sni ~ 'api'"


class Filter(Generic[FlowT]):
    """A compiled filter: call it with a flow."""

    def __init__(self, text: str, test: Callable[[FlowT], bool], columns_used: frozenset[str]) -> None:
        self.text = text
        self.columns_used = columns_used
        """The names of the columns that it reads."""
        self._test = test

    def __call__(self, flow: FlowT) -> bool:
        """Whether ``flow`` passes."""
        return self._test(flow)


def compile_filter(text: str) -> Filter[Any]:
    """The filter ``text`` over the columns of a `FlowReport`; ExpressionError points at what is wrong."""
    return compile_filter_over(text, FLOW_COLUMNS)


def compile_filter_over(text: str, columns: Mapping[str, Column[FlowT]]) -> Filter[FlowT]:
    """The filter ``text`` over other columns: for what is not a `FlowReport` but has the like."""
    tokens = Tokens(text)
    compiled = parse_filter(tokens, columns)
    tokens.expect_end()
    return compiled


def parse_filter(tokens: Tokens, columns: Mapping[str, Column[FlowT]]) -> Filter[FlowT]:
    """Read one filter from ``tokens`` and leave what follows it."""
    parser = _Parser(tokens, columns)
    return Filter(tokens.text, parser.either(), frozenset(parser.used))


class _Parser(Generic[FlowT]):
    """Recursive descent: or, and, not, then parentheses or a comparison."""

    def __init__(self, tokens: Tokens, columns: Mapping[str, Column[FlowT]]) -> None:
        self.tokens = tokens
        self.columns = columns
        self.used: set[str] = set()
        self.depth = 0

    def either(self) -> Callable[[FlowT], bool]:
        tests = [self.both()]
        while self.tokens.take_if("or"):
            tests.append(self.both())
        return tests[0] if len(tests) == 1 else lambda flow: any(test(flow) for test in tests)

    def both(self) -> Callable[[FlowT], bool]:
        tests = [self.negation()]
        while self.tokens.take_if("and"):
            tests.append(self.negation())
        return tests[0] if len(tests) == 1 else lambda flow: all(test(flow) for test in tests)

    def negation(self) -> Callable[[FlowT], bool]:
        token = self.tokens.peek
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            self.tokens.fail(token, f"more than {_MAX_DEPTH} levels of 'not' and parentheses")
        if self.tokens.take_if("not"):
            test = _negated(self.negation())
        elif self.tokens.take_if("("):
            test = self.either()
            if not self.tokens.take_if(")"):
                self.tokens.fail(self.tokens.peek, f"')' is missing for the '(' at {token.start + 1}")
        else:
            test = self.comparison()
        self.depth -= 1
        return test

    def comparison(self) -> Callable[[FlowT], bool]:
        name, column = self.column()
        get = column.get
        sign = self.tokens.peek
        negated = self.tokens.take_if("not")
        operator = self.tokens.take_if("=", "!=", "<", "<=", ">", ">=", "~", "!~", "in")
        if negated and (operator is None or operator.text.lower() != "in"):
            self.tokens.fail(negated, "'not' stands before a condition, or is 'not in'")
        if operator is None:
            if not column.bare:
                self.tokens.fail(sign, f"{name} needs an operator: {_usage(name, column)}")
            return lambda flow: bool(get(flow))
        comparer = operator.text.lower()
        if comparer in ("=", "!=") and self.tokens.take_if("null"):
            wanted = comparer == "="
            return lambda flow: _absent(get(flow)) is wanted
        if comparer not in _OPERATORS[column.kind]:
            self.tokens.fail(
                operator, f"{name} is a {column.kind}, {operator.text!r} does not go with it: {_usage(name, column)}"
            )
        if comparer == "in":
            test = self.members(name, column, negated is not None)
        else:
            test = self.value(name, column, comparer)
        return lambda flow: test(get(flow))

    def column(self) -> tuple[str, Column[FlowT]]:
        token = self.tokens.take()
        if token.kind == END:
            self.tokens.fail(token, f"a condition is missing here: {_EXAMPLE}")
        if token.kind == STRING and token.text in self.columns:
            self.tokens.fail(token, f"a column is written without quotes: {token.text}")
        if token.kind != WORD or token.text.lower() in _KEYWORDS:
            self.tokens.fail(token, f"a column belongs here, not {token.text!r}: {_EXAMPLE}")
        name = token.text.lower()
        column = self.columns.get(name)
        if column is None:
            hint = did_you_mean(name, self.columns) or _FAMILIAR
            self.tokens.fail(token, f"there is no column {token.text!r}{hint}")
        self.used.add(name)
        return name, column

    def members(self, name: str, column: Column[FlowT], negated: bool) -> Test:
        opening = self.tokens.take()
        if opening.text != "(" or opening.kind != OPERATOR:
            self.tokens.fail(opening, "'in' wants a list in parentheses: in (a, b)")
        tests = [self.value(name, column, "=")]
        while self.tokens.take_if(","):
            tests.append(self.value(name, column, "="))
        if not self.tokens.take_if(")"):
            self.tokens.fail(self.tokens.peek, "a list goes on with ',' or ends with ')'")
        if negated:
            return lambda value: not _absent(value) and not any(test(value) for test in tests)
        return lambda value: any(test(value) for test in tests)

    def value(self, name: str, column: Column[FlowT], operator: str) -> Test:
        """Read the right side of a comparison."""
        token = self.tokens.take()
        if token.kind == END:
            self.tokens.fail(token, f"a value is missing here: {_usage(name, column)}")
        if token.kind == OPERATOR:
            self.tokens.fail(token, f"a value belongs here, not {token.text!r}: {_usage(name, column)}")
        if token.kind == WORD and token.text.lower() == "null":
            self.tokens.fail(token, "null goes with = and != only")
        if operator in ("~", "!~"):
            return self.pattern(token, operator)
        return _READERS[column.kind](self.tokens, token, name, column, operator)

    def pattern(self, token: Token, operator: str) -> Test:
        try:
            pattern = re.compile(token.text, re.IGNORECASE)
        except (re.error, ValueError) as error:  # ValueError: flags that contradict each other
            self.tokens.fail(token, f"not a regular expression: {error}")
        except (OverflowError, RecursionError):
            self.tokens.fail(token, "this regular expression is too large")
        return texts_are(search_of(pattern), operator == "!~")


def _duration(tokens: Tokens, token: Token, name: str, column: Column[Any], operator: str) -> Test:
    if token.kind == NUMBER:
        tokens.fail(token, f"{name} is a duration and needs a unit: {token.text}ms or {token.text}s")
    if token.kind != DURATION_TOKEN:
        tokens.fail(token, f"{name} is a duration, {token.text!r} is none: write 500ms or 1s")
    return length_is(operator, token.number)


def _count(tokens: Tokens, token: Token, name: str, column: Column[Any], operator: str) -> Test:
    if token.kind != NUMBER:
        tokens.fail(token, f"{name} is a whole number, {token.text!r} is none")
    compare, wanted = COMPARE[operator], token.number
    return lambda value: isinstance(value, int) and compare(value, wanted)


def _text(tokens: Tokens, token: Token, name: str, column: Column[Any], operator: str) -> Test:
    word = token.text.lower()
    if column.choices and token.kind != STRING and word not in column.choices:
        hint = did_you_mean(word, column.choices)
        tokens.fail(token, f"{name} is never {token.text!r}{hint or '; it is one of ' + ', '.join(column.choices)}")
    return texts_are(lambda text: text.lower() == word, operator == "!=")


def _endpoint(tokens: Tokens, token: Token, name: str, column: Column[Any], operator: str) -> Test:
    try:
        return endpoint_is(token.text, operator == "!=")
    except ValueError as error:
        tokens.fail(token, f"{error}; write 10.0.0.1, 10.0.0.0/8, 10.0.0.1:443, [2001:db8::1]:443 or :443")


def _truth(tokens: Tokens, token: Token, name: str, column: Column[Any], operator: str) -> Test:
    word = token.text.lower()
    if word not in ("true", "false"):
        tokens.fail(token, f"{name} is true or false, not {token.text!r}")
    wanted = (word == "true") is (operator == "=")
    return lambda value: value is wanted


def _negated(test: Callable[[FlowT], bool]) -> Callable[[FlowT], bool]:
    return lambda flow: not test(flow)


_Reader = Callable[[Tokens, Token, str, Column[Any], str], Test]
_READERS: Final[dict[str, _Reader]] = {
    DURATION: _duration,
    COUNT: _count,
    TEXT: _text,
    TEXTS: _text,
    ENDPOINT: _endpoint,
    TRUTH: _truth,
}
_EXAMPLES: Final = {
    DURATION: "{} > 1s",
    COUNT: "{} > 3",
    TEXT: "{} = word, {} ~ 'pattern' or {} != null",
    TEXTS: "{} = word or {} ~ 'pattern'",
    ENDPOINT: "{} = 10.0.0.0/8 or {} = 10.0.0.1:443",
    TRUTH: "{} = true",
}


def _usage(name: str, column: Column[Any]) -> str:
    if column.choices and column.kind == TEXT:
        return f"{name} = {column.choices[0]} or {name} != null"
    return _EXAMPLES[column.kind].replace("{}", name)


def _absent(value: Value) -> bool:
    return value is None or (isinstance(value, (list, tuple)) and not value)
