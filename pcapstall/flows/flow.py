"""What is remembered of one TCP connection: two half-flows and the events of its life.

Plain state, filled by the modules beside it. An event is a time and a frame reference; a reference of 0 says that it
was not seen. No interval, outcome or opinion lives here.
"""

from typing import Final

from mypy_extensions import i32, i64, mypyc_attr, u8

from pcapstall.core.words import U32, V4_KEY_LEN, u16_be, u32_be
from pcapstall.flows.head import StreamHead
from pcapstall.flows.keys import reverse_key, v4_key
from pcapstall.flows.notebook import NoteBook, SegmentNote
from pcapstall.flows.rarities import WithHalfRarities, WithRarities
from pcapstall.wire.segment import v4_endpoint
from pcapstall.wire.tls_hello import ClientHello, ServerHello, parse_client_hello
from pcapstall.wire.tls_reader import NEVER as NEVER
from pcapstall.wire.tls_reader import TlsReader
from pcapstall.wire.tls_shape import HelloShapes

# How a flow's client was told from its server, strongest first.
BY_SYN: Final = 0
BY_SYN_ACK: Final = 1
BY_CLIENT_HELLO: Final = 2
BY_PORT: Final = 3
BY_FIRST_SEEN: Final = 4
_SOURCES: Final = ("syn", "syn_ack", "client_hello", "port", "first_seen")

NOWHERE: Final = -1
"""An endpoint that no segment has."""

# How far the reading of a half's stream has come.
SEEKING: Final = 0
READING: Final = 1
IGNORED: Final = 2

UNENDED: Final = 255  # Flow.notes_after, before a handshake has ended

# Flow.state.
LIVE: Final = 0
CLOSING: Final = 1  # both sides are done; handed on after a quiet time
HANDED_ON: Final = 2

# Flow.flags.
FLAG_SNAPLEN_CUT: Final = 0x01
FLAG_MISSED_BYTES: Final = 0x02  # bytes were acknowledged that this capture does not hold
FLAG_NOT_TLS: Final = 0x04
FLAG_UNREADABLE: Final = 0x08  # TLS it was, until bytes came that are none
FLAG_EARLY_DATA: Final = 0x10
FLAG_NOTES_CUT: Final = 0x20
FLAG_SIMULTANEOUS_OPEN: Final = 0x40
FLAG_CERTIFICATE: Final = 0x80  # the server sent a Certificate message in the clear: no resumption
FLAG_ENDED_BY_CAPTURE: Final = 0x100  # the capture ended before the connection did
FLAG_CLOSED_EARLY: Final = 0x200  # it was watched until ``closed_ns`` only, to keep the table within its bounds
FLAG_TLS_DUE: Final = 0x400
"""What was said before is to be followed by TLS: STARTTLS and the like, a tunnel to port 443."""
FLAG_CLEAR_FLIGHT: Final = 0x800
"""Handshake messages went in the clear behind a ServerHello that could not be read: older than TLS 1.3."""
FLAG_LEFT_UNREAD: Final = 0x1000  # its TLS, or a hello, was left unread to bound memory

AHEAD_NS: Final = 60_000_000_000
"""A stamp further ahead of the capture's time than this is wrong, and nothing waits for that time to come."""


