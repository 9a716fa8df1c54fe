"""Other connections of a host that fill a gap: what a proxy may have waited for before it went on.

Whole connections are looked at, by the times of their first and last segments, and requests in one that were answered
late. Nothing is concluded here.
"""

from bisect import bisect_left
from operator import attrgetter
from typing import Final

from pcapstall.diagnose.connections import Life, all_lives
from pcapstall.diagnose.knowledge import Knowledge, client_address, server_endpoint

_SOON: Final = 5
"""It must begin and end within one part in so many of the gap from the gap's ends."""


_FIRST_NS: Final = attrgetter("first_ns")
_FIRST: Final = attrgetter("first_ns", "first_ref")


class Neighbours:
    """Finds connections by their client's address and their time."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._by_host: dict[bytes, list[Life]] = {}
        """By client address, in the order of their first segments."""
        for life in all_lives(knowledge.lives):
            self._by_host.setdefault(client_address(life.key), []).append(life)
        for lives in self._by_host.values():
            lives.sort(key=_FIRST)

    def filling(self, host: bytes, besides: bytes, start_ns: int, end_ns: int) -> Life | None:
        """A connection that ``host`` opened to another server than that of the key ``besides``, within the gap and
        nearly as long as it."""
        lives = self._by_host.get(host, [])
        slack_ns = (end_ns - start_ns) // _SOON
        for at in range(bisect_left(lives, start_ns, key=_FIRST_NS), len(lives)):
            life = lives[at]
            if life.first_ns > start_ns + slack_ns:
                break
            if end_ns - slack_ns <= life.last_ns <= end_ns and server_endpoint(life.key) != server_endpoint(besides):
                return life
        return None
