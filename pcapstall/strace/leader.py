"""What stands before the call on a line: pid, command name, time, relative time, syscall number, instruction pointer.

strace prints them in one fixed order (`printleader`), any subset of them. Each line is read for itself; which clock
the stamps come from is `clock`'s matter, and whose the line is when it names no pid, `tasks`'.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.strace.numbers import read_decimal, read_fraction_ns, six_digits, skip_digits
from pcapstall.strace.owner import EPOCH_FROM, Owner
from pcapstall.strace.walk import OPEN_BRACKET, SPACE, skip_spaces

NO_STAMP: Final = 0
EPOCH: Final = 1
"""Seconds since the epoch: ``1796007028.306938``."""
TIME_OF_DAY: Final = 2
"""``02:50:26.532521``, in the time zone of the traced machine, without a date."""
RELATIVE: Final = 3
"""Since the line before (`-r` alone): ``     0.000045``."""
ELAPSED: Final = 4
"""Since an unknown start, as `ts -s` puts it before a line: ``35.042992``."""

_NO_SECONDS: Final = 100_000_000_000
"""No clock shows so many (the year 5138)."""
_DOT: Final = 46
_COLON: Final = 58
_PLUS: Final = 43
_PAREN: Final = 40


class Leader(Owner):
    """The leader of the line that was read last. `read` overwrites all of it, and never reads past a line feed."""

    def __init__(self) -> None:
        super().__init__()
        self.stamp_kind: i64 = NO_STAMP
        self.stamp_ns: i64 = 0
        """The stamp in nanoseconds: since the epoch, since midnight, or the difference, as the kind says."""
        self.digits: i64 = 0
        """Decimals of the stamp: 0 for whole seconds."""
        self.delta_ns: i64 = -1
        """``(+     0.000095)``, which -r prints after -t; -1 when it is not there."""
        self._before: bytes = b""
        """The line before up to the decimals of its stamp, when its leader ended in one with decimals."""
        self._stamp_at: i64 = 0
        """Where the stamp begins there."""
        self._decimals_at: i64 = 0
        """Where its decimals began; 0 when there is no such line."""
        self._second_ns: i64 = 0
        """What it would be without decimals."""

    def read(self, buf: bytes, at: i64, end: i64) -> i64:
        """Read the leader of the line at ``at``; the offset at which its body starts. Anything else is body."""
        after: i64 = -1
        if at == 0 and self._decimals_at > 0 and end > self._decimals_at + 10 and buf.startswith(self._before):
            # Most lines are of the thread and the second of the line before.
            after = self._decimals(buf, self._decimals_at)
            if after > 0:
                return after
        self.delta_ns = -1
        begin: i64 = self.read_owner(buf, at, end)
        after = -1
        if begin >= 0 and begin < end:
            after = self._same_second(buf, begin, end)
            if after > 0:
                if at == 0:
                    self._decimals_at += begin - self._stamp_at
                    self._stamp_at = begin
                    self._before = buf[: self._decimals_at]
                return after
        self.stamp_kind = NO_STAMP
        self._decimals_at = 0
        if begin < 0 or begin >= end:
            return at if begin < 0 else begin
        after = self._stamp(buf, begin, end)
        if after < 0:
            return self.skip_brackets(buf, begin, end)
        if after < end and buf[after] == OPEN_BRACKET:
            return self.skip_brackets(buf, after, end)
        if after < end and buf[after] == _PAREN:
            return self.skip_brackets(buf, self._delta(buf, after, end), end)
        if at == 0 and self.digits > 0:
            self._stamp_at = begin
            self._decimals_at = after - self.digits - 1
            self._before = buf[: self._decimals_at]
            self._second_ns = self.stamp_ns - self.stamp_ns % 1_000_000_000
        return after

    def _same_second(self, buf: bytes, at: i64, end: i64) -> i64:
        """The stamp at ``at`` when it is in the second of the line before; where the body starts, -1 when it is not."""
        if self._decimals_at == 0 or end - at < self._decimals_at - self._stamp_at + self.digits + 2:
            return -1
        before = self._before
        k: i64 = self._stamp_at
        while k < self._decimals_at:
            if buf[at] != before[k]:
                return -1
            at += 1
            k += 1
        return self._decimals(buf, at)

    def _decimals(self, buf: bytes, at: i64) -> i64:
        """As many decimals as the line before had, and a space; where the body starts, -1 when it is not so simple."""
        digits: i64 = self.digits
        fraction_ns: i64 = 0
        if digits == 6:
            fraction_ns = six_digits(buf, at) * 1000
            at += 6
        else:
            while digits > 0:
                digit: i64 = i64(buf[at]) - 48
                if digit < 0 or digit > 9:
                    return -1
                fraction_ns = fraction_ns * 10 + digit
                at += 1
                digits -= 1
            digits = self.digits
            while digits < 9:
                fraction_ns *= 10
                digits += 1
        after: i64 = i64(buf[at + 1])
        if fraction_ns < 0 or buf[at] != SPACE or after == OPEN_BRACKET or after == _PAREN:
            return -1
        self.stamp_ns = self._second_ns + fraction_ns
        return at + 1

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
        elif kind == EPOCH and value < EPOCH_FROM:
            return -1
        if mark != SPACE:
            return -1
        if kind == EPOCH and value < EPOCH_FROM:
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
