"""Which lines of logs are about which flows, and when they were written by the capture's clock.

A line that names the client's endpoint is about that client's flow. One that names nothing but a server's endpoint is
about each flow that was open to it at that time; one that has the client's address and no port, as access logs have, is
about the only flow of that client that was open then.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from pcapstall.core.endpoints import fold, format_address
from pcapstall.logs.endpoints import Endpoint, addresses_in, endpoints_in
from pcapstall.logs.lines import LogFile, LogLine
from pcapstall.logs.stamps import ABSOLUTE, ELAPSED, Stamp
from pcapstall.match.ends import End
from pcapstall.match.log_clock import AFTER_NS, BEFORE_NS, BY_STRACE, Anchor, LogClock, counted, settle_clock
from pcapstall.match.offset import QUARTER_NS, Offset
from pcapstall.match.outline import Outline

AROUND_NS: Final = 1_000_000_000
"""A line about a server's endpoint is about the flows that were open within this of it."""
_REUSE_NS: Final = 60_000_000_000
"""A line about a client's endpoint is about a flow of that port that lived within this of it, if any did."""
ANY: Final = 0
"""The port of an endpoint of which only the address was written."""
_LOOPBACK_V4: Final = bytes((127, 0, 0, 1))
_LOOPBACK_V6: Final = bytes(15) + b"\1"
_NEEDLES: Final = 8
"""So few addresses are looked for as they are written, before a line is taken apart."""
_SHARED_MAX: Final = 5_000
"""Lines of one file that name servers only."""
_STRETCHES_MAX: Final = 1_000
"""So many stretches of time are tried for a stamp whose date or zone is not known; with more it fits some."""


KnownAs = tuple[int, bool, Endpoint]
"""A flow's id, and the endpoint that a process at one of its ends knows as its client, or not, as its server."""


class Placed(NamedTuple):
    """A line that is about a flow."""

    file: LogFile
    line: LogLine
    ns: int | None
    """By the capture's clock; None when its stamp, or the log's clock, does not tell."""
    error_ns: int | None
    """How far ``ns`` may be off; None when nothing tells."""
    names_client: bool
    """Whether it names the client's endpoint, which is no other flow's at that time."""
    clock: str = ""
    """The strace of which the log's clock is; empty for a clock of its own."""
    own_error_ns: int = 0
    """How far ``ns`` may be off from others by that clock."""


class _Open:
    """Which flow of one client was open at a time, found without a look at each."""

    def __init__(self, flows: Iterable[Outline]) -> None:
        self._flows = sorted({int(flow.id): flow for flow in flows}.values(), key=lambda flow: int(flow.first_ns))
        self._firsts = [int(flow.first_ns) for flow in self._flows]
        self._longest: list[int] = []
        """Of the flows that began up to each, the place of the one that ends last."""
        self._seconds: list[int] = []
        """And when the one that ends next to last does."""
        longest = 0
        second_ns = -1
        for at, flow in enumerate(self._flows):
            last_ns = int(self._flows[longest].last_ns)
            if flow.last_ns > last_ns:
                longest, second_ns = at, last_ns
            elif at:
                second_ns = max(second_ns, int(flow.last_ns))
            self._longest.append(longest)
            self._seconds.append(second_ns)

    def only_one(self, start_ns: int, end_ns: int) -> Outline | None:
        """The flow that was open at any time from ``start_ns`` to ``end_ns``; None for none, or several."""
        at = bisect_right(self._firsts, end_ns) - 1
        if at < 0 or self._seconds[at] >= start_ns:
            return None
        flow = self._flows[self._longest[at]]
        return flow if flow.last_ns >= start_ns else None


