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
_LATELY: Final = 64
"""Lines that are remembered, a power of two."""
_DOT: Final = 46
_COLON: Final = 58
_PLUS: Final = 43
_PAREN: Final = 40


class Before:
    """A line up to the decimals of its stamp. Most lines are in the same second as the last one of their thread."""

    def __init__(self) -> None:
        self.text: bytes = b""
        self.stamp_at: i64 = 0
        """Where the stamp begins."""
        self.decimals_at: i64 = 0
        """Where its decimals begin, the length of the text; 0 when this is no line."""
        self.digits: i64 = 0
        self.kind: i64 = NO_STAMP
        self.second_ns: i64 = 0
        """The stamp without decimals."""


NO_LINE: Final = Before()


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
        self._before: Before = NO_LINE
        """The line before, when its leader ended in a stamp with decimals."""
        self._lately: list[Before] = [NO_LINE] * _LATELY
        """The last such line of each of the last threads, where the last bits of the thread's number say."""

    def read(self, buf: bytes, at: i64, end: i64) -> i64:
        """Read the leader of the line at ``at``; the offset at which its body starts. Anything else is body."""
        after: i64 = -1
        if at == 0:
            after = self._as_before(buf, end, self._before)
            if after > 0:
                return after
        self.delta_ns = -1
        begin: i64 = self.read_owner(buf, at, end)
        before = self._before
        self._before = NO_LINE
        if begin < 0 or begin >= end:
            self.stamp_kind = NO_STAMP
            return at if begin < 0 else begin
        if at == 0:
            after = self._as_before(buf, end, self._lately[self.tid & (_LATELY - 1)])
            if after < 0:
                after = self._same_second(buf, begin, end, before)
            if after > 0:
                return after
        self.stamp_kind = NO_STAMP
        after = self._stamp(buf, begin, end)
        if after < 0:
            return self.skip_brackets(buf, begin, end)
        if after < end and buf[after] == OPEN_BRACKET:
            return self.skip_brackets(buf, after, end)
        if after < end and buf[after] == _PAREN:
            return self.skip_brackets(buf, self._delta(buf, after, end), end)
        if at == 0 and self.digits > 0:
            self._note(buf, begin, after - self.digits - 1, self.stamp_ns - self.stamp_ns % 1_000_000_000)
        return after

    def _as_before(self, buf: bytes, end: i64, before: Before) -> i64:
        """Where the body of a line starts that is like ``before`` up to the decimals; -1 when it is not."""
        if before.decimals_at == 0 or end <= before.decimals_at + 10 or not buf.startswith(before.text):
            return -1
        after: i64 = self._decimals(buf, before.decimals_at, before)
        if after > 0:
            self._before = before
        return after

    def _same_second(self, buf: bytes, begin: i64, end: i64, before: Before) -> i64:
        """Where the body of a line starts whose stamp, at ``begin``, is in the second of ``before``; else -1."""
        if before.decimals_at == 0 or end - begin < before.decimals_at - before.stamp_at + before.digits + 2:
            return -1
        text = before.text
        here: i64 = begin
        k: i64 = before.stamp_at
        while k < before.decimals_at:
            if buf[here] != text[k]:
                return -1
            here += 1
            k += 1
        after: i64 = self._decimals(buf, here, before)
        if after > 0:
            self._note(buf, begin, here, before.second_ns)
        return after

    def _note(self, buf: bytes, stamp_at: i64, decimals_at: i64, second_ns: i64) -> None:
        """Remember the line for the next ones."""
        before = self._lately[self.tid & (_LATELY - 1)]
        if before is NO_LINE:
            before = Before()
            self._lately[self.tid & (_LATELY - 1)] = before
        before.text = buf[:decimals_at]
        before.stamp_at = stamp_at
        before.decimals_at = decimals_at
        before.digits = self.digits
        before.kind = self.stamp_kind
        before.second_ns = second_ns
        self._before = before

    def _decimals(self, buf: bytes, at: i64, before: Before) -> i64:
        """As many decimals as ``before`` had, and a space; where the body starts, -1 when it is not so simple."""
        digits: i64 = before.digits
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
            digits = before.digits
            while digits < 9:
                fraction_ns *= 10
                digits += 1
        after: i64 = i64(buf[at + 1])
        if fraction_ns < 0 or buf[at] != SPACE or after == OPEN_BRACKET or after == _PAREN:
            return -1
        self.stamp_kind = before.kind
        self.digits = before.digits
        self.stamp_ns = before.second_ns + fraction_ns
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
