"""Where the capture was taken: at the client, at the server, between them, or on one host with both.

Told by the halves of the TCP handshake, which take the round trip to the server and to the client; by loopback
addresses; by a TTL that no router has touched. What may be concluded from there is not decided here. Compiled, since it
is asked about every pair of hosts.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.knowledge import Knowledge, client_key
from pcapstall.diagnose.pairs import Pair, is_one_host
from pcapstall.diagnose.verdict import HIGH, LOW, MEDIUM
from pcapstall.flows.flow import Flow
from pcapstall.wire.tls_reader import NEVER

CLIENT: Final = "client"
SERVER: Final = "server"
MIDDLE: Final = "middle"
LOCAL: Final = "local"
UNKNOWN: Final = "unknown"

Point = tuple[str, str | None]
"""The capture point and its confidence. `UNKNOWN` has None where nothing tells, low where evidence conflicts."""

LOCAL_NS: Final = 50_000
"""Both ends answer within this time: they are on the capturing host."""
_SMALL: Final = 4
"""One of the two is a small part of the other when it is at most one part of so many."""
_VERY_SMALL: Final = 8


class PointFinder:
    """Finds the capture point of pairs of hosts and of flows."""

    def __init__(self, knowledge: Knowledge, at: str = "", loopback_files: frozenset[int] = frozenset()) -> None:
        self._knowledge = knowledge
        self._at = at
        """What the user says; overrides everything."""
        self._loopback_files = loopback_files
        """Files whose only link type is a loopback's."""

    def of_pair(self, hosts: bytes, pair: Pair) -> Point:
        """From the addresses of two hosts and the smallest times of all their handshakes."""
        return self._of(is_one_host(hosts), pair)

    def _of(self, on_one_host: bool, pair: Pair) -> Point:
        if self._at:
            return self._at, HIGH
        if on_one_host:
            return LOCAL, HIGH
        if self._loopback_files and pair.file_index in self._loopback_files and not pair.is_slow():
            return LOCAL, HIGH
        point = by_times(pair.syn_synack_ns, pair.synack_ack_ns)
        if point[0] == UNKNOWN:
            point = by_times(pair.retried_syn_synack_ns, pair.retried_synack_ack_ns)
        if point[0] == MIDDLE:
            near = beside(pair)
            if near is not None:
                return near
        return with_ttls(point, pair.client_ttl, pair.server_ttl)

    def of_flow(self, flow: Flow) -> Point:
        """The capture point of a flow's pair of hosts."""
        return self.of_pair(client_key(flow)[:-4], self._knowledge.pair_of(flow))

    def of_unshown(self) -> dict[str, int]:
        """How many of the flows that are not shown one by one were captured where."""
        counts: dict[str, int] = {}
        last: str = UNKNOWN
        alike: i64 = 0
        pairs = self._knowledge.pairs
        pair = Pair()
        for row in range(i64(len(pairs))):
            if pairs.unshown(row) > 0:
                pairs.load(row, pair)
                point, _ = self._of(pairs.is_one_host(row), pair)
                if point is not last:
                    if alike > 0:
                        counts[last] = counts.get(last, 0) + alike
                    last = point
                    alike = 0
                alike += pair.unshown
        if alike > 0:
            counts[last] = counts.get(last, 0) + alike
        unknown: i64 = self._knowledge.other_unshown
        if unknown > 0:
            counts[UNKNOWN] = counts.get(UNKNOWN, 0) + unknown
        return counts


def by_times(to_server_ns: i64, to_client_ns: i64) -> Point:
    """From the round trips from here to the server and to the client; `NEVER` for one that is not known."""
    if to_server_ns == NEVER or to_client_ns == NEVER:
        return UNKNOWN, None
    if to_server_ns < LOCAL_NS and to_client_ns < LOCAL_NS:
        return LOCAL, MEDIUM
    if to_client_ns * _SMALL <= to_server_ns:
        return CLIENT, HIGH if to_client_ns * _VERY_SMALL <= to_server_ns else MEDIUM
    if to_server_ns * _SMALL <= to_client_ns:
        return SERVER, HIGH if to_server_ns * _VERY_SMALL <= to_client_ns else MEDIUM
    return MIDDLE, MEDIUM


def beside(pair: Pair) -> Point | None:
    """The end that answers as fast as only the capturing host does, and that alone was not routed; None without one.

    Where the whole round trip takes some ten microseconds its two parts need not differ much.
    """
    client_fresh, server_fresh = is_fresh(pair.client_ttl), is_fresh(pair.server_ttl)
    if client_fresh and pair.server_ttl > 0 and not server_fresh and pair.synack_ack_ns < LOCAL_NS:
        return CLIENT, MEDIUM
    if server_fresh and pair.client_ttl > 0 and not client_fresh and pair.syn_synack_ns < LOCAL_NS:
        return SERVER, MEDIUM
    return None


def with_ttls(point: Point, client_ttl: i64, server_ttl: i64) -> Point:
    """``point``, with what TTLs say of it: who sends with a fresh one was not routed, so it may be here. 0 or -1 for a
    TTL that is not known.

    When both are fresh they say nothing: namespaces and bridges route nothing away.
    """
    client_fresh, server_fresh = is_fresh(client_ttl), is_fresh(server_ttl)
    if client_ttl <= 0 or server_ttl <= 0 or (client_fresh and server_fresh) or point[0] == LOCAL:
        return point
    if not client_fresh and not server_fresh:
        # A router lies between here and either end.
        return MIDDLE, MEDIUM
    near = CLIENT if client_fresh else SERVER
    if point[0] == UNKNOWN:
        return near, MEDIUM
    if point[0] == near:
        return near, HIGH
    # In the middle, on the near end's link; but never at the far end, whatever the times say.
    return point if point[0] == MIDDLE else (UNKNOWN, LOW)


def is_fresh(ttl: i64) -> bool:
    """Whether it is what hosts send with: a packet that has it was not routed."""
    return ttl == 64 or ttl == 128 or ttl == 255
