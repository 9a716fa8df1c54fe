"""Whether the clock of the capture was set while a connection ran: the hosts' own clocks, in its TCP timestamps, tell.

A segment that was held up on its way looks the same on the side of its sender, so one side is believed only where the
capture was taken at it, or when the other side says so too. Nothing is concluded here. Compiled, for all are asked.
"""

from collections.abc import Iterable
from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.clocks import Clocks, Rates
from pcapstall.diagnose.histories import Histories
from pcapstall.diagnose.segments import History, Seg
from pcapstall.diagnose.ticks import APART_NS, lacking_ns
from pcapstall.flows.flow import Flow

LEAST_NS: Final = 100_000_000
"""A smaller step makes no stall."""
ASKED_MAX: Final = 256
"""So many connections with timestamps are looked at for those without."""
_ALIKE: Final = 10
"""Two sides tell of one step when they differ by less than one part in so many."""


class Lapse:
    """Two segments of one side in a row, between which more time went by at the capture than at their sender."""

    def __init__(self, before: Seg, after: Seg, lacking: int) -> None:
        self.before: Seg = before
        self.after: Seg = after
        self.lacking_ns: int = lacking
        """By so much at least."""

    @property
    def ticks(self) -> int:
        """How far the sender's timestamps went on."""
        return (self.after.tsval - self.before.tsval) & 0xFFFF_FFFF


class HostClocks:
    """What the hosts' clocks say of a time."""

    def __init__(self, lapses: list[Lapse], agrees: bool, doubtful: bool) -> None:
        self.lapses: list[Lapse] = lapses
        """Where they lack at least half of it; of one side or of both."""
        self.agrees: bool = agrees
        """Whether a clock says that it did go by."""
        self.doubtful: bool = doubtful
        """Whether one may be a slow clock that agrees, or a step."""

    def step(self, at_client: bool, at_server: bool) -> Lapse | None:
        """What shows a step of the capture's clock; None when nothing does for certain. The two tell whether the
        capture was taken at the client, and at the server."""
        lapses = self.lapses
        if self.agrees or not lapses:
            return None
        if len(lapses) > 1 and _are_alike(lapses[0], lapses[1]):
            return lapses[0]
        for lapse in lapses:
            if (lapse.before.from_client and at_client) or (not lapse.before.from_client and at_server):
                return lapse
        return None

    @property
    def are_silent(self) -> bool:
        """Whether no clock tells anything."""
        return not (self.agrees or self.doubtful or self.lapses)

    @property
    def casts_doubt(self) -> bool:
        """Whether the time cannot be believed for certain."""
        return not self.agrees and (self.doubtful or len(self.lapses) > 0)


def clocks_in(history: History, start_ns: int, end_ns: int, rates: Rates) -> HostClocks:
    """What the clocks of both hosts say of the time from ``start_ns`` to ``end_ns``."""
    said = HostClocks([], False, False)
    _take(said, history, True, start_ns, end_ns, rates)
    _take(said, history, False, start_ns, end_ns, rates)
    lapses = said.lapses
    if len(lapses) == 1 and lapses[0].before.from_client:
        other = _by_syn_ack(history, lapses[0], start_ns, end_ns, rates)
        if other is not None:
            lapses.append(other)
    return said


def _take(said: HostClocks, history: History, from_client: bool, start_ns: int, end_ns: int, rates: Rates) -> None:
    """What one side's clock says."""
    worst: Lapse | None = None
    segs = history.of(from_client)
    before: Seg | None = None
    for after in segs:
        if after.tsval < 0:
            continue
        last = before
        before = after
        if last is None or last.is_syn_ack or not _spans(last, after, start_ns, end_ns):
            continue
        lacking = lacking_ns(last, after, None)
        if lacking is None or lacking != 0:
            # The rate takes longer to find than all the rest.
            lacking = lacking_ns(last, after, rates.of(from_client, after))
        if lacking is None:
            said.doubtful = True
        elif lacking == 0:
            said.agrees = True
        elif 2 * lacking < end_ns - start_ns or not _moves(segs):
            said.doubtful = True
        elif worst is None or lacking > worst.lacking_ns:
            worst = Lapse(last, after, lacking)
    if worst is not None:
        said.lapses.append(worst)


