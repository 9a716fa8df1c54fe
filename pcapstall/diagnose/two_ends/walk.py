"""Whose time a slow interval was, walked backwards from its end: each packet from where it came to where it left.

Before it left, its sender waited for something, which the other side had sent: so the walk goes from end to end until
the interval begins. What lies between a first transmission and the copy that came through was lost on the way; how
long the copy itself was on its way is the fastest round trip, which has no direction, and what came on top, which has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from pcapstall.diagnose.segments import overlaps
from pcapstall.diagnose.split import split
from pcapstall.diagnose.two_ends.pieces import ARRIVED, MISSED, UNNOTED, Crossings, Piece
from pcapstall.diagnose.verdict import (
    CLIENT_KERNEL,
    CLIENT_PROCESS,
    NETWORK,
    SERVER_KERNEL,
    SERVER_PROCESS,
    TO_CLIENT,
    TO_SERVER,
    UNKNOWN,
)
from pcapstall.wire.segment import ACK, RST, SYN

LOSS: Final = "loss"
DELAY: Final = "delay"
HOPS_MAX: Final = 256
DELAYED_ACK_NS: Final = 500_000_000
"""A kernel may keep its ACK back for so long (RFC 9293 section 3.8.6.3)."""


class Times(Protocol):
    """Both clocks on one line, that of the end where the interval was measured."""

    @property
    def directed(self) -> bool:
        """Whether it can be told which of the two ways was slow."""

    def at(self, at_client: bool, ns: int) -> int:
        """A stamp of the client's or the server's capture."""

    def fastest_way_ns(self, to_server: bool) -> int:
        """How long the fastest packet of a direction was on its way, as these times have it."""


class Step(NamedTuple):
    """One part of the interval, on the line of `Times`."""

    part: str
    start_ns: int
    end_ns: int
    why: str = ""
    """`LOSS` or `DELAY`, for the network's."""
    pieces: tuple[Piece, ...] = ()
    """What was sent, lost or came."""

    @property
    def to_server(self) -> bool:
        """The direction of what was sent."""
        return bool(self.pieces) and self.pieces[0].seg.from_client


@dataclass(slots=True)
class Walk:
    """The steps of an interval, the latest first."""

    steps: list[Step] = field(default_factory=list)

    def parts(self, start_ns: int, end_ns: int) -> Mapping[str, int]:
        """The parts of the interval; they add up to it."""
        halves = self._half_round_trips()
        others = [step for step in self.steps if step.part != NETWORK]
        # One way of a round trip that is not whole cannot be measured: it goes with the largest part.
        largest = max(others, key=lambda step: step.end_ns - step.start_ns).part if others else NETWORK
        marks = [(step.end_ns, largest if step in halves else step.part) for step in reversed(self.steps)]
        return split(start_ns, end_ns, marks, UNKNOWN)

    def _half_round_trips(self) -> list[Step]:
        """The fastest ways of one direction that have no counterpart."""
        ways = [
            [step for step in self.steps if step.part == NETWORK and step.to_server is way] for way in (True, False)
        ]
        fewer, more = sorted(ways, key=len)
        return more[: len(more) - len(fewer)]

    def of(self, part: str) -> list[Step]:
        """The steps of one part, the longest first."""
        return sorted((step for step in self.steps if step.part == part), key=lambda s: s.start_ns - s.end_ns)


