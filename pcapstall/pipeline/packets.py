"""The packets of one flow, read from its captures once more; from what the flow kept where they cannot be read again.

Standard input and pipes are gone once they were read.
"""

from collections.abc import Sequence
from typing import Final

from pcapstall.capture.captures import open_captures
from pcapstall.capture.source import Stop, can_be_read_again
from pcapstall.flows.flow import COPY, NEW, RETRANSMISSION, Flow
from pcapstall.flows.kept import Limits
from pcapstall.flows.tcp import TcpEvents
from pcapstall.flows.tls import TlsStreams
from pcapstall.match.packet_moments import Packet
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import SYN, TCP, Segment

MAX_PACKETS: Final = 50_000
"""Packets of a flow that are looked at: the first ones."""


def packets_of(flow: Flow, captures: Sequence[str], stop: Stop | None = None) -> tuple[list[Packet], str]:
    """The packets of ``flow``, and what is missing of them, as a sentence; empty when nothing is.

    Its endpoints' packets from its first frame to its last one are its own, whatever their stamps say.
    """
    if not all(map(can_be_read_again, captures)):
        return _noted(flow), "A pipe cannot be read again: of its packets only those of a slow handshake are known."
    found: list[Packet] = []
    cursor = open_captures(list(captures), stop)
    decoder = Decoder()
    segment = decoder.segment
    begun, over = False, False
    again = _Again(flow)
    try:
        while not over and cursor.next():
            begun, over = begun or cursor.ref == flow.first_ref, cursor.ref == flow.last_ref
            segment.ts_ns, segment.ref, segment.interface = cursor.ts_ns, cursor.ref, cursor.interface
            if decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype) != TCP:
                continue
            if segment.link_interface >= 0:
                segment.interface = segment.link_interface
            key = segment.key
            if not begun or (key != flow.key and key != flow.answer_key):
                continue
            if len(found) >= MAX_PACKETS:
                return found, f"Only the first {MAX_PACKETS} packets of the flow are looked at."
            found.append(
                Packet(
                    int(segment.ts_ns),
                    int(segment.ref),
                    key == flow.key,
                    int(segment.seq),
                    int(segment.ack),
                    int(segment.flags),
                    int(segment.payload_len),
                    int(segment.window),
                    int(segment.ip_id),
                    again.kind_of(segment),
                )
            )
        if cursor.stopped and not over:
            return found, "Reading was stopped: of the flow's packets only those that were read by then are looked at."
    finally:
        cursor.close()
    return found, ""


class _Again:
    """The same flow, followed once more: it alone knows what each segment is to its side."""

    def __init__(self, flow: Flow) -> None:
        limits = Limits(0)
        self._tcp = TcpEvents(limits, TlsStreams(limits))
        self._flow = Flow(flow.key, flow.shared_key, flow.id, flow.first_ns, flow.first_ref)
        self._begun = False

    def kind_of(self, segment: Segment) -> int:
        """Let the segment be sent: `COPY`, `RETRANSMISSION`, or `NEW` for all others."""
        flow = self._flow
        if not self._begun and not segment.flags & SYN:
            flow.guess_direction()
        self._begun = True
        half = flow.opener if segment.key == flow.key else flow.answerer
        copies, retransmits = flow.copies, half.retransmits
        self._tcp.advance(half, segment)
        if flow.copies > copies:
            return int(COPY)
        return int(RETRANSMISSION if half.retransmits > retransmits else NEW)


def _noted(flow: Flow) -> list[Packet]:
    """Of the handshake's headers, which are kept as long as it may have been slow."""
    return [
        Packet(
            int(note.ns),
            int(note.ref),
            bool(note.from_opener),
            int((flow.opener if note.from_opener else flow.answerer).base_seq + note.offset) & 0xFFFF_FFFF,
            0,
            int(note.flags),
            int(note.payload_len),
            int(note.window),
            int(note.ip_id),
            int(note.kind),
        )
        for note in flow.notes()
    ]
