"""What is kept beside the events of flows: alerts, ICMP errors; and the bounds of all of it.

Plain records, made by the modules that meet such things. Nothing here reads a byte.
"""

from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.flows.notebook import NoteBook

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
        self.spare_books: list[NoteBook] = []
        """Those of handshakes that turned out unremarkable, to be written in again."""
        self.pending_len: i64 = 0
        """Bytes kept now while hellos are pending, over all flows."""
        self.pending_max: i64 = PENDING_MAX // shares
        self.left_unread: i64 = 0
        """Flows of which TLS was left unread, because more would have been kept."""
        self.kept_keys: set[bytes] = set()
        """Keys of flows that are noted to their end and keep their notes whatever becomes of them."""
