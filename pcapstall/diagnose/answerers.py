"""Whether one host answers for all servers that a client speaks to: a proxy, a VPN application, a middlebox.

Servers of very different networks are not all near, nor the same number of routers away. Where every SYN is answered as
soon and with the same TTL, a "server" is whoever answers there. What that means for a verdict is not decided here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from typing import Final

from pcapstall.diagnose.capture_point import is_fresh
from pcapstall.diagnose.knowledge import Knowledge, client_address, server_address
from pcapstall.diagnose.pairs import Pair
from pcapstall.wire.tls_reader import NEVER

NETWORKS_MIN: Final = 5
"""So many networks must be answered for: a few may be as far away by accident."""
NEAR_NS: Final = 20_000_000
"""As soon all of them must have answered a SYN."""
_MOST_PERCENT: Final = 75
"""So many of the client's servers must be among those: it asks for every server, or nearly."""


@dataclass(frozen=True, slots=True)
class Answerer:
    """One host that answers for many servers."""

    servers: int
    networks: int
    ttl: int
    """Of all that it sends."""
    longest_ns: int
    """Within this time it answered a SYN to each of them."""


class Answerers:
    """Finds them by the client's address, among the pairs of hosts that have been seen."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def of(self, key: bytes) -> Answerer | None:
        """Who answers for the server of a `client_key`, and for most others of that client's; None for the server."""
        alike = self._servers_of.get(client_address(key), {})
        for answerer, servers in self._answerers(alike):
            if server_address(key) in servers:
                return answerer
        return None

    def _answerers(self, servers: dict[bytes, Pair]) -> Iterator[tuple[Answerer, dict[bytes, Pair]]]:
        """Each of one client's, with the servers that it answers for."""
        for ttl in {int(pair.server_ttl) for pair in servers.values()}:
            alike = {server: pair for server, pair in servers.items() if pair.server_ttl == ttl}
            networks = {_network(server) for server in alike if ip_address(server).is_global}
            longest_ns = max(int(pair.syn_synack_ns) for pair in alike.values())
            if (
                len(networks) >= NETWORKS_MIN
                and longest_ns <= NEAR_NS
                and 100 * len(alike) >= _MOST_PERCENT * len(servers)
            ):
                yield Answerer(len(alike), len(networks), ttl, longest_ns), alike

    @cached_property
    def _servers_of(self) -> dict[bytes, dict[bytes, Pair]]:
        """The servers of each client whose answers to a SYN, and TTL, are known. Worked out when somebody asks."""
        found: dict[bytes, dict[bytes, Pair]] = {}
        for hosts, pair in self._knowledge.pairs.items():
            if pair.server_ttl > 0 and pair.syn_synack_ns != NEVER and not _is_at_server(pair):
                half = len(hosts) // 2
                found.setdefault(hosts[:half], {})[hosts[half:]] = pair
        return found


def _is_at_server(pair: Pair) -> bool:
    """Whether only the server's packets were not routed: a host with many addresses, captured there, is no proxy."""
    return is_fresh(pair.server_ttl) and pair.client_ttl > 0 and not is_fresh(pair.client_ttl)


def _network(address: bytes) -> bytes:
    """What addresses of one operator mostly share: the first byte of four, the first four of sixteen."""
    return address[:1] if len(address) == 4 else address[:4]
