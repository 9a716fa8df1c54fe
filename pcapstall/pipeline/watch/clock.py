"""What time it is by the capture's clock while nothing comes: a stall is to be told although the pipe is silent.

Only this machine's steady clock is read. The capturing host may be another one, and what captures hands packets on
late (libpcap in blocks of up to a second): both are learned from when records came.
"""

import time
from collections.abc import Callable
from typing import Final

from pcapstall.core.times import MS, SECOND

LEARNED_NS: Final = 10 * SECOND
"""For how long, and up to twice that, it is remembered how late records came."""
BLOCK_NS: Final = SECOND
"""libpcap hands packets on in blocks of up to this, unless it is told to hand on each at once."""
AT_ONCE_NS: Final = 100 * MS
"""Who does that is never later than this."""
SURE: Final = 16
"""So many records must have come at once before that is believed."""
LATE_MAX_NS: Final = 1500 * MS
"""More than that is no delay of a live capture but a recording that is replayed."""


class CaptureClock:
    """Follows the capture's clock from records, and goes on by itself in between."""

    def __init__(self, steady_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._steady_ns = steady_ns
        self.reset()

    def reset(self) -> None:
        """Forget what was learned: the capture's clock was set."""
        self._since_ns = 0
        self._records = 0
        self._soonest_ns: list[int] = []
        """The smallest difference from a record's stamp to when it came here, of now and of the time before."""
        self._latest_ns: list[int] = []
        """The largest."""

    def seen(self, stamp_ns: int) -> None:
        """A record of ``stamp_ns`` has just come."""
        now_ns = self._steady_ns()
        apart_ns = now_ns - stamp_ns
        self._records += 1
        if not self._soonest_ns or now_ns - self._since_ns > LEARNED_NS:
            self._since_ns = now_ns
            self._soonest_ns = [apart_ns, *self._soonest_ns[:1]]
            self._latest_ns = [apart_ns, *self._latest_ns[:1]]
        self._soonest_ns[0] = min(self._soonest_ns[0], apart_ns)
        self._latest_ns[0] = max(self._latest_ns[0], apart_ns)

    def now_ns(self) -> int | None:
        """The time up to which everything has come; None before the first record."""
        if not self._soonest_ns:
            return None
        soonest_ns = min(self._soonest_ns)
        late_ns = max(self._latest_ns) - soonest_ns
        if late_ns > AT_ONCE_NS or self._records < SURE:
            late_ns = max(late_ns, BLOCK_NS)
        return self._steady_ns() - soonest_ns - min(late_ns, LATE_MAX_NS)
