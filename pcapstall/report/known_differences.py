"""The differences between the two readings that have a reason, each with how it is recognised and why it is.

docs/corpus-differences.md has the bytes that each of them rests on. A difference that fits none of these is a finding
about one of the two programs, and is never made to fit.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from pcapstall.flows.copies import COPY_WINDOW_NS
from pcapstall.report.comparison_model import Seen, SeenFlow, Value
from pcapstall.report.flow_model import EventReport, FlowReport

_FAR_FUTURE_NS: Final = 1 << 63
"""From here on a stamp does not fit into 64 bits of nanoseconds: the year 2262."""

Test = Callable[[Value, FlowReport, SeenFlow], bool]


class Known(NamedTuple):
    """One kind of difference."""

    name: str
    reason: str
    """One sentence."""
    holds: Test
    """Whether a value of a flow that both have differs for this reason."""


def _never(value: Value, ours: FlowReport, theirs: SeenFlow) -> bool:
    return False


def _midstream(value: Value, ours: FlowReport, theirs: SeenFlow) -> bool:
    return value.name == "endpoints" and theirs.direction_source == "first_seen"


def _split_by(kind: str) -> Test:
    def holds(value: Value, ours: FlowReport, theirs: SeenFlow) -> bool:
        return value.name == "streams" and kind in theirs.strays

    return holds


def _rejected(value: Value, ours: FlowReport, theirs: SeenFlow) -> bool:
    syn = theirs.events.get("syn")
    return (
        value.name in ("client_hello_first", "client_hello_last")
        and ours.syn_data == "rejected"
        and isinstance(value.theirs, Seen)
        and syn is not None
        and value.theirs.frame == syn.frame
    )


def _unsigned(value: Value, ours: FlowReport, theirs: SeenFlow) -> bool:
    mine, other = value.ours, value.theirs
    return (
        isinstance(mine, EventReport)
        and isinstance(other, Seen)
        and mine.frame == other.frame
        and mine.ns < 0
        and other.ns >= _FAR_FUTURE_NS
    )


def _without_a_stamp(value: Value, ours: FlowReport, theirs: SeenFlow) -> bool:
    mine, other = value.ours, value.theirs
    return isinstance(mine, EventReport) and isinstance(other, Seen) and mine.frame == other.frame and other.ns == 0


def _another_copy(value: Value, ours: FlowReport, theirs: SeenFlow) -> bool:
    mine, other = value.ours, value.theirs
    return (
        "copies" in ours.flags
        and isinstance(mine, EventReport)
        and isinstance(other, Seen)
        and mine.frame != other.frame
        and abs(mine.ns - other.ns) <= COPY_WINDOW_NS
    )


def _fin_in_rst(value: Value, ours: FlowReport, theirs: SeenFlow) -> bool:
    side, _, what = value.name.rpartition("_")
    rst = theirs.events.get(f"{side}_rst")
    return what == "fin" and isinstance(value.theirs, Seen) and rst is not None and rst.frame == value.theirs.frame


ICMP_QUOTE: Final = "icmp_quote"
"""The TCP header that an ICMP error quotes."""
DAMAGED_HEADER: Final = "damaged_header"
"""A TCP header whose length is impossible: tshark shows its flags, but no length of the payload."""
UNKNOWN_LINK_TYPE: Final = "unknown_link_type"
UNREADABLE: Final = "unreadable"

KNOWN: Final = {
    known.name: known
    for known in (
        Known(
            "midstream_direction",
            "No SYN, SYN-ACK or ClientHello is in the capture: tshark's first packet is taken to come from the client, "
            "pcapstall takes the side with the higher port for it.",
            _midstream,
        ),
        Known(
            ICMP_QUOTE,
            "An ICMP error quotes a TCP header: tshark counts it among the packets and goes on in a new stream, for "
            "pcapstall the connection stays one.",
            _split_by(ICMP_QUOTE),
        ),
        Known(
            DAMAGED_HEADER,
            "A TCP header claims more bytes than its packet has: tshark takes its flags for true, pcapstall counts the "
            "packet as malformed.",
            _split_by(DAMAGED_HEADER),
        ),
        Known(
            "rejected_syn_data",
            "The ClientHello in the SYN was not taken by the server, and sent again (TCP Fast Open, RFC 7413 section "
            "4.2): tshark shows the first, pcapstall the one that arrived.",
            _rejected,
        ),
        Known(
            "unsigned_stamp",
            "The pcapng time stamp has its top bit set: tshark reads a year beyond 2262, pcapstall the negative number "
            "that it also is; differences between such stamps are the same.",
            _unsigned,
        ),
        Known(
            "no_stamp",
            "The packet has no time stamp (a Simple Packet Block of pcapng): tshark shows none, for pcapstall it is "
            "that of the packet before.",
            _without_a_stamp,
        ),
        Known(
            "copies",
            "The packet was captured more than once on its way: tshark's first copy counts there, for pcapstall the "
            "one nearest the client.",
            _another_copy,
        ),
        Known(
            "fin_in_rst",
            "The segment has FIN and RST: RST is looked at first and ends the connection (RFC 9293 section 3.10.7.4), "
            "so for pcapstall there is no FIN.",
            _fin_in_rst,
        ),
        Known(
            UNKNOWN_LINK_TYPE,
            "pcapstall does not read this link type and counts its packets as other; tshark's is the only reading.",
            _never,
        ),
        Known(UNREADABLE, "pcapstall cannot read this file; tshark's is the only reading.", _never),
    )
}
"""By name."""


def explained(value: Value, ours: FlowReport, theirs: SeenFlow) -> Value:
    """``value`` with the name of the known difference that it is, if it is one."""
    if value.equal:
        return value
    why = next((known.name for known in KNOWN.values() if known.holds(value, ours, theirs)), None)
    return value._replace(why=why)
