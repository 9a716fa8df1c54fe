"""All connections at once: finds a segment's flow, opens new ones, hands finished ones on.

Both directions' keys point at their half-flow. A connection whose both sides are done is handed to the sink after a
quiet time, so that memory follows what is alive. What a segment does to its flow is in the TCP module.
"""

from collections import deque
from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.core.seq import seq_diff
from pcapstall.core.words import u16_be
from pcapstall.flows.flow import (
    BY_FIRST_SEEN,
    BY_PORT,
    CLOSING,
    FLAG_ENDED_BY_CAPTURE,
    HANDED_ON,
    NOBODY,
    Flow,
    HalfFlow,
    IcmpError,
    Limits,
    peer_of,
)
from pcapstall.flows.notes import drop_notes
from pcapstall.flows.tcp import TcpEvents
from pcapstall.flows.tls import TlsStreams
from pcapstall.wire.icmp import IcmpQuote
from pcapstall.wire.segment import ACK, FIN, RST, SYN, Segment

QUIET_NS: Final = 120_000_000_000
"""How long both sides must have been done before a flow is handed on: twice the usual TIME-WAIT."""
EXPIRE_MAX: Final = 8192
"""Flows looked at in one go."""
LINGER_NS: Final = 1_000_000_000
"""How long they must have been done before a flow that nobody wants to see is forgotten."""


ICMP_ERRORS_MAX: Final = 64
"""ICMP errors kept of one flow."""


class Grave:
    """Where a forgotten flow was, and since when."""

    def __init__(self, key: bytes, answer_key: bytes, ns: i64) -> None:
        self.key: bytes = key
        self.answer_key: bytes = answer_key
        self.ns: i64 = ns


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

    def __init__(self, sink: FlowSink, slow_ns: i64, quiet_ns: i64 = QUIET_NS) -> None:
        limits = Limits(slow_ns)
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
        self._graves: deque[Grave] = deque()
        self._buried: set[bytes] = set()
        """Keys of forgotten flows, as long as stragglers may come: they begin no new flow."""
        self._opened: i64 = 0

    def add(self, segment: Segment) -> None:
        """Give a segment to its flow."""
        half = self._halves.get(segment.key)
        if half is None:
            if segment.flags & (SYN | ACK) != SYN and segment.key in self._buried:
                return
            half = self._open(segment)
        elif segment.flags & (SYN | ACK) == SYN and _is_reuse(half, segment):
            self._hand_on(half.flow)
            half = self._open(segment)
        self._tcp.advance(half, segment)
        if segment.flags & (FIN | RST) != 0:
            self._note_close(half)

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
        """Let go of the flows that are done: soon of those that nobody wants, of the others after a quiet time."""
        closing = self._closing
        looked_at: i64 = 0
        while len(closing) > 0 and looked_at < EXPIRE_MAX:
            looked_at += 1
            flow = closing[0]
            if flow.state != HANDED_ON and now_ns - flow.closed_ns < LINGER_NS:
                break
            closing.popleft()
            if flow.state == HANDED_ON:
                continue
            if now_ns - flow.last_ns < LINGER_NS:
                # Still talking after a RST: those behind it shall not wait for that.
                flow.closed_ns = now_ns
                closing.append(flow)
                continue
            self._tls.finish(flow)
            if self._sink.forgets(flow):
                self._forget(flow, now_ns)
            else:
                self._done.append(flow)
        while len(self._done) > 0 and now_ns - self._done[0].last_ns >= self._quiet_ns:
            flow = self._done.popleft()
            if flow.state != HANDED_ON:
                self._hand_on(flow)
        while len(self._graves) > 0 and now_ns - self._graves[0].ns >= self._quiet_ns:
            grave = self._graves.popleft()
            self._buried.discard(grave.key)
            self._buried.discard(grave.answer_key)

    def finish(self) -> None:
        """The capture is over: hand on every flow, in the order of their first segments."""
        for half in list(self._halves.values()):
            flow = half.flow
            if half is flow.opener:
                if flow.state != CLOSING:
                    flow.flags |= FLAG_ENDED_BY_CAPTURE
                self._hand_on(flow)

    def __len__(self) -> int:
        return len(self._halves) // 2

    def _open(self, segment: Segment) -> HalfFlow:
        """Begin a flow with its first segment."""
        self._opened += 1
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

    def _note_close(self, half: HalfFlow) -> None:
        """A side sent FIN or RST: after a RST, or when both sides have sent FIN, only stragglers can come."""
        flow = half.flow
        if flow.state != CLOSING and (half.rst_ref != 0 or peer_of(half).fin_ref != 0):
            flow.state = CLOSING
            flow.closed_ns = flow.last_ns
            self._closing.append(flow)

    def _hand_on(self, flow: Flow) -> None:
        """Give a flow to the sink and forget it."""
        self._remove(flow)
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
        self._buried.add(flow.key)
        self._buried.add(flow.answer_key)
        self._graves.append(Grave(flow.key, flow.answer_key, now_ns))
        drop_notes(flow, self.limits)
        _untie(flow)


def _untie(flow: Flow) -> None:
    """A flow and its halves hold each other, and the garbage collector does not run during a scan."""
    flow.opener.flow = NOBODY
    flow.answerer.flow = NOBODY


def _is_reuse(half: HalfFlow, segment: Segment) -> bool:
    """Whether a SYN opens a new connection between known endpoints."""
    flow = half.flow
    if half.base_seq >= 0:
        return seq_diff(segment.seq + 1, half.base_seq) != 0
    # Nothing of this side so far: a simultaneous open, if the other side's SYN is still unanswered.
    return flow.syn_ref == 0 or flow.syn_ack_ref != 0 or peer_of(half).rst_ref != 0


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