@dataclass(slots=True)
class Walker:
    """Walks one connection."""

    crossings: Crossings
    times: Times
    start_ns: int
    """Where the interval begins, on the line of ``times``."""
    gaps: Mapping[bool, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """By end: when segments were left out there, on that line."""
    walk: Walk = field(default_factory=Walk)
    unwatched: bool = False
    """Whether a host's capture may have been over before its turn was."""
    _hops: int = 0

    def came(self, piece: Piece, from_client: bool, as_ack: bool = False) -> None:
        """``piece`` came to the other end of who sent it: how, and what before. ``as_ack``: its acknowledgment is what
        was waited for, whatever else it carries."""
        now = self._at(not from_client, piece.ns)
        copy = piece.partner
        self._hops += 1
        if copy is None or self._hops > HOPS_MAX:
            # Its departure was not captured.
            self._step(UNKNOWN, self.start_ns, now, "", (piece,))
            return
        first = self._first_departure(copy, piece, from_client, as_ack)
        self._transit(copy, piece, from_client, now)
        left = self._at(from_client, copy.ns)
        began = self._at(from_client, first.ns)
        if began < left:
            before = [one for one in self._copies(first, piece, from_client, as_ack) if one.ns < copy.ns]
            arrived = any(one.fate in (ARRIVED, MISSED, UNNOTED) for one in before)
            self._step(UNKNOWN if arrived else self._network(from_client), began, left, LOSS, (*before, copy))
        self.left(first, from_client, as_ack)

    def left(self, piece: Piece, from_client: bool, as_ack: bool = False) -> None:
        """``piece`` left its sender for the first time: whose time before that was, and what the sender waited for."""
        now = self._at(from_client, piece.ns)
        if now <= self.start_ns:
            return
        cause = self._what_enabled(piece, from_client, as_ack)
        kernel = as_ack or bool(piece.flags & SYN) or not piece.is_data
        if self._lacks_cause(piece, from_client, cause, kernel):
            # It waited for something that only its host has, not its capture.
            self._step(UNKNOWN, self.start_ns, now, "", (piece,))
            return
        self.turn(from_client, cause, now, kernel, (piece,) if cause is None else (piece, cause))

    def turn(
        self, of_client: bool, cause: Piece | None, until_ns: int, kernel: bool, pieces: tuple[Piece, ...]
    ) -> None:
        """A host's turn that ended at ``until_ns``; ``cause`` is the arrival that began it, None for the interval."""
        began = self.start_ns if cause is None else max(self._at(of_client, cause.ns), self.start_ns)
        if overlaps(self.gaps.get(of_client, ()), began, until_ns):
            # What came in between is not known.
            self._step(UNKNOWN, self.start_ns, until_ns, "", pieces)
            return
        process, host = (CLIENT_PROCESS, CLIENT_KERNEL) if of_client else (SERVER_PROCESS, SERVER_KERNEL)
        if kernel:
            self._step(host, began, until_ns, "", pieces)
        else:
            taken = self._taken_ns(cause, of_client)
            if taken is not None and taken - began > DELAYED_ACK_NS and taken < until_ns:
                self._step(process, taken, until_ns, "", pieces)
                self._step(host, began, taken, "", pieces)
            else:
                self._step(process, began, until_ns, "", pieces)
        if cause is not None and self._at(of_client, cause.ns) > self.start_ns:
            self.came(cause, not of_client)

    def never_came(self, pieces: list[Piece], from_client: bool, end_ns: int) -> None:
        """An open interval: ``pieces``, all copies of one thing, left and never came."""
        first = pieces[0]
        began = max(self._at(from_client, first.ns), self.start_ns)
        lost = not any(piece.fate in (ARRIVED, MISSED, UNNOTED) for piece in pieces)
        self._step(self._network(from_client) if lost else UNKNOWN, began, end_ns, LOSS, tuple(pieces))
        self.left(first, from_client)

    def _transit(self, copy: Piece, piece: Piece, from_client: bool, now: int) -> None:
        left = self._at(from_client, copy.ns)
        least = min(left + self.times.fastest_way_ns(from_client), now) if self.times.directed else now
        if now > least:
            self._step(self._network(from_client), least, now, DELAY, (copy, piece))
        self._step(NETWORK, left, least, "", (copy, piece))

    def _first_departure(self, copy: Piece, piece: Piece, from_client: bool, as_ack: bool) -> Piece:
        """The first transmission of what ``piece`` carries, not later than ``copy``, which came."""
        for sent in self.crossings.of(from_client).sent:
            if sent is copy or carries(sent, piece, as_ack):
                return sent
        return copy

    def _copies(self, first: Piece, piece: Piece, from_client: bool, as_ack: bool) -> list[Piece]:
        return [
            sent for sent in self.crossings.of(from_client).sent if sent.ns >= first.ns and carries(sent, piece, as_ack)
        ]

    def _what_enabled(self, piece: Piece, from_client: bool, as_ack: bool) -> Piece | None:
        """What the sender of ``piece`` had to have before it could send it: the last arrival that told it something
        new; None when that came before the interval."""
        arrivals = self.crossings.of(not from_client).came
        if piece.flags & SYN and not piece.seg.flags & ACK:
            return None
        if piece.flags & SYN:
            return next((one for one in arrivals if one.flags & SYN), None)
        if (as_ack or piece.is_bare_ack) and piece.ack is not None:
            return self._completing(arrivals, piece.ack, piece.ns)
        return newest_arrival(arrivals, piece.ns)

    def _lacks_cause(self, piece: Piece, from_client: bool, cause: Piece | None, kernel: bool) -> bool:
        """Whether the capture at the sender of ``piece`` lacks what made it possible."""
        if kernel and cause is None:
            return bool(piece.seg.flags & ACK)
        since = self.start_ns if cause is None else self._at(from_client, cause.ns)
        until = self._at(from_client, piece.ns)
        return any(
            other.fate in (MISSED, UNNOTED) and other.is_data and since < self._at(not from_client, other.ns) < until
            for other in self.crossings.of(not from_client).sent
        )

    def _completing(self, arrivals: list[Piece], ack: int, until_ns: int) -> Piece | None:
        """The arrival that made everything below ``ack`` complete; a SYN when no byte is acknowledged."""
        found: Piece | None = None
        seen: set[tuple[int, int]] = set()
        for one in arrivals:
            if one.ns > until_ns:
                break
            if ack <= 0 and one.flags & SYN:
                return one
            if one.is_data and one.start < ack and (one.start, one.end) not in seen:
                seen.add((one.start, one.end))
                found = one
        return found

    def _taken_ns(self, cause: Piece | None, of_client: bool) -> int | None:
        """When the kernel of the host acknowledged ``cause``."""
        if cause is None or not cause.is_data:
            return None
        for one in self.crossings.of(of_client).sent:
            if one.ns >= cause.ns and one.ack is not None and one.ack >= cause.end and not one.flags & RST:
                return self._at(of_client, one.ns)
        return None

    def _network(self, from_client: bool) -> str:
        return TO_SERVER if from_client else TO_CLIENT

    def _at(self, at_client: bool, ns: int) -> int:
        return self.times.at(at_client, ns)

    def _step(self, part: str, start_ns: int, end_ns: int, why: str, pieces: tuple[Piece, ...]) -> None:
        start_ns = max(start_ns, self.start_ns)
        if end_ns > start_ns:
            self.walk.steps.append(Step(part, start_ns, end_ns, why, pieces))


def newest_arrival(arrivals: list[Piece], until_ns: int) -> Piece | None:
    """The last arrival up to a time that brought bytes for the first time; None without one."""
    found: Piece | None = None
    seen: set[tuple[int, int]] = set()
    for one in arrivals:
        if one.ns > until_ns:
            break
        if one.seg.has_data and (one.start, one.end) not in seen:
            seen.add((one.start, one.end))
            found = one
    return found


def carries(sent: Piece, other: Piece, as_ack: bool = False) -> bool:
    """Whether ``sent`` is a transmission of what ``other`` carries: the same bytes, or an ACK that says as much."""
    if other.is_data and not as_ack:
        return sent.is_data and sent.start <= other.start < sent.end
    if other.flags and not as_ack:
        return sent.flags == other.flags
    if sent.flags & RST:
        return False
    return sent.ack is not None and other.ack is not None and sent.ack >= other.ack
