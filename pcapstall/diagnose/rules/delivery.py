"""Rules for a ClientHello that was not acknowledged in time: lost, too big for the path, or held back by a host.

The capture has seen the hello; which of its copies got through is told by the ACK's TSecr, and whether an earlier one
had arrived by a duplicate SACK (RFC 2883). Compiled.
"""

from mypy_extensions import i64

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import AT_SERVER, Judgement, conclude, refs, span, times
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.split import split
from pcapstall.diagnose.verdict import HIGH, LOW, MEDIUM, NETWORK, SERVER_KERNEL, UNKNOWN, Fact
from pcapstall.wire.segment import FIN, RST, SYN

AGAIN_MIN = 3
"""Copies that must have been lost before it is said that full segments never come through."""


class Delivery:
    """The bytes that were waited for, each time they were sent, and what the other side said of them."""

    def __init__(self, sender: bool, begin: i64, copies: list[Seg], acks: list[Seg], final: Seg | None) -> None:
        self.sender: bool = sender
        """Whether the side that opened the connection sent them."""
        self.begin: i64 = begin
        """Offset of the first byte that was missing over there."""
        self.copies: list[Seg] = copies
        """Each segment that carried that byte."""
        self.acks: list[Seg] = acks
        """What the other side sent meanwhile."""
        self.final: Seg | None = final
        """The segment that acknowledged it."""
        self.through: int | None = None
        """Which copy that segment answers, from 0; None when it does not say."""
        self.had_arrived: bool = False
        """By a duplicate SACK an earlier copy had arrived, or by the TSecr one that is not in the capture."""
        self.sacked: bool = False
        """Later bytes had arrived, by SACK."""
        self.waited_ns: int = 0
        """From the hello's last byte to its acknowledgment, or to the end of the stall."""


def delivery_of(case: Case) -> Delivery | None:
    """What became of the hello's bytes; None when they were not noted."""
    sender = case.hello_from_client
    first, last = case.history.at(case.flow.client_hello_first_ref), case.history.at(case.start_ref)
    if first is None or last is None:
        return None
    hello_end = max(first.end, last.end)
    until_ns, until_ref = _acknowledged(case)
    begin: i64 = 0
    meanwhile: list[Seg] = []
    for seg in case.history.of(not sender):
        if seg.is_rst or seg.ns >= until_ns:
            continue
        if seg.ns >= case.start_ns:
            meanwhile.append(seg)
        ack = seg.ack
        if ack is not None and ack > begin and seg.ref != until_ref:
            begin = ack
    copies = [
        seg
        for seg in case.history.of(sender)
        if seg.has_data and seg.offset <= begin < seg.end and seg.ns <= until_ns and seg.offset < hello_end
    ]
    if not copies:
        return None
    final = case.history.at(until_ref) if until_ref else None
    found = Delivery(sender, begin, copies, meanwhile, final)
    found.waited_ns = until_ns - case.start_ns
    if final is not None:
        stamps = [seg.tsval for seg in copies]
        found.through = stamps.index(final.tsecr) if final.tsecr in stamps and -1 not in stamps else None
        found.had_arrived = final.is_duplicate_sack or _answers_earlier(final, copies[0], case.history.of(sender))
    for seg in meanwhile:
        for left, _ in seg.sacks:
            if left > begin:
                found.sacked = True
    return found


def _answers_earlier(final: Seg, first: Seg, sent: list[Seg]) -> bool:
    """Whether an ACK answers, by its TSecr, something sent before the first copy that the capture does not have."""
    if final.tsecr < 0 or first.tsval < 0 or any(seg.tsval == final.tsecr for seg in sent):
        return False
    return 0 < (first.tsval - final.tsecr) & 0xFFFF_FFFF < 1 << 31


def _acknowledged(case: Case) -> tuple[int, int]:
    """When the hello was acknowledged, and the frame; the end of the stall and 0 without that."""
    flow = case.flow
    if flow.client_hello_acked_ref and flow.client_hello_acked_ns <= case.end_ns:
        return flow.client_hello_acked_ns, flow.client_hello_acked_ref
    return case.end_ns, 0


