"""A ClientHello of which some bytes are here and others are not: when its earliest byte came.

Asked while a flow goes on, by whoever watches it, and when it ends. What follows from it is decided elsewhere.
"""

from typing import Final

from pcapstall.flows.flow import IGNORED, Flow
from pcapstall.flows.head import Arrival

_CLIENT_HELLO: Final = 1


def begun_hello(flow: Flow) -> Arrival | None:
    """The arrival of the earliest byte seen of a ClientHello that is not whole yet; None without one."""
    half = flow.client()
    head = half.head
    if flow.client_hello_first_ref != 0 or head is None or half.phase == IGNORED:
        return None
    reader = half.reader
    if reader is not None:
        if reader.message_type == _CLIENT_HELLO:
            return head.arrival(reader.message_offset)
    elif len(head.held) > 0:
        # Its first bytes are missing so far.
        return head.held[0].arrival
    return None
