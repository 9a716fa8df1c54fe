"""Tokens of the filter and condition languages, and the error that shows its place with a caret.

What the tokens mean is decided by `filter` and `conditions`.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple, NoReturn

from pcapstall.core.errors import UsageError
from pcapstall.core.times import parse_duration
from pcapstall.report.untrusted import display_width, printable

WORD: Final = "word"
STRING: Final = "string"
NUMBER: Final = "number"
DURATION: Final = "duration"
OPERATOR: Final = "operator"
END: Final = "end"

_TOKEN: Final = re.compile(
    r"""
    (?P<duration> -?[0-9]{1,15}(?:\.[0-9]{1,9})?\s?(?:ns|us|µs|ms|s|min|m|h) (?![\w.:/\[\]-]) )
  | (?P<number>   -?[0-9]{1,15}(?:\.[0-9]{1,9})? (?![\w.:/\[\]-]) )
  | (?P<word>     [\w.:/\[\]-]+ )
  | (?P<string>   '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" )
  | (?P<operator> <=|>=|!=|!~|==|&&|\|\||[=<>~(),!] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ALIASES: Final = {"==": "=", "&&": "and", "||": "or", "!": "not"}


class ExpressionError(UsageError):
    """An expression that cannot be read: what is wrong, and a caret under the place."""

    def __init__(self, text: str, start: int, end: int, reason: str) -> None:
        # One printable character for each of the text, so that the caret stays under its place.
        shown = "".join(character if printable(character) == character else "?" for character in text)
        indent = " " * display_width(shown[:start])
        caret = "^" * max(display_width(shown[start:end]), 1)
        super().__init__(f"{printable(reason)}\n  {shown}\n  {indent}{caret}")
        self.text = text
        self.start = start
        self.end = end
        self.reason = reason


class Token(NamedTuple):
    """A piece of an expression."""

    kind: str
    text: str
    """As written; the contents of a string, an operator's canonical form."""
    start: int
    end: int
    number: int = 0
    """Nanoseconds of a duration, the value of a whole number."""


class Tokens:
    """The tokens of one expression, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tokens = _split(text)
        self._next = 0

    @property
    def peek(self) -> Token:
        """The next token, left in place; at the end one of kind END."""
        return self._tokens[self._next]

    def take(self) -> Token:
        """The next token."""
        token = self._tokens[self._next]
        if token.kind != END:
            self._next += 1
        return token

    def take_if(self, *texts: str) -> Token | None:
        """The next token if it is one of these words or operators."""
        token = self.peek
        if token.kind in (WORD, OPERATOR) and token.text.lower() in texts:
            return self.take()
        return None

    def fail(self, token: Token, reason: str) -> NoReturn:
        """Raise an ExpressionError at ``token``."""
        raise ExpressionError(self.text, token.start, token.end, reason)

    def expect_end(self) -> None:
        """Fail unless everything was read."""
        token = self.peek
        if token.kind != END:
            self.fail(token, f"{token.text!r} is one too many: join conditions with 'and' or 'or'")


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """``; did you mean ack_ch?``, or nothing when no choice is near."""
    import difflib  # only for a message

    near = difflib.get_close_matches(word.lower(), list(choices), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""


def _split(text: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    while True:
        while at < len(text) and text[at].isspace():
            at += 1
        if at == len(text):
            tokens.append(Token(END, "", at, at))
            return tokens
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at] in "'\"":
                raise ExpressionError(text, at, len(text), "this string does not end")
            raise ExpressionError(text, at, at + 1, f"{text[at]!r} means nothing here; quote text that has it")
        tokens.append(_token(text, match))
        at = match.end()


def _token(text: str, match: re.Match[str]) -> Token:
    kind = match.lastgroup or END
    piece = match[0]
    number = 0
    if kind == DURATION:
        number = parse_duration(piece)
    elif kind == NUMBER:
        if "." in piece:
            raise ExpressionError(text, match.start(), match.end(), f"{piece} needs a unit: {piece}s or {piece}ms")
        number = int(piece)
    elif kind == STRING:
        # Only the quote is escaped: a backslash belongs to the regular expression.
        piece = piece[1:-1].replace("\\" + piece[0], piece[0])
    elif kind == OPERATOR:
        piece = _ALIASES.get(piece, piece)
    return Token(kind, piece, match.start(), match.end(), number)
