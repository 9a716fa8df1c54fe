"""Whose a line is: the pid and the command name before it, and the brackets around numbers that stand there too.

Part of `leader`, which reads the time behind them.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.numbers import hex_value, read_decimal, skip_digits
from pcapstall.strace.walk import CLOSE_BRACKET, GREATER, LESS, OPEN_BRACKET, SPACE, skip_spaces, starts

EPOCH_FROM: Final = 100_000_000
"""Whole seconds from here on are a date (1973), not a pid (at most 2**22) and not an uptime."""
_NEWLINE: Final = 10
_QUESTION: Final = 63
_BANG: Final = 33


class Owner:
    """Who wrote the line that was read last."""

    def __init__(self) -> None:
        self.tid: i64 = -1
        """The number the line names, -1 when it names none."""
        self.bracketed: bool = False
        """``[pid 31078]``: strace wrote to the terminal, where the prefix comes and goes."""
        self.comm_start: i64 = 0
        self.comm_end: i64 = 0
        """The extent of the command name (-Y); empty when there is none."""

    def read_owner(self, buf: bytes, at: i64, end: i64) -> i64:
        """Read what stands before the stamp: the pid, a command name, a security context. Where that may begin; -1 when
        the line has no leader at all."""
        self.tid = -1
        self.bracketed = False
        self.comm_start = self.comm_end = 0
        if at >= end:
            return -1
        first: i64 = buf[at]
        if first == OPEN_BRACKET:
            return self._brackets(buf, at, end)
        if first == SPACE:
            return at
        if first < 48 or first > 57:
            return -1
        after: i64 = self._pid(buf, at, end)
        if after < 0:
            return at
        if after < end and buf[after] == OPEN_BRACKET:
            # A security context stands before the time, a syscall number or an address after it.
            return self._brackets(buf, after, end)
        return after

    def skip_brackets(self, buf: bytes, at: i64, end: i64) -> i64:
        """Past all brackets at ``at``."""
        while at < end and buf[at] == OPEN_BRACKET:
            after: i64 = self._brackets(buf, at, end)
            if after == at:
                break
            at = after
        return at

    def _pid(self, buf: bytes, at: i64, end: i64) -> i64:
        """``30679 `` or ``30860<fmt> ``; -1 when the number is not a pid but a stamp."""
        after: i64 = at
        number: i64 = 0
        while after < end:
            digit: i64 = i64(buf[after]) - 48
            if digit < 0 or digit > 9:
                break
            number = number * 10 + digit
            after += 1
            if number >= EPOCH_FROM:
                return -1
        if after >= end:
            return -1
        if buf[after] == LESS:
            self.comm_start = after + 1
            while after < end and buf[after] != GREATER and buf[after] != _NEWLINE:
                after += 1
            if after + 1 >= end or buf[after + 1] != SPACE:
                self.comm_start = 0
                return -1
            self.comm_end = after
            after += 1
        if buf[after] != SPACE:
            return -1
        self.tid = number
        # "326   futex(": padded to five; before a stamp of -r the stamp's own padding follows.
        while after < end and buf[after] == SPACE:
            after += 1
        return after

    def _brackets(self, buf: bytes, at: i64, end: i64) -> i64:
        """Past one bracket: ``[pid  6843] `` is kept, ``[  42] `` and ``[00007fb293f927c0] `` are passed over."""
        inside: i64 = skip_spaces(buf, at + 1, end)
        if starts(buf, inside, end, b"pid "):
            start: i64 = skip_spaces(buf, inside + 4, end)
            after: i64 = skip_digits(buf, start, end)
            if after == start or after >= end or after - start > 8:
                return at
            number: i64 = read_decimal(buf, start, after)
            comm_start: i64 = 0
            comm_end: i64 = 0
            if buf[after] == LESS:
                comm_start = after + 1
                while after < end and buf[after] != GREATER and buf[after] != _NEWLINE:
                    after += 1
                comm_end = after
                after += 1
            if after >= end or buf[after] != CLOSE_BRACKET:
                return at
            self.tid = number
            self.bracketed = True
            self.comm_start = comm_start
            self.comm_end = comm_end
            return skip_spaces(buf, after + 1, end)
        # The number, the address, "????????????????", or a security context without spaces; "[ Process PID=1 runs in
        # 32 bit mode. ]" is none of them.
        after = inside
        while after < end and buf[after] != CLOSE_BRACKET and buf[after] != SPACE and buf[after] != _NEWLINE:
            after += 1
        if after == inside or after + 1 >= end or buf[after] != CLOSE_BRACKET or buf[after + 1] != SPACE:
            return at
        character: i64 = buf[inside]
        is_letter = 97 <= (character | 32) <= 122
        if not is_letter and hex_value(character) < 0 and character != _QUESTION and character != _BANG:
            return at
        return skip_spaces(buf, after + 1, end)
