"""Other connections of a host that fill a gap: what a proxy may have waited for before it went on.

Whole connections are looked at, by the times of their first and last segments, and requests in one that were answered
late. Nothing is concluded here. Compiled: every connection is sorted in.
"""

from operator import attrgetter
from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.connections import Life, all_lives
from pcapstall.diagnose.knowledge import Knowledge, client_address, server_endpoint

_SOON: Final = 5
"""It must begin and end within one part in so many of the gap from the gap's ends."""


_FIRST: Final = attrgetter("first_ns", "first_ref")


class Neighbours:
    """Finds connections by their client's address and their time."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._by_host: dict[bytes, list[Life]] = {}
        """By client address, in the order of their first segments."""
        for life in all_lives(knowledge.lives):
            host = client_address(life.key)
            known = self._by_host.get(host)
            if known is None:
                self._by_host[host] = [life]
            else:
                known.append(life)
        for lives in self._by_host.values():
            lives.sort(key=_FIRST)

    def filling(self, host: bytes, besides: bytes, start_ns: int, end_ns: int) -> Life | None:
        """A connection that ``host`` opened to another server than that of the key ``besides``, within the gap and
        nearly as long as it."""
        lives = self._by_host.get(host)
        if lives is None:
            return None
        slack_ns = (end_ns - start_ns) // _SOON
        begin_until: i64 = start_ns + slack_ns
        end_from: i64 = end_ns - slack_ns
        end_until: i64 = end_ns
        low: i64 = _first_from(lives, start_ns)
        while low < len(lives) and lives[low].first_ns <= begin_until:
            life = lives[low]
            low += 1
            if end_from <= life.last_ns <= end_until and server_endpoint(life.key) != server_endpoint(besides):
                return life
        return None


def _first_from(lives: list[Life], ns: i64) -> i64:
    """The place of the first that begins at a time, or after it."""
    low: i64 = 0
    high: i64 = len(lives)
    while low < high:
        middle: i64 = (low + high) >> 1
        if lives[middle].first_ns < ns:
            low = middle + 1
        else:
            high = middle
    return low