def repeated_syn_acks(case: Case) -> list[Seg]:
    """SYN-ACKs sent again after the client had acknowledged the first."""
    return [seg for seg in case.history.server if seg.is_syn_ack and seg.ns > case.flow.ack_ns and seg.ns < case.end_ns]


def accept_queue_full(case: Case) -> Judgement:
    """Captured at the server: the hello is here, unacknowledged, and the SYN-ACK is repeated."""
    if not case.at_server:
        return "the capture was not taken at the server"
    again = repeated_syn_acks(case)
    if not again:
        return "the SYN-ACK was not repeated"
    delivery = delivery_of(case)
    copies = delivery.copies if delivery else []
    return conclude(
        case,
        SERVER_KERNEL,
        "accept_queue_full",
        case.at_point(HIGH),
        f"the server's host had the ACK and the ClientHello and took neither for {span(case.length_ns)}: its accept "
        f"queue was full",
        [
            Fact(
                "The SYN-ACK was repeated although the ACK and the ClientHello were here.",
                refs(case.flow.ack_ref, case.start_ref, *(seg.ref for seg in again)),
            ),
            _copies_fact(copies),
            facts.place(case),
        ],
        "the server's counters (nstat: TcpExtListenOverflows)",
    )


def held_by_host(case: Case) -> Judgement:
    """Captured at the server: the hello is here and its kernel does not acknowledge it."""
    if not case.at_server:
        return "the capture was not taken at the server"
    delivery = delivery_of(case)
    again = len(delivery.copies) if delivery else 1
    never = "never acknowledged it" if case.is_open else f"acknowledged it only after {span(case.length_ns)}"
    return conclude(
        case,
        SERVER_KERNEL,
        "accept_queue_full" if again > 1 else "ack_loss",
        MEDIUM,
        f"the ClientHello came to the server's host {times(again)}, and its kernel {never}",
        [_copies_fact(delivery.copies if delivery else []), facts.place(case)],
        "the server's counters (nstat: TcpExtListenOverflows, TcpExtTCPBacklogDrop), its firewall",
    )


def black_hole(case: Case) -> Judgement:
    """Full segments of the hello are lost each time they are sent, while smaller ones arrive."""
    delivery = delivery_of(case)
    if delivery is None:
        return "the ClientHello's segments were not noted"
    full = case.history.full_size(delivery.sender)
    lost = delivery.copies if delivery.final is None else delivery.copies[:-1]
    if not lost or any(seg.payload_len < full for seg in lost):
        return "segments that are smaller than the MSS were lost, too"
    if not delivery.sacked:
        return "nothing says that smaller segments arrived"
    if delivery.final is not None and delivery.copies[-1].payload_len >= full:
        return "a full segment got through in the end"
    icmp = facts.too_big(case, delivery.sender)
    if len(lost) < 2 and icmp is None:
        return "it was lost once only"
    beyond = [seg for seg in delivery.acks if seg.sacks]
    return conclude(
        case,
        NETWORK,
        "mtu_black_hole",
        HIGH if len(lost) >= AGAIN_MIN or icmp else MEDIUM,
        f"full segments of the client vanish on their way while smaller ones arrive: {times(len(lost))} for "
        f"{span(case.length_ns)}",
        [
            _copies_fact(lost),
            Fact("The server's SACK says that the smaller segment behind it arrived.", refs(*(s.ref for s in beyond))),
            icmp,
            facts.handshake(case),
            facts.place(case),
        ],
        AT_SERVER,
    )


