"""Two hosts: the smallest times of their handshakes, their TTLs, and how many of their flows are only counted.

Where very many of them are kept is in `pair_rows`; who fills them is the business of `knowledge`. Compiled, since all
pairs of a capture are looked at when it was read.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.wire.tls_reader import NEVER

ONE_HOST_NS: Final = 2_000_000
"""Loopback link types are also those of tunnels, on which a round trip takes longer than this."""


@mypyc_attr(acyclic=True)
class Pair:
    """Two hosts: the smallest times of their TCP handshakes, retried ones left out."""

    def __init__(self) -> None:
        self.syn_synack_ns: i64 = NEVER
        """SYN to SYN-ACK: from here to the server and back."""
        self.synack_ack_ns: i64 = NEVER
        """SYN-ACK to ACK: from here to the client and back."""
        self.retried_syn_synack_ns: i64 = NEVER
        """The same of handshakes with a repeated SYN or SYN-ACK, from the SYN that the SYN-ACK's TSecr answers."""
        self.retried_synack_ack_ns: i64 = NEVER
        self.client_ttl: i64 = 0
        """Of the client's packets; 0 while not known, -1 when they differ."""
        self.server_ttl: i64 = 0
        self.file_index: i64 = 0
        """The capture in which their first flow is."""
        self.unshown: i64 = 0
        """Flows that are not shown one by one."""
        self.moment: tuple[i64, i64] = (0, 0)
        """When they were met first (`Knowledge.moment`)."""

    def see_ttls(self, client_ttl: i64, server_ttl: i64) -> None:
        """Take in the TTLs of another flow; 0 for one that is not known."""
        self.client_ttl = ttl_of_all(self.client_ttl, client_ttl)
        self.server_ttl = ttl_of_all(self.server_ttl, server_ttl)

    def is_slow(self) -> bool:
        """Whether even the fastest handshake took longer than two processes of one host need."""
        if self.syn_synack_ns == NEVER or self.synack_ack_ns == NEVER:
            return False
        return self.syn_synack_ns + self.synack_ack_ns > ONE_HOST_NS

    def rtt_ns(self) -> i64:
        """The smallest time from here to the server and back; 0 when it is not known."""
        if self.syn_synack_ns == NEVER:
            return 0
        return self.syn_synack_ns

    def absorb(self, other: "Pair") -> None:
        """Take in what somebody else has learned of the same hosts."""
        if other.syn_synack_ns < self.syn_synack_ns:
            self.syn_synack_ns = other.syn_synack_ns
        if other.synack_ack_ns < self.synack_ack_ns:
            self.synack_ack_ns = other.synack_ack_ns
        if other.retried_syn_synack_ns < self.retried_syn_synack_ns:
            self.retried_syn_synack_ns = other.retried_syn_synack_ns
        if other.retried_synack_ack_ns < self.retried_synack_ack_ns:
            self.retried_synack_ack_ns = other.retried_synack_ack_ns
        self.see_ttls(other.client_ttl, other.server_ttl)
        self.unshown += other.unshown
        if other.moment < self.moment:
            self.moment = other.moment
            self.file_index = other.file_index


def ttl_of_all(known: i64, ttl: i64) -> i64:
    """``known`` of one side's packets, and ``ttl`` of others: 0 while not known, -1 when they differ."""
    if ttl == 0 or ttl == known:
        return known
    if known == 0:
        return ttl
    return -1
