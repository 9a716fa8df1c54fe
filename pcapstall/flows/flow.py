"""What is remembered of one TCP connection: two half-flows and the events of its life.

Plain state, filled by the modules beside it. An event is a time and a frame reference; a reference of 0 says that it
was not seen. No interval, outcome or opinion lives here.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.head import StreamHead
from pcapstall.flows.holes import Hole
from pcapstall.wire.tls_hello import ClientHello, ServerHello
from pcapstall.wire.tls_reader import NEVER as NEVER
from pcapstall.wire.tls_reader import TlsReader

# How a flow's client was told from its server, strongest first.
BY_SYN: Final = "syn"
BY_SYN_ACK: Final = "syn_ack"
BY_CLIENT_HELLO: Final = "client_hello"
BY_PORT: Final = "port"
BY_FIRST_SEEN: Final = "first_seen"

# What a segment is to its half-flow.
NEW: Final = 0
RETRANSMISSION: Final = 1
COPY: Final = 2
LATE: Final = 3
KEEP_ALIVE: Final = 4

# How far the reading of a half's stream has come.
SEEKING: Final = 0
READING: Final = 1
IGNORED: Final = 2

# Flow.state.
LIVE: Final = 0
CLOSING: Final = 1
"""Both sides are done; handed on after a quiet time."""
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
FLAG_ENDED_BY_CAPTURE: Final = 0x100
"""The capture ended before the connection did."""
FLAG_CLOSED_EARLY: Final = 0x200
"""It was watched no longer than until ``closed_ns``, to keep the table within its bounds."""
FLAG_TLS_DUE: Final = 0x400
"""What was said before is to be followed by TLS: STARTTLS and the like, a tunnel to port 443."""
FLAG_CLEAR_FLIGHT: Final = 0x800
"""Handshake messages went in the clear behind a ServerHello that could not be read: older than TLS 1.3."""
FLAG_LEFT_UNREAD: Final = 0x1000
"""Its TLS, or a hello, was left unread to bound memory."""

MAX_FLOWS: Final = 100_000
"""Most flows that are followed at once, unless the user says otherwise."""
PENDING_MAX: Final = 64 * 1024 * 1024
"""Bytes kept while hellos are pending: a flow that needs more when there are so many is left unread."""
AHEAD_NS: Final = 60_000_000_000
"""A stamp further ahead of the capture's time than this is wrong, and nothing waits for that time to come."""

NO_SYN_ACKS: Final[list[tuple[i64, i64, i64]]] = []
"""Shared and empty: a flow with one SYN-ACK needs no list of its own."""


class Alert:
    """One TLS alert, read in the clear or inferred from an encrypted record's place and length."""

    def __init__(self, from_client: bool, level: i64, description: i64, inferred: bool, ns: i64, ref: i64) -> None:
        self.from_client: bool = from_client
        self.level: i64 = level
        """1 warning, 2 fatal, -1 when encrypted."""
        self.description: i64 = description
        """RFC 8446 section 6 number, -1 when encrypted."""
        self.inferred: bool = inferred
        self.ns: i64 = ns
        self.ref: i64 = ref


class IcmpError:
    """An ICMP error that quotes this flow."""

    def __init__(self, v6: bool, kind: i64, code: i64, mtu: i64, quotes_client: bool, ns: i64, ref: i64) -> None:
        self.v6: bool = v6
        self.kind: i64 = kind
        self.code: i64 = code
        self.mtu: i64 = mtu
        """Next-hop MTU of "fragmentation needed" or "packet too big"; 0 for others."""
        self.quotes_client: bool = quotes_client
        """Whether the packet that was refused came from the client."""
        self.ns: i64 = ns
        self.ref: i64 = ref


