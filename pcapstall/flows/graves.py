"""Where flows were that nobody wanted: what still comes of them begins no new flow, what is another connection does.

Kept for a quiet time, and never more than a bounded number. A straggler repeats what was sent; a successor on the same
ports, even one whose SYN was not captured, has numbers that the buried connection never used.
"""

from typing import Final

from librt.vecs import extend, vec
from mypy_extensions import i64

from pcapstall.core.seq import seq_diff, to_offset
from pcapstall.flows.bounds import LINGER_NS
from pcapstall.flows.flow import AHEAD_NS, CLOSING, Flow, HalfFlow
from pcapstall.flows.keys import shared_key, v4_key
from pcapstall.flows.oddities import UNSEEN_LEN, known_end
from pcapstall.flows.share import Share
from pcapstall.wire.segment import ACK, RST, SYN, V6_ENDPOINT, Segment

PLACES: Final = 256
"""At first; always a power of two."""

# The words of a grave.
_SOURCE: Final = 0
_DESTINATION: Final = 1
_NS: Final = 2  # how much time had passed when it was dug
_LOOK: Final = 3  # the look for finished flows at which that was
_BASE_SEQ: Final = 4  # the numbers that each side used
_END_OFFSET: Final = 5
_ANSWER_BASE_SEQ: Final = 6
_ANSWER_END_OFFSET: Final = 7
_WORDS: Final = 8


class Graves:
    """All of them, by their numbers: they count from 0 as they are dug, and are levelled in the same order."""

    def __init__(self, quiet_ns: i64, most: i64, share: Share) -> None:
        self.dug: i64 = 0
        """How many in all."""
        self._oldest: i64 = 0
        """The first one that is kept."""
        self._unasked: i64 = 0
        """From this one on nobody has looked for them yet, and none is found by its key: of most flows no straggler
        ever comes."""
        self._now_ns: i64 = 0
        self._passed_ns: i64 = 0
        """How far the clock went on, whatever it went back: so that the oldest are always first."""
        self._share: Share = share
        self._quiet_ns: i64 = quiet_ns
        self._most: i64 = most
        self._rows: vec[i64] = vec[i64]([0] * (PLACES * _WORDS))
        """A ring: the words of each, in the place that the low bits of its number tell."""
        self._keys: list[bytes] = [b""] * PLACES
        """Likewise: the keys of IPv6 flows, whose endpoints' numbers do not tell all."""
        self._last: i64 = PLACES - 1
        self._by_key: dict[bytes, int] = {}
        """Their numbers, by the key that both directions share (flows.keys)."""

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
        if len(self) > self._last:
            # Twice the places: what was in one is in both now, and found in that which its number tells.
            self._rows = extend(self._rows, self._rows)
            self._keys.extend(self._keys)
            self._last += self._last + 1
        place: i64 = self.dug & self._last
        at: i64 = place * _WORDS
        rows = self._rows
        rows[at + _SOURCE] = flow.source
        rows[at + _DESTINATION] = flow.destination
        rows[at + _NS] = self._passed_ns
        rows[at + _LOOK] = self._share.ticks
        rows[at + _BASE_SEQ] = flow.opener.base_seq
        rows[at + _END_OFFSET] = known_end(flow.opener)
        rows[at + _ANSWER_BASE_SEQ] = flow.answerer.base_seq
        rows[at + _ANSWER_END_OFFSET] = known_end(flow.answerer)
        if flow.source >= V6_ENDPOINT:
            self._keys[place] = flow.key
        self.dug += 1
        if len(self) > self._most:
            self._level()

    def holds(self, segment: Segment) -> bool:
        """Whether ``segment`` is a straggler of a forgotten flow: it lies within what that one sent.

        A new connection begins further on: initial numbers grow by millions a second (RFC 6528).
        """
        while self._unasked < self.dug:
            self._by_key[self._shared_key(self._unasked)] = self._unasked
            self._unasked += 1
        key = segment.key
        number: i64 = self._by_key.get(shared_key(key, segment.source, segment.destination), -1)
        if number < 0:
            return False
        rows = self._rows
        place: i64 = number & self._last
        at: i64 = place * _WORDS
        self._share.consult(rows[at + _LOOK])
        base_seq: i64 = rows[at + _BASE_SEQ]
        end: i64 = rows[at + _END_OFFSET]
        if segment.source != rows[at + _SOURCE] or (segment.source >= V6_ENDPOINT and key != self._keys[place]):
            base_seq = rows[at + _ANSWER_BASE_SEQ]
            end = rows[at + _ANSWER_END_OFFSET]
        if base_seq < 0:
            return segment.payload_len == 0 and segment.flags & SYN == 0
        if segment.flags & SYN != 0:
            return (segment.seq + 1) & 0xFFFFFFFF == base_seq
        offset: i64 = to_offset(segment.seq, base_seq, end)
        if segment.payload_len > 0:
            return offset >= -1 and offset + segment.payload_len <= end + 1
        return -1 <= offset <= end + UNSEEN_LEN

    def expire(self) -> None:
        """Level those that are old enough, and those that a wrong stamp dug."""
        while self._oldest < self.dug:
            if self._passed_ns - self._rows[(self._oldest & self._last) * _WORDS + _NS] < self._quiet_ns:
                break
            self._level()

    def _level(self) -> None:
        """The oldest one."""
        number: i64 = self._oldest
        if number < self._unasked:
            shared = self._shared_key(number)
            if self._by_key.get(shared, -1) == number:
                del self._by_key[shared]
        else:
            self._unasked = number + 1
        self._oldest = number + 1

    def _shared_key(self, number: i64) -> bytes:
        """By which it is found from both directions."""
        place: i64 = number & self._last
        source: i64 = self._rows[place * _WORDS + _SOURCE]
        destination: i64 = self._rows[place * _WORDS + _DESTINATION]
        if source >= V6_ENDPOINT:
            return shared_key(self._keys[place], source, destination)
        return shared_key(v4_key(source, destination), source, destination)

    def __len__(self) -> int:
        return self.dug - self._oldest


def is_reuse(half: HalfFlow, segment: Segment) -> bool:
    """Whether a SYN opens a new connection between known endpoints.

    A SYN-ACK does when the old one is over and it answers another SYN, which was not captured. With RST neither does.
    """
    flow = half.flow
    if segment.flags & RST != 0:
        return False
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