@mypyc_attr(acyclic=True)
class HalfFlow(WithHalfRarities):
    """What one side sent. Offsets count its payload bytes from 0; a SYN lies at -1, a FIN after the last byte."""

    def __init__(self, flow: "Flow") -> None:
        super().__init__()
        # What every segment of either side reads or writes comes first: it lies together, in few cache lines.
        self.base_seq: i64 = -1
        """Sequence number of offset 0; -1 while unknown."""
        self.next_offset: i64 = 0
        """One past the highest offset sent so far."""
        self.acked_offset: i64 = 0
        """The highest offset of this side's that the other side acknowledged."""
        self.ack_watch: i64 = NEVER
        """An acknowledgment of this offset or more is an event (the ClientHello's last byte)."""
        self.flow: Flow = flow
        """As long as it is followed; `NOBODY` from then on, since each holds the other (`Flow.untie`)."""
        self.packets: i64 = 0
        self.payload_bytes: i64 = 0
        """Stream bytes seen, each counted once."""
        self.last_payload_ns: i64 = 0
        """When the latest new payload byte came."""
        self.last_ns: i64 = 0
        self.last_numbers: i64 = 0
        """Of its last segment: sequence and acknowledgment number, 32 bits each."""
        self.last_form: i64 = 0
        """Of the same one: payload length, 8 bits of flags, 17 bits of IP ID plus 1."""
        self.watch_offset: i64 = 0
        """Payload that reaches beyond this offset is shown to the TLS module; `NEVER` for none."""
        self.record_end: i64 = 0
        """Where the next TLS record begins, while the half reads and has no reader (flows.between)."""
        self.reader: TlsReader | None = None
        """Its own, while something has begun that later bytes go on with."""
        self.head: StreamHead | None = None
        """Bytes kept for reassembly, while there are any."""
        self.alert_candidate: bool = False
        """The last record has an alert's length; it is one if nothing but the close follows."""
        self.speaks_as_client: bool = False
        """Whether its TLS is read as a client's."""
        self.ccs: bool = False
        """Whether it sent a ChangeCipherSpec."""
        self.phase: u8 = SEEKING
        self.app_data_ref: i64 = 0
        self.app_data_ns: i64 = 0
        self.fin_ns: i64 = 0
        self.fin_ref: i64 = 0

    @property
    def peer(self) -> "HalfFlow":
        """The other half, as long as the flow is followed."""
        flow = self.flow
        if self is flow.opener:
            return flow.answerer
        return flow.opener

    @property
    def last_seq(self) -> i64:
        """Sequence number of its last segment."""
        return (self.last_numbers >> 32) & U32

    @property
    def last_ip_id(self) -> i64:
        """IP ID of its last segment; -1 before the first one and for IPv6."""
        return (self.last_form & 0x1_FFFF) - 1


