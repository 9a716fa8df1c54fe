"""Connections that lost a race: several addresses were tried and another one connected first (RFC 8305).

Such a SYN was given up, not filtered. Only times and endpoints are compared; names are not known here.
"""

from bisect import bisect_left
from operator import attrgetter
from typing import Final

from pcapstall.diagnose.connections import Connection
from pcapstall.diagnose.intervals import FIRST_RETRY_NS
from pcapstall.diagnose.knowledge import Knowledge, client_address, client_key
from pcapstall.flows.flow import Flow

START_WITHIN_NS: Final = 2_000_000_000
"""RFC 8305 section 5 lets the next attempt start within 2 s of the one before."""
V4_KEY_LEN: Final = 12
V6_KEY_LEN: Final = 36
_SYN_NS: Final = attrgetter("syn_ns")


class Races:
    """Finds the connection that won, if there is one."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._of_client: dict[bytes, list[Connection]] = {}
        """By server port and client address, in the order of their SYNs."""
        self._of_family: dict[tuple[bytes, int], list[Connection]] = {}
        """By server port and length of the key, in the same order."""
        for connection in knowledge.all_connections():
            if connection.connected:
                key = connection.key
                self._of_client.setdefault(key[-2:] + client_address(key), []).append(connection)
                self._of_family.setdefault((key[-2:], len(key)), []).append(connection)
        for attempts in (*self._of_client.values(), *self._of_family.values()):
            attempts.sort(key=_SYN_NS)

    def winner(self, flow: Flow) -> Connection | None:
        """The connection that won against ``flow``, which never connected.

        It goes from the same client (or one of the other address family, where a host cannot be told by its address)
        to the same port of another address, began at nearly the same time, and was connected when this one was given
        up: no SYN came after that, though the time for one passed.
        """
        if flow.syn_ref == 0 or flow.ack_ref != 0:
            return None
        key = client_key(flow)
        own = self._of_client.get(key[-2:] + client_address(key), [])
        others = self._of_family.get((key[-2:], V6_KEY_LEN if len(key) == V4_KEY_LEN else V4_KEY_LEN), [])
        return _winner(flow, own) or _winner(flow, others)


def _winner(flow: Flow, attempts: list[Connection]) -> Connection | None:
    """The first of ``attempts``, in the order of their SYNs, that won against ``flow``."""
    hosts = client_key(flow)[:-4]
    client = flow.client()
    given_up_ns = flow.last_ns + (flow.last_ns - flow.syn_ns) + FIRST_RETRY_NS
    if client.rst_ref:
        given_up_ns = client.rst_ns
    for at in range(bisect_left(attempts, flow.syn_ns - START_WITHIN_NS, key=_SYN_NS), len(attempts)):
        connection = attempts[at]
        if connection.syn_ns > flow.syn_ns + START_WITHIN_NS:
            break
        if connection.key[:-4] == hosts:
            continue
        if connection.ack_ns <= given_up_ns and (client.rst_ref or flow.last_ns <= connection.ack_ns):
            return connection
    return None
