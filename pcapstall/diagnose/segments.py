"""The segments of a handshake as the rules read them: offsets, options parsed, copies of the capture left out.

Made from a flow's notes when the flow is to be diagnosed. What the segments mean is not here. Compiled, since it is
most of the work of a verdict.
"""

from collections.abc import Sequence
from typing import Final

from mypy_extensions import i64, mypyc_attr

from pcapstall.core.seq import to_offset
from pcapstall.core.words import u16_be, u32_be
from pcapstall.flows.flow import FLAG_NOTES_CUT, Flow, HalfFlow
from pcapstall.flows.notebook import COPY, FIRST_NOTES, KEEP_ALIVE, NEW, NOTES_MAX, SegmentNote
from pcapstall.wire.segment import ACK, RST, SYN
from pcapstall.wire.tcp_options import END_OF_OPTIONS, MAXIMUM_SEGMENT_SIZE, NO_OPERATION, SACK, TIMESTAMPS_LEN
from pcapstall.wire.tls_reader import NEVER

AGES_NS: Final = 1 << 61
"""Later than any stamp; below zero, earlier."""
USUAL_MSS: Final = 1460
"""Assumed where no SYN was seen."""

Blocks = tuple[tuple[int, int], ...]
"""SACK blocks as offsets in the peer's stream."""


@mypyc_attr(acyclic=True)
class Seg:
    """One segment of one side. Each is equal to itself only."""

    def __init__(
        self,
        ns: i64,
        ref: i64,
        from_client: bool,
        offset: i64,
        end: i64,
        ack: int | None,
        flags: i64,
        kind: i64,
        window: i64,
        ttl: i64,
        ip_id: i64,
        tsval: i64,
        tsecr: i64,
        mss: i64,
        sacks: Blocks,
    ) -> None:
        self.ns: i64 = ns
        self.ref: i64 = ref
        self.from_client: bool = from_client
        """From the side that opened the connection, which need not be the TLS client."""
        self.offset: i64 = offset
        self.end: i64 = end
        """Offset one past its payload."""
        self.ack: int | None = ack
        """Offset in the peer's stream that it acknowledges."""
        self.flags: i64 = flags
        self.kind: i64 = kind
        """`flows.flow`: NEW, RETRANSMISSION, LATE, KEEP_ALIVE."""
        self.window: i64 = window
        self.ttl: i64 = ttl
        self.ip_id: i64 = ip_id
        """-1 for IPv6."""
        self.tsval: i64 = tsval
        """-1 without timestamps."""
        self.tsecr: i64 = tsecr
        self.mss: i64 = mss
        """What a SYN announces; -1 without."""
        self.sacks: Blocks = sacks

    @property
    def payload_len(self) -> i64:
        """Bytes of payload."""
        return self.end - self.offset

    @property
    def is_syn(self) -> bool:
        """A SYN without ACK."""
        return self.flags & (SYN | ACK) == SYN

    @property
    def is_syn_ack(self) -> bool:
        """A SYN with ACK."""
        return self.flags & (SYN | ACK) == SYN | ACK

    @property
    def is_rst(self) -> bool:
        """A RST."""
        return self.flags & RST != 0

    @property
    def has_data(self) -> bool:
        """Payload that is no keep-alive's, in a segment that is no SYN."""
        return self.end > self.offset and self.kind != KEEP_ALIVE and not self.flags & SYN

    @property
    def is_duplicate_sack(self) -> bool:
        """Whether it says that bytes came twice (RFC 2883 section 4)."""
        if not self.sacks or self.ack is None:
            return False
        left, right = self.sacks[0]
        return right <= self.ack or any(low <= left and right <= high for low, high in self.sacks[1:])


