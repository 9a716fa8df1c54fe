"""Whether one host answers for all servers that a client speaks to: a proxy, a VPN application, a middlebox.

Servers of very different networks are not all near, nor the same number of routers away. Where every SYN is answered as
soon and with the same TTL, a "server" is whoever answers there. What that means for a verdict is not decided here.
"""

from functools import cached_property
from typing import Final, NamedTuple

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


class Answerer(NamedTuple):
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
        self._of_client: dict[bytes, dict[bytes, Answerer]] = {}
        """Of the clients that were asked about: who answers for which of their servers."""

    def of(self, key: bytes) -> Answerer | None:
        """Who answers for the server of a `client_key`, and for most others of that client's; None for the server."""
        client = client_address(key)
        if client not in self._of_client:
            self._of_client[client] = _answerers(self._servers_of.get(client, {}))
        return self._of_client[client].get(server_address(key))

    @cached_property
    def _servers_of(self) -> dict[bytes, dict[bytes, Pair]]:
        """The servers of each client whose answers to a SYN, and TTL, are known. Worked out when somebody asks."""
        found: dict[bytes, dict[bytes, Pair]] = {}
        for hosts, pair in self._knowledge.pairs.items():
            if pair.server_ttl > 0 and pair.syn_synack_ns != NEVER and not _is_at_server(pair):
                half = len(hosts) // 2
                found.setdefault(hosts[:half], {})[hosts[half:]] = pair
        return found


def _answerers(servers: dict[bytes, Pair]) -> dict[bytes, Answerer]:
    """Who answers for which of one client's servers."""
    alike: dict[int, list[bytes]] = {}
    for server, pair in servers.items():
        alike.setdefault(int(pair.server_ttl), []).append(server)
    found: dict[bytes, Answerer] = {}
    for ttl, group in alike.items():
        if 100 * len(group) < _MOST_PERCENT * len(servers):
            continue
        longest_ns = max(int(servers[server].syn_synack_ns) for server in group)
        if longest_ns > NEAR_NS or len(set(map(_network, group))) < NETWORKS_MIN:
            continue
        networks = _global_networks(group)
        if len(networks) >= NETWORKS_MIN:
            found |= dict.fromkeys(group, Answerer(len(group), len(networks), ttl, longest_ns))
    return found


def _global_networks(servers: list[bytes]) -> set[bytes]:
    """The networks of those that are on the Internet."""
    from ipaddress import ip_address  # a capture seldom has so many networks

    return {_network(server) for server in servers if ip_address(server).is_global}


def _is_at_server(pair: Pair) -> bool:
    """Whether only the server's packets were not routed: a host with many addresses, captured there, is no proxy."""
    return is_fresh(pair.server_ttl) and pair.client_ttl > 0 and not is_fresh(pair.client_ttl)


def _network(address: bytes) -> bytes:
    """What addresses of one operator mostly share: the first byte of four, the first four of sixteen."""
    return address[:1] if len(address) == 4 else address[:4]
