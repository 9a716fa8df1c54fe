"""Pairs of hosts, each a row of words that is found by both addresses; and all of them for another process.

Who fills them is the business of `knowledge`. Compiled, since every flow looks up its pair.
"""

from typing import Final

from librt.strings import BytesWriter, write_i64_be
from librt.vecs import extend, vec
from mypy_extensions import i32, i64

from pcapstall.core.frames import file_of
from pcapstall.core.packed import packed_words, unpacked_words
from pcapstall.core.vecs import lengthened
from pcapstall.core.words import U32, u32_be
from pcapstall.diagnose.pair import Pair as Pair
from pcapstall.diagnose.pair_rows import HOSTS, OTHER_WORDS, UNSHOWN, WORDS, PairRows
from pcapstall.flows.flow import Flow
from pcapstall.flows.roles import client_and_server, is_v4

_V4_HOSTS_LEN: Final = 8
_V6_HOSTS_LEN: Final = 32
_SIGN: Final = 0x8000_0000
_LOOPBACK: Final = 127
"""The first byte of an IPv4 address of this host's own."""

_PLACES: Final = 256
"""At first; at least twice as many as there are IPv4 pairs, and a power of two."""

_FACTOR: Final = (1 << 28) - 1
_FOLDED: Final = 0x7FFF_FFFF
_MIX: Final = 0x2545_F491
_MIXED_SHIFT: Final = 29


PackedPairs = tuple[bytes, bytes, bytes]
"""All of them, for another process: the words of one row after those of another, likewise the other words, and the
addresses of IPv6 pairs in the order of their rows."""


class Pairs(PairRows):
    """Each is known by the number of its row."""

    def __init__(self) -> None:
        super().__init__()
        self._places: vec[i32] = vec[i32]([-1] * _PLACES)
        """The rows of IPv4 pairs, each in the first place from its own on that was free; -1 for none."""
        self._fetched: vec[i64] = vec[i64]()
        """The rows that `fetch` has found in the first places it looked into."""
        self._v6_rows: dict[bytes, int] = {}
        self._v6_hosts: list[bytes] = []
        # Python draws another number in each process, so that nobody can choose addresses that share their places.
        seed: i64 = hash(b"pairs of hosts") & ((1 << 60) - 1)
        self._client_factor: i64 = (seed & _FACTOR) | 1
        self._server_factor: i64 = (seed >> 28) & _FACTOR | 1

    def find(self, flow: Flow) -> i64:
        """The row of the hosts of ``flow``; -1 when they were not met."""
        if not is_v4(flow):
            return self._v6_rows.get(_hosts_of(flow), -1)
        return i64(self._places[self._place(_v4_hosts_of(flow))])

    def meet(self, flow: Flow, most: i64, moment: tuple[i64, i64]) -> i64:
        """The row of the hosts of ``flow``. Those that were not met before get one with ``moment``, unless there are
        ``most`` already: -1."""
        if not is_v4(flow):
            row: i64 = self._v6_rows.get(_hosts_of(flow), -1)
            if row < 0 and self._count < most:
                row = self._add_v6(_hosts_of(flow))
                self._begin(row, file_of(flow.first_ref), moment)
            return row
        hosts: i64 = _v4_hosts_of(flow)
        place: i64 = self._place(hosts)
        row = i64(self._places[place])
        if row < 0 and self._count < most:
            row = self._add_v4(hosts, place)
            self._begin(row, file_of(flow.first_ref), moment)
        return row

    def fetch(self, flows: list[Flow], start: i64, end: i64) -> i64:
        """Read what `find` and `meet` of ``flows[start:end]`` will read, side by side, so that memory brings it at
        once (flows.fetch); what is returned depends on all of it."""
        places = self._places
        rows = self._rows
        found = self._fetched
        if end - start > len(found):
            found = lengthened(vec[i64](), end - start)
            self._fetched = found
        count: i64 = 0
        at: i64 = start
        while at < end:
            if is_v4(flows[at]):
                found[count] = i64(places[self._own_place(_v4_hosts_of(flows[at]))])
                count += 1
            at += 1
        read: i64 = 0
        at = 0
        while at < count:
            row: i64 = found[at]
            if row >= 0:
                read ^= rows[row * WORDS + HOSTS] ^ rows[row * WORDS + UNSHOWN]
            at += 1
        return read

    def hosts(self, row: i64) -> bytes:
        """The addresses of client and server."""
        word: i64 = self._rows[row * WORDS + HOSTS]
        if self.is_v6(row):
            return self._v6_hosts[word]
        writer = BytesWriter()
        write_i64_be(writer, word)
        return writer.getvalue()

    def is_one_host(self, row: i64) -> bool:
        """Whether both addresses are loopback's, or one and the same."""
        if self.is_v6(row):
            return is_one_host(self.hosts(row))
        word: i64 = self._rows[row * WORDS + HOSTS]
        return _is_one_v4_host((word >> 32) & U32, word & U32)

    def pair(self, row: i64) -> Pair:
        """What is known of the hosts in ``row``."""
        pair = Pair()
        self.load(row, pair)
        return pair

    def items(self) -> list[tuple[bytes, Pair]]:
        """All of them, with their hosts."""
        return [(self.hosts(row), self.pair(row)) for row in range(self._count)]

    def in_order(self) -> list[int]:
        """All rows, in the order in which the hosts were met."""
        found: list[tuple[i64, i64, i64]] = []
        row: i64 = 0
        while row < self._count:
            record, within = self.moment(row)
            found.append((record, within, row))
            row += 1
        found.sort()
        return [row for _, _, row in found]

    def only(self, rows: list[int]) -> "Pairs":
        """Those in ``rows``, in their order."""
        found = Pairs()
        pair = Pair()
        for row in rows:
            self.load(row, pair)
            word: i64 = self._rows[i64(row) * WORDS + HOSTS]
            found.store(found._row_of(word, self.hosts(row), self.is_v6(row)), pair)
        return found

    def absorb(self, other: "Pairs") -> None:
        """Take in what somebody else has learned."""
        pair, known = Pair(), Pair()
        row: i64 = 0
        while row < other._count:
            other.load(row, pair)
            before: i64 = self._count
            is_v6: bool = other.is_v6(row)
            hosts = b""
            if is_v6:
                hosts = other.hosts(row)
            mine: i64 = self._row_of(other._rows[row * WORDS + HOSTS], hosts, is_v6)
            if self._count == before:
                self.load(mine, known)
                known.absorb(pair)
                self.store(mine, known)
            else:
                self.store(mine, pair)
            row += 1

    def packed(self) -> PackedPairs:
        """All of them; `unpacked` is the inverse."""
        rows = memoryview(self._rows)[: self._count * WORDS]
        others = memoryview(self._others)[: self._count * OTHER_WORDS]
        return packed_words(rows), packed_words(others), b"".join(self._v6_hosts)

    def _row_of(self, word: i64, hosts: bytes, is_v6: bool) -> i64:
        """The row of ``hosts``, which are ``word`` where they are IPv4's; a new one when they were not met."""
        if is_v6:
            row: i64 = self._v6_rows.get(hosts, -1)
            if row < 0:
                row = self._add_v6(hosts)
            return row
        place: i64 = self._place(word)
        row = i64(self._places[place])
        if row < 0:
            row = self._add_v4(word, place)
        return row

    def _add_v6(self, hosts: bytes) -> i64:
        row: i64 = self._add(len(self._v6_hosts), 1)
        self._v6_rows[hosts] = row
        self._v6_hosts.append(hosts)
        return row

    def _add_v4(self, hosts: i64, place: i64) -> i64:
        row: i64 = self._add(hosts, 0)
        self._places[place] = i32(row)
        if self._count + self._count > len(self._places):
            self._spread()
        return row

    def _spread(self) -> None:
        """More places, four times as many: to spread the rows anew takes as long as to have found them."""
        wanted: i64 = 4 * len(self._places)
        places: vec[i32] = vec[i32]([-1])
        while len(places) < wanted:
            places = extend(places, places)
        self._places = places
        row: i64 = 0
        while row < self._count:
            if not self.is_v6(row):
                self._places[self._place(self._rows[row * WORDS + HOSTS])] = i32(row)
            row += 1

    def _place(self, hosts: i64) -> i64:
        """Where the row of these IPv4 hosts is, or is to be put."""
        places = self._places
        rows = self._rows
        mask: i64 = len(places) - 1
        place: i64 = self._own_place(hosts)
        while True:
            row: i64 = i64(places[place])
            if row < 0 or rows[row * WORDS + HOSTS] == hosts:
                return place
            place = (place + 1) & mask

    def _own_place(self, hosts: i64) -> i64:
        """Where to look for their row first. All intermediate results fit 62 bits."""
        mixed: i64 = ((hosts >> 32) & U32) * self._client_factor + (hosts & U32) * self._server_factor
        mixed = (mixed ^ (mixed >> 31)) & _FOLDED
        return ((mixed * _MIX) >> _MIXED_SHIFT) & (len(self._places) - 1)


