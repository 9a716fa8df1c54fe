"""What is kept beside the events of flows: alerts, ICMP errors, headers of segments; and the bounds of all of it.

Plain records, made by the modules that meet such things. Nothing here reads a byte.
"""

from typing import Final

from mypy_extensions import i16, i32, i64, mypyc_attr, u8

from pcapstall.core.words import U32
from pcapstall.wire.segment import Segment
from pcapstall.wire.tcp_options import ABSENT, timestamps

MAX_FLOWS: Final = 100_000
"""Most flows that are followed at once, unless the user says otherwise."""
NOTES_ALL_MAX: Final = 200_000
"""Segment headers kept of all handshakes together."""
PENDING_MAX: Final = 64 * 1024 * 1024
"""Bytes kept while hellos are pending: a flow that needs more when there are so many is left unread."""


@mypyc_attr(acyclic=True)
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


@mypyc_attr(acyclic=True)
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


class SegmentNote:
    """The header of one segment of a handshake, kept until the handshake is known to be unremarkable."""

    def __init__(self) -> None:
        self.next: SegmentNote | None = None
        """The flow's next one."""
        # Small numbers take little room: a pending handshake has ten notes, and they are most of it.
        self.from_opener: bool = False
        self.stamped: bool = False
        """Whether its options are timestamps and nothing else."""
        self.kind: u8 = 0
        self.flags: i16 = 0
        self.ttl: i16 = 0
        self.ip_id: i32 = 0
        self.window: i32 = 0
        self.payload_len: i32 = 0
        self.interface: i64 = 0
        self.ns: i64 = 0
        self.ref: i64 = 0
        self.offset: i64 = 0
        """Stream offset of its first payload byte: 0 for a SYN's."""
        self.ack_offset: i64 = 0
        """Offset in the peer's stream that it acknowledges; `NEVER` without an ACK."""
        self.options: bytes = b""
        """TCP options as captured; empty where it is ``stamped``."""
        self.stamps: i64 = 0
        """Then: the timestamps as captured, 32 bits each."""

    @property
    def tsval(self) -> i64:
        """TCP timestamp (RFC 7323); -1 without the option."""
        if self.stamped:
            return (self.stamps >> 32) & U32
        if len(self.options) == 0:
            return ABSENT
        return _timestamps(self.options).tsval

    @property
    def tsecr(self) -> i64:
        """The timestamp that it echoes; -1 without the option."""
        if self.stamped:
            return self.stamps & U32
        if len(self.options) == 0:
            return ABSENT
        return _timestamps(self.options).tsecr


def _timestamps(options: bytes) -> Segment:
    """A segment with these options, its timestamps read."""
    segment = Segment()
    segment.buf = options
    segment.tcp_offset = -20
    segment.options_end = len(options)
    timestamps(segment)
    return segment


class Limits:
    """What all flows of a table share: thresholds and global bounds."""

    def __init__(self, slow_ns: i64, max_flows: i64 = MAX_FLOWS, shares: i64 = 1) -> None:
        self.slow_ns: i64 = slow_ns
        """A handshake with an interval this long keeps its notes."""
        self.shares: i64 = shares
        """How many tables have the bounds on memory in common."""
        self.max_flows: i64 = max_flows
        """Flows that are followed at once."""
        self.closed_early: i64 = 0
        """Flows that were let go of before they had ended."""
        self.crowded: bool = False
        """Whether less was kept, or for shorter, because of what is kept of other flows."""
        self.notes: i64 = 0
        """Segment notes kept now, over all flows."""
        self.notes_max: i64 = NOTES_ALL_MAX // shares
        self.spare_note: SegmentNote | None = None
        """Notes of handshakes that turned out unremarkable, to be written on again: a chain like a flow's."""
        self.pending_len: i64 = 0
        """Bytes kept now while hellos are pending, over all flows."""
        self.pending_max: i64 = PENDING_MAX // shares
        self.left_unread: i64 = 0
        """Flows of which TLS was left unread, because more would have been kept."""
        self.kept_keys: set[bytes] = set()
        """Keys of flows that are noted to their end and keep their notes whatever becomes of them."""
