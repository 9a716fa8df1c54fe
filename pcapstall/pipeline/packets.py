"""The packets of one flow, read from its captures once more; from what the flow kept where they cannot be read again.

Standard input and pipes are gone once they were read.
"""

import os
import stat
from collections.abc import Sequence
from typing import Final

from pcapstall.capture.captures import open_captures
from pcapstall.capture.source import STDIN, Stop
from pcapstall.flows.flow import Flow
from pcapstall.match.packet_moments import Packet
from pcapstall.wire.decode import Decoder
from pcapstall.wire.segment import TCP

MAX_PACKETS: Final = 50_000
"""Packets of a flow that are looked at: the first ones."""


def readable_again(captures: Sequence[str]) -> bool:
    """Whether all captures are files."""
    for path in captures:
        if path in STDIN:
            return False
        if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            return False
    return True


def packets_of(flow: Flow, captures: Sequence[str], stop: Stop | None = None) -> tuple[list[Packet], str]:
    """The packets of ``flow``, and what is missing of them, as a sentence; empty when nothing is.

    Its endpoints' packets from its first frame to its last one are its own, whatever their stamps say.
    """
    if not readable_again(captures):
        return _noted(flow), "A pipe cannot be read again: of its packets only those of a slow handshake are known."
    found: list[Packet] = []
    cursor = open_captures(list(captures), stop)
    decoder = Decoder()
    segment = decoder.segment
    begun, over = False, False
    try:
        while not over and cursor.next():
            begun, over = begun or cursor.ref == flow.first_ref, cursor.ref == flow.last_ref
            segment.ts_ns, segment.ref, segment.interface = cursor.ts_ns, cursor.ref, cursor.interface
            if decoder.decode(cursor.buf, cursor.start, cursor.caplen, cursor.origlen, cursor.linktype) != TCP:
                continue
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
                    int(segment.link_interface if segment.link_interface >= 0 else segment.interface),
                )
            )
        if cursor.stopped and not over:
            return found, "Reading was stopped: of the flow's packets only those that were read by then are looked at."
    finally:
        cursor.close()
    return found, ""


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
            int(note.interface),
        )
        for note in flow.notes()
    ]