def hello_loss(case: Case) -> Judgement:
    """The hello was sent again, and a later copy is the one that got through."""
    delivery = delivery_of(case)
    if delivery is None:
        return "the ClientHello's segments were not noted"
    if case.at_server:
        return "the ClientHello came to the server's host"
    if len(delivery.copies) < 2:
        return "the ClientHello was not sent again"
    if repeated_syn_acks(case):
        return "the server repeated its SYN-ACK: it may not have taken the connection"
    if delivery.had_arrived or delivery.through == 0:
        return "the first copy arrived"
    if delivery.final is None and not delivery.sacked and not _took_connection(case):
        return "nothing shows that the server had taken the connection"
    sure = delivery.sacked or _took_connection(case)
    marks = []
    if delivery.through is not None:
        marks = [(delivery.copies[delivery.through].ns, NETWORK)]
    got = (
        f"and copy {delivery.through + 1} got through, by the TSecr of its ACK"
        if delivery.through is not None
        else "and none was acknowledged"
        if delivery.final is None
        else "before it was acknowledged"
    )
    lost = delivery.through if delivery.through is not None else len(delivery.copies)
    return conclude(
        case,
        NETWORK,
        "client_hello_loss",
        HIGH if sure else MEDIUM,
        f"the ClientHello was lost {times(lost)} on its way to the server, "
        f"{'which has not acknowledged it for' if delivery.final is None else 'which acknowledged it after'} "
        f"{span(delivery.waited_ns)}",
        [_copies_fact(delivery.copies, got, delivery.final), facts.handshake(case), facts.place(case)],
        AT_SERVER,
        split(case.start_ns, case.end_ns, marks, NETWORK),
    )


def acks_lost(case: Case) -> Judgement:
    """A duplicate SACK: the hello had arrived before, and the server's ACKs did not come back."""
    delivery = delivery_of(case)
    if delivery is None or delivery.final is None:
        return "no ACK came"
    if case.at_server:
        return "the capture was taken at the server, which would have shown earlier ACKs"
    if not delivery.had_arrived:
        return "no duplicate SACK says that an earlier copy had arrived"
    return conclude(
        case,
        NETWORK,
        "ack_loss",
        MEDIUM,
        f"an earlier copy of the ClientHello had arrived; its ACK was lost, and the next one came after "
        f"{span(delivery.waited_ns)}",
        [_copies_fact(delivery.copies, "and the ACK has a duplicate SACK", delivery.final), facts.place(case)],
        AT_SERVER,
    )


def not_acknowledged(case: Case) -> Judgement:
    """Neither side of the capture shows where the hello, or its ACK, was held up."""
    delivery = delivery_of(case)
    again = repeated_syn_acks(case)
    copies = delivery.copies if delivery else []
    acked_ns, acked_ref = _acknowledged(case)
    never = "was acknowledged only after" if acked_ref else "has not been acknowledged for"
    repeated = (
        Fact(
            "The server repeated its SYN-ACK after the client's ACK: that was lost, or its accept queue was full.",
            refs(*(seg.ref for seg in again)),
        )
        if again
        else None
    )
    spurious = delivery is not None and delivery.through == 0 and len(copies) > 1
    filtered = not any(seg.payload_len == 0 and not seg.flags & (SYN | FIN | RST) for seg in case.history.segs)
    if spurious:
        why = "the first copy got through, so it or its ACK was held up or ACKs were lost"
    elif filtered:
        why = "the capture holds no ACK without payload, so an earlier one may be missing in it"
    else:
        why = "lost on its way, or not taken by the server's host"
    return conclude(
        case,
        UNKNOWN,
        "ack_loss" if spurious else "client_hello_loss",
        LOW if filtered else MEDIUM,
        f"the ClientHello {never} {span(acked_ns - case.start_ns)}: {why}",
        [
            _copies_fact(copies, "and the ACK answers the first by its TSecr" if spurious else "", None),
            repeated,
            facts.handshake(case),
            facts.place(case),
        ],
        "a capture of all packets" if filtered else AT_SERVER,
    )


def _took_connection(case: Case) -> bool:
    """Whether the server is known to have taken the handshake's ACK: it sent something since. Until then its accept
    queue may be full, and the hello not lost but dropped there."""
    return any(
        not seg.is_syn_ack and not seg.is_rst and case.flow.ack_ns < seg.ns < case.end_ns for seg in case.history.server
    )


def _copies_fact(copies: list[Seg], then: str = "", final: Seg | None = None) -> Fact | None:
    if not copies:
        return None
    sizes = sorted({seg.payload_len for seg in copies})
    size = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    sent = f"Segments with {size} bytes of the ClientHello were sent {times(len(copies))}"
    return Fact(f"{sent}{', ' + then if then else ''}.", refs(*(seg.ref for seg in copies), final.ref if final else 0))
