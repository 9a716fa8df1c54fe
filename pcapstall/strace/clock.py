"""The clock of one strace: printed stamps to nanoseconds that only rise, whatever style they were printed in.

Time of day gets no date here and elapsed time no origin; `match` finds both. What is done here: midnight, the sum of
`-r`, and the microseconds that `-r` adds to a coarse `-t`.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.times import DAY
from pcapstall.strace.leader import NO_STAMP, RELATIVE, TIME_OF_DAY

_STEP_NS: Final = 1_000_000_000
_MAX_NS: Final = 1 << 62

NAMES: Final = {0: "none", 1: "epoch", 2: "time of day", 3: "relative", 4: "elapsed"}
"""What the kinds of `leader` are called."""


class Clock:
    """Places the stamps of one file, line after line."""

    def __init__(self) -> None:
        self.kind: i64 = NO_STAMP
        """EPOCH, TIME_OF_DAY, RELATIVE, ELAPSED of `leader`: that of the first stamped line."""
        self.resolution_ns: i64 = 0
        """What the last printed digit is worth; 0 before the first stamp."""
        self.steps_back: i64 = 0
        """Lines stamped more than a second before the line above them: the traced machine's clock was set."""
        self.other_kinds: i64 = 0
        """Stamped lines of another kind than the first (files that were put together); they get no time."""
        self.day_ns: i64 = 0
        """What midnights have added so far."""
        self._last_ns: i64 = -1
        self._fine_ns: i64 = -1

    def place(self, kind: i64, stamp_ns: i64, digits: i64, delta_ns: i64) -> i64:
        """The time of a line in nanoseconds; -1 when the stamp cannot be placed."""
        if kind != self.kind:
            if self.kind != NO_STAMP:
                self.other_kinds += 1
                return -1
            self.kind = kind
            self.resolution_ns = 1_000_000_000
            while digits > 0:
                self.resolution_ns //= 10
                digits -= 1
        last: i64 = self._last_ns
        if kind == RELATIVE:
            if last < 0:
                last = 0
            elif last < _MAX_NS - stamp_ns:
                # Each difference is cut to whole microseconds: in thousands of them the halves that are missing add up.
                last += self.resolution_ns // 2
            if last < _MAX_NS - stamp_ns:
                last += stamp_ns
            self._last_ns = last
            return last
        now: i64 = stamp_ns
        if kind == TIME_OF_DAY:
            now += self.day_ns
            if last >= 0 and now < last - DAY // 2 and self.day_ns < _MAX_NS:
                self.day_ns += DAY
                now += DAY
        if last >= 0 and now < last - _STEP_NS:
            self.steps_back += 1
        self._last_ns = now
        if delta_ns >= 0 and self.resolution_ns > 1000:
            return self._refine(now, delta_ns)
        return now

    def _refine(self, now: i64, delta_ns: i64) -> i64:
        """``02:50:28.577 (+     0.000659156)``: add the differences up, as long as the stamp agrees with the sum."""
        fine: i64 = self._fine_ns
        if fine >= 0 and delta_ns < _MAX_NS - fine:
            fine += delta_ns
        if fine < now:
            # Also the first line: the stamp is cut, so the time lies at or after it.
            fine = now
        elif fine >= now + self.resolution_ns:
            fine = now + self.resolution_ns - 1
        self._fine_ns = fine
        return fine

    def next_day(self) -> None:
        """The stamps begin a day later than was thought."""
        self.day_ns += DAY
        self._last_ns += DAY
