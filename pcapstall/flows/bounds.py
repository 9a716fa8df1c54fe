"""Which flows have to go: those that are done and silent, and so that the table stays within its bounds, the idlest.

Looked for a share of the table at a time, so that a flood costs each new flow a few steps. What becomes of those that
go is the table's business.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.fetch import fetched
from pcapstall.flows.flow import AHEAD_NS, CLOSING, HANDED_ON, LIVE, Flow
from pcapstall.flows.queue import Queue
from pcapstall.flows.share import Share

SHARE: Final = 16
"""One flow in so many goes at once."""
HALF_OPEN_NS: Final = 240_000_000_000
"""Whoever was not answered for so long has given up: the last of Linux's repeated SYNs comes 64 s after the one before,
and others wait twice as long."""
LINGER_NS: Final = 1_000_000_000
"""How long both sides of a flow must have been done before it is forgotten, if nobody wants to see it."""


def longest_idle(flows: list[Flow], now_ns: i64) -> list[Flow]:
    """A share of the flows of ``flows``: first those that are done, then by their last segment.

    A stamp far ahead of ``now_ns`` says nothing; such flows go first of the live ones.
    """
    done: list[tuple[i64, i64, Flow]] = []
    idle: list[tuple[i64, i64, Flow]] = []
    for flow in flows:
        last_ns: i64 = flow.last_ns
        if last_ns - now_ns > AHEAD_NS:
            last_ns = 0
        if flow.state == CLOSING:
            done.append((last_ns, flow.id, flow))
        else:
            idle.append((last_ns, flow.id, flow))
    wanted: i64 = len(flows) // SHARE + 1
    found: list[Flow] = []
    for candidates in (done, idle):
        if len(found) < wanted:
            candidates.sort()
            found.extend([flow for _, _, flow in candidates[: wanted - len(found)]])
    return found


class Finished:
    """Flows of which both sides are done, until they were silent for long enough.

    They come in the order of their ``closed_ns`` but for clocks that go back. When one goes does not depend on the
    others: whoever follows a share of the flows has fewer of them.
    """

    def __init__(self) -> None:
        self._queue: Queue[Flow] = Queue()
        self._latest_ns: i64 = 0
        """No ``closed_ns`` is later."""
        self._behind_ns: i64 = 0
        """By how much one may lie before the latest of those that came earlier."""

    def append(self, flow: Flow) -> None:
        """Let ``flow``, which is done since its ``closed_ns``, wait."""
        closed_ns: i64 = flow.closed_ns
        if closed_ns >= self._latest_ns or len(self._queue) == 0:
            if len(self._queue) == 0:
                self._behind_ns = 0
            self._latest_ns = closed_ns
        elif self._latest_ns - closed_ns > self._behind_ns:
            self._behind_ns = self._latest_ns - closed_ns
        self._queue.append(flow)

    def silent(self, time_ns: i64, now_ns: i64, share: Share) -> list[Flow]:
        """Take those out that were done for ``time_ns`` and silent as long. Who still talks waits again."""
        queue = self._queue
        found: list[Flow] = []
        early: list[Flow] = []
        talking: list[Flow] = []
        while len(queue) > 0:
            flow = queue.first()
            if flow.state != HANDED_ON and is_within(now_ns - flow.closed_ns, time_ns):
                if now_ns - flow.closed_ns + self._behind_ns < time_ns and now_ns - self._latest_ns > -AHEAD_NS:
                    # Nor was any behind it done for so long.
                    break
                early.append(flow)
                queue.popleft()
                continue
            queue.popleft()
            if flow.state == HANDED_ON:
                continue
            if is_within(now_ns - flow.last_ns, time_ns) or flow.closed_ns > now_ns:
                # Still talking after a RST; or its stamp is wrong.
                flow.closed_ns = now_ns
                flow.queued = share.queued(flow.queued)
                talking.append(flow)
            else:
                found.append(flow)
        if len(queue) > 0:
            if len(early) > 0:
                queue.put_back(early)
        else:
            # All were seen, so that it is known anew in what order they are.
            for at in range(i64(len(early))):
                self.append(fetched(early, at))
        for at in range(i64(len(talking))):
            self.append(fetched(talking, at))
        return found


def given_up(flows: list[Flow], now_ns: i64) -> list[Flow]:
    """The half-open flows of ``flows`` of which nothing was heard for `HALF_OPEN_NS`."""
    found: list[Flow] = []
    for flow in flows:
        if flow.ack_ref == 0 and flow.state == LIVE and now_ns - flow.last_ns >= HALF_OPEN_NS:
            if is_half_open(flow):
                found.append(flow)
    return found


def is_half_open(flow: Flow) -> bool:
    """Whether a TCP handshake has begun and nothing came of it so far."""
    if flow.syn_ref == 0 and flow.syn_ack_ref == 0:
        return False
    return flow.ack_ref == 0 and flow.opener.payload_bytes == 0 and flow.answerer.payload_bytes == 0


def is_within(age_ns: i64, time_ns: i64) -> bool:
    """Whether ``time_ns`` has not passed; an age far below 0 is that of a wrong stamp."""
    return -AHEAD_NS < age_ns < time_ns
