"""What is kept of streams while their hellos are pending: how much, of one flow and of all, and how it is let go of.

Bytes that wait for a hole, first bytes in which TLS does not begin yet, hellos that are not whole, arrival marks. A
flow that needs too much of it keeps its TCP measures, and its TLS is left unread; that is counted.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.flow import FLAG_LEFT_UNREAD, IGNORED, NEVER, Flow, HalfFlow
from pcapstall.flows.head import StreamHead
from pcapstall.flows.kept import Limits

FLOW_MAX: Final = 32 * 1024
"""Bytes of one flow."""
MARK_LEN: Final = 64
"""An arrival mark, with its place in the list."""


def weigh(half: HalfFlow, head: StreamHead, limits: Limits) -> bool:
    """Take account of what is kept of ``half``; whether it is too much."""
    weight: i64 = head.held_len + len(head.prefix) + MARK_LEN * len(head.marks)
    reader = half.reader
    if reader is not None:
        collected = reader.collected
        if collected is not None:
            weight += len(collected)
    limits.pending_len += weight - head.weight
    head.weight = weight
    other = half.peer.head
    if other is not None:
        weight += other.weight
    if limits.pending_len > limits.pending_max:
        limits.crowded = True
        return True
    return weight > FLOW_MAX


def release_head(half: HalfFlow, limits: Limits) -> None:
    """Nothing of ``half`` waits any more."""
    head = half.head
    if head is not None:
        limits.pending_len -= head.weight
        half.head = None


def stop_reading(half: HalfFlow, limits: Limits) -> None:
    """Read no more of this half, and let go of its bytes."""
    half.phase = IGNORED
    half.watch_offset = NEVER
    half.reader = None
    half.ccs = False
    release_head(half, limits)


def leave_unread(flow: Flow, limits: Limits) -> None:
    """Read no more TLS of ``flow``: it would take too much memory."""
    count_unread(flow, limits)
    stop_reading(flow.opener, limits)
    stop_reading(flow.answerer, limits)


def count_unread(flow: Flow, limits: Limits) -> None:
    """Note that something of ``flow`` is left unread."""
    if flow.flags & FLAG_LEFT_UNREAD == 0:
        flow.flags |= FLAG_LEFT_UNREAD
        limits.left_unread += 1


def longest_pending(flows: list[Flow]) -> list[Flow]:
    """Those of ``flows`` of which something is kept, by their last segment."""
    found = [flow for flow in flows if flow.opener.head is not None or flow.answerer.head is not None]
    found.sort(key=_last_seen)
    return found


def _last_seen(flow: Flow) -> tuple[i64, i64]:
    return flow.last_ns, flow.id