class Lives:
    """The flows by their endpoints, and when each server's flows lived."""

    def __init__(self, flows: Iterable[Outline], known_as: Iterable[KnownAs] = ()) -> None:
        self.clients: dict[Endpoint, list[Outline]] = {}
        self.servers: dict[Endpoint, list[Outline]] = {}
        self.addresses: dict[bytes, list[Outline]] = {}
        """By the client's address, where it tells something: loopback, and what servers have, do not."""
        self._spans: dict[Endpoint, tuple[list[int], list[int]]] = {}
        self._open: dict[bytes, _Open] = {}
        """By the client's address, when first asked about."""
        self.first_ns = 0
        self.last_ns = 0
        for flow in flows:
            end = End(flow, True)
            self.clients.setdefault(_folded(end.local), []).append(flow)
            self.servers.setdefault(_folded(end.peer), []).append(flow)
            self.first_ns = min(self.first_ns or flow.first_ns, flow.first_ns)
            self.last_ns = max(self.last_ns, flow.last_ns)
        by_id = {int(flow.id): flow for found in self.clients.values() for flow in found} if known_as else {}
        for flow_id, is_client, endpoint in known_as:
            ends = (self.clients if is_client else self.servers).setdefault(_folded(endpoint), [])
            if all(int(flow.id) != flow_id for flow in ends):
                ends.append(by_id[flow_id])
        for (address, _), found in self.clients.items():
            self.addresses.setdefault(address, []).extend(found)
        for address in [address for address, _ in self.servers] + [_LOOPBACK_V4, _LOOPBACK_V6]:
            self.addresses.pop(address, None)
        addresses = {address for address, _ in [*self.clients, *self.servers]}
        plain = all(len(address) == 4 for address in addresses) and len(addresses) <= _NEEDLES
        self.needles: list[bytes] = [format_address(address).encode() for address in addresses] if plain else []
        """One of them is in each line that names an endpoint, when there are any."""

    @property
    def middle_ns(self) -> int:
        """When all this was."""
        return (self.first_ns + self.last_ns) // 2

    def only_one_at(self, address: bytes, ns: int, resolution_ns: int) -> Outline | None:
        """The flow of this client that was open within a stamp's resolution of ``ns``; None for none, or several."""
        known = self._open.get(address)
        if known is None:
            known = self._open[address] = _Open(self.addresses[address])
        return known.only_one(ns - AFTER_NS, ns + resolution_ns + BEFORE_NS)

    def open_at(self, server: Endpoint, stamp: Stamp, offset_ns: int) -> bool:
        """Whether a flow to ``server`` may have been open at ``stamp``, as far as it says when it was."""
        if stamp.kind == ELAPSED:
            return True
        starts, ends = self._merged(server)
        if stamp.kind == ABSOLUTE:
            ns = stamp.ns + offset_ns
            at = bisect_right(starts, ns + AROUND_NS) - 1
            return at >= 0 and ends[at] >= ns - AROUND_NS
        ns = counted(stamp, self.middle_ns)
        slack = AROUND_NS + stamp.resolution_ns
        return len(starts) > _STRETCHES_MAX or any(
            (start - slack - ns) // QUARTER_NS != (end + slack - ns) // QUARTER_NS
            for start, end in zip(starts, ends, strict=True)
        )

    def _merged(self, server: Endpoint) -> tuple[list[int], list[int]]:
        """The stretches of time in which flows to ``server`` were open."""
        known = self._spans.get(server)
        if known is None:
            known = ([], [])
            for first, last in sorted((int(flow.first_ns), int(flow.last_ns)) for flow in self.servers[server]):
                if known[1] and first <= known[1][-1] + 2 * AROUND_NS:
                    known[1][-1] = max(known[1][-1], last)
                else:
                    known[0].append(first)
                    known[1].append(last)
            self._spans[server] = known
        return known


class FlowLines:
    """Wants the lines of one file that are about flows (a `logs.reader.Wanted`)."""

    def __init__(self, lives: Lives, offset_ns: int = 0) -> None:
        self._lives = lives
        self._offset_ns = offset_ns
        self._shared = 0
        needles = [re.escape(needle) for needle in lives.needles]
        self._quick = re.compile(b"|".join(needles)) if needles else None

    def names(self, line: bytes) -> tuple[Endpoint, ...] | None:
        """The endpoints of flows that it names: a client's, or no other than servers'; None when it is about none."""
        if self._quick is not None and self._quick.search(line) is None:
            return None
        lives = self._lives
        named = endpoints_in(line)
        about = tuple(endpoint for endpoint in named if endpoint in lives.clients or endpoint in lives.servers)
        if len(about) < len(named) and not any(endpoint in lives.clients for endpoint in about):
            about = ()
        return about or self._addresses(line, named) or None

    def _addresses(self, line: bytes, named: list[Endpoint]) -> tuple[Endpoint, ...]:
        """The client whose address stands there without a port, if it is one only, as an endpoint of port `ANY`."""
        known = self._lives.addresses
        if not known:
            return ()
        ported = {address for address, _ in named}
        bare = {address for address in addresses_in(line) if address in known}
        return tuple((address, ANY) for address in bare) if len(bare) == 1 and not bare & ported else ()

    def fits(self, endpoints: tuple[Endpoint, ...], stamp: Stamp | None) -> bool:
        """Whether it names a client, or servers to which a flow may have been open then."""
        lives = self._lives
        if any(endpoint in lives.clients for endpoint in endpoints):
            return True
        if stamp is None or self._shared >= _SHARED_MAX:
            return False
        if endpoints and endpoints[0][1] == ANY:
            ns = stamp.ns + self._offset_ns
            if stamp.kind == ABSOLUTE and lives.only_one_at(endpoints[0][0], ns, stamp.resolution_ns) is None:
                return False
            self._shared += 1
            return True
        open_then = any(lives.open_at(endpoint, stamp, self._offset_ns) for endpoint in endpoints)
        self._shared += open_then
        return open_then


