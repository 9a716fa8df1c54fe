"""What the things a TLS reader finds mean to the connection: hellos, flights, alerts, application data.

One method an event. Each sets the event's time from the arrival of its bytes; the definitions are those of the
measurement contract (docs/measurements.md), the numbers RFC 8446 and RFC 5246. Nothing here reads bytes.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.alerts import confirm_alert, note_alert
from pcapstall.flows.begun import begun_hello
from pcapstall.flows.flow import (
    BY_CLIENT_HELLO,
    BY_FIRST_SEEN,
    BY_PORT,
    FLAG_CERTIFICATE,
    FLAG_CLEAR_FLIGHT,
    FLAG_EARLY_DATA,
    FLAG_UNREADABLE,
    IGNORED,
    NEVER,
    SEEKING,
    Flow,
    HalfFlow,
)
from pcapstall.flows.head import Arrival
from pcapstall.flows.hellos import UnreadHellos
from pcapstall.flows.holes import has_hole_before
from pcapstall.flows.kept import Limits
from pcapstall.flows.notes import AFTER_MAX, drop_notes
from pcapstall.flows.roles import hello_receiver, hello_sender, is_flight, is_slow
from pcapstall.wire.tls_event import (
    ALERT,
    APP_DATA,
    BAD,
    CHANGE_CIPHER_SPEC,
    ENCRYPTED_ALERT,
    HANDSHAKE,
    HANDSHAKE_UNREAD,
    TlsEvent,
)
from pcapstall.wire.tls_hello import ServerHello, ServerHellos, begins_hello_retry
from pcapstall.wire.tls_names import is_tls13

TAG_LEN: Final = 16
CCM_8_TAG_LEN: Final = 8
TLS_AES_128_CCM_8_SHA256: Final = 0x1305
FINISHED_LEN_MIN: Final = 4 + 32 + 1
"""Least length of what a TLS 1.3 record with a Finished encrypts: header, SHA-256 hash, content type."""
ALERT_LEN: Final = 2 + 1
"""The same of an alert without padding: level and description, content type (RFC 8446 section 5.2)."""

_CLIENT_HELLO: Final = 1
_SERVER_HELLO: Final = 2
_CERTIFICATE: Final = 11
_SERVER_HELLO_DONE: Final = 14


class TlsEvents:
    """Turns reader events into flow events. One instance for all flows."""

    def __init__(self, limits: Limits) -> None:
        self._limits: Limits = limits
        self.hellos: UnreadHellos = UnreadHellos(limits.shares)
        self._server_hellos: ServerHellos = ServerHellos()
        self.event: TlsEvent = TlsEvent()
        """The readers fill this one."""

    def take(self, half: HalfFlow, now: Arrival) -> None:
        """The reader of ``half`` found `event`, while it read the segment that came with ``now``."""
        kind: i64 = self.event.kind
        if kind != APP_DATA:
            half.alert_candidate = False
        if kind == APP_DATA:
            self._application_data(half, now)
        elif kind == HANDSHAKE:
            self._message(half, now)
        elif kind == CHANGE_CIPHER_SPEC:
            self._change_cipher_spec(half, now)
        elif kind == ALERT or kind == ENCRYPTED_ALERT:
            event = self.event
            first = self._arrival(half, event.first_offset, now)
            note_alert(half, event.level, event.description, kind == ENCRYPTED_ALERT, first.ns, first.ref)
        elif kind == HANDSHAKE_UNREAD:
            self._unread(half, now)
        elif kind == BAD:
            half.flow.flags |= FLAG_UNREADABLE
            half.phase = IGNORED
            half.watch_offset = NEVER

    def progress(self, half: HalfFlow, now: Arrival) -> None:
        """Everything of the segment that came with ``now`` was read, and the handshake goes on."""
        flow = half.flow
        hello = flow.server_hello
        if hello is None or half is not hello_receiver(flow) or flow.client_finished_ref != 0:
            return
        if is_tls13(hello.version):
            # TLS 1.3: the flight's end is the last server record before the client's next flight.
            flow.server_flight_last_ns = now.ns
            flow.server_flight_last_ref = now.ref

    def acknowledged(self, half: HalfFlow, ns: i64, ref: i64) -> None:
        """The other side acknowledged the last byte of the ClientHello that ``half`` sent."""
        half.ack_watch = NEVER
        flow = half.flow
        if flow.client_hello_acked_ref == 0:
            flow.client_hello_acked_ns = ns
            flow.client_hello_acked_ref = ref

    def hole(self, half: HalfFlow, waiting: Arrival) -> None:
        """The flow ends with a hole in ``half``: bytes that arrived at ``waiting`` lie beyond it."""
        flow = half.flow
        if flow.client_hello_first_ref == 0 and half is flow.client() and half.phase == SEEKING:
            self._note_partial(flow, waiting)

    def finish(self, flow: Flow) -> None:
        """No more bytes will come: a hello that is not over stays partial, a short last record was an alert."""
        begun = begun_hello(flow)
        if begun is not None:
            self._note_partial(flow, begun)
        confirm_alert(flow.opener)
        confirm_alert(flow.answerer)

    def settle(self, flow: Flow) -> None:
        """The handshake is over: forget its segments, unless something in it was slow."""
        flow.settled = True
        if len(self._limits.kept_keys) > 0 and flow.key in self._limits.kept_keys:
            return
        if is_slow(flow, self._limits.slow_ns):
            flow.notes_after = AFTER_MAX
            return
        flow.noting = False
        drop_notes(flow, self._limits)

    def _arrival(self, half: HalfFlow, offset: i64, now: Arrival) -> Arrival:
        """When the byte at ``offset`` came; without marks it came just now."""
        head = half.head
        if head is None or len(head.marks) == 0 or offset >= now.offset:
            return now
        return head.arrival(offset)

    def _message(self, half: HalfFlow, now: Arrival) -> None:
        """A handshake message in the clear."""
        flow = half.flow
        kind: i64 = self.event.type
        if kind == _CLIENT_HELLO:
            self._client_hello(half, now)
        elif kind == _SERVER_HELLO:
            self._server_hello(half, now)
        elif kind == _CERTIFICATE:
            if half is hello_receiver(flow):
                flow.flags |= FLAG_CERTIFICATE
        elif kind == _SERVER_HELLO_DONE and flow.server_flight_last_ref == 0:
            last = self._arrival(half, self.event.last_offset, now)
            flow.server_flight_last_ns = last.ns
            flow.server_flight_last_ref = last.ref
        if flow.server_hello is None and kind > _SERVER_HELLO:
            flow.flags |= FLAG_CLEAR_FLIGHT

    def _unread(self, half: HalfFlow, now: Arrival) -> None:
        """A hello that is over and was not read. If all of it came, its bytes were cut off, and it has its times."""
        if not has_hole_before(half.holes, self.event.last_offset + 1):
            self._message(half, now)
        elif self.event.type == _CLIENT_HELLO:
            self._partial_hello(half, now)

    def _client_hello(self, half: HalfFlow, now: Arrival) -> None:
        """The first ClientHello, or the one that answers a HelloRetryRequest."""
        flow = half.flow
        first = self._arrival(half, self.event.start_offset, now)
        last = self._arrival(half, self.event.last_offset, now)
        if flow.client_hello_first_ref != 0:
            if flow.hello_retry_ref != 0 and flow.client_hello2_first_ref == 0 and half is hello_sender(flow):
                flow.rare().client_hello2_first_ns = first.ns
                flow.rare().client_hello2_first_ref = first.ref
                flow.rare().client_hello2_last_ns = last.ns
                flow.rare().client_hello2_last_ref = last.ref
            return
        opener: bool = half is flow.opener
        if flow.server_hello_first_ref != 0 and opener != flow.tls_client_is_opener:
            return  # whoever said ServerHello is no client
        flow.tls_client_is_opener = opener
        if flow.direction == BY_PORT or flow.direction == BY_FIRST_SEEN:
            flow.direction = BY_CLIENT_HELLO
            flow.opener_is_client = opener
        flow.client_hello_first_ns = first.ns
        flow.client_hello_first_ref = first.ref
        flow.client_hello_last_ns = last.ns
        flow.client_hello_last_ref = last.ref
        if flow.partial_hello_ref != 0:
            flow.rare().partial_hello_ref = 0
        if self.event.kind == HANDSHAKE:
            self.hellos.keep(flow, self.event.buf[self.event.body_at : self.event.body_end])
        half.ack_watch = self.event.last_offset + 1
        server = half.peer
        tls_offset: i64 = 0
        if first.ack_offset != NEVER:
            tls_offset = first.ack_offset
        elif server.head is not None:
            tls_offset = server.head.read_offset
        if tls_offset != 0:
            flow.rare().server_tls_offset = tls_offset

    def _server_hello(self, half: HalfFlow, now: Arrival) -> None:
        """A HelloRetryRequest or the ServerHello."""
        flow = half.flow
        if flow.server_hello_first_ref != 0 or (flow.client_hello_first_ref != 0 and half is hello_sender(flow)):
            return
        first = self._arrival(half, self.event.start_offset, now)
        last = self._arrival(half, self.event.last_offset, now)
        hello: ServerHello | None = None
        event = self.event
        if event.kind == HANDSHAKE:
            hello = self._server_hellos.parse(event.buf, event.body_at, event.body_end)
        if flow.hello_retry_ref == 0 and begins_hello_retry(event.buf, event.body_at, event.body_end):
            flow.rare().hello_retry_ns = first.ns
            flow.rare().hello_retry_ref = first.ref
            return
        if flow.client_hello_first_ref == 0:
            # Whoever says ServerHello is the server, whatever the ports.
            flow.tls_client_is_opener = half is not flow.opener
            if flow.direction == BY_PORT or flow.direction == BY_FIRST_SEEN:
                flow.opener_is_client = flow.tls_client_is_opener
        flow.server_hello_first_ns = first.ns
        flow.server_hello_first_ref = first.ref
        flow.server_hello_last_ns = last.ns
        flow.server_hello_last_ref = last.ref
        flow.server_hello = hello
        flow.server_hello_end = self.event.last_offset + 1

    def _change_cipher_spec(self, half: HalfFlow, now: Arrival) -> None:
        """TLS 1.2 and before: the client's second flight. TLS 1.3 sends it for middleboxes only (appendix D.4)."""
        half.ccs = True
        flow = half.flow
        if flow.client_finished_ref != 0 or half is not hello_sender(flow):
            return
        if flow.server_hello_first_ref != 0 and not _is_modern(flow):
            self._client_finished(flow, self._arrival(half, self.event.first_offset, now))

    def _client_finished(self, flow: Flow, first: Arrival) -> None:
        flow.client_finished_ns, flow.client_finished_ref = first.ns, first.ref
        self.settle(flow)

    def _application_data(self, half: HalfFlow, now: Arrival) -> None:
        """A record of type 23: application data, or in TLS 1.3 any encrypted record."""
        flow = half.flow
        first = self._arrival(half, self.event.first_offset, now)
        hello = flow.server_hello
        modern = _is_modern(flow)
        tag_len: i64 = TAG_LEN
        if hello is not None and hello.cipher == TLS_AES_128_CCM_8_SHA256:
            tag_len = CCM_8_TAG_LEN
        if half.alert_candidate:
            # More follows: that was no alert.
            self._data(half, half.candidate_ns, half.candidate_ref)
        half.alert_candidate = (modern or hello is None) and self.event.length == ALERT_LEN + tag_len
        if half.alert_candidate:
            half.rare().candidate_ns, half.rare().candidate_ref = first.ns, first.ref
        if modern and flow.client_finished_ref == 0:
            if half is hello_receiver(flow):
                return
            if first.ack_offset == NEVER or first.ack_offset < flow.server_hello_end:
                flow.flags |= FLAG_EARLY_DATA
            elif self.event.length >= FINISHED_LEN_MIN + tag_len:
                self._client_finished(flow, first)
            return
        if hello is None and flow.client_hello_first_ref != 0 and not flow.settled:
            client_hello = flow.client_hello
            if half is hello_sender(flow) and client_hello is not None and client_hello.early_data:
                flow.flags |= FLAG_EARLY_DATA
                return
        if not half.alert_candidate:
            self._data(half, first.ns, first.ref)

    def _data(self, half: HalfFlow, ns: i64, ref: i64) -> None:
        """Application data after the handshake; the first of each side is an event."""
        flow = half.flow
        if half.app_data_ref != 0 or (flow.client_finished_ref == 0 and (_is_modern(flow) or is_flight(half))):
            return
        half.app_data_ns, half.app_data_ref = ns, ref
        if not flow.settled:
            self.settle(flow)

    def _partial_hello(self, half: HalfFlow, now: Arrival) -> None:
        flow = half.flow
        if flow.client_hello_first_ref == 0:
            self._note_partial(flow, self._arrival(half, self.event.start_offset, now))

    def _note_partial(self, flow: Flow, arrival: Arrival) -> None:
        if flow.partial_hello_ref == 0:
            flow.rare().partial_hello_ns, flow.rare().partial_hello_ref = arrival.ns, arrival.ref


def _is_modern(flow: Flow) -> bool:
    """Whether the server chose TLS 1.3: all behind its ServerHello is encrypted, also where that could not be read."""
    hello = flow.server_hello
    if hello is None:
        return flow.server_hello_first_ref != 0 and flow.flags & FLAG_CLEAR_FLIGHT == 0
    return is_tls13(hello.version)
