"""The packets of one flow as moments: handshake steps, TLS events, repeated segments folded, closes and resets.

Which packet is which event is known from the flow; what is made of it is words.
"""

from collections.abc import Container, Sequence
from typing import Final, NamedTuple

from pcapstall.core.seq import to_offset
from pcapstall.core.times import format_span
from pcapstall.flows.flow import Flow
from pcapstall.flows.notebook import COPY, RETRANSMISSION
from pcapstall.match.moments import PACKET, Moment, fold
from pcapstall.wire.icmp import (
    ICMP_SOURCE_QUENCH,
    ICMP_TIME_EXCEEDED,
    ICMP_UNREACHABLE,
    ICMPV6_PACKET_TOO_BIG,
    ICMPV6_UNREACHABLE,
)
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


class Packet(NamedTuple):
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


def packet_moments(
    flow: Flow, packets: Sequence[Packet], client: str, server: str, lost: Container[int] = frozenset()
) -> list[Moment]:
    """A moment for each packet, repeated ones folded; ``client`` and ``server`` are what the ends are called.

    ``lost`` has the references of those that did not arrive.
    """
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
        moment.lost = int(packet.ref in lost)
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
    for moment in made:
        if moment.lost:
            moment.remark = "; ".join(filter(None, (moment.remark, _lost_words(moment))))
    made += _icmp(flow)
    return made


def _lost_words(moment: Moment) -> str:
    if moment.lost == moment.count:
        return "lost" if moment.count == 1 else "all lost"
    return "lost but for the last" if moment.lost == moment.count - 1 else f"{moment.lost} lost"


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


_UNREACHABLE: Final = {
    0: "network unreachable",
    1: "host unreachable",
    2: "protocol unreachable",
    3: "port unreachable",
    4: "too big for a link",
    5: "source route failed",
    6: "network unknown",
    7: "host unknown",
    9: "network prohibited",
    10: "host prohibited",
    13: "prohibited by a filter",
}
_UNREACHABLE_V6: Final = {
    0: "no route",
    1: "prohibited by a filter",
    2: "beyond the source's scope",
    3: "address unreachable",
    4: "port unreachable",
    5: "refused by a policy",
    6: "route rejects it",
}
_ICMPV6_TIME_EXCEEDED: Final = 3
_KINDS: Final = {ICMP_SOURCE_QUENCH: "source quench", ICMP_TIME_EXCEEDED: "time exceeded"}
_KINDS_V6: Final = {ICMPV6_PACKET_TOO_BIG: "too big for a link", _ICMPV6_TIME_EXCEEDED: "time exceeded"}
"""What ICMP errors say (RFC 792, RFC 1122, RFC 1812, RFC 4443), by code of "unreachable" and by type of others."""


def icmp_words(v6: bool, kind: int, code: int) -> str:
    """``ICMP: host unreachable``; one of which no name is known by its numbers."""
    unreachable = ICMPV6_UNREACHABLE if v6 else ICMP_UNREACHABLE
    named = (_UNREACHABLE_V6 if v6 else _UNREACHABLE).get(code) if kind == unreachable else None
    words = named or (_KINDS_V6 if v6 else _KINDS).get(kind) or f"error of type {kind}, code {code}"
    return f"ICMP{'v6' if v6 else ''}: {words}"


def _icmp(flow: Flow) -> list[Moment]:
    return [
        Moment(
            PACKET,
            "",
            int(error.ns),
            0,
            "network",
            icmp_words(error.v6, int(error.kind), int(error.code)),
            f"type {error.kind}, code {error.code}" + (f"; MTU {error.mtu}" if error.mtu else ""),
            [int(error.ref)],
            toward="client" if error.quotes_client else "server",
        )
        for error in flow.icmp_errors or ()
    ]
