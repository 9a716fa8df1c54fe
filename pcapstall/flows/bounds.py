"""Which flows have to go: those that are done and silent, and so that the table stays within its bounds, the idlest.

Looked for a share of the table at a time, so that a flood costs each new flow a few steps. What becomes of those that
go is the table's business.
"""

from collections.abc import Iterable
from typing import Final

from mypy_extensions import i64

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


def longest_idle(flows: Iterable[Flow], live: i64, now_ns: i64) -> list[Flow]:
    """A share of the flows of ``flows``, ``live`` in number: first those that are done, then by their last segment.

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
    wanted: i64 = live // SHARE + 1
    found: list[Flow] = []
    for candidates in (done, idle):
        if len(found) < wanted:
            candidates.sort()
            found.extend([flow for _, _, flow in candidates[: wanted - len(found)]])
    return found


def silent(queue: Queue[Flow], time_ns: i64, now_ns: i64, share: Share) -> list[Flow]:
    """Take those out of ``queue`` that were done for ``time_ns`` and silent as long.

    The queue is in the order of ``closed_ns``. Who still talks waits again, behind the others. What becomes of a flow
    does not depend on how many others are done.
    """
    found: list[Flow] = []
    while len(queue) > 0:
        flow = queue.first()
        if flow.state != HANDED_ON and is_within(now_ns - flow.closed_ns, time_ns):
            break
        queue.popleft()
        if flow.state == HANDED_ON:
            continue
        if is_within(now_ns - flow.last_ns, time_ns) or flow.closed_ns > now_ns:
            # Still talking after a RST: those behind it shall not wait for that. Nor for a stamp that is wrong.
            flow.closed_ns = now_ns
            flow.queued = share.queued(flow.queued)
            queue.append(flow)
        else:
            found.append(flow)
    return found


def given_up(flows: Iterable[Flow], now_ns: i64) -> list[Flow]:
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
