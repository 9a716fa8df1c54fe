"""Packets between two hosts of which the TCP segment could not be read: malformed ones, and incomplete fragments.

Whoever finds nothing where something was due asks here whether it may be among them. Bounded; what was cut off by the
bound is still counted by file.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.frames import file_of

UNREAD_MAX: Final = 65_536
"""Packets that are remembered one by one."""


class Unread:
    """One malformed packet, or ``fragments`` of one datagram of which other parts did not come."""

    def __init__(self, ns: i64, ref: i64, fragments: i64) -> None:
        self.ns: i64 = ns
        self.ref: i64 = ref
        self.fragments: i64 = fragments
        """0 for a malformed packet."""


class UnreadPackets:
    """All of them, by their hosts."""

    def __init__(self) -> None:
        self.fragments: dict[int, int] = {}
        """How many fragments, by file index."""
        self._held: i64 = 0
        self._between: dict[bytes, list[Unread]] = {}
        """By source and destination address."""

    def note(self, hosts: bytes, ns: i64, ref: i64, fragments: i64) -> None:
        """Remember one; ``hosts`` are source and destination address, empty where it cannot have held TCP."""
        if fragments > 0:
            index: i64 = file_of(ref)
            self.fragments[index] = self.fragments.get(index, 0) + fragments
        if len(hosts) == 0 or self._held >= UNREAD_MAX:
            return
        self._held += 1
        found = self._between.get(hosts)
        if found is None:
            found = []
            self._between[hosts] = found
        found.append(Unread(ns, ref, fragments))

    def between(self, one: bytes, other: bytes, start_ns: i64, end_ns: i64) -> list[Unread]:
        """Those between two hosts, in either direction, that came from ``start_ns`` to ``end_ns``."""
        return [
            unread
            for hosts in (one + other, other + one)
            for unread in self._between.get(hosts, [])
            if start_ns <= unread.ns and unread.ns <= end_ns
        ]