def unpacked(packed: PackedPairs) -> Pairs:
    """What `Pairs.packed` has packed."""
    found = Pairs()
    packed_rows, packed_others, v6_hosts = packed
    at: i64 = 0
    while at < len(v6_hosts):
        found._v6_hosts.append(v6_hosts[at : at + _V6_HOSTS_LEN])
        at += _V6_HOSTS_LEN
    words = unpacked_words(packed_rows)
    found._rows = words
    found._others = unpacked_words(packed_others)
    rows: i64 = len(words) // WORDS
    while found._count < rows:
        row: i64 = found._count
        found._count += 1
        if found.is_v6(row):
            found._v6_rows[found._v6_hosts[words[row * WORDS + HOSTS]]] = row
            continue
        found._places[found._place(words[row * WORDS + HOSTS])] = i32(row)
        if found._count + found._count > len(found._places):
            found._spread()
    return found


def is_one_host(hosts: bytes) -> bool:
    """Whether both addresses in ``hosts`` are loopback's, or one and the same."""
    if len(hosts) == _V4_HOSTS_LEN:
        return _is_one_v4_host(u32_be(hosts, 0), u32_be(hosts, 4))
    half: i64 = len(hosts) >> 1
    return hosts[:half] == hosts[half:]


def _is_one_v4_host(client: i64, server: i64) -> bool:
    return client == server or (client >> 24 == _LOOPBACK and server >> 24 == _LOOPBACK)


def _v4_hosts_of(flow: Flow) -> i64:
    """The addresses of client and server as they stand before each other."""
    client, server = client_and_server(flow)
    return ((((client >> 16) ^ _SIGN) - _SIGN) << 32) | (server >> 16)


def _hosts_of(flow: Flow) -> bytes:
    """The addresses of client and server."""
    key = flow.key
    half: i64 = (len(key) - 4) >> 1
    if flow.opener_is_client:
        return key[: half + half]
    return key[half : half + half] + key[:half]
