"""One segment's effect on its connection: sequence space, acknowledgments, handshake, close.

The hot path of a flow: called for every TCP segment, it decides what that is to its half (new, sent again, a copy,
late), sets the TCP events and shows new payload to the TLS streams. TLS itself is not known here.
"""

from mypy_extensions import i64

from pcapstall.core.seq import seq_diff, to_offset
from pcapstall.core.words import U32
from pcapstall.flows.copies import is_last_again, is_passed, take_copy
from pcapstall.flows.fast_open import hold_syn_payload
from pcapstall.flows.flow import (
    BY_SYN,
    BY_SYN_ACK,
    FLAG_MISSED_BYTES,
    FLAG_SIMULTANEOUS_OPEN,
    FLAG_SNAPLEN_CUT,
    NEVER,
    Flow,
    HalfFlow,
)
from pcapstall.flows.holes import add_hole, fill
from pcapstall.flows.kept import Limits
from pcapstall.flows.notebook import COPY, KEEP_ALIVE, LATE, NEW, RETRANSMISSION
from pcapstall.flows.notes import Notes
from pcapstall.flows.oddities import UNSEEN_LEN, is_absurd_ack, note_reset
from pcapstall.flows.tls import TlsStreams
from pcapstall.flows.waits import WAIT_NS, note_wait
from pcapstall.wire.segment import ACK, FIN, RST, SYN, Segment


class TcpEvents:
    """Moves half-flows on, segment by segment. One instance for all flows."""

    def __init__(self, limits: Limits, tls: TlsStreams) -> None:
        self._limits: Limits = limits
        self._tls: TlsStreams = tls
        self._notes: Notes = Notes(limits)

    def advance(self, half: HalfFlow, segment: Segment) -> None:
        """Let ``half`` send ``segment``."""
        flow = half.flow
        peer = flow.answerer
        if half is peer:
            peer = flow.opener
        flags: i64 = segment.flags
        length: i64 = segment.payload_len
        offset: i64 = 0
        kind: i64 = NEW
        half.packets += 1
        flow.last_ns = segment.ts_ns
        flow.last_ref = segment.ref
        if flags & (SYN | FIN | RST) == 0 and half.base_seq >= 0:
            offset = to_offset(segment.seq, half.base_seq, half.next_offset)
            if offset == half.next_offset and (length > 0 or segment.ack != half.last_numbers & U32):
                # In order, and no copy: new bytes, or an ACK of what the one before did not acknowledge.
                if length > 0:
                    half.next_offset = offset + length
                    half.payload_bytes += length
                    asked_ns: i64 = peer.last_payload_ns
                    if half.last_payload_ns < asked_ns and segment.ts_ns - asked_ns >= WAIT_NS:
                        note_wait(half, segment)
                    half.last_payload_ns = segment.ts_ns
            else:
                kind = _classify(half, segment, offset)
        else:
            offset = _place(half, segment)
            kind = _classify(half, segment, offset)
            if kind != COPY:
                kind = _control(half, segment, offset, kind)
        if kind == COPY:
            if flow.noting:
                self._notes.keep(half, segment, offset, NEVER, COPY)
            take_copy(half, segment)
            return
        if kind == RETRANSMISSION:
            half.rare().retransmits += 1
        acked: i64 = NEVER
        if flags & ACK != 0:
            acked = to_offset(segment.ack, peer.base_seq, peer.acked_offset)
            if (
                flags & (SYN | RST) != 0
                or peer.base_seq < 0
                or (flow.ack_ref == 0 and flow.syn_ack_ref != 0)
                or acked > peer.next_offset
                or acked >= peer.ack_watch
            ):
                acked = self._acknowledge(flow, half, peer, segment)
            elif acked > peer.acked_offset:
                # Of what was seen, and no event.
                peer.acked_offset = acked
        half.last_ns = segment.ts_ns
        half.last_numbers = (segment.seq << 32) | segment.ack
        half.last_form = (length << 25) | (flags << 17) | (segment.ip_id + 1)
        if flow.noting:
            self._notes.keep(half, segment, offset, acked, kind)
        if length > 0:
            if segment.captured_len < length:
                flow.flags |= FLAG_SNAPLEN_CUT
            if flags & SYN != 0:
                hold_syn_payload(half, segment, self._limits)
            elif offset + length > half.watch_offset and kind != KEEP_ALIVE and flags & RST == 0:
                self._tls.payload(half, segment, offset, acked)

    def _acknowledge(self, flow: Flow, half: HalfFlow, peer: HalfFlow, segment: Segment) -> i64:
        """Take the ACK of a segment of ``half``; returns the offset in the stream of ``peer`` that it acknowledges."""
        if peer.base_seq < 0:
            if segment.flags & RST != 0:
                return NEVER
            # The other direction was not seen so far: what is acknowledged is where its stream begins for us.
            peer.base_seq = segment.ack
        acked: i64 = to_offset(segment.ack, peer.base_seq, peer.acked_offset)
        if segment.flags & RST != 0:
            return acked
        if flow.ack_ref == 0 and flow.syn_ack_ref != 0 and segment.flags & SYN == 0:
            if (half is flow.opener) == flow.opener_is_client and _complete_handshake(flow, peer, segment):
                acked = 0
        elif segment.flags & SYN != 0 and peer.head is not None:
            self._tls.syn_answered(peer, acked)
        if acked > peer.acked_offset:
            if acked > peer.next_offset:
                if is_absurd_ack(peer, acked):
                    return NEVER
                flow.flags |= FLAG_MISSED_BYTES
            peer.acked_offset = acked
        if acked >= peer.ack_watch and acked - peer.next_offset <= UNSEEN_LEN:
            self._tls.events.acknowledged(peer, segment.ts_ns, segment.ref)
        return acked


