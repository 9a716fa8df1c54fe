"""What a sender's IPv4 IDs tell: whether it sent anything between two segments that was not seen here.

Linux counts the IDs of a connection by one for each segment on the wire. RSTs and the SYN-ACK have 0 there, other
stacks use 0, random numbers or one count for everything: so it is checked first whether a side counts at all.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

from pcapstall.diagnose.segments import History, Seg

EXACT_MIN: Final = 2
"""So many steps of exactly the right size are no accident: each is one chance in 65536."""
EXACT_FOR_LOSS: Final = 2
"""So many other steps, and all of them, must be exact before a gap is taken for a loss: a count that connections share
skips now and then."""
LINUX_TTL: Final = 64
"""What Linux and the BSDs send with."""
OVERTAKEN_MAX: Final = 64
"""A segment whose ID is less than so far back was overtaken on its way."""
STEP_MAX: Final = 256
"""A larger step is no count of this connection's."""


class IdCount:
    """The IP IDs of one side of a flow."""

    def __init__(self, history: History, from_client: bool) -> None:
        self._history = history
        # A SYN-ACK has ID 0 whatever follows, and a RST is not sent by the connection.
        self._segs = _as_sent([seg for seg in history.of(from_client) if not seg.is_rst and not seg.is_syn_ack])
        self._is_shared = _is_shared(history.of(from_client))
        self._later = self._exact_later(history.unnoted(from_client))

    def missing(self, first: Seg, last: Seg) -> int | None:
        """How many segments were sent between two of this side's and are not in the capture; None when unknown.

        0 proves that nothing else was sent in between.
        """
        if self._history.is_cut:
            # What was not noted is no gap.
            return None
        try:
            start, end = self._segs.index(first), self._segs.index(last)
        except ValueError:
            return None
        if start >= end:
            return None
        excess = self._excess(self._segs[start : end + 1])
        if excess is None:
            return None
        around = [*self._steps(self._segs[: start + 1]), *self._steps(self._segs[end:])]
        others = sum(step == expected for step, expected in around)
        all_exact = others == len(around)
        others += self._later
        inside = self._exact(self._segs[start : end + 1])
        if excess == 0:
            return 0 if others + inside >= EXACT_MIN and self._is_count else None
        if self._is_shared:
            return None
        return excess if others >= EXACT_FOR_LOSS and all_exact and self._is_count else None

    def _exact_later(self, unnoted: tuple[int, int]) -> int:
        """How many steps after the last segment noted are known to be exact: all, when the ID of the flow's last one
        is where a count of one for each gets to."""
        count, last_id = unnoted
        if not self._segs or count <= 0 or last_id < 0:
            return 0
        return count if (last_id - self._segs[-1].ip_id) & 0xFFFF == count else 0

    def _steps(self, segs: Sequence[Seg]) -> list[tuple[int, int]]:
        """For each two neighbours: how far the ID went on, and how far it should have."""
        return [
            ((after.ip_id - before.ip_id) & 0xFFFF, self._history.pieces(before)) for before, after in pairwise(segs)
        ]

    def _exact(self, segs: Sequence[Seg]) -> int:
        return sum(step == expected for step, expected in self._steps(segs))

    def _excess(self, segs: Sequence[Seg]) -> int | None:
        excess = 0
        for step, expected in self._steps(segs):
            if step < expected or step > STEP_MAX:
                return None
            excess += step - expected
        return excess

    @cached_property
    def _is_count(self) -> bool:
        """Whether nothing in the whole flow speaks against a count, and at least half of the steps are exact."""
        if any(seg.ip_id < 0 for seg in self._segs):
            return False
        steps = self._steps(self._segs)
        if not all(expected <= step <= STEP_MAX for step, expected in steps):
            return False
        return 2 * (sum(step == expected for step, expected in steps) + self._later) >= len(steps)


def _is_shared(segs: Sequence[Seg]) -> bool:
    """Whether a host seems to have one count for all its connections, in which a gap is no loss.

    Windows counts so; it sends with a TTL of 128. A SYN-ACK that has part in the count tells it, too: Linux gives it 0.
    """
    if any(seg.ttl > LINUX_TTL for seg in segs):
        return True
    for before, after in pairwise(seg for seg in segs if not seg.is_rst):
        if before.is_syn_ack and before.ip_id > 0 and 0 < (after.ip_id - before.ip_id) & 0xFFFF <= STEP_MAX:
            return True
    return False


def _as_sent(segs: list[Seg]) -> list[Seg]:
    """``segs`` in the order in which a counting sender sent them: one that was overtaken goes back to its place."""
    ordered: list[Seg] = []
    for seg in segs:
        at = len(ordered)
        while at > 0 and 0 < (ordered[at - 1].ip_id - seg.ip_id) & 0xFFFF < OVERTAKEN_MAX:
            at -= 1
        ordered.insert(at, seg)
    return ordered
