"""What a sender's IPv4 IDs tell: whether it sent anything between two segments that was not seen here.

Linux counts the IDs of a connection by one for each segment on the wire. RSTs and the SYN-ACK have 0 there, other
stacks use 0, random numbers or one count for everything: so it is checked first whether a side counts at all.
Compiled, for verdicts ask about nearly every stall.
"""

from typing import Final

from mypy_extensions import i64

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
        self._history: History = history
        # A SYN-ACK has ID 0 whatever follows, and a RST is not sent by the connection.
        self._segs: list[Seg] = _as_sent(history.of(from_client))
        self._is_shared: bool = _is_shared(history.of(from_client))
        count, last_id = history.unnoted(from_client)
        self._later: i64 = self._exact_later(count, last_id)
        self._is_count_known: bool = False
        self._counts: bool = False

    def missing(self, first: Seg, last: Seg) -> int | None:
        """How many segments were sent between two of this side's and are not in the capture; None when unknown.

        0 proves that nothing else was sent in between.
        """
        if self._history.is_cut:
            # What was not noted is no gap.
            return None
        start = self._place(first)
        end = self._place(last)
        if start < 0 or start >= end:
            return None
        excess: i64 = 0
        inside: i64 = 0
        others: i64 = 0
        around: i64 = 0
        at: i64 = 0
        while at + 1 < len(self._segs):
            step = self._step(at)
            expected = self._history.pieces(self._segs[at])
            if at < start or at >= end:
                around += 1
                if step == expected:
                    others += 1
            elif step < expected or step > STEP_MAX:
                return None
            else:
                excess += step - expected
                if step == expected:
                    inside += 1
            at += 1
        all_exact = others == around
        others += self._later
        if excess == 0:
            if others + inside >= EXACT_MIN and self._is_count():
                return 0
            return None
        if not self._is_shared and others >= EXACT_FOR_LOSS and all_exact and self._is_count():
            return excess
        return None

    def _exact_later(self, count: i64, last_id: i64) -> i64:
        """How many steps after the last segment noted are known to be exact: all, when the ID of the flow's last one
        is where a count of one for each gets to."""
        if not self._segs or count <= 0 or last_id < 0:
            return 0
        if (last_id - self._segs[-1].ip_id) & 0xFFFF == count:
            return count
        return 0

    def _place(self, seg: Seg) -> i64:
        at: i64 = len(self._segs) - 1
        while at >= 0 and self._segs[at] is not seg:
            at -= 1
        return at

    def _step(self, at: i64) -> i64:
        """How far the ID went on from a segment to the next."""
        return (self._segs[at + 1].ip_id - self._segs[at].ip_id) & 0xFFFF

    def _is_count(self) -> bool:
        """Whether nothing in the whole flow speaks against a count, and at least half of the steps are exact."""
        if not self._is_count_known:
            self._counts = self._is_a_count()
            self._is_count_known = True
        return self._counts

    def _is_a_count(self) -> bool:
        for seg in self._segs:
            if seg.ip_id < 0:
                return False
        exact: i64 = self._later
        at: i64 = 0
        while at + 1 < len(self._segs):
            step = self._step(at)
            expected = self._history.pieces(self._segs[at])
            if step < expected or step > STEP_MAX:
                return False
            if step == expected:
                exact += 1
            at += 1
        return 2 * exact >= at


def _is_shared(segs: list[Seg]) -> bool:
    """Whether a host seems to have one count for all its connections, in which a gap is no loss.

    Windows counts so; it sends with a TTL of 128. A SYN-ACK that has part in the count tells it, too: Linux gives it 0.
    """
    for seg in segs:
        if seg.ttl > LINUX_TTL:
            return True
    before: Seg | None = None
    for after in segs:
        if after.is_rst:
            continue
        last = before
        before = after
        if last is not None and last.is_syn_ack and last.ip_id > 0:
            step: i64 = (after.ip_id - last.ip_id) & 0xFFFF
            if 0 < step <= STEP_MAX:
                return True
    return False


def _as_sent(segs: list[Seg]) -> list[Seg]:
    """Those of ``segs`` that have part in a count, in the order in which a counting sender sent them: one that was
    overtaken goes back to its place."""
    ordered: list[Seg] = []
    for seg in segs:
        if seg.is_rst or seg.is_syn_ack:
            continue
        at: i64 = len(ordered)
        while at > 0:
            back: i64 = (ordered[at - 1].ip_id - seg.ip_id) & 0xFFFF
            if back == 0 or back >= OVERTAKEN_MAX:
                break
            at -= 1
        ordered.insert(at, seg)
    return ordered