class Steps:
    """Steps of the captures' clocks that connections show by the timestamps of both hosts, for those that have none."""

    def __init__(self, flows: Iterable[Flow] = (), rates: Clocks | None = None) -> None:
        self._flows: Iterable[Flow] = flows
        self._rates: Clocks | None = rates
        self._histories: Histories = Histories()
        if rates is not None:
            self._histories = rates.histories
        self._known: list[Lapse] | None = None

    def during(self, start_ns: int, end_ns: int) -> Lapse | None:
        """A step of at least half of a time, within it, that another connection shows."""
        known = self._known
        if known is None:
            known = self._known = self._all()
        for lapse in known:
            shared_ns = min(end_ns, int(lapse.after.ns)) - max(start_ns, int(lapse.before.ns))
            if shared_ns >= lapse.lacking_ns and 2 * lapse.lacking_ns >= end_ns - start_ns:
                return lapse
        return None

    def _all(self) -> list[Lapse]:
        """All of them; in a large capture those of the first connections that are asked."""
        found: list[Lapse] = []
        asked: i64 = 0
        for flow in self._flows:
            book = flow.book
            if book is None or book.note(0).tsval < 0:
                continue
            if asked == ASKED_MAX:
                break
            asked += 1
            self._of(flow, found)
        return found

    def _of(self, flow: Flow, found: list[Lapse]) -> None:
        history = self._histories.of(flow)
        rates = Rates(history, flow, self._rates)
        before: Seg | None = None
        for after in history.client:
            if after.tsval < 0:
                continue
            last = before
            before = after
            if last is not None and after.ns - last.ns >= LEAST_NS:
                lapse = clocks_in(history, last.ns, after.ns, rates).step(at_client=False, at_server=False)
                if lapse is not None:
                    found.append(lapse)


def _by_syn_ack(history: History, lapse: Lapse, start_ns: int, end_ns: int, rates: Rates) -> Lapse | None:
    """The same step by a SYN-ACK's timestamp: that may be part of a cookie, but is not by accident as far behind."""
    before: Seg | None = None
    for after in history.server:
        if after.tsval < 0:
            continue
        last = before
        before = after
        if last is None or not last.is_syn_ack or not _spans(last, after, start_ns, end_ns):
            continue
        lacking = lacking_ns(last, after, rates.of(False, after), cookie=True)
        if lacking is not None and abs(lacking - lapse.lacking_ns) * _ALIKE < lapse.lacking_ns:
            return Lapse(last, after, lacking)
    return None


def _spans(before: Seg, after: Seg, start_ns: int, end_ns: int) -> bool:
    """Whether two segments in a row have at least half of a time between them."""
    if after.is_rst and after.ttl != before.ttl:
        # Sent by something else on the path.
        return False
    if after.ns - before.ns < APART_NS:
        # Ticks of a clock are too coarse for that.
        return False
    return 2 * (min(int(after.ns), end_ns) - max(int(before.ns), start_ns)) >= end_ns - start_ns


def _moves(segs: list[Seg]) -> bool:
    """Whether a side's timestamps are a clock at all."""
    known: i64 = -1
    for seg in segs:
        if seg.tsval >= 0 and not seg.is_syn_ack:
            if known >= 0 and seg.tsval != known:
                return True
            known = seg.tsval
    return False


def _are_alike(one: Lapse, two: Lapse) -> bool:
    """Whether two sides tell of one and the same step."""
    apart = abs(one.lacking_ns - two.lacking_ns)
    begin = max(int(one.before.ns), int(two.before.ns))
    return begin < min(int(one.after.ns), int(two.after.ns)) and apart * _ALIKE < max(one.lacking_ns, two.lacking_ns)
