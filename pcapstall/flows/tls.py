"""Puts each direction's bytes in order and shows them to its TLS reader, wherever TLS begins in the stream.

Segments that come too early wait for the hole before them; a hole that the peer acknowledged, or that never closes, is
passed over. What the things that a reader finds mean to the connection is in the module of TLS events.
"""

from mypy_extensions import i64

from pcapstall.flows.between import Readers, begin, wanted_offset
from pcapstall.flows.fast_open import reject_syn_payload
from pcapstall.flows.flow import FLAG_NOT_TLS, IGNORED, NEVER, READING, SEEKING, Flow, HalfFlow
from pcapstall.flows.head import HELD_MAX, LATER_MAX, Arrival, Held, StreamHead
from pcapstall.flows.kept import Limits
from pcapstall.flows.pending import count_unread, leave_unread, release_head, stop_reading, weigh
from pcapstall.flows.roles import data_tells_nothing, hello_receiver, is_hello_due
from pcapstall.flows.seek import PREFIX_MAX, RECORD_BEGIN_LEN, find_tls, looks_like_record, note_talk
from pcapstall.flows.tls_events import TlsEvents
from pcapstall.flows.whole import read_records
from pcapstall.wire.preamble import NEED_MORE, NOT_TLS
from pcapstall.wire.segment import Segment
from pcapstall.wire.tls_reader import APP_DATA, TlsReader
from pcapstall.wire.tls_skim import skim


