"""The packets of some flows, read from the captures once more; from what a flow kept where they cannot be read again.

Standard input and pipes are gone once they were read.
"""

from collections.abc import Sequence
from typing import Final

from pcapstall.capture.captures import open_captures
from pcapstall.capture.source import Stop, can_be_read_again
from pcapstall.flows.flow import Flow
from pcapstall.flows.kept import Limits
from pcapstall.flows.notebook import COPY, NEW, RETRANSMISSION
from pcapstall.flows.tcp import TcpEvents
from pcapstall.flows.tls import TlsStreams
from pcapstall.match.packet_moments import Packet
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import SYN, TCP, Segment

MAX_PACKETS: Final = 50_000
"""Packets of a flow that are looked at: the first ones."""


def packets_of(
    flows: Sequence[Flow], captures: Sequence[str], stop: Stop | None = None
) -> list[tuple[list[Packet], str]]:
    """Of each flow its packets, and what is missing of them, as a sentence; empty when nothing is.

    Its endpoints' packets from its first frame to its last one are a flow's own, whatever their stamps say.
    """
    if not all(map(can_be_read_again, captures)):
        missing = "A pipe cannot be read again: of its packets only those of a slow handshake are known."
        return [(_noted(flow), missing) for flow in flows]
    wanted = [_Wanted(flow) for flow in flows]
    by_key: dict[bytes, list[_Wanted]] = {}
    for one in wanted:
        for key in dict.fromkeys((one.flow.key, one.flow.answer_key)):
            by_key.setdefault(key, []).append(one)
    cursor = open_captures(list(captures), stop)
    decoder = Decoder()
    segment = decoder.segment
    left = len(wanted)
    try:
        while left and cursor.next():
            segment.ts_ns, segment.ref, segment.interface = cursor.ts_ns, cursor.ref, cursor.interface
            if decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype) != TCP:
                continue
            if segment.link_interface >= 0:
                segment.interface = segment.link_interface
            for one in by_key.get(segment.key, ()):
                left -= one.take(segment)
        if cursor.stopped:
            for one in wanted:
                one.stop()
    finally:
        cursor.close()
    return [(one.found, one.missing) for one in wanted]


class _Wanted:
    """A flow whose packets are being looked for."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.found: list[Packet] = []
        self.missing = ""
        self._begun = False
        self._over = False
        self._again = _Again(flow)

    def take(self, segment: Segment) -> bool:
        """A segment of the flow's endpoints; whether it was the last one."""
        flow = self.flow
        self._begun = self._begun or segment.ref == flow.first_ref
        if self._over or not self._begun:
            return False
        if len(self.found) >= MAX_PACKETS:
            self._over, self.missing = True, f"Only the first {MAX_PACKETS} packets of the flow are looked at."
            return True
        self.found.append(
            Packet(
                int(segment.ts_ns),
                int(segment.ref),
                segment.key == flow.key,
                int(segment.seq),
                int(segment.ack),
                int(segment.flags),
                int(segment.payload_len),
                int(segment.window),
                int(segment.ip_id),
                self._again.kind_of(segment),
            )
        )
        self._over = segment.ref == flow.last_ref
        return self._over

    def stop(self) -> None:
        """Reading ends here."""
        if not self._over:
            self.missing = "Reading was stopped: of the flow's packets only those that were read by then are looked at."


class _Again:
    """The same flow, followed once more: it alone knows what each segment is to its side."""

    def __init__(self, flow: Flow) -> None:
        limits = Limits(0)
        self._tcp = TcpEvents(limits, TlsStreams(limits))
        self._flow = Flow(flow.key, flow.id, flow.first_ns, flow.first_ref)
        self._begun = False

    def __del__(self) -> None:
        self._flow.untie()

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