class Limits:
    """What all flows of a table share: thresholds and global bounds."""

    def __init__(self, slow_ns: i64, max_flows: i64 = MAX_FLOWS) -> None:
        self.slow_ns: i64 = slow_ns
        """A handshake with an interval this long keeps its notes."""
        self.max_flows: i64 = max_flows
        """Flows that are followed at once."""
        self.closed_early: i64 = 0
        """Flows that were let go of before they had ended."""
        self.notes: i64 = 0
        """Segment notes kept now, over all flows."""
        self.spare_notes: list[SegmentNote] = []
        """Notes of handshakes that turned out unremarkable, to be written on again."""
        self.pending_len: i64 = 0
        """Bytes kept now while hellos are pending, over all flows."""
        self.pending_max: i64 = PENDING_MAX
        self.left_unread: i64 = 0
        """Flows of which TLS was left unread, because more would have been kept."""


class SegmentNote:
    """The header of one segment of a handshake, kept until the handshake is known to be unremarkable."""

    def __init__(self, half: "HalfFlow", ns: i64, ref: i64, offset: i64, ack_offset: i64, kind: i64) -> None:
        self.half: HalfFlow = half
        self.ns: i64 = ns
        self.ref: i64 = ref
        self.offset: i64 = offset
        """Stream offset of its first payload byte: 0 for a SYN's."""
        self.ack_offset: i64 = ack_offset
        """Offset in the peer's stream that it acknowledges; `NEVER` without an ACK."""
        self.kind: i64 = kind
        self.payload_len: i64
        self.flags: i64
        self.window: i64
        self.interface: i64
        self.ttl: i64
        self.ip_id: i64
        self.tsval: i64
        """TCP timestamp (RFC 7323); -1 without the option."""
        self.tsecr: i64
        self.options: bytes
        """TCP options as captured, where there is more than timestamps."""


class HalfFlow:
    """What one side sent. Offsets count its payload bytes from 0; a SYN lies at -1, a FIN after the last byte."""

    def __init__(self, flow: "Flow") -> None:
        self.flow: Flow = flow
        self.base_seq: i64 = -1
        """Sequence number of offset 0; -1 while unknown."""
        self.next_offset: i64 = 0
        """One past the highest offset sent so far."""
        self.acked_offset: i64 = 0
        """The highest offset of this side's that the other side acknowledged."""
        self.ack_watch: i64 = NEVER
        """An acknowledgment of this offset or more is an event (the ClientHello's last byte)."""
        self.packets: i64 = 0
        self.payload_bytes: i64 = 0
        """Stream bytes seen, each counted once."""
        self.retransmits: i64 = 0
        self.holes: list[Hole] | None = None
        """What was jumped over and has not come; None as long as nothing was."""
        self.last_payload_ns: i64 = 0
        """When the latest new payload byte came."""
        self.last_ns: i64 = 0
        self.last_seq: i64 = -1
        self.last_ack: i64 = 0
        self.last_len_flags: i64 = 0
        self.last_ip_id: i64 = -1
        self.alert_candidate: bool = False
        """The last record has an alert's length; it is one if nothing but the close follows."""
        self.candidate_ns: i64 = 0
        self.candidate_ref: i64 = 0
        self.fin_ns: i64 = 0
        self.fin_ref: i64 = 0
        self.rst_ns: i64 = 0
        self.rst_ref: i64 = 0
        self.rst_offset: i64 = 0
        """What its sender had sent by then: if more is acknowledged later, the RST closed nothing."""
        self.alert_ns: i64 = 0
        self.alert_ref: i64 = 0
        self.app_data_ns: i64 = 0
        self.app_data_ref: i64 = 0
        self.phase: i64 = SEEKING
        self.watch_offset: i64 = 0
        """Payload that reaches beyond this offset is shown to the TLS module; `NEVER` for none."""
        self.head: StreamHead | None = None
        """Bytes kept for reassembly, while there are any."""
        self.reader: TlsReader | None = None


