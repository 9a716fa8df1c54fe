"""Other connections of a host that fill a gap: what a proxy may have waited for before it went on.

Whole connections are looked at, by the times of their first and last segments, and requests in one that were answered
late. Nothing is concluded here. Compiled: every connection is sorted in.
"""

from operator import attrgetter
from typing import Final

from mypy_extensions import i64

from pcapstall.core.packed import Packer, Unpacker
from pcapstall.diagnose.connections import Life, life_at
from pcapstall.diagnose.knowledge import Knowledge, client_address, server_endpoint

_SOON: Final = 5
"""It must begin and end within one part in so many of the gap from the gap's ends."""


_FIRST: Final = attrgetter("first_ns", "first_ref")


class Neighbours:
    """Finds connections by their client's address and their time, of those that were known at the last `catch_up`."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge: Knowledge = knowledge
        self._by_host: dict[bytes, list[Life]] = {}
        """By client address, in the order of their first segments."""
        self._lives: Packer = knowledge.lives
        self._new: Unpacker = Unpacker(self._lives)
        """Has moved to the last of these that was sorted in."""
        self._sort_in_all()

    def catch_up(self) -> None:
        """Sort in what was learned since; what is forgotten goes."""
        if self._knowledge.lives is not self._lives:
            self._lives = self._knowledge.lives
            self._new = Unpacker(self._lives)
            self._by_host = {}
            self._sort_in_all()
            return
        them = self._new
        while them.next():
            life = life_at(them)
            lives = self._of_host(life)
            lives.insert(_place_behind(lives, life), life)

    def _sort_in_all(self) -> None:
        them = self._new
        while them.next():
            life = life_at(them)
            self._of_host(life).append(life)
        for lives in self._by_host.values():
            lives.sort(key=_FIRST)

    def _of_host(self, life: Life) -> list[Life]:
        """Those of the client of ``life``."""
        host = client_address(life.key)
        lives = self._by_host.get(host)
        if lives is None:
            lives = []
            self._by_host[host] = lives
        return lives

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


def _place_behind(lives: list[Life], life: Life) -> i64:
    """The place behind the last that began no later than ``life``, which most often is the end."""
    low: i64 = 0
    high: i64 = len(lives)
    while low < high:
        middle: i64 = (low + high) >> 1
        other = lives[middle]
        if other.first_ns < life.first_ns or (other.first_ns == life.first_ns and other.first_ref <= life.first_ref):
            low = middle + 1
        else:
            high = middle
    return low


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