def _place(half: HalfFlow, segment: Segment) -> i64:
    """Where the payload of a SYN, FIN or RST, or of a half's first segment, lies in its stream."""
    seq: i64 = segment.seq
    if segment.flags & SYN != 0:
        seq = (seq + 1) & 0xFFFFFFFF
    if half.base_seq < 0:
        if segment.flags & RST != 0:
            return 0
        half.base_seq = seq
    return to_offset(seq, half.base_seq, half.next_offset)


def _classify(half: HalfFlow, segment: Segment, offset: i64) -> i64:
    """What a segment is that is no plain data in order; moves the half's sequence space."""
    length: i64 = segment.payload_len
    end: i64 = offset + length
    if half.packets > 1 and is_last_again(half, segment):
        return COPY
    if segment.flags & RST != 0:
        return NEW
    if end > half.next_offset:
        if length > 0:
            _take_new(half, segment, offset, end)
        # Else a bare ACK, or a FIN, beyond a hole: its bytes may still come.
        return NEW
    if length > 0:
        holes = half.holes
        if holes is not None:
            filled: i64 = fill(holes, offset, end)
            if filled > 0:
                half.payload_bytes += filled
                half.last_payload_ns = segment.ts_ns
                return LATE
        if offset == half.next_offset - 1 and length == 1 and half.fin_ref == 0:
            return KEEP_ALIVE
    elif segment.flags & SYN == 0 and (segment.flags & FIN == 0 or half.fin_ref == 0):
        if offset == half.next_offset - 1 and half.fin_ref == 0:
            return KEEP_ALIVE
        return NEW
    # Nothing in it is new: the packet itself again, or sent again.
    if half.packets > 1 and is_passed(half, segment):
        return COPY
    if length == 0:
        return NEW
    return RETRANSMISSION


