"""Which packets of a flow did not arrive, as far as the sender's retransmissions and the other side's ACKs tell.

Only for pictures and timelines: whose fault a stall was is judged in `diagnose`, and nothing is drawn against that.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from pcapstall.core.seq import to_offset
from pcapstall.flows.notebook import COPY
from pcapstall.wire.segment import ACK, SYN

if TYPE_CHECKING:
    from pcapstall.match.packet_moments import Packet

_LOSSES: Final = frozenset(
    "syn_loss syn_ack_loss ack_loss client_hello_loss server_hello_loss client_finished_loss mtu_black_hole"
    " filtered".split()
)
"""Reasons with which a packet that was sent again may be said to be lost; of any other the host may have kept it."""
_ARRIVED: Final = {"client": frozenset(("syn_ack_loss", "ack_loss")), "server": frozenset(("ack_loss",))}
"""Reasons that say of a capture at this end: what it sent arrived, and the answer was lost."""


class _Sent(NamedTuple):
    ns: int
    ref: int
    end: int
    """The offset behind it."""
    window_is_closed: bool
    """Of the other side, when it was sent."""


class _Direction:
    """What one side sent, and how far the other one acknowledged it."""

    def __init__(self) -> None:
        self.base_seq = -1
        self.next_offset = 0
        self.sent: dict[int, list[_Sent]] = {}
        """By the offset of the first byte; a SYN's is -1."""
        self.acks: list[tuple[int, int]] = []
        """When, and up to which offset, in order and growing."""
        self.window = 1
        """Of this side, as it said last."""

    def take(self, packet: "Packet", window_is_closed: bool) -> None:
        """A packet of this side."""
        syn = 1 if packet.flags & SYN else 0
        if self.base_seq < 0:
            self.base_seq = (packet.seq + syn) & 0xFFFF_FFFF
        offset = to_offset((packet.seq + syn) & 0xFFFF_FFFF, self.base_seq, self.next_offset) - syn
        end = offset + syn + packet.payload_len
        self.next_offset = max(self.next_offset, end)
        if end > offset:
            self.sent.setdefault(offset, []).append(_Sent(packet.ns, packet.ref, end, window_is_closed))

    def acknowledge(self, packet: "Packet") -> None:
        """A packet of the other side."""
        if self.base_seq < 0 or not packet.flags & ACK:
            return
        offset = to_offset(packet.ack, self.base_seq, self.next_offset)
        if not self.acks or offset > self.acks[-1][1]:
            self.acks.append((packet.ns, offset))

    def acked_ns(self, offset: int) -> int | None:
        """When ``offset`` was acknowledged first; None if it never was."""
        return next((ns for ns, up_to in self.acks if up_to >= offset), None)

    def round_trip_ns(self) -> int:
        """From the SYN of this side that was answered to the answer; 0 if that was not seen."""
        syns, answered_ns = self.sent.get(-1, []), self.acked_ns(0)
        if not syns or answered_ns is None:
            return 0
        return answered_ns - max((sent.ns for sent in syns if sent.ns <= answered_ns), default=answered_ns)


def lost_refs(
    packets: Sequence["Packet"], opener_is_client: bool, capture_point: str, reason: str | None, refused: bool
) -> frozenset[int]:
    """References of the packets that were most likely lost behind where they were captured.

    ``reason`` is the verdict's, if there is one; ``refused``: an ICMP error came about the client's packets. What was
    captured where it was going to had arrived.
    """
    if capture_point == "local" or (reason is not None and reason not in _LOSSES and not refused):
        return frozenset()
    sides = {True: _Direction(), False: _Direction()}
    for packet in packets:
        if packet.kind == COPY:
            continue
        other = sides[not packet.from_opener]
        sides[packet.from_opener].take(packet, other.window == 0)
        other.acknowledge(packet)
        sides[packet.from_opener].window = 1 if packet.flags & SYN else packet.window
    found: set[int] = set()
    for from_opener, direction in sides.items():
        sender = "client" if from_opener == opener_is_client else "server"
        if capture_point in ("client", "server") and (sender != capture_point or reason in _ARRIVED[sender]):
            continue
        found |= _lost(direction, refused and sender == "client")
    return frozenset(found)


def _lost(direction: _Direction, refused: bool) -> set[int]:
    """A packet is lost when its bytes were acknowledged only a round trip after they were sent again, or never."""
    least_ns = direction.round_trip_ns() // 2
    found: set[int] = set()
    for sent in direction.sent.values():
        acked_ns = direction.acked_ns(max(one.end for one in sent))
        for at, one in enumerate(sent):
            if one.window_is_closed:
                continue
            if at + 1 < len(sent):
                again_ns = sent[at + 1].ns
                if acked_ns is None or acked_ns - again_ns > least_ns:
                    found.add(one.ref)
            elif acked_ns is None and (refused or at):
                found.add(one.ref)
    return found