class TlsStreams:
    """The streams of all flows. One instance; the state is in the half-flows."""

    def __init__(self, limits: Limits) -> None:
        self._limits: Limits = limits
        self.events: TlsEvents = TlsEvents(limits)
        self._readers: Readers = Readers()
        self._now: Arrival = Arrival(0, 0, 0, 0)  # of the segment that is being read; copied by who keeps it

    def payload(self, half: HalfFlow, segment: Segment, offset: i64, acked: i64) -> None:
        """New payload of ``half`` at stream offset ``offset``, in a segment that acknowledges ``acked``."""
        buf = segment.buf
        start: i64 = segment.payload_offset
        end: i64 = start + segment.captured_len
        missing_len: i64 = segment.payload_len - segment.captured_len
        arrival = self._now
        arrival.offset, arrival.ack_offset = offset, acked
        arrival.ns, arrival.ref = segment.ts_ns, segment.ref
        head = half.head
        if half.phase != READING and head is None and offset <= 0 and end - start >= RECORD_BEGIN_LEN:
            if looks_like_record(buf, start):
                # The ordinary flow: TLS from the first byte on, nothing is kept.
                begin(half, offset)
        if half.phase == READING:
            if head is None and half.reader is None and missing_len == 0 and offset <= half.record_end:
                start = read_records(self.events, half, buf, start, end, arrival)
                if start >= end:
                    return
                arrival.offset = half.record_end
            elif offset > wanted_offset(half) or (head is not None and len(head.held) > 0):
                self._hold(half, Held(arrival.copy(), buf[start:end], missing_len))
                return
            self._read(half, self._readers.of(half), buf, start, end, arrival, missing_len)
        else:
            if head is None:
                half.head = head = StreamHead()
                if offset < 0:
                    head.read_offset = head.prefix_offset = offset
            if offset > head.read_offset or len(head.held) > 0:
                self._hold(half, Held(arrival.copy(), buf[start:end], missing_len))
                return
            self._seek(half, head, buf, start, end, arrival, missing_len)
        if half.head is not None or half.reader is not None:
            self._watch(half)

    def syn_answered(self, half: HalfFlow, acked: i64) -> None:
        """The SYN-ACK acknowledged ``acked`` bytes of the payload that the SYN of ``half`` carried."""
        head = half.head
        if head is None or len(head.held) == 0 or half.flow.syn_data != "":
            return
        if acked > 0:
            half.flow.rare().syn_data = "accepted"
            self._drain(half, head)
            self._watch(half)
        else:
            reject_syn_payload(half, self._limits)

    def finish(self, flow: Flow) -> None:
        """The flow is over: read what still waits, holes or not, and let go of the stream's bytes."""
        if flow.opener.head is not None or flow.answerer.head is not None:
            self._finish_half(flow.client())
            self._finish_half(flow.server())
        self.events.finish(flow)
        note_talk(flow)
        stop_reading(flow.opener, self._limits)
        stop_reading(flow.answerer, self._limits)

    def let_go(self, flow: Flow, is_kept: bool) -> None:
        """The flow was handed on, and is kept or not."""
        self.events.hellos.let_go(flow, is_kept)

    def _read(
        self, half: HalfFlow, reader: TlsReader, buf: bytes, start: i64, end: i64, arrival: Arrival, missing_len: i64
    ) -> None:
        """Show ``buf[start:end]`` to the reader and take every event in it."""
        if arrival.offset < reader.offset:
            # Its first bytes came before; these are the new ones.
            start += reader.offset - arrival.offset
            if start >= end:
                return
            arrival = arrival.at(reader.offset)
        offset: i64 = arrival.offset
        head = half.head
        if head is not None:
            head.forget_before(reader.begun_offset())
            head.mark(arrival.copy())
        event = self.events.event
        while reader.read(buf, start, end, offset, event):
            self.events.take(half, arrival)
            if reader.offset - offset >= end - start:
                break
            if event.kind == APP_DATA and reader.record_end - offset < end - start and data_tells_nothing(half):
                if skim(reader, buf, start + (reader.offset - offset), end, reader.offset):
                    break
        if missing_len > 0:
            offset += end - start + missing_len
            while reader.read(buf, end, end, offset, event):
                self.events.take(half, arrival)
        self._put_down(half, reader, arrival)

    def _put_down(self, half: HalfFlow, reader: TlsReader, arrival: Arrival) -> None:
        """A thing that goes on in a later segment needs the arrivals of its bytes; else nothing is kept."""
        kept: bool = not self._readers.put_down(half, reader)
        if not half.flow.settled:
            self.events.progress(half, arrival)
        head = half.head
        if head is None and not kept:
            return
        if reader.is_between():
            if head is not None and len(head.held) == 0:
                release_head(half, self._limits)
        elif head is None:
            half.head = head = StreamHead()
            head.mark(arrival.copy())

    def _hold(self, half: HalfFlow, held: Held) -> None:
        """Keep a segment that came too early, or give up the hole before it."""
        head = half.head
        if head is None:
            half.head = head = StreamHead()
        head.later += 1
        if head.held_len + len(held.data) > HELD_MAX:
            self._skip_hole(half, head)
            if half.head is not head or head.held_len + len(held.data) > HELD_MAX:
                self._watch(half)
                return
        head.hold(held)
        if head.later > LATER_MAX and len(head.held) > 0 and half.acked_offset > head.held[0].arrival.offset:
            self._skip_hole(half, head)
        if half.head is head:
            self._drain(half, head)
        self._watch(half)

    def _skip_hole(self, half: HalfFlow, head: StreamHead) -> None:
        """The bytes before the first waiting segment will not come any more."""
        if len(head.held) == 0:
            return
        head.later = 0
        self._feed_held(half, head)
        self._drain(half, head)

    def _drain(self, half: HalfFlow, head: StreamHead) -> None:
        """Read the waiting segments that nothing is missing before."""
        while len(head.held) > 0:
            wanted: i64 = head.read_offset
            if half.phase == READING:
                wanted = wanted_offset(half)
            if half.phase == IGNORED:
                stop_reading(half, self._limits)
                return
            if head.held[0].arrival.offset > wanted:
                return
            self._feed_held(half, head)
        head.later = 0

    def _feed_held(self, half: HalfFlow, head: StreamHead) -> None:
        """Read the first waiting segment, whatever is missing before it."""
        held = head.take()
        if half.phase == READING:
            reader = self._readers.of(half)
            self._read(half, reader, held.data, 0, len(held.data), held.arrival, held.missing_len)
        elif half.phase == SEEKING:
            if held.arrival.offset > head.read_offset:
                # The beginning is lost; what was read so far does not connect to this.
                head.prefix = b""
                head.read_offset = held.arrival.offset
                head.prefix_offset = held.arrival.offset
            self._seek(half, head, held.data, 0, len(held.data), held.arrival, held.missing_len)

    def _seek(
        self, half: HalfFlow, head: StreamHead, buf: bytes, start: i64, end: i64, arrival: Arrival, missing_len: i64
    ) -> None:
        """Look for the beginning of TLS in stream bytes that go on where the last ones ended, or overlap them."""
        flow = half.flow
        overlap: i64 = head.read_offset - arrival.offset
        if overlap >= end - start:
            return
        if overlap > 0:
            start += overlap
        newest = arrival.at(head.read_offset)
        head.mark(newest)
        if (
            half is hello_receiver(flow)
            and head.read_offset <= flow.server_tls_offset
            and len(head.prefix) >= RECORD_BEGIN_LEN
        ):
            # A talk before STARTTLS: of no interest once the hello is there.
            head.prefix = b""
        if len(head.prefix) < PREFIX_MAX:
            if len(head.prefix) == 0:
                head.prefix_offset = head.read_offset
            head.prefix = head.prefix + buf[start:end]
        head.read_offset += end - start
        at: i64 = find_tls(half, head)
        if at == NOT_TLS:
            if half is hello_receiver(flow):
                stop_reading(half, self._limits)
            else:
                self.ignore(flow)
        elif at != NEED_MORE:
            reader = self._readers.attach(half, head.prefix_offset + at)
            self._read_prefix(half, reader, head, newest, missing_len)
        elif len(head.prefix) > PREFIX_MAX:
            # One large segment of a server that talks before any hello: its beginning tells what it says.
            head.prefix = head.prefix[:PREFIX_MAX]

    def _read_prefix(
        self, half: HalfFlow, reader: TlsReader, head: StreamHead, newest: Arrival, missing_len: i64
    ) -> None:
        """Show the reader the kept bytes, the last of which came with ``newest``; all of them are marked already."""
        prefix = head.prefix
        head.prefix = b""
        skip: i64 = reader.offset - head.prefix_offset
        event = self.events.event
        while reader.read(prefix, skip, len(prefix), reader.offset, event):
            self.events.take(half, newest)
            skip = reader.offset - head.prefix_offset
        if missing_len > 0:
            offset: i64 = head.prefix_offset + len(prefix) + missing_len
            while reader.read(prefix, 0, 0, offset, event):
                self.events.take(half, newest)
        self._put_down(half, reader, newest)

    def ignore(self, flow: Flow) -> None:
        """This flow is not TLS."""
        flow.flags |= FLAG_NOT_TLS
        stop_reading(flow.opener, self._limits)
        stop_reading(flow.answerer, self._limits)
        self.events.settle(flow)

    def _watch(self, half: HalfFlow) -> None:
        """Say from which offset on the TCP module has to show payload."""
        reader = half.reader
        if half.phase == IGNORED:
            half.watch_offset = NEVER
        elif half.phase == READING:
            if half.flow.settled:
                half.watch_offset = wanted_offset(half)
                if reader is not None and reader.collected is not None and not is_hello_due(half):
                    # Nobody asks for another hello after the handshake.
                    reader.leave_unread()
        elif half.head is not None:
            half.watch_offset = half.head.read_offset
        head = half.head
        if head is not None and weigh(half, head, self._limits):
            self._lighten(half, head)

    def _lighten(self, half: HalfFlow, head: StreamHead) -> None:
        """Too much is kept: do without the hello that has begun, or without all TLS of the flow."""
        reader = half.reader
        if reader is not None and reader.collected is not None:
            reader.leave_unread()
            count_unread(half.flow, self._limits)
            if not weigh(half, head, self._limits):
                return
        self.leave_unread(half.flow)

    def leave_unread(self, flow: Flow) -> None:
        """Read no more TLS of ``flow``, to keep memory within bounds."""
        leave_unread(flow, self._limits)
        self.events.settle(flow)

    def _finish_half(self, half: HalfFlow) -> None:
        head = half.head
        while head is not None and len(head.held) > 0 and half.phase != IGNORED:
            self.events.hole(half, head.held[0].arrival)
            self._feed_held(half, head)
            head = half.head