class Flow:
    """One connection: a SYN with another ISN on the same endpoints is another flow."""

    def __init__(self, key: bytes, answer_key: bytes, flow_id: i64, ns: i64, ref: i64) -> None:
        self.id: i64 = flow_id
        """Flows count from 1 in the order of their first frames."""
        self.key: bytes = key
        """src dst sport dport of the first packet, as on the wire."""
        self.answer_key: bytes = answer_key
        """The key of the other direction."""
        self.opener: HalfFlow = HalfFlow(self)
        """The half that sent the first packet: ``key`` is its key."""
        self.answerer: HalfFlow = HalfFlow(self)
        self.opener_is_client: bool = True
        self.direction_source: str = BY_FIRST_SEEN
        self.tunnel: str = ""
        self.first_ns: i64 = ns
        self.first_ref: i64 = ref
        self.last_ns: i64 = ns
        self.last_ref: i64 = ref
        self.syn_ns: i64 = 0
        self.syn_ref: i64 = 0
        self.syn_ack_ns: i64 = 0
        self.syn_ack_ref: i64 = 0
        self.ack_ns: i64 = 0
        self.ack_ref: i64 = 0
        self.client_hello_first_ns: i64 = 0
        self.client_hello_first_ref: i64 = 0
        self.client_hello_last_ns: i64 = 0
        self.client_hello_last_ref: i64 = 0
        self.client_hello_acked_ns: i64 = 0
        self.client_hello_acked_ref: i64 = 0
        self.hello_retry_ns: i64 = 0
        self.hello_retry_ref: i64 = 0
        self.client_hello2_first_ns: i64 = 0
        self.client_hello2_first_ref: i64 = 0
        self.client_hello2_last_ns: i64 = 0
        self.client_hello2_last_ref: i64 = 0
        self.server_hello_first_ns: i64 = 0
        self.server_hello_first_ref: i64 = 0
        self.server_hello_last_ns: i64 = 0
        self.server_hello_last_ref: i64 = 0
        self.server_flight_last_ns: i64 = 0
        self.server_flight_last_ref: i64 = 0
        self.client_finished_ns: i64 = 0
        self.client_finished_ref: i64 = 0
        self.partial_hello_ns: i64 = 0
        self.partial_hello_ref: i64 = 0
        """Earliest byte seen of a ClientHello that never was complete; 0 once one is."""
        self.syn_retries: i64 = 0
        self.syn_ack_retries: i64 = 0
        self.copies: i64 = 0
        self.syn_data: str = ""
        """``accepted`` or ``rejected`` when the SYN carried data and its fate was seen."""
        self.preamble: str = ""
        self.preamble_ns: i64 = 0
        """From the first payload byte of either side to the ClientHello's first byte, with a preamble."""
        self.owes: str = ""
        """What the server owed at the end of a flow that never came to a hello (wire.preamble)."""
        self.answer: str = ""
        """What the server said to the ClientHello instead of TLS (wire.preamble)."""
        self.client_hello: ClientHello | None = None
        self.server_hello: ServerHello | None = None
        self.server_hello_end: i64 = NEVER
        """Offset one past the ServerHello's last byte in the server's stream."""
        self.tls_client_is_opener: bool = True
        """Who sent the ClientHello; the SYN's sender but for a TLS client that accepts (active FTP)."""
        self.server_tls_offset: i64 = 0
        """Where in the server's stream its TLS may begin: what the ClientHello's first segment acknowledged."""
        self.state: i64 = LIVE
        self.closed_ns: i64 = 0
        """When both sides were done, or were last found still talking; until when a flow closed early was watched."""
        self.settled: bool = False
        """Whether the handshake is over, one way or the other."""
        self.flags: i64 = 0
        self.other_syn_acks: list[tuple[i64, i64, i64]] = NO_SYN_ACKS
        """(ISN, ns, ref) of SYN-ACKs with another ISN than the first one's, until the client's ACK chooses."""
        self.alerts: list[Alert] | None = None
        self.icmp_errors: list[IcmpError] | None = None
        self.notes: list[SegmentNote] | None = None
        """Segment headers of the handshake; None once it is over and nothing in it was slow."""

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


NOBODY: Final = Flow(b"", b"", 0, 0, 0)
"""The flow of halves whose own flow was let go."""


def peer_of(half: HalfFlow) -> HalfFlow:
    """The other half of the same flow."""
    flow = half.flow
    if half is flow.opener:
        return flow.answerer
    return flow.opener
