"""All connections at once: finds a segment's flow, opens new ones, hands finished ones on.

A connection whose both sides are done is handed to the sink after a quiet time, so that memory follows what is alive.
What a segment does to its flow is in the TCP module.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.flows.bounds import LINGER_NS, Finished, given_up, is_within, longest_idle
from pcapstall.flows.fetch import AT_ONCE, fetched
from pcapstall.flows.flow import (
    CLOSING,
    FLAG_CLOSED_EARLY,
    FLAG_ENDED_BY_CAPTURE,
    HANDED_ON,
    LIVE,
    NOBODY,
    Flow,
    HalfFlow,
)
from pcapstall.flows.graves import Graves, is_reuse
from pcapstall.flows.kept import MAX_FLOWS, IcmpError, Limits
from pcapstall.flows.keys import segment_of
from pcapstall.flows.notes import drop_notes
from pcapstall.flows.oddities import is_over, take_back_resets
from pcapstall.flows.pending import longest_pending
from pcapstall.flows.places import FlowPlaces
from pcapstall.flows.queue import Queue
from pcapstall.flows.renewed import clear, renew, reset
from pcapstall.flows.share import CLOSING as CLOSING_PHASE
from pcapstall.flows.share import DONE, GIVEN_UP, THE_END, Share
from pcapstall.flows.tcp import TcpEvents
from pcapstall.flows.tls import TlsStreams
from pcapstall.wire.icmp import IcmpQuote
from pcapstall.wire.segment import ACK, FIN, RST, SYN, V6_ENDPOINT, Segment

QUIET_NS: Final = 120_000_000_000
"""How long both sides must have been done before a flow is handed on: twice the usual TIME-WAIT."""
SWEPT_A_LOOK: Final = 4096
"""Flows looked at for half-open ones, on average over the looks for flows that are done."""
SPARE_MAX: Final = 4096
"""Flows kept for being written on again."""
ICMP_ERRORS_MAX: Final = 64
"""ICMP errors kept of one flow."""


@mypyc_attr(allow_interpreted_subclasses=True)
class FlowSink:
    """Takes finished flows. Override `forgets` and `take`."""

    def expects(self, flows: list[Flow], start: i64, end: i64) -> None:
        """``flows[start:end]`` are told of next: whoever keeps much about others may fetch what concerns these."""

    def forgets(self, flow: Flow) -> bool:
        """Whether this flow, both sides of which are done, need not be kept: it was counted, and is not taken later.

        Who says so holds nothing of it any more: it is written on again.
        What stragglers could still add (a retransmitted FIN, a RST after it) then goes unseen.
        """
        raise NotImplementedError

    def take(self, flow: Flow) -> bool:
        """One finished flow; whether it is kept. It will not change any more then, and else is written on again."""
        raise NotImplementedError


class FlowTable:
    """Every live connection, found by the addresses and ports of a segment."""

    def __init__(
        self,
        sink: FlowSink,
        slow_ns: i64,
        quiet_ns: i64 = QUIET_NS,
        max_flows: i64 = MAX_FLOWS,
        share: Share | None = None,
    ) -> None:
        if share is None:
            share = Share()
        limits = Limits(slow_ns, max_flows, share.count)
        self.limits: Limits = limits
        self.share: Share = share
        self._sink: FlowSink = sink
        self._quiet_ns: i64 = quiet_ns
        self._tls: TlsStreams = TlsStreams(limits)
        self._tcp: TcpEvents = TcpEvents(limits, self._tls)
        self._flows: FlowPlaces = FlowPlaces()
        self._nobody: HalfFlow = NOBODY.opener
        self._closing: Finished = Finished()
        self._done: Finished = Finished()
        """Those that are kept for stragglers."""
        self._graves: Graves = Graves(quiet_ns, max_flows, share)
        self._spare: list[Flow] = []
        """Flows that nobody has any more, to be written on again."""
        self.opened: Queue[Flow] | None = None
        """Where whoever watches flows from their first segment on finds them; None for nobody."""
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
        half = self._flows.find(segment)
        if half is self._nobody or (segment.flags & SYN != 0 and is_reuse(half, segment)):
            half = self._begin(half, segment)
            if half is self._nobody:
                return
        self._tcp.advance(half, segment)
        if segment.flags & (FIN | RST) != 0:
            self._note_close(half.flow)

    def _begin(self, half: HalfFlow, segment: Segment) -> HalfFlow:
        """The half-flow that sent the first segment of a new flow; that of `NOBODY` for a straggler.

        ``half`` is that of the flow before it between the same endpoints, or of `NOBODY`.
        """
        if half is not self._nobody:
            self._hand_on(half.flow, half.flow.state == CLOSING)
        elif segment.flags & (SYN | ACK) != SYN and self._graves.holds(segment):
            return self._nobody
        return self._open(segment)

    def icmp(self, quote: IcmpQuote, ns: i64, ref: i64) -> None:
        """Note an ICMP error with the flow whose packet it quotes; one about an unknown flow concerns nobody here."""
        half = self._flows.find(segment_of(quote.key))
        if half is self._nobody:
            return
        flow = half.flow
        from_client: bool = (half is flow.opener) == flow.opener_is_client
        errors = flow.icmp_errors
        if errors is None:
            errors = []
            flow.rare().icmp_errors = errors
        if len(errors) < ICMP_ERRORS_MAX:
            errors.append(IcmpError(quote.v6, quote.kind, quote.code, quote.mtu, from_client, ns, ref))

    def expire(self, now_ns: i64) -> None:
        """Let go of the flows that are done: soon of those that nobody wants, of the others after a quiet time.

        ``now_ns`` must be no single record's stamp: one that is wrong would end everything.
        """
        self._now_ns = now_ns
        share = self.share
        share.phase = CLOSING_PHASE
        self._graves.advance(now_ns)
        done = self._closing.silent(LINGER_NS, now_ns, share)
        for at in range(i64(len(done))):
            flow = fetched(done, at)
            if at % AT_ONCE == 0:
                self._sink.expects(done, at, min(at + AT_ONCE, len(done)))
            if take_back_resets(flow) and not is_over(flow):
                flow.state = LIVE
                continue
            self._tls.finish(flow)
            if self._sink.forgets(flow):
                self._forget(flow)
            else:
                flow.closed_ns = now_ns
                flow.queued = share.queued(flow.queued)
                self._done.append(flow)
        share.phase = DONE
        for flow in self._done.silent(self._quiet_ns, now_ns, share):
            self._hand_on(flow, False)
        self._graves.expire()
        if self.limits.pending_len > self.limits.pending_max // 4 * 3:
            self._lighten()
        self._looks += 1
        if self._looks * SWEPT_A_LOOK >= len(self._flows) and not is_within(now_ns - self._swept_ns, self._quiet_ns):
            share.swept(self._looks * SWEPT_A_LOOK, len(self._flows))
            share.phase = GIVEN_UP
            self._swept_ns = now_ns
            self._looks = 0
            for flow in given_up(self._flows.in_order(), now_ns):
                self._close_early(flow)
        share.tick(len(self._flows), self._graves.dug)

    def finish(self) -> None:
        """The capture is over: hand on every flow, in the order of their first segments."""
        self.share.tick(len(self._flows), self._graves.dug)
        self.share.phase = THE_END
        flows = self._flows.in_order()
        for at in range(i64(len(flows))):
            flow = fetched(flows, at)
            if flow.state != CLOSING or (take_back_resets(flow) and not is_over(flow)):
                flow.flags |= FLAG_ENDED_BY_CAPTURE
            self._hand_on(flow, True)

    def __len__(self) -> int:
        return len(self._flows)

    def is_crowded(self) -> bool:
        """Whether less was kept of a flow, or for shorter, because of what was kept of others."""
        return self.limits.crowded or self._tls.events.hellos.is_crowded(self.share.count)

    def _open(self, segment: Segment) -> HalfFlow:
        """Begin a flow with its first segment."""
        now_ns: i64 = segment.ts_ns
        if self._opened_ns < now_ns:
            now_ns = self._opened_ns
        if now_ns > self._now_ns:
            self._now_ns = now_ns
        if len(self._flows) >= self.limits.max_flows:
            self._make_room()
        self._opened += 1
        self._opened_ns = segment.ts_ns
        flow_id: i64 = self._opened
        if self.share.count > 1:
            flow_id = self.share.open()
        key = b""
        if segment.source >= V6_ENDPOINT:
            key = segment.key
        flow = NOBODY
        if len(self._spare) > 0:
            flow = self._spare.pop()
            renew(flow, key, flow_id, segment.ts_ns, segment.ref)
        else:
            flow = Flow(key, flow_id, segment.ts_ns, segment.ref)
        flow.tunnel = segment.tunnel
        self._flows.add(flow, segment)
        if segment.flags & SYN == 0:
            flow.guess_direction()
        opened = self.opened
        if opened is not None:
            opened.append(flow)
        return flow.opener

    def _lighten(self) -> None:
        """Too much is kept while hellos are pending: leave those unread that have been idle for longest."""
        self.limits.crowded = True
        for flow in longest_pending(self._flows.in_order()):
            if self.limits.pending_len <= self.limits.pending_max // 2:
                return
            self._tls.leave_unread(flow)

    def _make_room(self) -> None:
        """Let go of the flows that have been idle for longest."""
        for flow in longest_idle(self._flows.in_order(), self._now_ns):
            if flow.state == CLOSING:
                self._hand_on(flow, True)
            else:
                self.limits.closed_early += 1
                self._close_early(flow)

    def _close_early(self, flow: Flow) -> None:
        """Hand on a flow that has not ended, as if the capture ended here."""
        flow.flags |= FLAG_ENDED_BY_CAPTURE | FLAG_CLOSED_EARLY
        flow.closed_ns = flow.last_ns
        if self._now_ns > flow.last_ns:
            flow.closed_ns = self._now_ns
        self._hand_on(flow, False)

    def _note_close(self, flow: Flow) -> None:
        """A side sent FIN or RST."""
        if flow.state != CLOSING and is_over(flow):
            flow.state = CLOSING
            flow.closed_ns = flow.last_ns
            flow.queued = self.share.queued(0)
            self._closing.append(flow)

    def _hand_on(self, flow: Flow, is_queued: bool) -> None:
        """Give a flow to the sink and forget it; ``is_queued`` when it waits among those that are done, or may."""
        self._remove(flow)
        take_back_resets(flow)
        self._tls.finish(flow)
        note_count: i64 = flow.note_count
        if self._sink.take(flow):
            self.limits.notes -= note_count
            self._tls.let_go(flow, True)
            flow.untie()
        else:
            self._let_go(flow, is_queued)

    def _remove(self, flow: Flow) -> None:
        """No segment finds this flow any more."""
        self._flows.remove(flow)
        flow.state = HANDED_ON

    def _forget(self, flow: Flow) -> None:
        """Let go of a flow that nobody wants."""
        self._remove(flow)
        self._graves.bury(flow)
        self._let_go(flow, False)

    def _let_go(self, flow: Flow, is_queued: bool) -> None:
        """Nobody has this flow any more, unless it is queued."""
        drop_notes(flow, self.limits)
        self._tls.let_go(flow, False)
        flow.untie()
        if self.opened is None:
            clear(flow)
            if not is_queued and len(self._spare) < SPARE_MAX:
                reset(flow)
                self._spare.append(flow)