class History:
    """All segments of one flow that were noted, copies left out, in the order of capture."""

    def __init__(self, flow: Flow) -> None:
        client = flow.client()
        server = flow.server()
        self.is_cut: bool = flow.flags & FLAG_NOTES_CUT != 0
        """Whether some in the middle were not noted: there were too many."""
        self.is_long: bool = self.is_cut and flow.note_count >= NOTES_MAX
        """Whether that was for its own length, and not for how many other flows there were."""
        self.gaps: list[tuple[int, int]] = []
        """The times between which segments may not have been noted, by the capture's clock."""
        if self.is_cut:
            self.gaps = _gaps(flow)
        self.segs: list[Seg] = []
        self.client: list[Seg] = []
        self.server: list[Seg] = []
        self._of_client: _Side = _Side(client)
        self._of_server: _Side = _Side(server)
        for note in flow.notes():
            self._take(note, note.from_opener == flow.opener_is_client, client, server)

    def _take(self, note: SegmentNote, from_client: bool, client: HalfFlow, server: HalfFlow) -> None:
        """The next segment that was noted."""
        side = self._of_server
        peer = client
        segs = self.server
        if from_client:
            side = self._of_client
            peer = server
            segs = self.client
        side.unnoted -= 1
        if note.kind == COPY:
            return
        seg = _seg(note, peer, from_client)
        self.segs.append(seg)
        segs.append(seg)
        if seg.tsval >= 0 and seg.flags & SYN == 0:
            side.stamped = True
        if seg.mss > side.mss:
            side.mss = seg.mss

    def of(self, from_client: bool) -> list[Seg]:
        """The segments of one side."""
        if from_client:
            return self.client
        return self.server

    def at(self, ref: i64) -> Seg | None:
        """The segment in the frame ``ref``, when it was noted."""
        for seg in reversed(self.segs):
            if seg.ref == ref:
                return seg
        return None

    def unnoted(self, from_client: bool) -> tuple[int, int]:
        """How many segments of one side came after those noted, and the IP ID of its last one."""
        side = self._side(from_client)
        return side.unnoted, side.last_ip_id

    def fastest_ack_ns(self, from_client: bool) -> int | None:
        """The least time from payload of one side to what acknowledged it first: no round trip takes longer; None
        where nothing was acknowledged."""
        found: int | None = None
        acks = self.of(not from_client)
        for seg in self.of(from_client):
            if not seg.has_data or seg.kind != NEW:
                continue
            for answer in acks:
                ack = answer.ack
                if ack is None or answer.is_rst or ack < seg.end:
                    continue
                # Of what the capture missed at first an ACK came before.
                if answer.ns > seg.ns and (found is None or answer.ns - seg.ns < found):
                    found = answer.ns - seg.ns
                break
        return found

    def sacks_unseen(self) -> bool:
        """Whether a SACK speaks of bytes beyond all that the capture holds of the other side."""
        for seg in self.segs:
            for _, right in seg.sacks:
                if right > self._side(not seg.from_client).next_offset:
                    return True
        return False

    def full_size(self, from_client: bool) -> i64:
        """Payload of a segment of one side's that is full: the MSS of both SYNs, without the room for timestamps."""
        mss: i64 = self._of_client.mss
        if mss == 0 or 0 < self._of_server.mss < mss:
            mss = self._of_server.mss
        if mss == 0:
            mss = USUAL_MSS
        if self._side(from_client).stamped:
            mss -= TIMESTAMPS_LEN
        return mss

    def pieces(self, seg: Seg) -> i64:
        """How many segments on the wire a frame is: an offloaded one is larger than the MSS."""
        full: i64 = self.full_size(seg.from_client)
        if full <= 0 or seg.payload_len <= full:
            return 1
        return (seg.payload_len + full - 1) // full

    def _side(self, from_client: bool) -> "_Side":
        if from_client:
            return self._of_client
        return self._of_server


class _Side:
    """What is known of one side's segments together."""

    def __init__(self, half: HalfFlow) -> None:
        self.unnoted: i64 = half.packets
        """How many came after those noted."""
        self.last_ip_id: i64 = half.last_ip_id
        self.next_offset: i64 = half.next_offset
        self.stamped: bool = False
        """Whether any but a SYN has a timestamp."""
        self.mss: i64 = 0
        """The largest that its SYNs announce; 0 without."""


def overlaps(gaps: Sequence[tuple[int, int]], start_ns: int, end_ns: int) -> bool:
    """Whether a gap shares more than an instant with a time."""
    return any(begin_ns < end_ns and start_ns < until_ns for begin_ns, until_ns in gaps)


def _gaps(flow: Flow) -> list[tuple[int, int]]:
    """Where notes were left out: between the first ones and the latest; and behind them, once the handshake was over.
    Anywhere, where there was no room for them: that comes back when other flows end."""
    book = flow.book
    if book is None or book.count < NOTES_MAX:
        return [(-AGES_NS, AGES_NS)]
    gaps = [(book.note(FIRST_NOTES - 1).ns, book.note(FIRST_NOTES).ns)]
    return [*gaps, (book.note(book.count - 1).ns, AGES_NS)] if flow.settled else gaps


def _seg(note: SegmentNote, peer: HalfFlow, from_client: bool) -> Seg:
    mss: i64 = -1
    sacks: Blocks = ()
    if len(note.options) > 0:
        mss, sacks = _options(note.options, peer)
    ack: int | None = None
    if note.ack_offset != NEVER:
        ack = note.ack_offset
    return Seg(
        note.ns,
        note.ref,
        from_client,
        note.offset,
        note.offset + note.payload_len,
        ack,
        note.flags,
        note.kind,
        note.window,
        note.ttl,
        note.ip_id,
        note.tsval,
        note.tsecr,
        mss,
        sacks,
    )


def _options(options: bytes, peer: HalfFlow) -> tuple[i64, Blocks]:
    """MSS and SACK blocks (RFC 9293 section 3.1, RFC 2018 section 3)."""
    mss: i64 = -1
    sacks: list[tuple[int, int]] = []
    at: i64 = 0
    while at + 1 < len(options) and options[at] != END_OF_OPTIONS:
        kind: i64 = i64(options[at])
        if kind == NO_OPERATION:
            at += 1
            continue
        length: i64 = i64(options[at + 1])
        if length < 2 or at + length > len(options):
            break
        if kind == MAXIMUM_SEGMENT_SIZE and length == 4:
            mss = u16_be(options, at + 2)
        elif kind == SACK and peer.base_seq >= 0:
            start: i64 = at + 2
            while start + 8 <= at + length:
                left: i64 = to_offset(u32_be(options, start), peer.base_seq, peer.acked_offset)
                sacks.append((left, to_offset(u32_be(options, start + 4), peer.base_seq, peer.acked_offset)))
                start += 8
        at += length
    return mss, tuple(sacks)
