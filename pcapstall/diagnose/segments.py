"""The segments of a handshake as the rules read them: offsets, options parsed, copies of the capture left out.

Made from a flow's notes when the flow is to be diagnosed, so it may take its time. What the segments mean is not here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pcapstall.core.seq import to_offset
from pcapstall.flows.flow import COPY, FLAG_NOTES_CUT, KEEP_ALIVE, NEW, Flow, HalfFlow
from pcapstall.flows.kept import SegmentNote
from pcapstall.flows.notes import NOTES_MAX
from pcapstall.wire.segment import ACK, RST, SYN
from pcapstall.wire.tcp_options import END_OF_OPTIONS, MAXIMUM_SEGMENT_SIZE, NO_OPERATION, SACK
from pcapstall.wire.tls_reader import NEVER

AGES_NS: Final = 1 << 61
"""Later than any stamp; below zero, earlier."""
TIMESTAMPS_LEN: Final = 12
"""What timestamps take from the MSS (RFC 7323 appendix A, RFC 6691)."""
USUAL_MSS: Final = 1460
"""Assumed where no SYN was seen."""


@dataclass(frozen=True, slots=True)
class Seg:
    """One segment of one side."""

    ns: int
    ref: int
    from_client: bool
    """From the side that opened the connection, which need not be the TLS client."""
    offset: int
    end: int
    """Offset one past its payload."""
    ack: int | None
    """Offset in the peer's stream that it acknowledges."""
    flags: int
    kind: int
    """`flows.flow`: NEW, RETRANSMISSION, LATE, KEEP_ALIVE."""
    window: int
    ttl: int
    ip_id: int
    """-1 for IPv6."""
    tsval: int
    """-1 without timestamps."""
    tsecr: int
    mss: int
    """What a SYN announces; -1 without."""
    sacks: tuple[tuple[int, int], ...]
    """SACK blocks as offsets in the peer's stream."""

    @property
    def payload_len(self) -> int:
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
        noted = flow.notes()
        notes = [note for note in noted if note.kind != COPY]
        client_opens = flow.opener_is_client
        self.is_cut: bool = flow.flags & FLAG_NOTES_CUT != 0
        """Whether some in the middle were not noted: there were too many."""
        self.gaps: list[tuple[int, int]] = _gaps(flow) if self.is_cut else []
        """The times between which segments may not have been noted, by the capture's clock."""
        self._unnoted = {
            side: (half.packets - sum(note.from_opener == (side == client_opens) for note in noted), half.last_ip_id)
            for side, half in ((True, client), (False, flow.server()))
        }
        self._next_offset = {True: client.next_offset, False: flow.server().next_offset}
        self.segs: list[Seg] = [
            _seg(note, flow.answerer if note.from_opener else flow.opener, note.from_opener == client_opens)
            for note in notes
        ]
        self.client: list[Seg] = [seg for seg in self.segs if seg.from_client]
        self.server: list[Seg] = [seg for seg in self.segs if not seg.from_client]
        self._by_ref = {seg.ref: seg for seg in self.segs}
        self._stamped = {
            side: any(seg.tsval >= 0 for seg in segs if not seg.flags & SYN)
            for side, segs in ((True, self.client), (False, self.server))
        }
        self._mss = {
            side: max((seg.mss for seg in segs if seg.mss > 0), default=0)
            for side, segs in ((True, self.client), (False, self.server))
        }

    def of(self, from_client: bool) -> list[Seg]:
        """The segments of one side."""
        return self.client if from_client else self.server

    def at(self, ref: int) -> Seg | None:
        """The segment in the frame ``ref``, when it was noted."""
        return self._by_ref.get(ref)

    def unnoted(self, from_client: bool) -> tuple[int, int]:
        """How many segments of one side came after those noted, and the IP ID of its last one."""
        return self._unnoted[from_client]

    def fastest_ack_ns(self, from_client: bool) -> int | None:
        """The least time from payload of one side to what acknowledged it first: no round trip takes longer; None
        where nothing was acknowledged."""
        found: list[int] = []
        acks = [seg for seg in self.of(not from_client) if seg.ack is not None and not seg.is_rst]
        for seg in self.of(from_client):
            if seg.has_data and seg.kind == NEW:
                # Of what the capture missed at first an ACK came before.
                answer = next((ack for ack in acks if ack.ack is not None and ack.ack >= seg.end), None)
                if answer is not None and answer.ns > seg.ns:
                    found.append(answer.ns - seg.ns)
        return min(found, default=None)

    def sacks_unseen(self) -> bool:
        """Whether a SACK speaks of bytes beyond all that the capture holds of the other side."""
        return any(right > self._next_offset[not seg.from_client] for seg in self.segs for _, right in seg.sacks)

    def full_size(self, from_client: bool) -> int:
        """Payload of a segment of one side's that is full: the MSS of both SYNs, without the room for timestamps."""
        known = [mss for mss in self._mss.values() if mss]
        mss = min(known) if known else USUAL_MSS
        return mss - TIMESTAMPS_LEN if self._stamped[from_client] else mss

    def pieces(self, seg: Seg) -> int:
        """How many segments on the wire a frame is: an offloaded one is larger than the MSS."""
        full = self.full_size(seg.from_client)
        return max(1, -(-seg.payload_len // full)) if full > 0 else 1


def overlaps(gaps: Sequence[tuple[int, int]], start_ns: int, end_ns: int) -> bool:
    """Whether a gap shares more than an instant with a time."""
    return any(begin_ns < end_ns and start_ns < until_ns for begin_ns, until_ns in gaps)


def _gaps(flow: Flow) -> list[tuple[int, int]]:
    """Where notes were left out: between the first ones and the latest; and behind them, once the handshake was over.
    Anywhere, where there was no room for them: that comes back when other flows end."""
    middle, last = flow.middle_note, flow.last_note
    if flow.note_count < NOTES_MAX or middle is None or middle.next is None or last is None:
        return [(-AGES_NS, AGES_NS)]
    gaps = [(middle.ns, middle.next.ns)]
    return [*gaps, (last.ns, AGES_NS)] if flow.settled else gaps


def _seg(note: SegmentNote, peer: HalfFlow, from_client: bool) -> Seg:
    mss, sacks = _options(note.options, peer)
    return Seg(
        note.ns,
        note.ref,
        from_client,
        note.offset,
        note.offset + note.payload_len,
        None if note.ack_offset == NEVER else note.ack_offset,
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


def _options(options: bytes, peer: HalfFlow) -> tuple[int, tuple[tuple[int, int], ...]]:
    """MSS and SACK blocks (RFC 9293 section 3.1, RFC 2018 section 3)."""
    mss = -1
    sacks: list[tuple[int, int]] = []
    at = 0
    while at + 1 < len(options) and options[at] != END_OF_OPTIONS:
        kind = options[at]
        if kind == NO_OPERATION:
            at += 1
            continue
        length = options[at + 1]
        if length < 2 or at + length > len(options):
            break
        if kind == MAXIMUM_SEGMENT_SIZE and length == 4:
            mss = int.from_bytes(options[at + 2 : at + 4], "big")
        elif kind == SACK and peer.base_seq >= 0:
            for start in range(at + 2, at + length - 7, 8):
                edges = (int.from_bytes(options[start + i : start + i + 4], "big") for i in (0, 4))
                left, right = (to_offset(edge, peer.base_seq, peer.acked_offset) for edge in edges)
                sacks.append((left, right))
        at += length
    return mss, tuple(sacks)