class InTime:
    """Wants all lines of one file that were written in a stretch of time (a `logs.reader.Wanted`)."""

    def __init__(self, clock: LogClock, start_ns: int, end_ns: int) -> None:
        self._clock = clock
        self._start_ns = start_ns
        self._end_ns = end_ns

    def names(self, line: bytes) -> tuple[Endpoint, ...] | None:
        """No endpoints are looked for."""
        return ()

    def fits(self, endpoints: tuple[Endpoint, ...], stamp: Stamp | None) -> bool:
        """Whether it was written then."""
        ns = self._clock.place(stamp)
        return ns is not None and self._start_ns <= ns <= self._end_ns


def clock_of(file: LogFile, lives: Lives, strace: Offset | None, host: str = "") -> LogClock:
    """The clock of ``file``; ``strace`` is that of the strace ``host`` that has the same label, if there is one."""
    kinds = [line.stamp.kind for line in file.kept if line.stamp is not None]
    if not kinds:
        return LogClock(0, near_ns=lives.middle_ns)
    kind = max(set(kinds), key=kinds.count)
    anchors = []
    for line in file.kept:
        flows = {flow.id: flow for endpoint in line.endpoints for flow in lives.clients.get(endpoint, ())}
        if line.stamp is not None and len(flows) == 1:
            (flow,) = flows.values()
            anchors.append(Anchor(line.stamp, int(flow.first_ns), int(flow.last_ns)))
    clock = settle_clock(kind, anchors, lives.middle_ns)
    if strace is None or not strace.consistent or strace.shown_ns is None or kind == ELAPSED:
        return clock
    if abs(clock.residual_ns - strace.skew_ns) > (clock.error_ns or AROUND_NS) and kind == ABSOLUTE and clock.lines:
        return clock  # they are not of one clock, whatever their labels say
    if kind == ABSOLUTE:
        return clock._replace(offset_ns=strace.skew_ns, error_ns=strace.slack_ns, source=BY_STRACE, host=host)
    return clock


def place(file: LogFile, line: LogLine, clock: LogClock, names_client: bool) -> Placed:
    """``line`` on the capture's clock."""
    ns = clock.place(line.stamp)
    resolution = line.stamp.resolution_ns if line.stamp is not None else 0
    error = None
    if ns is not None and clock.error_ns is not None:
        error = clock.error_ns + resolution
    return Placed(file, line, ns, error, names_client, clock.host, clock.own_error_ns + resolution if clock.host else 0)


def lines_of_flows(file: LogFile, clock: LogClock, lives: Lives) -> dict[int, list[Placed]]:
    """The lines of ``file`` that are about each flow, by its id, in the order of the file."""
    found: dict[int, list[Placed]] = {}
    for line in file.kept:
        ns = clock.place(line.stamp)
        clients = [flow for endpoint in line.endpoints for flow in lives.clients.get(endpoint, ())]
        if clients:
            for flow in _at(clients, ns, clock):
                found.setdefault(int(flow.id), []).append(place(file, line, clock, True))
        elif ns is not None and line.endpoints and line.endpoints[0][1] == ANY:
            resolution = line.stamp.resolution_ns if line.stamp is not None else 0
            only = lives.only_one_at(line.endpoints[0][0], ns, resolution)
            if only is not None:
                found.setdefault(int(only.id), []).append(place(file, line, clock, False))
        elif ns is not None:
            servers = [flow for endpoint in line.endpoints for flow in lives.servers.get(endpoint, ())]
            for flow in servers:
                if flow.first_ns - AROUND_NS <= ns <= flow.last_ns + AROUND_NS:
                    found.setdefault(int(flow.id), []).append(place(file, line, clock, False))
    return found


def _at(flows: Sequence[Outline], ns: int | None, clock: LogClock) -> list[Outline]:
    """Of flows with one endpoint those that lived at ``ns``, or about then; all when that says nothing."""
    flows = list({int(flow.id): flow for flow in flows}.values())
    if ns is None or (clock.error_ns is None and len(flows) == 1):
        return flows
    away = [max(int(flow.first_ns) - ns, ns - int(flow.last_ns), 0) for flow in flows]
    least = min(away)
    return [flow for flow, distance in zip(flows, away, strict=True) if distance == least and distance <= _REUSE_NS]


def _folded(endpoint: Endpoint) -> Endpoint:
    return fold(endpoint[0]), endpoint[1]
