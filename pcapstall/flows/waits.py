"""Long waits for an answer within a connection: what another connection of the same host may have waited for.

Between payload of the client and the next payload of the server, anywhere in a connection's life. Which of them matters
is told by others.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.flow import HalfFlow
from pcapstall.wire.segment import Segment

WAIT_NS: Final = 500_000_000
"""A shorter one is no reason to wait for."""
WAITS_MAX: Final = 16
"""The latest so many of a connection are remembered."""


def note_wait(half: HalfFlow, segment: Segment) -> None:
    """``half`` speaks after its peer, for which it took `WAIT_NS` or more."""
    flow = half.flow
    if (half is flow.opener) == flow.opener_is_client:
        return
    rare = flow.rare()
    waits = rare.waits
    if waits is None:
        waits = []
        rare.waits = waits
    elif len(waits) >= WAITS_MAX:
        del waits[0]
    asked_ns: i64 = half.peer.last_payload_ns
    waits.append((asked_ns, segment.ts_ns, segment.ref))