@mypyc_attr(acyclic=True)
class Flow(WithRarities):
    """One connection: a SYN with another ISN on the same endpoints is another flow."""

    # What every segment reads or writes comes first, as in a half.
    opener: HalfFlow
    """The half that sent the first packet: ``key`` is its key."""
    answerer: HalfFlow

    def __init__(self, key: bytes, flow_id: i64, ns: i64, ref: i64) -> None:
        super().__init__()
        self.source: i64 = NOWHERE
        """The endpoints of the first packet (wire.segment); with IPv6 only once it is found by them."""
        self.destination: i64 = NOWHERE
        self.beside: Flow | None = None
        """The next one in the same place."""
        self.last_ns: i64 = ns
        self.last_ref: i64 = ref
        self.syn_ack_ref: i64 = 0
        self.ack_ref: i64 = 0
        self.settled: bool = False
        """Whether the handshake is over, one way or the other."""
        self.noting: bool = True
        """Whether its segments are still noted."""
        self.opener_is_client: bool = True
        self.tls_client_is_opener: bool = True
        """Who sent the ClientHello; the SYN's sender but for a TLS client that accepts (active FTP)."""
        self.state: u8 = LIVE
        self.direction: u8 = BY_FIRST_SEEN
        self.notes_after: u8 = UNENDED
        """How many more notes are kept after a slow handshake."""
        self.hello_place: i32 = 0
        """Where ``hello_message`` waits for being read, and its length."""
        self.flags: i32 = 0
        self.book: NoteBook | None = None
        """Segment headers of the handshake; None once it is over and nothing in it was slow."""
        self.syn_ack_ns: i64 = 0
        self.ack_ns: i64 = 0
        self.client_finished_ref: i64 = 0
        self.client_finished_ns: i64 = 0
        self.id: i64 = flow_id
        """Flows count from 1 in the order of their first frames."""
        self._key: bytes = key
        self.tunnel: str = ""
        self.first_ns: i64 = ns
        self.first_ref: i64 = ref
        self.syn_ns: i64 = 0
        self.syn_ref: i64 = 0
        self.client_hello_first_ns: i64 = 0
        self.client_hello_first_ref: i64 = 0
        self.client_hello_last_ns: i64 = 0
        self.client_hello_last_ref: i64 = 0
        self.client_hello_acked_ns: i64 = 0
        self.client_hello_acked_ref: i64 = 0
        self.server_hello_first_ns: i64 = 0
        self.server_hello_first_ref: i64 = 0
        self.server_hello_last_ns: i64 = 0
        self.server_hello_last_ref: i64 = 0
        self.server_flight_last_ns: i64 = 0
        self.server_flight_last_ref: i64 = 0
        self.hello_message: bytes = b""
        """The ClientHello, as long as nobody has asked what is in it (flows.hellos)."""
        self.hello_shapes: HelloShapes | None = None
        """Of the hellos that were read before this one; as long as it is not read."""
        self._client_hello: ClientHello | None = None
        self.server_hello: ServerHello | None = None
        self.server_hello_end: i64 = NEVER
        """Offset one past the ServerHello's last byte in the server's stream."""
        self.closed_ns: i64 = 0
        """When both sides were done, or were last found still talking; until when a flow closed early was watched."""
        self.queued: i64 = 0
        """Where among those that are done (flows.share)."""
        self.mixed: i32 = 0
        """Tells its place (flows.places)."""
        self.turn: i32 = 0
        """Where it is in the order of those that are found."""
        if len(key) == V4_KEY_LEN:
            self.source = v4_endpoint(u32_be(key, 0), u16_be(key, 8))
            self.destination = v4_endpoint(u32_be(key, 4), u16_be(key, 10))
        # Last, since the compiler trusts only what is set before anybody else sees this flow.
        self.opener = HalfFlow(self)
        self.answerer = HalfFlow(self)

    def untie(self) -> None:
        """Nobody follows it any more. It and its halves hold each other, and nobody looks for such circles."""
        self.opener.flow = NOBODY
        self.answerer.flow = NOBODY

    @property
    def key(self) -> bytes:
        """src dst sport dport of the first packet, as on the wire; of IPv4 made when it is first asked for."""
        if len(self._key) == 0 and self.source != NOWHERE:
            self._key = v4_key(self.source, self.destination)
        return self._key

    @property
    def direction_source(self) -> str:
        """How the client was told from the server."""
        return _SOURCES[self.direction]

    def guess_direction(self) -> None:
        """Without a SYN the higher port is taken for the client's, until a hello says otherwise."""
        key = self.key
        source_port: i64 = u16_be(key, len(key) - 4)
        destination_port: i64 = u16_be(key, len(key) - 2)
        if source_port != destination_port:
            self.direction = BY_PORT
            self.opener_is_client = source_port > destination_port

    @property
    def note_count(self) -> i64:
        """How many segment headers are kept."""
        book = self.book
        if book is None:
            return 0
        return book.count

    def notes(self) -> list[SegmentNote]:
        """The notes in the order of the segments."""
        book = self.book
        if book is None:
            return []
        return book.notes()

    def forget_notes(self) -> None:
        """Nobody will ask for them."""
        self.book = None

    @property
    def client_hello(self) -> ClientHello | None:
        """What the client offered; read when it is first asked for."""
        self.read_hello()
        return self._client_hello

    def read_hello(self) -> None:
        """Let the small `ClientHello` take the place of the whole message."""
        if len(self.hello_message) > 0:
            self._client_hello = parse_client_hello(self.hello_message, self.hello_shapes)
            self.hello_message = b""
            self.hello_shapes = None

    @property
    def answer_key(self) -> bytes:
        """The key of the other direction."""
        return reverse_key(self.key)

    def client(self) -> HalfFlow:
        """The client's half."""
        if self.opener_is_client:
            return self.opener
        return self.answerer

    def server(self) -> HalfFlow:
        """The server's half."""
        if self.opener_is_client:
            return self.answerer
        return self.opener


NOBODY: Final = Flow(b"", 0, 0, 0)
"""The flow of halves whose own flow was let go."""
