"""All connections at once: finds a segment's flow, opens new ones, hands finished ones on.

Both directions' keys point at their half-flow. A connection whose both sides are done is handed to the sink after a
quiet time, so that memory follows what is alive. What a segment does to its flow is in the TCP module.
"""

from collections import deque
from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.core.words import u16_be
from pcapstall.flows.bounds import given_up, longest_idle
from pcapstall.flows.flow import (
    AHEAD_NS,
    BY_FIRST_SEEN,
    BY_PORT,
    CLOSING,
    FLAG_CLOSED_EARLY,
    FLAG_ENDED_BY_CAPTURE,
    HANDED_ON,
    LIVE,
    MAX_FLOWS,
    NOBODY,
    Flow,
    HalfFlow,
    IcmpError,
    Limits,
)
from pcapstall.flows.graves import Graves, is_reuse
from pcapstall.flows.notes import drop_notes
from pcapstall.flows.oddities import is_over, take_back_resets
from pcapstall.flows.pending import longest_pending
from pcapstall.flows.tcp import TcpEvents
from pcapstall.flows.tls import TlsStreams
from pcapstall.wire.icmp import IcmpQuote
from pcapstall.wire.segment import ACK, FIN, RST, SYN, Segment

QUIET_NS: Final = 120_000_000_000
"""How long both sides must have been done before a flow is handed on: twice the usual TIME-WAIT."""
EXPIRE_MAX: Final = 8192
"""Flows looked at in one go."""
SWEPT_A_LOOK: Final = 4096
"""Half-flows looked at for half-open ones, on average over the looks for flows that are done."""
LINGER_NS: Final = 1_000_000_000
"""How long they must have been done before a flow that nobody wants to see is forgotten."""


ICMP_ERRORS_MAX: Final = 64
"""ICMP errors kept of one flow."""


@mypyc_attr(allow_interpreted_subclasses=True)
class FlowSink:
    """Takes finished flows. Override both methods."""

    def forgets(self, flow: Flow) -> bool:
        """Whether this flow, both sides of which are done, need not be kept: it was counted, and is not taken later.

        What stragglers could still add (a retransmitted FIN, a RST after it) then goes unseen.
        """
        raise NotImplementedError

    def take(self, flow: Flow) -> bool:
        """One finished flow, which will not change any more; whether it is kept."""
        raise NotImplementedError


