"""Whether the clock of the capture was set while a connection ran: the hosts' own clocks, in its TCP timestamps, tell.

A segment that was held up on its way looks the same on the side of its sender, so one side is believed only where the
capture was taken at it, or when the other side says so too. Nothing is concluded here.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice, pairwise
from typing import Final, NamedTuple

from pcapstall.diagnose.clocks import Clocks
from pcapstall.diagnose.histories import Histories
from pcapstall.diagnose.knowledge import client_address, client_key, server_address
from pcapstall.diagnose.segments import History, Seg
from pcapstall.diagnose.ticks import APART_NS, lacking_ns, measured_rate
from pcapstall.flows.flow import Flow

LEAST_NS: Final = 100_000_000
"""A smaller step makes no stall."""
ASKED_MAX: Final = 256
"""So many connections with timestamps are looked at for those without."""
_ALIKE: Final = 10
"""Two sides tell of one step when they differ by less than one part in so many."""

Rates = Callable[[bool, tuple[Seg, ...]], int | None]
"""Ticks a second of a side's timestamps, the steps that lead to some segments left out; None when unknown."""


class Lapse(NamedTuple):
    """Two segments of one side in a row, between which more time went by at the capture than at their sender."""

    before: Seg
    after: Seg
    lacking_ns: int
    """By so much at least."""

    @property
    def ticks(self) -> int:
        """How far the sender's timestamps went on."""
        return self.after.tsval - self.before.tsval & 0xFFFF_FFFF


class HostClocks(NamedTuple):
    """What the hosts' clocks say of a time."""

    lapses: tuple[Lapse, ...]
    """Where they lack at least half of it; of one side or of both."""
    agrees: bool
    """Whether a clock says that it did go by."""
    doubtful: bool
    """Whether one may be a slow clock that agrees, or a step."""

    def step(self, at_client: bool, at_server: bool) -> Lapse | None:
        """What shows a step of the capture's clock; None when nothing does for certain. The two tell whether the
        capture was taken at the client, and at the server."""
        if self.agrees or not self.lapses:
            return None
        if len(self.lapses) > 1 and _are_alike(*self.lapses):
            return self.lapses[0]
        for lapse in self.lapses:
            if at_client if lapse.before.from_client else at_server:
                return lapse
        return None

    @property
    def are_silent(self) -> bool:
        """Whether no clock tells anything."""
        return not (self.agrees or self.doubtful or self.lapses)

    @property
    def casts_doubt(self) -> bool:
        """Whether the time cannot be believed for certain."""
        return not self.agrees and (self.doubtful or bool(self.lapses))


def clocks_in(history: History, start_ns: int, end_ns: int, rate: Rates) -> HostClocks:
    """What the clocks of both hosts say of the time from ``start_ns`` to ``end_ns``."""
    lapses: list[Lapse] = []
    agrees = doubtful = False
    for from_client in (True, False):
        worst: Lapse | None = None
        for before, after in _over(history.of(from_client), start_ns, end_ns):
            if before.is_syn_ack:
                continue
            lacking = lacking_ns(before, after, None)
            if lacking != 0:
                # The rate takes longer to find than all the rest.
                lacking = lacking_ns(before, after, rate(from_client, (after,)))
            if lacking == 0:
                agrees = True
            elif lacking is None or 2 * lacking < end_ns - start_ns or not _moves(history.of(from_client)):
                doubtful = True
            elif worst is None or lacking > worst.lacking_ns:
                worst = Lapse(before, after, lacking)
        if worst is not None:
            lapses.append(worst)
    if len(lapses) == 1 and lapses[0].before.from_client:
        lapses += _by_syn_ack(history, lapses[0], start_ns, end_ns, rate)
    return HostClocks(tuple(lapses), agrees, doubtful)


class Steps:
    """Steps of the captures' clocks that connections show by the timestamps of both hosts, for those that have none."""

    def __init__(self, flows: Iterable[Flow] = (), rates: Clocks | None = None) -> None:
        self._flows = flows
        self._rates = rates
        self._histories = rates.histories if rates is not None else Histories()

    def during(self, start_ns: int, end_ns: int) -> Lapse | None:
        """A step of at least half of a time, within it, that another connection shows."""
        for lapse in self._known:
            shared_ns = min(end_ns, lapse.after.ns) - max(start_ns, lapse.before.ns)
            if shared_ns >= lapse.lacking_ns and 2 * lapse.lacking_ns >= end_ns - start_ns:
                return lapse
        return None

    @cached_property
    def _known(self) -> list[Lapse]:
        """All of them; in a large capture those of the first connections that are asked."""
        stamped = (flow for flow in self._flows if flow.first_note is not None and flow.first_note.tsval >= 0)
        return [lapse for flow in islice(stamped, ASKED_MAX) for lapse in self._of(flow)]

    def _of(self, flow: Flow) -> Iterator[Lapse]:
        history, key = self._histories.of(flow), client_key(flow)

        def rate(from_client: bool, without: tuple[Seg, ...]) -> int | None:
            own = measured_rate(history.of(from_client), without)
            if own is not None or self._rates is None:
                return own
            return self._rates.rate(client_address(key) if from_client else server_address(key), flow)

        for before, after in pairwise(seg for seg in history.client if seg.tsval >= 0):
            if after.ns - before.ns >= LEAST_NS:
                lapse = clocks_in(history, before.ns, after.ns, rate).step(at_client=False, at_server=False)
                if lapse is not None:
                    yield lapse


def _by_syn_ack(history: History, lapse: Lapse, start_ns: int, end_ns: int, rate: Rates) -> Iterator[Lapse]:
    """The same step by a SYN-ACK's timestamp: that may be part of a cookie, but is not by accident as far behind."""
    for before, after in _over(history.server, start_ns, end_ns):
        if before.is_syn_ack:
            lacking = lacking_ns(before, after, rate(False, (after,)), cookie=True)
            if lacking is not None and abs(lacking - lapse.lacking_ns) * _ALIKE < lapse.lacking_ns:
                yield Lapse(before, after, lacking)
                return


def _over(segs: Iterable[Seg], start_ns: int, end_ns: int) -> Iterator[tuple[Seg, Seg]]:
    """Segments in a row that have at least half of a time between them."""
    for before, after in pairwise(seg for seg in segs if seg.tsval >= 0):
        if after.is_rst and after.ttl != before.ttl:
            # Sent by something else on the path.
            continue
        if after.ns - before.ns < APART_NS:
            # Ticks of a clock are too coarse for that.
            continue
        if 2 * (min(after.ns, end_ns) - max(before.ns, start_ns)) >= end_ns - start_ns:
            yield before, after


def _moves(segs: Iterable[Seg]) -> bool:
    """Whether a side's timestamps are a clock at all."""
    return len({seg.tsval for seg in segs if seg.tsval >= 0 and not seg.is_syn_ack}) > 1


def _are_alike(one: Lapse, two: Lapse) -> bool:
    """Whether two sides tell of one and the same step."""
    apart = abs(one.lacking_ns - two.lacking_ns)
    meet = max(one.before.ns, two.before.ns) < min(one.after.ns, two.after.ns)
    return meet and apart * _ALIKE < max(one.lacking_ns, two.lacking_ns)
