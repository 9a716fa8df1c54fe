"""ClientHellos that nobody has asked about yet: a healthy flow comes and goes without its hello ever being read.

What a hello says is small once it is read, the message is not; so the messages kept are bounded, and the one that has
waited for longest is read when there is no room for another one. Nothing here looks into one.
"""

from typing import Final

from mypy_extensions import i32, i64

from pcapstall.flows.flow import NOBODY, Flow
from pcapstall.wire.tls_shape import LONG_MAX, HelloShapes

UNREAD_ALL_LEN_MAX: Final = 8 * 1024 * 1024
"""Bytes of messages kept, over all flows, each for as long as it lasts: those of ten thousand flows and more with up to
840 bytes, of 4,400 to 5,500 with a key share for X25519MLKEM768 (1,216 bytes of the 1,500 to 1,900)."""
UNREAD_MAX: Final = 65_536
"""From the oldest message that is kept to the latest there are no more than so many."""
UNREAD_LEN_MAX: Final = 2048
"""A longer one is read at once."""
_PLACES: Final = 1024
"""At first; there are a power of two of them, and never more than `UNREAD_MAX`."""
_LEN_BITS: Final = 12
_LEN: Final = (1 << _LEN_BITS) - 1


class UnreadHellos:
    """The flows that have a message to be read, in the order in which they are to be."""

    def __init__(self, shares: i64 = 1) -> None:
        """``shares``: how many like this have the bound on bytes in common."""
        self._waiting: list[Flow] = [NOBODY] * _PLACES
        """A ring, by their numbers; `NOBODY` in free places."""
        self._mask: i64 = _PLACES - 1
        self._oldest: i64 = 1
        """Number of the one that waits for longest, or of one before it that waits no more."""
        self._next: i64 = 1
        """Number of the one that comes next: they are numbered as they come."""
        self._held_len: i64 = 0
        self._held_max: i64 = UNREAD_ALL_LEN_MAX // shares
        self._shapes: HelloShapes = HelloShapes()

    def keep(self, flow: Flow, message: bytes) -> None:
        """``message`` is the ClientHello of ``flow``, to be read when it is asked for."""
        flow.hello_message = message
        flow.hello_shapes = self._shapes
        length: i64 = len(message)
        if length > UNREAD_LEN_MAX:
            flow.read_hello()
            return
        self._held_len += length
        while self._held_len > self._held_max and self._oldest < self._next:
            self._read_oldest()
        if self._next - self._oldest > self._mask:
            self._make_room()
        number: i64 = self._next
        self._waiting[number & self._mask] = flow
        flow.hello_place = i32(((number & (UNREAD_MAX - 1)) << _LEN_BITS) | length)
        self._next = number + 1

    def is_crowded(self, shares: i64) -> bool:
        """Whether so much of long hellos was kept that it may matter, were there ``shares`` like this."""
        return self._shapes.long_entries * shares > LONG_MAX

    def let_go(self, flow: Flow, is_kept: bool) -> None:
        """``flow`` is over. Who keeps it gets a hello that is read, in a fraction of the room."""
        place: i64 = (i64(flow.hello_place) >> _LEN_BITS) & self._mask
        if self._waiting[place] is flow:
            self._waiting[place] = NOBODY
            self._held_len -= i64(flow.hello_place) & _LEN
        if is_kept:
            flow.read_hello()

    def _read_oldest(self) -> None:
        place: i64 = self._oldest & self._mask
        flow = self._waiting[place]
        if flow is not NOBODY:
            self._waiting[place] = NOBODY
            self._held_len -= i64(flow.hello_place) & _LEN
            flow.read_hello()
        self._oldest += 1

    def _make_room(self) -> None:
        """All places are taken: by those that wait, and by those behind the oldest that wait no more."""
        while self._oldest < self._next and self._waiting[self._oldest & self._mask] is NOBODY:
            self._oldest += 1
        if self._next - self._oldest <= self._mask:
            return
        if self._mask + 1 >= UNREAD_MAX:
            self._read_oldest()
            return
        mask: i64 = self._mask + self._mask + 1
        waiting = [NOBODY] * (mask + 1)
        number: i64 = self._oldest
        while number < self._next:
            waiting[number & mask] = self._waiting[number & self._mask]
            number += 1
        self._waiting = waiting
        self._mask = mask
