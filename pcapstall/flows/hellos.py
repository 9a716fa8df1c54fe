"""ClientHellos that nobody has asked about yet: a healthy flow comes and goes without its hello ever being read.

What a hello says is small once it is read, the message is not; so the messages kept are bounded, and the one that has
waited for longest is read when another one comes. Nothing here looks into one.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.flow import NOBODY, Flow
from pcapstall.wire.tls_shape import LONG_MAX, HelloShapes

UNREAD_MAX: Final = 4096
"""Messages kept, over all flows."""
UNREAD_LEN_MAX: Final = 2048
"""A longer one is read at once."""


class UnreadHellos:
    """The flows that have a message to be read, in the order in which they are to be."""

    def __init__(self) -> None:
        self._waiting: list[Flow] = [NOBODY] * UNREAD_MAX
        """A ring; `NOBODY` in free places."""
        self._place: i64 = 0
        """The oldest one's."""
        self._shapes: HelloShapes = HelloShapes()

    def keep(self, flow: Flow, message: bytes) -> None:
        """``message`` is the ClientHello of ``flow``, to be read when it is asked for."""
        flow.hello_message = message
        flow.hello_shapes = self._shapes
        if len(message) > UNREAD_LEN_MAX:
            flow.read_hello()
            return
        place: i64 = self._place
        self._waiting[place].read_hello()
        self._waiting[place] = flow
        flow.hello_place = place
        self._place = (place + 1) & (UNREAD_MAX - 1)

    def is_crowded(self, shares: i64) -> bool:
        """Whether so much of long hellos was kept that it may matter, were there ``shares`` like this."""
        return self._shapes.long_entries * shares > LONG_MAX

    def let_go(self, flow: Flow, is_kept: bool) -> None:
        """``flow`` is over. Who keeps it gets a hello that is read, in a fraction of the room."""
        place: i64 = flow.hello_place
        if self._waiting[place] is flow:
            self._waiting[place] = NOBODY
        if is_kept:
            flow.read_hello()
