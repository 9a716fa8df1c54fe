"""Rows of words, one for each pair of hosts: what every pair has, without an object for each.

How a row is found is in `pairs`. Compiled, since every flow reads and writes a row.
"""

from typing import Final

from librt.vecs import extend, vec
from mypy_extensions import i64

from pcapstall.diagnose.pair import Pair, ttl_of_all
from pcapstall.wire.tls_reader import NEVER

# The words of a row that every flow of the pair reads or writes.
HOSTS: Final = 0  # both IPv4 addresses, or which of the IPv6 pairs
_SYN_SYNACK: Final = 1
_SYNACK_ACK: Final = 2
UNSHOWN: Final = 3
WORDS: Final = 4

# The others.
_RETRIED_SYN_SYNACK: Final = 0
_RETRIED_SYNACK_ACK: Final = 1
_TTLS: Final = 2  # the client's, and that of the server: each plus 1, `_TTL_BITS` apart
_TTL_BITS: Final = 16
_TTL: Final = (1 << 16) - 1
_NO_TTLS: Final = 1 | (1 << _TTL_BITS)
_FILE: Final = 3  # ``index << 1 | is_v6``
_RECORD: Final = 4
_WITHIN: Final = 5
OTHER_WORDS: Final = 6
_BLOCK: Final = 6
"""There are two to this power of rows more whenever there is room for none."""


class PairRows:
    """They count from 0 in the order in which pairs were met, and each stays what it is."""

    def __init__(self) -> None:
        self._rows: vec[i64] = vec[i64]()
        """With rows for more pairs."""
        self._others: vec[i64] = vec[i64]()
        """Likewise: the other words of each row."""
        self._count: i64 = 0
        more = vec[i64]([0, NEVER, NEVER, 0])
        more_others = vec[i64]([NEVER, NEVER, _NO_TTLS, 0, 0, 0])
        for _ in range(_BLOCK):
            more = extend(more, more)
            more_others = extend(more_others, more_others)
        self._more: vec[i64] = more
        """Rows of pairs of which nothing is known."""
        self._more_others: vec[i64] = more_others

    def __len__(self) -> int:
        return self._count

    def is_v6(self, row: i64) -> bool:
        """Whether the hosts are IPv6's."""
        return self._others[row * OTHER_WORDS + _FILE] & 1 != 0

    def see_handshake(self, row: i64, syn_synack_ns: i64, synack_ack_ns: i64) -> None:
        """Take in the times of a handshake without repeated segments; below 0 for one that is not known."""
        rows = self._rows
        at: i64 = row * WORDS
        if 0 <= syn_synack_ns < rows[at + _SYN_SYNACK]:
            rows[at + _SYN_SYNACK] = syn_synack_ns
        if 0 <= synack_ack_ns < rows[at + _SYNACK_ACK]:
            rows[at + _SYNACK_ACK] = synack_ack_ns

    def see_retried_handshake(self, row: i64, syn_synack_ns: i64, synack_ack_ns: i64) -> None:
        """Take in the times of a handshake with repeated segments; `NEVER` for one that is not known."""
        others = self._others
        at: i64 = row * OTHER_WORDS
        if syn_synack_ns < others[at + _RETRIED_SYN_SYNACK]:
            others[at + _RETRIED_SYN_SYNACK] = syn_synack_ns
        if synack_ack_ns < others[at + _RETRIED_SYNACK_ACK]:
            others[at + _RETRIED_SYNACK_ACK] = synack_ack_ns

    def see_ttls(self, row: i64, client_ttl: i64, server_ttl: i64) -> None:
        """Take in the TTLs of another flow; 0 for one that is not known."""
        others = self._others
        at: i64 = row * OTHER_WORDS + _TTLS
        known: i64 = others[at]
        client_ttl = ttl_of_all((known & _TTL) - 1, client_ttl)
        server_ttl = ttl_of_all((known >> _TTL_BITS) - 1, server_ttl)
        others[at] = (client_ttl + 1) | ((server_ttl + 1) << _TTL_BITS)

    def count_unshown(self, row: i64) -> None:
        """One more flow is not shown one by one."""
        self._rows[row * WORDS + UNSHOWN] += 1

    def unshown(self, row: i64) -> i64:
        """Flows that are not shown one by one."""
        return self._rows[row * WORDS + UNSHOWN]

    def moment(self, row: i64) -> tuple[i64, i64]:
        """When the hosts were met first."""
        at: i64 = row * OTHER_WORDS
        return self._others[at + _RECORD], self._others[at + _WITHIN]

    def load(self, row: i64, pair: Pair) -> None:
        """Let ``pair`` be what is known of the hosts in ``row``."""
        rows = self._rows
        at: i64 = row * WORDS
        pair.syn_synack_ns = rows[at + _SYN_SYNACK]
        pair.synack_ack_ns = rows[at + _SYNACK_ACK]
        pair.unshown = rows[at + UNSHOWN]
        others = self._others
        at = row * OTHER_WORDS
        pair.retried_syn_synack_ns = others[at + _RETRIED_SYN_SYNACK]
        pair.retried_synack_ack_ns = others[at + _RETRIED_SYNACK_ACK]
        pair.client_ttl = (others[at + _TTLS] & _TTL) - 1
        pair.server_ttl = (others[at + _TTLS] >> _TTL_BITS) - 1
        pair.file_index = others[at + _FILE] >> 1
        pair.moment = (others[at + _RECORD], others[at + _WITHIN])

    def store(self, row: i64, pair: Pair) -> None:
        """Let what is known of the hosts in ``row`` be ``pair``."""
        rows = self._rows
        at: i64 = row * WORDS
        rows[at + _SYN_SYNACK] = pair.syn_synack_ns
        rows[at + _SYNACK_ACK] = pair.synack_ack_ns
        rows[at + UNSHOWN] = pair.unshown
        others = self._others
        at = row * OTHER_WORDS
        others[at + _RETRIED_SYN_SYNACK] = pair.retried_syn_synack_ns
        others[at + _RETRIED_SYNACK_ACK] = pair.retried_synack_ack_ns
        others[at + _TTLS] = (pair.client_ttl + 1) | ((pair.server_ttl + 1) << _TTL_BITS)
        others[at + _FILE] = (pair.file_index << 1) | (others[at + _FILE] & 1)
        others[at + _RECORD] = pair.moment[0]
        others[at + _WITHIN] = pair.moment[1]

    def _add(self, hosts: i64, is_v6: i64) -> i64:
        row: i64 = self._count
        if row * WORDS >= len(self._rows):
            self._rows = extend(self._rows, self._more)
            self._others = extend(self._others, self._more_others)
        self._rows[row * WORDS + HOSTS] = hosts
        self._others[row * OTHER_WORDS + _FILE] = is_v6
        self._count += 1
        return row

    def _begin(self, row: i64, file_index: i64, moment: tuple[i64, i64]) -> None:
        others = self._others
        at: i64 = row * OTHER_WORDS
        others[at + _FILE] |= file_index << 1
        others[at + _RECORD] = moment[0]
        others[at + _WITHIN] = moment[1]
