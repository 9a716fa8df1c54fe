"""Until when a capture went on that was being taken while it was read.

A hang shows by what does not come: after the last packet of a pipe from tcpdump the waiting goes on until the pipe
ends, and that is told by this host's clock alone. What is read from a file ends with its last packet.
"""

import time
from typing import Final

from pcapstall.capture.captures import Captures

HANDED_ON_NS: Final = 5_000_000_000
"""A packet may be so old when it comes: tcpdump hands on what its buffer holds."""


def live_until(began_ns: int, latest_ns: int, captures: Captures) -> int:
    """When a live capture ended, by this host's clock; 0 when it was none.

    It is live when it has no size and its latest packet was stamped (``latest_ns``) while it was read, from
    ``began_ns`` on. Asked for when the reading is over.
    """
    if captures.total_bytes is not None:
        return 0
    until_ns = time.time_ns()
    if captures.stop_asked_s is not None:
        until_ns -= int((time.monotonic() - captures.stop_asked_s) * 1e9)
    return until_ns if began_ns - HANDED_ON_NS <= latest_ns <= until_ns else 0
