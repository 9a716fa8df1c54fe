"""The packets of one flow as moments: handshake steps, TLS events, repeated segments folded, closes and resets.

Which packet is which event is known from the flow; what is made of it is words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pcapstall.core.seq import to_offset
from pcapstall.core.times import format_span
from pcapstall.flows.flow import COPY, RETRANSMISSION, Flow
from pcapstall.match.moments import PACKET, Moment, fold
from pcapstall.wire.segment import ACK, FIN, PSH, RST, SYN
from pcapstall.wire.tls_names import ALERT_LEVELS, alert_name

STEPS: Final = (
    ("syn", "SYN"),
    ("syn_ack", "SYN-ACK"),
    ("ack", "ACK: connected"),
    ("partial_hello", "ClientHello begins"),
    ("client_hello_first", "ClientHello begins"),
    ("client_hello_last", "ClientHello complete"),
    ("client_hello_acked", "ClientHello acknowledged"),
    ("hello_retry", "HelloRetryRequest"),
    ("client_hello2_first", "second ClientHello begins"),
    ("client_hello2_last", "second ClientHello complete"),
    ("server_hello_first", "ServerHello begins"),
    ("server_hello_last", "ServerHello complete"),
    ("server_flight_last", "server's flight complete"),
    ("client_finished", "client's Finished"),
)
"""The events of a flow, in the order of a handshake."""
_MESSAGES: Final = ("ClientHello", "second ClientHello", "ServerHello")
_FLAGS: Final = ((SYN, "SYN"), (FIN, "FIN"), (RST, "RST"), (PSH, "PSH"), (ACK, "ACK"))


@dataclass(frozen=True, slots=True)
class Packet:
    """One TCP segment of the flow, as it was captured."""

    ns: int
    ref: int
    from_opener: bool
    """From the side that sent the flow's first packet."""
    seq: int
    ack: int
    flags: int
    payload_len: int
    window: int
    ip_id: int
    kind: int
    """What it is to its side (flows.flow): new, sent again, a copy."""


class _Side:
    """What was sent by one side so far."""

    def __init__(self) -> None:
        self.base_seq = -1
        self.next_offset = 0
        self.window = -1
        self.reset = False

    def offset_of(self, packet: Packet) -> int:
        """Of its first payload byte; a SYN's is -1."""
        if self.base_seq < 0:
            self.base_seq = (packet.seq + (1 if packet.flags & SYN else 0)) & 0xFFFF_FFFF
        return to_offset(packet.seq, self.base_seq, self.next_offset)


def packet_moments(flow: Flow, packets: Sequence[Packet], client: str, server: str) -> list[Moment]:
    """A moment for each packet, repeated ones folded; ``client`` and ``server`` are what the ends are called."""
    names = _names(flow)
    sides = {True: _Side(), False: _Side()}
    made: list[Moment] = []
    repeats: dict[tuple[bool, int], list[Moment]] = {}
    for packet in packets:
        side = sides[packet.from_opener]
        if packet.kind == COPY:
            continue
        from_client = packet.from_opener == flow.opener_is_client
        actor = client if from_client else server
        offset = side.offset_of(packet)
        end = offset + packet.payload_len
        events = names.get(packet.ref, [])
        again = not events and (packet.kind == RETRANSMISSION or (side.reset and packet.flags & RST != 0))
        moment = Moment(PACKET, "", packet.ns, 0, actor, "", frames=[packet.ref], key=bool(events))
        moment.side = "client" if from_client else "server"
        moment.event = ", ".join(events) if events else _plain(packet)
        if packet.payload_len and events and not packet.flags & SYN:
            moment.remark = f"{packet.payload_len} bytes"
        if again:
            moment.event = _repeated(packet, end <= 0)
            repeats.setdefault((packet.from_opener, -2 if packet.flags & RST else offset), []).append(moment)
        elif packet.payload_len and not packet.flags & (SYN | RST) and offset == 0 and not events:
            moment.event, moment.remark, moment.key = "first bytes", f"{packet.payload_len} bytes", True
        if not again:
            made.append(moment)
        if not packet.flags & (SYN | RST):
            _window(packet, side, moment)
        side.next_offset = max(side.next_offset, end + (1 if packet.flags & FIN else 0))
        side.reset = side.reset or packet.flags & RST != 0
    made += [_group(group) for group in repeats.values()]
    made += _icmp(flow)
    return made


def _names(flow: Flow) -> dict[int, list[str]]:
    """What the packets in question are, by their references."""
    names: dict[int, list[str]] = {}

    def name(ref: int, what: str) -> None:
        if ref and what not in names.setdefault(ref, []):
            names[ref].append(what)

    for event, what in STEPS:
        name(getattr(flow, f"{event}_ref"), what)
    for found in names.values():
        merge(found)
    for half, side in ((flow.client(), "client"), (flow.server(), "server")):
        name(half.app_data_ref, f"{side}'s first data")
        name(half.fin_ref, "FIN")
        name(half.rst_ref, "RST")
    for alert in flow.alerts or ():
        level = ALERT_LEVELS.get(alert.level, "") if alert.level >= 0 else "encrypted"
        what = alert_name(alert.description) if alert.description >= 0 else ""
        name(alert.ref, " ".join(filter(None, ("Alert:", level, what))))
    return names


def merge(names: list[str]) -> None:
    """Give a message that begins and ends in the same packet one name."""
    for message in _MESSAGES:
        begins, complete = f"{message} begins", f"{message} complete"
        if begins in names and complete in names:
            names[names.index(begins)] = message
            names.remove(complete)


def _repeated(packet: Packet, is_syn: bool) -> str:
    if packet.flags & RST:
        return "RST again"
    if packet.flags & SYN and is_syn:
        return "SYN-ACK again" if packet.flags & ACK else "SYN again"
    return f"{packet.payload_len} bytes again" if packet.payload_len else "FIN again"


def _plain(packet: Packet) -> str:
    flags = " ".join(name for bit, name in _FLAGS if packet.flags & bit)
    return f"{flags}, {packet.payload_len} bytes" if packet.payload_len else flags or "no flags"


def _window(packet: Packet, side: _Side, moment: Moment) -> None:
    """A window that closes, and opens again."""
    if packet.window == 0 and side.window > 0:
        moment.remark = "; ".join(filter(None, (moment.remark, "its window is closed")))
        moment.key = True
    elif packet.window > 0 and side.window == 0:
        moment.remark = "; ".join(filter(None, (moment.remark, "its window is open again")))
        moment.key = True
    side.window = packet.window


def _group(group: list[Moment]) -> Moment:
    moment = fold(group, group[0].event, "")
    moment.key = True
    if len(group) > 1:
        assert moment.until_ns is not None
        moment.event += f" x {len(group)}"
        moment.remark = f"the last {format_span(moment.until_ns - moment.ns)} after the first"
    return moment


def _icmp(flow: Flow) -> list[Moment]:
    return [
        Moment(
            PACKET,
            "",
            int(error.ns),
            0,
            "network",
            f"ICMP{'v6' if error.v6 else ''} error, type {error.kind} code {error.code}",
            f"MTU {error.mtu}" if error.mtu else "",
            [int(error.ref)],
        )
        for error in flow.icmp_errors or ()
    ]