def _take_new(half: HalfFlow, segment: Segment, offset: i64, end: i64) -> None:
    """Move on to ``end``, over a hole or over bytes that were seen."""
    if offset > half.next_offset:
        half.rare().holes = add_hole(half.holes, half.next_offset, offset)
        half.payload_bytes += end - offset
    else:
        holes = half.holes
        if holes is not None and offset < half.next_offset:
            half.payload_bytes += fill(holes, offset, half.next_offset)
        half.payload_bytes += end - half.next_offset
    half.next_offset = end
    half.last_payload_ns = segment.ts_ns


def _control(half: HalfFlow, segment: Segment, offset: i64, kind: i64) -> i64:
    """SYN, FIN and RST: events, and the sequence number that the first two take."""
    flags: i64 = segment.flags
    if flags & RST != 0:
        note_reset(half, segment, offset)
        return kind
    if flags & SYN != 0:
        # A FIN beside it counts as well, as soon as the connection is there (RFC 9293 section 3.10.7.2 and .3).
        kind = _synchronise(half, segment)
    if flags & FIN != 0:
        # A FIN takes one sequence number after the payload.
        end: i64 = offset + segment.payload_len + 1
        if half.fin_ref != 0:
            if kind == NEW and end <= half.next_offset:
                return RETRANSMISSION
            return kind
        half.fin_ns = segment.ts_ns
        half.fin_ref = segment.ref
        if end > half.next_offset:
            if end - 1 > half.next_offset:
                half.rare().holes = add_hole(half.holes, half.next_offset, end - 1)
            half.next_offset = end
    return kind


def _synchronise(half: HalfFlow, segment: Segment) -> i64:
    """A SYN or a SYN-ACK, the first of its kind or a later one."""
    flow = half.flow
    opener: bool = half is flow.opener
    if segment.flags & ACK == 0:
        if flow.syn_ref == 0:
            flow.syn_ns = segment.ts_ns
            flow.syn_ref = segment.ref
            flow.opener_is_client = opener
            flow.direction = BY_SYN
        elif opener == flow.opener_is_client:
            flow.rare().syn_retries += 1
            return RETRANSMISSION
        else:
            flow.flags |= FLAG_SIMULTANEOUS_OPEN
        return NEW
    if flow.syn_ref != 0 and opener == flow.opener_is_client:
        # The SYN's sender answers a SYN that crossed its own (RFC 9293 section 3.5): not the SYN-ACK to measure.
        return NEW
    if flow.syn_ack_ref == 0:
        flow.syn_ack_ns = segment.ts_ns
        flow.syn_ack_ref = segment.ref
        if flow.syn_ref == 0:
            flow.opener_is_client = not opener
            flow.direction = BY_SYN_ACK
        return NEW
    if flow.ack_ref == 0 and (segment.seq + 1) & 0xFFFFFFFF != half.base_seq:
        # Another ISN than the first SYN-ACK's: the client's ACK will tell which one counts.
        if len(flow.other_syn_acks) == 0:
            flow.rare().other_syn_acks = []
        if len(flow.other_syn_acks) < 16:
            flow.other_syn_acks.append((segment.seq, segment.ts_ns, segment.ref))
    flow.rare().syn_ack_retries += 1
    return RETRANSMISSION


def _complete_handshake(flow: Flow, server: HalfFlow, segment: Segment) -> bool:
    """Whether the client's segment acknowledges a SYN-ACK; True also when that moves the server's sequence space."""
    moved = False
    for isn, ns, ref in flow.other_syn_acks:
        base_seq: i64 = (isn + 1) & 0xFFFFFFFF
        if base_seq == segment.ack and segment.ack != server.base_seq:
            flow.syn_ack_ns = ns
            flow.syn_ack_ref = ref
            server.base_seq = base_seq
            server.next_offset = 0
            server.acked_offset = 0
            moved = True
            break
    if seq_diff(segment.ack, server.base_seq) >= 0:
        flow.ack_ns = segment.ts_ns
        flow.ack_ref = segment.ref
        if len(flow.other_syn_acks) > 0:
            flow.other_syn_acks.clear()
    return moved
