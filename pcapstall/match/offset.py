"""How the clock of a strace stands to the capture's, from pairs of events that must have come in a certain order.

A connect is entered before its SYN leaves, a write before its bytes, a read returns after its bytes came, an accept
after the handshake. Each pair bounds the offset on one side; bounds that contradict each other claim nothing.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from pcapstall.core.times import DAY
from pcapstall.match.ends import End
from pcapstall.strace.leader import EPOCH, TIME_OF_DAY
from pcapstall.strace.model import Call
from pcapstall.strace.sockets import Preview, Socket

QUARTER_NS: Final = 900_000_000_000
"""Time zones differ by multiples of this."""
_CLOSE_NS: Final = 10_000_000
_SLACK_NS: Final = 2_000
"""Both sides print microseconds, cut off or rounded."""


_FEW: Final = 10
"""One of so many bounds may be wrong."""


class Bound(NamedTuple):
    """The offset is at most (``upper``), or at least, so much."""

    upper: bool
    ns: int
    line: int
    """Reference of the strace's line."""
    ref: int
    """The frame."""
    least_ns: int
    """For a lower one: what it is if the call returned as late as its thread's next line allows; else the same."""


class Offset(NamedTuple):
    """What to add to a strace's times to have the capture's."""

    ns: int
    error_ns: int | None
    """None when only one side is bounded."""
    consistent: bool
    pairs: int
    shown_ns: int | None
    """For the report: without the date that a time of day lacks; None where the clock has no origin."""

    @property
    def slack_ns(self) -> int:
        """How far a time may be off, for what rests on it."""
        return self.error_ns if self.error_ns is not None else 50_000_000

    @property
    def skew_ns(self) -> int:
        """How far the host's clock is behind the capture's: without the date and the zone that times of day lack."""
        if self.shown_ns is None:
            return 0
        if self.shown_ns == self.ns:
            return self.ns
        return self.ns - nearest(self.ns)


def nearest(ns: int, step_ns: int = QUARTER_NS) -> int:
    """The multiple of ``step_ns`` that is nearest: what of ``ns`` zones, or whole days, may be."""
    return (ns + step_ns // 2) // step_ns * step_ns


def bounds(socket: Socket, end: End, hello: Preview | None, resolution_ns: int) -> list[Bound]:
    """What one matched socket says; ``hello`` is where the ClientHello's random was seen, if it was."""
    flow = end.flow
    found: list[Bound] = []

    def at_most(event_ns: int, ref: int, start_ns: int, line: int) -> None:
        if ref and start_ns >= 0:
            ns = event_ns - start_ns + _SLACK_NS
            found.append(Bound(True, ns, line, ref, ns))

    def at_least(event_ns: int, ref: int, call: Call) -> None:
        if ref and call.end_ns >= 0:
            ns = event_ns - int(call.end_ns) - resolution_ns - _SLACK_NS
            found.append(Bound(False, ns, int(call.end_line), ref, ns - (latest_ns(call) - int(call.end_ns))))

    if end.is_client and socket.connects:
        call = socket.connects[0].call
        at_most(flow.syn_ns, flow.syn_ref, call.start_ns, call.line)
        if call.returned and not call.errno and not flow.has_syn_data:
            at_least(flow.syn_ack_ns, flow.syn_ack_ref, call)
    if not end.is_client and socket.created is not None and socket.listener is not None and not flow.has_syn_data:
        at_least(flow.ack_ns, flow.ack_ref, socket.created)
    if hello is not None:
        if end.sends_hello:
            at_most(flow.client_hello_first_ns, flow.client_hello_first_ref, hello.call.start_ns, hello.call.line)
        else:
            at_least(flow.client_hello_first_ns, flow.client_hello_first_ref, hello.last)
    answer = flow.answer_ns, flow.answer_ref
    if not flow.has_preamble and flow.answer_ref:
        if end.sends_hello and socket.inbound.first is not None:
            at_least(*answer, socket.inbound.first)
        elif not end.sends_hello and socket.outbound.first is not None:
            call = socket.outbound.first
            # Where the beginning is not in the trace, what was written first after the hello was read is the answer.
            if socket.created is not None or (hello is not None and 0 <= hello.last.end_ns <= call.start_ns):
                at_most(*answer, call.start_ns, call.line)
    return found


def latest_ns(call: Call) -> int:
    """When a call had returned for certain: as -T says, or later, by the next line of its thread."""
    return max(int(call.end_ns), int(call.next_ns)) if call.end_ns >= 0 else -1


def settle(found: Iterable[Bound], clock_kind: int, drift_ns: int = 0) -> Offset | None:
    """The offset within all bounds; None without an upper one and without a lower one.

    ``drift_ns`` is how far the strace's own times may be off from each other.
    """
    everything = list(found)
    uppers = [bound.ns for bound in everything if bound.upper]
    lowers = [bound.ns for bound in everything if not bound.upper]
    if not uppers and not lowers:
        return None
    high = min(uppers) if uppers else None
    low = max(lowers) if lowers else None
    if high is not None and low is not None and high < low <= high + drift_ns:
        return Offset((low + high) // 2, drift_ns, True, len(everything), _shown((low + high) // 2, clock_kind))
    if high is not None and low is not None and low > high:
        least = max(bound.least_ns for bound in everything if not bound.upper)
        if least > high:
            lasting = [bound for bound in everything if bound.upper or bound.least_ns <= high]
            if 0 < (len(everything) - len(lasting)) * _FEW <= len(lowers):
                # Of a packet that the capture dropped it has a later copy, or a later packet: too high a bound.
                return settle(lasting, clock_kind, drift_ns)
            return Offset((low + high) // 2, (low - high) // 2, False, len(everything), None)
        # A call was in for longer than -T says, by the time that strace took before it: the stamps that calls were
        # entered at hold.
        base = _base(high, clock_kind)
        ns = base if base is not None and max(least, high - _CLOSE_NS) <= base <= high else high
        return Offset(ns, low - min(ns, high), True, len(everything), _shown(ns, clock_kind))
    near = high if high is not None else low
    assert near is not None
    base = _base(near, clock_kind)
    shown_base = _shown(base, clock_kind)
    if base is not None and (low is None or low <= base) and (high is None or base <= high):
        nearest = min(abs(bound - base) for bound in (low, high) if bound is not None)
        if nearest <= _CLOSE_NS:
            # The clocks are those of one host, or well kept: by chance alone they would not meet so closely.
            return Offset(base, nearest, True, len(everything), shown_base)
    if low is not None and high is not None:
        middle = (low + high) // 2
        return Offset(middle, (high - low + 1) // 2, True, len(everything), _shown(middle, clock_kind))
    return Offset(near, None, True, len(everything), _shown(near, clock_kind))


def _base(ns: int, clock_kind: int) -> int | None:
    """The offset that clocks without a fault would have; None where any is as good as another."""
    if clock_kind == EPOCH:
        return 0
    if clock_kind == TIME_OF_DAY:
        return nearest(ns)
    return None


def _shown(ns: int | None, clock_kind: int) -> int | None:
    if ns is None:
        return None
    if clock_kind == EPOCH:
        return ns
    if clock_kind == TIME_OF_DAY:
        return ns - nearest(ns, DAY)
    return None