class FlowTable:
    """Every live connection, found by the addresses and ports of a segment."""

    def __init__(self, sink: FlowSink, slow_ns: i64, quiet_ns: i64 = QUIET_NS, max_flows: i64 = MAX_FLOWS) -> None:
        limits = Limits(slow_ns, max_flows)
        self.limits: Limits = limits
        self._sink: FlowSink = sink
        self._quiet_ns: i64 = quiet_ns
        self._tls: TlsStreams = TlsStreams(limits)
        self._tcp: TcpEvents = TcpEvents(limits, self._tls)
        self._halves: dict[bytes, HalfFlow] = {}
        self._closing: deque[Flow] = deque()
        """Flows of which both sides are done, in the order in which that happened."""
        self._done: deque[Flow] = deque()
        """Those that are kept for stragglers."""
        self._graves: Graves = Graves(quiet_ns, max_flows)
        self._opened: i64 = 0
        self._now_ns: i64 = 0
        """The capture's time when it was last needed: what two records had reached."""
        self._opened_ns: i64 = 0
        """Stamp of the segment that opened the latest flow."""
        self._swept_ns: i64 = 0
        self._looks: i64 = 0
        """For flows that are done, since half-open ones were looked for."""

    def add(self, segment: Segment) -> None:
        """Give a segment to its flow."""
        half = self._halves.get(segment.key)
        if half is None:
            if segment.flags & (SYN | ACK) != SYN and self._graves.holds(segment):
                return
            half = self._open(segment)
        elif segment.flags & SYN != 0 and is_reuse(half, segment):
            self._hand_on(half.flow)
            half = self._open(segment)
        self._tcp.advance(half, segment)
        if segment.flags & (FIN | RST) != 0:
            self._note_close(half.flow)

    def icmp(self, quote: IcmpQuote, ns: i64, ref: i64) -> None:
        """Note an ICMP error with the flow whose packet it quotes; one about an unknown flow concerns nobody here."""
        half = self._halves.get(quote.key)
        if half is None:
            return
        flow = half.flow
        errors = flow.icmp_errors
        if errors is None:
            errors = []
            flow.icmp_errors = errors
        if len(errors) < ICMP_ERRORS_MAX:
            errors.append(IcmpError(quote.v6, quote.kind, quote.code, quote.mtu, half is flow.client(), ns, ref))

    def expire(self, now_ns: i64) -> None:
        """Let go of the flows that are done: soon of those that nobody wants, of the others after a quiet time.

        ``now_ns`` must be no single record's stamp: one that is wrong would end everything.
        """
        self._now_ns = now_ns
        closing = self._closing
        looked_at: i64 = 0
        while len(closing) > 0 and looked_at < EXPIRE_MAX:
            looked_at += 1
            flow = closing[0]
            if flow.state != HANDED_ON and _is_within(now_ns - flow.closed_ns, LINGER_NS):
                break
            closing.popleft()
            if flow.state == HANDED_ON:
                continue
            if _is_within(now_ns - flow.last_ns, LINGER_NS) or flow.closed_ns > now_ns:
                # Still talking after a RST: those behind it shall not wait for that. Nor for a stamp that is wrong.
                flow.closed_ns = now_ns
                closing.append(flow)
                continue
            if take_back_resets(flow) and not is_over(flow):
                flow.state = LIVE
                continue
            self._tls.finish(flow)
            if self._sink.forgets(flow):
                self._forget(flow, now_ns)
            else:
                flow.closed_ns = now_ns
                self._done.append(flow)
        self._expire_done(now_ns)
        self._graves.expire(now_ns)
        if self.limits.pending_len > self.limits.pending_max // 4 * 3:
            self._lighten()
        self._looks += 1
        if self._looks * SWEPT_A_LOOK >= len(self._halves) and not _is_within(now_ns - self._swept_ns, self._quiet_ns):
            self._swept_ns = now_ns
            self._looks = 0
            for flow in given_up(self._halves.values(), now_ns):
                self._close_early(flow)

    def _expire_done(self, now_ns: i64) -> None:
        """Hand on those that were kept for stragglers long enough."""
        done = self._done
        looked_at: i64 = 0
        while len(done) > 0 and looked_at < EXPIRE_MAX:
            looked_at += 1
            flow = done[0]
            if flow.state != HANDED_ON and _is_within(now_ns - flow.closed_ns, self._quiet_ns):
                break
            done.popleft()
            if flow.state == HANDED_ON:
                continue
            if _is_within(now_ns - flow.last_ns, self._quiet_ns) or flow.closed_ns > now_ns:
                flow.closed_ns = now_ns
                done.append(flow)
            else:
                self._hand_on(flow)

    def finish(self) -> None:
        """The capture is over: hand on every flow, in the order of their first segments."""
        for half in list(self._halves.values()):
            flow = half.flow
            if half is flow.opener:
                if flow.state != CLOSING or (take_back_resets(flow) and not is_over(flow)):
                    flow.flags |= FLAG_ENDED_BY_CAPTURE
                self._hand_on(flow)

    def __len__(self) -> int:
        return len(self._halves) // 2

    def _open(self, segment: Segment) -> HalfFlow:
        """Begin a flow with its first segment."""
        if len(self._halves) >= 2 * self.limits.max_flows:
            self._make_room(segment.ts_ns)
        self._opened += 1
        self._opened_ns = segment.ts_ns
        key = segment.key
        answer_key = reverse_key(key)
        flow = Flow(key, answer_key, self._opened, segment.ts_ns, segment.ref)
        flow.tunnel = segment.tunnel
        if segment.flags & SYN == 0:
            _guess_direction(flow)
        # In this order: a host that talks to its own port (LAND) has one key for both directions.
        self._halves[answer_key] = flow.answerer
        self._halves[key] = flow.opener
        return flow.opener

    def _lighten(self) -> None:
        """Too much is kept while hellos are pending: leave those unread that have been idle for longest."""
        for flow in longest_pending(self._halves.values()):
            if self.limits.pending_len <= self.limits.pending_max // 2:
                return
            self._tls.leave_unread(flow)

    def _make_room(self, ts_ns: i64) -> None:
        """Let go of the flows that have been idle for longest."""
        now_ns: i64 = ts_ns
        if self._opened_ns < now_ns:
            now_ns = self._opened_ns
        if now_ns > self._now_ns:
            self._now_ns = now_ns
        for flow in longest_idle(self._halves.values(), len(self), ts_ns):
            if flow.state == CLOSING:
                self._hand_on(flow)
            else:
                self.limits.closed_early += 1
                self._close_early(flow)

    def _close_early(self, flow: Flow) -> None:
        """Hand on a flow that has not ended, as if the capture ended here."""
        flow.flags |= FLAG_ENDED_BY_CAPTURE | FLAG_CLOSED_EARLY
        flow.closed_ns = flow.last_ns
        if self._now_ns > flow.last_ns:
            flow.closed_ns = self._now_ns
        self._hand_on(flow)

    def _note_close(self, flow: Flow) -> None:
        """A side sent FIN or RST."""
        if flow.state != CLOSING and is_over(flow):
            flow.state = CLOSING
            flow.closed_ns = flow.last_ns
            self._closing.append(flow)

    def _hand_on(self, flow: Flow) -> None:
        """Give a flow to the sink and forget it."""
        self._remove(flow)
        take_back_resets(flow)
        self._tls.finish(flow)
        notes = flow.notes
        if notes is not None:
            self.limits.notes -= len(notes)
        if not self._sink.take(flow):
            _untie(flow)

    def _remove(self, flow: Flow) -> None:
        """No segment finds this flow any more."""
        self._halves.pop(flow.key, None)
        self._halves.pop(flow.answer_key, None)
        flow.state = HANDED_ON

    def _forget(self, flow: Flow, now_ns: i64) -> None:
        """Let go of a flow that nobody wants."""
        self._remove(flow)
        self._graves.bury(flow, now_ns)
        drop_notes(flow, self.limits)
        _untie(flow)


def _is_within(age_ns: i64, time_ns: i64) -> bool:
    """Whether ``time_ns`` has not passed; an age far below 0 is that of a wrong stamp."""
    return -AHEAD_NS < age_ns < time_ns


def _untie(flow: Flow) -> None:
    """A flow and its halves hold each other, and the garbage collector does not run during a scan."""
    flow.opener.flow = NOBODY
    flow.answerer.flow = NOBODY


def reverse_key(key: bytes) -> bytes:
    """The key of the other direction: addresses and ports swapped."""
    if len(key) == 12:
        return key[4:8] + key[0:4] + key[10:12] + key[8:10]
    return key[16:32] + key[0:16] + key[34:36] + key[32:34]


def _guess_direction(flow: Flow) -> None:
    """Without a SYN the higher port is taken for the client's, until a hello says otherwise."""
    key = flow.key
    at: i64 = len(key) - 4
    source_port: i64 = u16_be(key, at)
    destination_port: i64 = u16_be(key, at + 2)
    if source_port == destination_port:
        flow.direction_source = BY_FIRST_SEEN
    else:
        flow.direction_source = BY_PORT
        flow.opener_is_client = source_port > destination_port
