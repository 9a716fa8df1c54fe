"""The live flows, found by the endpoints of a segment, and told in the order in which they were opened.

Each flow is in one place, which both directions look into; those with the same place hang on each other. Where a place
is depends on numbers drawn for each table, so that nobody who sends segments can tell which endpoints share one: flows
that lie together do so by chance, and a place has half a flow on average. What a segment does is not known here.
"""

import os
from typing import Final

from librt.strings import read_i32_be, read_i64_be
from librt.vecs import append, vec
from mypy_extensions import i32, i64

from pcapstall.core.words import U32, u32_be
from pcapstall.flows.flow import NOBODY, Flow, HalfFlow
from pcapstall.wire.segment import V6_ENDPOINT, Segment

PLACES: Final = 1024
"""At first; always a power of two, and twice the flows at least."""
GONE_MAX: Final = 1024
"""Flows that are gone for each of those that stay, and these, before what stays moves up in the order."""
_LOW: Final = 0xFF_FFFF
_MIXED: Final = 0x3FFF_FFFF
_OF_36: Final = 1 << 35
_OF_29: Final = 1 << 28


class FlowPlaces:
    """All flows of a table."""

    def __init__(self) -> None:
        self._places: vec[Flow | None] = vec[Flow | None]([None] * PLACES)
        self._last: i64 = PLACES - 1
        self._order: vec[Flow] = vec[Flow]()
        """In the order of their opening; `NOBODY` in place of those that are gone."""
        self._live: i64 = 0
        drawn = os.urandom(5 * 8)
        # 36 bits each, the highest of which is set: products with 24 bits, and sums of four, stay below 2^62.
        self._low: i64 = _drawn(drawn, 0, _OF_36)
        self._low_high: i64 = _drawn(drawn, 5, _OF_36)
        self._high: i64 = _drawn(drawn, 10, _OF_36)
        self._high_high: i64 = _drawn(drawn, 15, _OF_36)
        # 29 bits for words of 32.
        self._word_0: i64 = _drawn(drawn, 20, _OF_29)
        self._word_1: i64 = _drawn(drawn, 25, _OF_29)
        self._word_2: i64 = _drawn(drawn, 30, _OF_29)
        self._word_3: i64 = _drawn(drawn, 35, _OF_29)

    def find(self, segment: Segment) -> HalfFlow:
        """The half that sent ``segment``; that of `NOBODY` when it is of none of the flows."""
        source: i64 = segment.source
        destination: i64 = segment.destination
        if source >= V6_ENDPOINT:
            return self._find_v6(segment)
        flow = self._places[self._mixed(source, destination) & self._last]
        while flow is not None:
            # In this order: a host that talks to its own port (LAND) has the same endpoints in both directions.
            if flow.source == source and flow.destination == destination:
                return flow.opener
            if flow.source == destination and flow.destination == source:
                return flow.answerer
            flow = flow.beside
        return NOBODY.opener

    def _find_v6(self, segment: Segment) -> HalfFlow:
        """The same where other endpoints may have the same numbers."""
        flow = self._places[self._mixed_v6(segment) & self._last]
        while flow is not None:
            if flow.source == segment.source and flow.destination == segment.destination:
                if _sends(segment, flow.key, 0):
                    return flow.opener
            if flow.source == segment.destination and flow.destination == segment.source:
                if _sends(segment, flow.key, 16):
                    return flow.answerer
            flow = flow.beside
        return NOBODY.opener

    def add(self, flow: Flow, segment: Segment) -> None:
        """Let ``flow``, which ``segment`` opens, be found; it must be the only one with these endpoints."""
        flow.source = segment.source
        flow.destination = segment.destination
        mixed: i64 = 0
        if flow.source >= V6_ENDPOINT:
            mixed = self._mixed_v6(segment)
        else:
            mixed = self._mixed(flow.source, flow.destination)
        flow.mixed = i32(mixed)
        self._live += 1
        if self._live + self._live > len(self._places):
            self._grow()
        place: i64 = mixed & self._last
        flow.beside = self._places[place]
        self._places[place] = flow
        if len(self._order) >= self._live + self._live + GONE_MAX:
            self._move_up()
        flow.turn = i32(len(self._order))
        self._order = append(self._order, flow)

    def remove(self, flow: Flow) -> None:
        """Let ``flow``, which was added, be found no more."""
        place: i64 = i64(flow.mixed) & self._last
        before = self._places[place]
        if before is flow:
            self._places[place] = flow.beside
        else:
            while before is not None and before.beside is not flow:
                before = before.beside
            if before is None:
                return
            before.beside = flow.beside
        flow.beside = None
        self._order[i64(flow.turn)] = NOBODY
        self._live -= 1

    def in_order(self) -> list[Flow]:
        """All of them, as they were opened."""
        found: list[Flow] = []
        for at in range(i64(len(self._order))):
            flow = self._order[at]
            if flow is not NOBODY:
                found.append(flow)
        return found

    def __len__(self) -> int:
        return self._live

    def __del__(self) -> None:
        """Whoever gave up in the middle leaves no flow behind."""
        for flow in self.in_order():
            flow.untie()
            flow.beside = None

    def _grow(self) -> None:
        """Twice as many places."""
        places: i64 = i64(len(self._places)) * 2
        self._places = vec[Flow | None]([None] * places)
        self._last = places - 1
        for at in range(i64(len(self._order))):
            flow = self._order[at]
            if flow is not NOBODY:
                place: i64 = i64(flow.mixed) & self._last
                flow.beside = self._places[place]
                self._places[place] = flow

    def _move_up(self) -> None:
        """Leave no place in the order to those that are gone."""
        order = vec[Flow](capacity=self._live + self._live)
        for at in range(i64(len(self._order))):
            flow = self._order[at]
            if flow is not NOBODY:
                flow.turn = i32(len(order))
                order = append(order, flow)
        self._order = order

    def _mixed(self, source: i64, destination: i64) -> i64:
        """30 bits, the same for both directions, of which the low ones tell the place.

        Multiply-shift hashing of four words of 24 bits (Dietzfelbinger, "Universal hashing and k-wise independent
        random variables via integer arithmetic without primes"): two pairs share a place with a chance of about one
        in the number of places, whoever chose them. No intermediate result needs more than 63 bits, so that both
        builds agree.
        """
        low: i64 = source
        high: i64 = destination
        if source > destination:
            low = destination
            high = source
        both: i64 = (low & _LOW) * self._low + (low >> 24) * self._low_high
        both += (high & _LOW) * self._high + (high >> 24) * self._high_high
        return (both >> 24) & _MIXED

    def _mixed_v6(self, segment: Segment) -> i64:
        """The same for IPv6, whose endpoints' numbers anyone can make alike: the addresses are mixed first."""
        buf = segment.buf
        addresses: i64 = segment.addresses_offset
        ports: i64 = i64(read_i32_be(buf, segment.tcp_offset))
        source: i64 = (self._word_of(buf, addresses) << 16) | ((ports >> 16) & 0xFFFF)
        destination: i64 = (self._word_of(buf, addresses + 16) << 16) | (ports & 0xFFFF)
        return self._mixed(source, destination)

    def _word_of(self, buf: bytes, at: i64) -> i64:
        """32 bits of the IPv6 address at ``at``."""
        both: i64 = u32_be(buf, at) * self._word_0 + u32_be(buf, at + 4) * self._word_1
        both += u32_be(buf, at + 8) * self._word_2 + u32_be(buf, at + 12) * self._word_3
        return (both ^ (both >> 30)) & U32


def _sends(segment: Segment, key: bytes, at: i64) -> bool:
    """Whether the IPv6 address at ``at`` in ``key`` is that of the sender of ``segment``, and the other the other's.

    Their ports are told by the endpoints' numbers, once the addresses are equal.
    """
    buf = segment.buf
    source: i64 = segment.addresses_offset
    if read_i64_be(buf, source) != read_i64_be(key, at) or read_i64_be(buf, source + 8) != read_i64_be(key, at + 8):
        return False
    other: i64 = 16 - at
    destination: i64 = source + 16
    if read_i64_be(buf, destination) != read_i64_be(key, other):
        return False
    return read_i64_be(buf, destination + 8) == read_i64_be(key, other + 8)


def _drawn(drawn: bytes, at: i64, least: i64) -> i64:
    """A number of as many bits as ``least``, a power of two; its lowest bit is set."""
    return ((u32_be(drawn, at) << 8 | i64(drawn[at + 4])) & (least - 1)) | least | 1
