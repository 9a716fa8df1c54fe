"""How the line of a call ends: the closing parenthesis, the result, the duration. Read from its end, where it can be.

Most lines end in a number or an error, before which the arguments need not be walked over: what a string in them may
hold does not matter there. What the call is, and what its arguments mean, is not looked at.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.numbers import read_number, six_digits
from pcapstall.strace.walk import (
    CLOSE_PAREN,
    EQUALS,
    GREATER,
    LESS,
    OPEN_PAREN,
    QUOTE,
    SPACE,
    find_close,
    skip_spaces,
)

_MAX_RESULT: Final = 20
"""Characters of the longest number that is a result."""
_MAX_ERROR: Final = 200
_MAX_DECORATION: Final = 400
_MINUS: Final = 45
_DOT: Final = 46
_NO_SCALE: Final = 1_000_000_000_000_000_000


def _words() -> bytes:
    table = bytearray(256)
    for character in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_":
        table[character] = 1
    return bytes(table)


WORD: Final[bytes] = _words()


class Ending:
    """The end of the call that was read last."""

    def __init__(self) -> None:
        self.args_end: i64 = 0
        """Where the arguments end: at the closing parenthesis, or where the line breaks off."""
        self.result_start: i64 = 0
        self.result_end: i64 = 0
        """The text after ``= ``, without the duration."""
        self.ret: i64 = 0
        self.returned: bool = False
        """`ret` was printed; not so for ``= ?``."""
        self.duration_ns: i64 = -1
        """What -T printed, -1 for nothing."""

    def read_ending(self, buf: bytes, at: i64, end: i64) -> bool:
        """The end of a line whose arguments start at ``at``; False when the call does not end on it."""
        self.duration_ns = -1
        if buf[end - 1] == GREATER:
            end = self._duration(buf, at, end)
        if self._from_behind(buf, at, end):
            return True
        close: i64 = find_close(buf, at, end)
        while close >= 0:
            after: i64 = skip_spaces(buf, close + 1, end)
            if after < end and buf[after] == EQUALS:
                self.args_end = close
                self._result(buf, after + 1, end)
                return True
            # A parenthesis too many: a tracee's own output between ours.
            close = find_close(buf, close + 1, end)
        return False

    def _from_behind(self, buf: bytes, start: i64, end: i64) -> bool:
        """Whether the line ends in one of ``)   = 16``, ``) = 0x7f9e33e69000``, ``) = 6</etc/hosts>``,
        ``) = -1 EAGAIN (Resource temporarily unavailable)``, as most do."""
        at: i64 = end - 1
        last: i64 = buf[at]
        if buf[at - 1] == SPACE and 48 <= last <= 57 and at > start + 4 and buf[at - 2] == EQUALS:
            # ") = 0", as every second line
            return buf[at - 3] == SPACE and self._before_result(buf, start, at, end, last - 48)
        least: i64 = end - _MAX_RESULT
        if last == CLOSE_PAREN:
            at = _before_error(buf, start, end)
            least = start
        elif last == GREATER:
            at = _before_decoration(buf, start, end)
            least = start
        if at <= start:
            return False
        stop: i64 = at + 1
        if least < start:
            least = start
        while at > least and WORD[buf[at]] != 0:
            at -= 1
        if buf[at] == _MINUS and at > start:
            at -= 1
        number: i64 = at + 1
        if at <= start + 3 or buf[at] != SPACE or buf[at - 1] != EQUALS or buf[at - 2] != SPACE or number >= stop:
            return False
        value, after = read_number(buf, number, stop)
        if after != stop or (last == CLOSE_PAREN and value != -1):
            return False
        return self._before_result(buf, start, number, end, value)

    def _before_result(self, buf: bytes, start: i64, number: i64, end: i64, value: i64) -> bool:
        """Whether a closing parenthesis stands before `` = ``, after which the result begins at ``number``."""
        at: i64 = number - 4
        while at > start and buf[at] == SPACE:
            at -= 1
        if buf[at] != CLOSE_PAREN:
            return False
        self.args_end = at
        self.result_start = number
        self.result_end = end
        self.ret = value
        self.returned = True
        return True

    def _result(self, buf: bytes, at: i64, end: i64) -> None:
        at = skip_spaces(buf, at, end)
        self.result_start = at
        self.result_end = end
        self.returned = False
        self.ret = 0
        value, after = read_number(buf, at, end)
        if after > at:
            self.ret = value
            self.returned = True

    def _duration(self, buf: bytes, start: i64, end: i64) -> i64:
        """``... <0.000039>`` at the end of the line: keeps it and returns where the text before it ends."""
        at: i64 = end - 10
        if at > start and buf[at] == LESS and buf[at + 2] == _DOT and buf[at - 1] == SPACE:
            # <0.000039>: nearly all of them
            micros: i64 = six_digits(buf, at + 3)
            digit: i64 = i64(buf[at + 1]) - 48
            if micros >= 0 and 0 <= digit <= 9:
                self.duration_ns = digit * 1_000_000_000 + micros * 1_000
                return at - 1
        at = end - 2
        least: i64 = end - 24
        if least < start:
            least = start
        value: i64 = 0
        scale: i64 = 1
        decimals: i64 = -1
        while at > least:
            character: i64 = buf[at]
            if character == _DOT:
                if decimals >= 0:
                    return end
                decimals = end - 2 - at
            else:
                character -= 48
                if character < 0 or character > 9:
                    break
                if scale < _NO_SCALE:
                    value += character * scale
                    scale *= 10
            at -= 1
        if at + 2 >= end or at <= start or buf[at] != LESS or buf[at - 1] != SPACE or decimals > 9:
            return end
        if decimals < 0:
            decimals = 0
        while decimals < 9:
            value *= 10
            decimals += 1
        self.duration_ns = value
        return at - 1

    def errno(self, buf: bytes) -> bytes:
        """The error in the result: ``EINPROGRESS``, ``ERESTARTSYS``; empty when there is none."""
        at: i64 = self.result_start
        end: i64 = self.result_end
        while at < end and buf[at] != SPACE:
            at += 1
        at += 1
        start: i64 = at
        while at < end and WORD[buf[at]] != 0 and buf[at] < 97:
            at += 1
        if at - start < 2 or at - start > 32 or buf[start] != 69:
            return b""
        return buf[start:at]


def _before_error(buf: bytes, start: i64, end: i64) -> i64:
    """The last character of the number before ``EAGAIN (Resource temporarily unavailable)``; -1 when it is none."""
    at: i64 = end - 2
    if start < end - _MAX_ERROR:
        start = end - _MAX_ERROR
    while at > start and buf[at] != OPEN_PAREN and buf[at] != CLOSE_PAREN and buf[at] != QUOTE:
        at -= 1
    if at <= start or buf[at] != OPEN_PAREN or buf[at - 1] != SPACE:
        return -1
    at -= 2
    while at > start and WORD[buf[at]] != 0:
        at -= 1
    if at <= start or buf[at] != SPACE or buf[at + 1] != 69:
        return -1
    return at - 1


def _before_decoration(buf: bytes, start: i64, end: i64) -> i64:
    """The last digit before ``</etc/hosts>``: a bare ``<`` after a digit stands nowhere else; -1 when it is none."""
    at: i64 = end - 2
    if start < end - _MAX_DECORATION:
        start = end - _MAX_DECORATION
    while at > start + 4:
        if buf[at] == LESS and 48 <= buf[at - 1] <= 57:
            digit: i64 = at - 2
            while digit > start + 2 and 48 <= buf[digit] <= 57:
                digit -= 1
            if buf[digit] == SPACE and buf[digit - 1] == EQUALS and buf[digit - 2] == SPACE:
                return at - 1
        at -= 1
    return -1
