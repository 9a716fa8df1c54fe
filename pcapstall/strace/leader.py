"""What stands before the call on a line: pid, command name, time, relative time, syscall number, instruction pointer.

strace prints them in one fixed order (`printleader`), any subset of them. Each line is read for itself; which clock
the stamps come from is `clock`'s matter, and whose the line is when it names no pid, `tasks`'.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.numbers import hex_value, read_decimal, read_fraction_ns, skip_digits
from pcapstall.strace.walk import CLOSE_BRACKET, GREATER, LESS, OPEN_BRACKET, SPACE, skip_spaces, starts

NO_STAMP: Final = 0
EPOCH: Final = 1
"""Seconds since the epoch: ``1796007028.306938``."""
TIME_OF_DAY: Final = 2
"""``02:50:26.532521``, in the time zone of the traced machine, without a date."""
RELATIVE: Final = 3
"""Since the line before (`-r` alone): ``     0.000045``."""
ELAPSED: Final = 4
"""Since an unknown start, as `ts -s` puts it before a line: ``35.042992``."""

_EPOCH_FROM: Final = 100_000_000
"""Whole seconds from here on are a date (1973), not a pid (at most 2**22) and not an uptime."""
_NO_SECONDS: Final = 100_000_000_000
"""No clock shows so many (the year 5138)."""
_DOT: Final = 46
_NEWLINE: Final = 10
_COLON: Final = 58
_PLUS: Final = 43
_PAREN: Final = 40
_QUESTION: Final = 63
_BANG: Final = 33


class Leader:
    """The leader of the line that was read last. `read` overwrites all of it, and never reads past a line feed."""

    def __init__(self) -> None:
        self.tid: i64 = -1
        """The number the line names, -1 when it names none."""
        self.bracketed: bool = False
        """``[pid 31078]``: strace wrote to the terminal, where the prefix comes and goes."""
        self.comm_start: i64 = 0
        self.comm_end: i64 = 0
        """The extent of the command name (-Y); empty when there is none."""
        self.stamp_kind: i64 = NO_STAMP
        self.stamp_ns: i64 = 0
        """The stamp in nanoseconds: since the epoch, since midnight, or the difference, as the kind says."""
        self.digits: i64 = 0
        """Decimals of the stamp: 0 for whole seconds."""
        self.delta_ns: i64 = -1
        """``(+     0.000095)``, which -r prints after -t; -1 when it is not there."""

    def read(self, buf: bytes, at: i64, end: i64) -> i64:
        """Read the leader of the line at ``at``; the offset at which its body starts. Anything else is body."""
        self.tid = -1
        self.bracketed = False
        self.comm_start = self.comm_end = 0
        self.stamp_kind = NO_STAMP
        self.delta_ns = -1
        if at >= end:
            return at
        first: i64 = buf[at]
        if first == OPEN_BRACKET:
            at = self._brackets(buf, at, end)
        elif 48 <= first <= 57:
            after: i64 = self._pid(buf, at, end)
            if after > 0:
                at = after
                if at < end and buf[at] == OPEN_BRACKET:
                    # A security context stands before the time, a syscall number or an address after it.
                    at = self._brackets(buf, at, end)
        elif first != SPACE:
            return at
        if at >= end:
            return at
        after = self._stamp(buf, at, end)
        if after > 0:
            at = after
            if at < end and buf[at] == _PAREN:
                at = self._delta(buf, at, end)
        while at < end and buf[at] == OPEN_BRACKET:
            after = self._brackets(buf, at, end)
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
            if number >= _EPOCH_FROM:
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

    def _stamp(self, buf: bytes, at: i64, end: i64) -> i64:
        """The time at ``at``; -1 when there is none."""
        start: i64 = skip_spaces(buf, at, end)
        after: i64 = start
        value: i64 = 0
        while after < end:
            digit: i64 = i64(buf[after]) - 48
            if digit < 0 or digit > 9:
                break
            value = value * 10 + digit
            after += 1
            if value >= _NO_SECONDS:
                return -1
        if after == start or after >= end:
            return -1
        mark: i64 = buf[after]
        kind: i64 = EPOCH
        if mark == _COLON:
            if after - start != 2 or after + 6 >= end or buf[after + 3] != _COLON:
                return -1
            value = value * 60 + read_decimal(buf, after + 1, after + 3)
            value = value * 60 + read_decimal(buf, after + 4, after + 6)
            after += 6
            mark = buf[after]
            kind = TIME_OF_DAY
            if value >= 90_000:
                return -1
        self.digits = 0
        fraction_ns: i64 = 0
        if mark == _DOT:
            after += 1
            digits: i64 = 0
            while after < end:
                digit = i64(buf[after]) - 48
                if digit < 0 or digit > 9:
                    break
                fraction_ns = fraction_ns * 10 + digit
                digits += 1
                after += 1
                if digits > 9:
                    return -1
            if digits == 0 or after >= end:
                return -1
            self.digits = digits
            while digits < 9:
                fraction_ns *= 10
                digits += 1
            mark = buf[after]
        elif kind == EPOCH and value < _EPOCH_FROM:
            return -1
        if mark != SPACE:
            return -1
        if kind == EPOCH and value < _EPOCH_FROM:
            # -r pads its seconds to six columns, a clock that someone else put there does not.
            padded = start > at or (start >= 2 and buf[start - 1] == SPACE and buf[start - 2] == SPACE)
            kind = RELATIVE if padded else ELAPSED
        self.stamp_kind = kind
        self.stamp_ns = value * 1_000_000_000 + fraction_ns
        return after + 1

    def _delta(self, buf: bytes, at: i64, end: i64) -> i64:
        """``(+     0.000095) `` after a stamp."""
        if at + 1 >= end or buf[at + 1] != _PLUS:
            return at
        start: i64 = skip_spaces(buf, at + 2, end)
        after: i64 = skip_digits(buf, start, end)
        if after == start or after - start > 12:
            return at
        value: i64 = read_decimal(buf, start, after) * 1_000_000_000
        if after < end and buf[after] == _DOT:
            point: i64 = after + 1
            after = skip_digits(buf, point, end)
            if after == point or after - point > 9:
                return at
            value += read_fraction_ns(buf, point, after)
        if after + 1 >= end or buf[after] != 41 or buf[after + 1] != SPACE:
            return at
        self.delta_ns = value
        return after + 2
