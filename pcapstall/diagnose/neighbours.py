"""Other connections of a host that fill a gap: what a proxy may have waited for before it went on.

Only whole connections are looked at, by the times of their first and last segments. Nothing is concluded here.
"""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

from pcapstall.diagnose.knowledge import Knowledge, client_address, server_endpoint

_SOON: Final = 5
"""It must begin and end within one part in so many of the gap from the gap's ends."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A connection that lies in a gap."""

    first_ns: int
    last_ns: int
    first_ref: int
    last_ref: int


class Neighbours:
    """Finds connections by their client's address and their time."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._by_host: dict[bytes, list[tuple[int, int]]] = {}
        """Time of the first segment and position in ``knowledge``, sorted, by client address."""
        for at, key in enumerate(knowledge.lived_keys):
            self._by_host.setdefault(client_address(key), []).append((knowledge.lived_first_ns[at], at))
        for lives in self._by_host.values():
            lives.sort()

    def filling(self, host: bytes, besides: bytes, start_ns: int, end_ns: int) -> Neighbour | None:
        """A connection that ``host`` opened to another server than that of the key ``besides``, within the gap and
        nearly as long as it."""
        known = self._knowledge
        lives = self._by_host.get(host, [])
        slack_ns = (end_ns - start_ns) // _SOON
        for first_ns, at in lives[bisect_left(lives, (start_ns, 0)) :]:
            if first_ns > start_ns + slack_ns:
                break
            last_ns = known.lived_last_ns[at]
            if not end_ns - slack_ns <= last_ns <= end_ns:
                continue
            if server_endpoint(known.lived_keys[at]) != server_endpoint(besides):
                return Neighbour(first_ns, last_ns, known.lived_first_ref[at], known.lived_last_ref[at])
        return None
