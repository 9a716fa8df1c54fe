"""Where flows were that nobody wanted: what still comes of them begins no new flow, what is another connection does.

Kept for a quiet time, and never more than a bounded number. A straggler repeats what was sent; a successor on the same
ports, even one whose SYN was not captured, has numbers that the buried connection never used.
"""

from mypy_extensions import i64, mypyc_attr

from pcapstall.core.seq import seq_diff, to_offset
from pcapstall.flows.bounds import LINGER_NS
from pcapstall.flows.flow import AHEAD_NS, CLOSING, Flow, HalfFlow
from pcapstall.flows.keys import shared_key, v4_key
from pcapstall.flows.oddities import UNSEEN_LEN, known_end
from pcapstall.flows.queue import Queue
from pcapstall.flows.share import Share
from pcapstall.wire.segment import ACK, SYN, V6_ENDPOINT, Segment


@mypyc_attr(acyclic=True)
class Grave:
    """A forgotten flow: its key, the numbers that each side used, and how much time had passed then."""

    def __init__(self, flow: Flow, ns: i64, look: i64) -> None:
        self.key: bytes = b""
        """Of IPv6, whose endpoints' numbers do not tell all."""
        if flow.source >= V6_ENDPOINT:
            self.key = flow.key
        self.source: i64 = flow.source
        self.destination: i64 = flow.destination
        self.ns: i64 = ns
        self.look: i64 = look
        """The look for finished flows at which it was dug."""
        self.base_seq: i64 = flow.opener.base_seq
        self.end_offset: i64 = known_end(flow.opener)
        self.answer_base_seq: i64 = flow.answerer.base_seq
        self.answer_end_offset: i64 = known_end(flow.answerer)

    def shared_key(self) -> bytes:
        """By which it is found from both directions (flows.keys)."""
        key = self.key
        if len(key) == 0:
            key = v4_key(self.source, self.destination)
        return shared_key(key, self.source, self.destination)


class Graves:
    """All of them, oldest first."""

    def __init__(self, quiet_ns: i64, most: i64, share: Share) -> None:
        self.dug: i64 = 0
        """How many in all."""
        self._kept: i64 = 0
        self._now_ns: i64 = 0
        self._passed_ns: i64 = 0
        """How far the clock went on, whatever it went back: so that the oldest are always first."""
        self._share: Share = share
        self._quiet_ns: i64 = quiet_ns
        self._most: i64 = most
        self._queue: Queue[Grave] = Queue()
        """Those that are found by their key."""
        self._by_key: dict[bytes, Grave] = {}
        self._fresh: Queue[Grave] = Queue()
        """The later ones, for which nobody has looked yet: of most flows no straggler ever comes."""

    def advance(self, now_ns: i64) -> None:
        """The capture's time is ``now_ns`` at this look for finished flows; to be told at each."""
        step_ns: i64 = now_ns - self._now_ns
        if step_ns <= -AHEAD_NS:
            # The time before was wrong, or this one is: whatever was dug is as old as none can be.
            self._passed_ns += self._quiet_ns
        elif step_ns > 0 and self._now_ns != 0:
            self._passed_ns += step_ns
        self._now_ns = now_ns

    def bury(self, flow: Flow) -> None:
        """Remember where ``flow`` was."""
        self._fresh.append(Grave(flow, self._passed_ns, self._share.ticks))
        self.dug += 1
        self._kept += 1
        if self._kept > self._most:
            self._level()

    def holds(self, segment: Segment) -> bool:
        """Whether ``segment`` is a straggler of a forgotten flow: it lies within what that one sent.

        A new connection begins further on: initial numbers grow by millions a second (RFC 6528).
        """
        while len(self._fresh) > 0:
            fresh = self._fresh.popleft()
            self._queue.append(fresh)
            self._by_key[fresh.shared_key()] = fresh
        key = segment.key
        grave = self._by_key.get(shared_key(key, segment.source, segment.destination))
        if grave is None:
            return False
        self._share.consult(grave.look)
        base_seq: i64 = grave.base_seq
        end: i64 = grave.end_offset
        if segment.source != grave.source or (len(grave.key) > 0 and key != grave.key):
            base_seq = grave.answer_base_seq
            end = grave.answer_end_offset
        if base_seq < 0:
            return segment.payload_len == 0 and segment.flags & SYN == 0
        if segment.flags & SYN != 0:
            return (segment.seq + 1) & 0xFFFFFFFF == base_seq
        at: i64 = to_offset(segment.seq, base_seq, end)
        if segment.payload_len > 0:
            return at >= -1 and at + segment.payload_len <= end + 1
        return -1 <= at <= end + UNSEEN_LEN

    def expire(self) -> None:
        """Level those that are old enough, and those that a wrong stamp dug."""
        while self._kept > 0:
            oldest = self._queue
            if len(oldest) == 0:
                oldest = self._fresh
            if self._passed_ns - oldest.first().ns < self._quiet_ns:
                break
            self._level()

    def _level(self) -> None:
        """The oldest one."""
        self._kept -= 1
        if len(self._queue) == 0:
            self._fresh.popleft()
            return
        grave = self._queue.popleft()
        shared = grave.shared_key()
        if self._by_key.get(shared) is grave:
            del self._by_key[shared]

    def __len__(self) -> int:
        return self._kept


def is_reuse(half: HalfFlow, segment: Segment) -> bool:
    """Whether a SYN opens a new connection between known endpoints.

    A SYN-ACK does when the old one is over and it answers another SYN, which was not captured.
    """
    flow = half.flow
    if segment.flags & ACK != 0:
        if flow.state != CLOSING or half.base_seq < 0 or segment.ack == half.peer.base_seq:
            return False
    if half.base_seq >= 0:
        return seq_diff(segment.seq + 1, half.base_seq) != 0 or _is_played_again(flow, segment.ts_ns)
    # Nothing of this side so far: a simultaneous open, if the other side's SYN is still unanswered.
    return flow.syn_ref == 0 or flow.syn_ack_ref != 0 or half.peer.rst_ref != 0


def _is_played_again(flow: Flow, ts_ns: i64) -> bool:
    """Whether a SYN of ``flow`` at ``ts_ns`` is no repetition: the connection came about and was over for a while.

    So it is with replayed traffic and captures that were appended to each other. A flow that nobody wants is forgotten
    by then, and one that is shown must count the same.
    """
    age_ns: i64 = ts_ns - flow.last_ns
    return flow.state == CLOSING and flow.ack_ref != 0 and (age_ns >= LINGER_NS or age_ns <= -LINGER_NS)
