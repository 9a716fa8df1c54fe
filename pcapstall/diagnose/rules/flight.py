"""Rules for a server's flight that the capture has seen and the client did not get: lost, or too big for the path.

The mirror of `delivery`: the server sends its hello and certificate again and again, the client's ACK stands still.
Compiled.
"""

from mypy_extensions import i64

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import AT_CLIENT, Judgement, conclude, refs, span, times
from pcapstall.diagnose.rules.delivery import AGAIN_MIN
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.split import split
from pcapstall.diagnose.verdict import HIGH, MEDIUM, NETWORK, UNKNOWN, Fact


def _stuck(case: Case) -> tuple[list[Seg], Seg | None, bool]:
    """The segments that carried the byte the client waited for longest, the one that acknowledged it, and whether
    later bytes had arrived, by SACK."""
    sender = not case.hello_from_client
    data = [seg for seg in case.history.of(sender) if seg.has_data and case.start_ns <= seg.ns <= case.end_ns]
    best: tuple[list[Seg], Seg | None] = ([], None)
    for begin in dict.fromkeys(seg.offset for seg in data):
        copies = [seg for seg in data if seg.offset <= begin < seg.end]
        acks = [
            seg
            for seg in case.history.of(not sender)
            if seg.ack is not None and seg.ack > begin and seg.ns >= copies[0].ns and not seg.is_rst
        ]
        if len(copies) > len(best[0]):
            best = (copies, acks[0] if acks else None)
    copies, final = best
    meanwhile = [seg for seg in case.history.of(not sender) if copies and copies[0].ns <= seg.ns <= case.end_ns]
    sacked = bool(copies) and any(left > copies[0].offset for seg in meanwhile for left, _ in seg.sacks)
    return copies, final, sacked


def flight_lost(case: Case) -> Judgement:
    """The server sent part of its flight again, and the client acknowledged a later copy or none."""
    if case.captured_at(case.hello_from_client):
        return "the capture was taken at the client, which had what came here"
    copies, final, sacked = _stuck(case)
    if len(copies) < 2:
        return "the server sent nothing again"
    stamps = [seg.tsval for seg in copies]
    through = stamps.index(final.tsecr) if final is not None and final.tsecr in stamps and -1 not in stamps else None
    if through == 0 or (final is not None and final.is_duplicate_sack):
        return "the first copy arrived"
    until_ns: i64 = case.end_ns
    if through is not None:
        until_ns = copies[through].ns
    elif final is not None:
        until_ns = final.ns
    until: int = until_ns
    if 2 * (until - int(copies[0].ns)) < case.length_ns:
        return "retransmissions took a small part of the time only"
    full = case.history.full_size(not case.hello_from_client)
    lost = copies[:through] if through is not None else copies
    got_full = through is not None and copies[through].payload_len >= full
    hole = sacked and all(seg.payload_len >= full for seg in lost) and not got_full
    icmp = facts.too_big(case, not case.hello_from_client)
    sent = Fact(
        f"The server sent the same bytes {times(len(copies))}"
        + (f"; the client's ACK answers copy {through + 1} by its TSecr." if through is not None else "."),
        refs(*(seg.ref for seg in copies), final.ref if final else 0),
    )
    if hole and (len(lost) >= 2 or icmp):
        return conclude(
            case,
            NETWORK,
            "mtu_black_hole",
            HIGH if len(lost) >= AGAIN_MIN or icmp else MEDIUM,
            f"full segments of the server vanish on their way while smaller ones arrive: {times(len(lost))} for "
            f"{span(until - copies[0].ns)}",
            [sent, icmp, facts.handshake(case), facts.place(case)],
            AT_CLIENT,
            split(case.start_ns, case.end_ns, [(copies[0].ns, UNKNOWN)], NETWORK),
        )
    # Where the client goes silent altogether its host may be gone.
    sure = final is not None and through is not None
    return conclude(
        case,
        NETWORK if final is not None or sacked else UNKNOWN,
        "server_hello_loss",
        HIGH if sure else MEDIUM,
        f"the server's flight was lost on its way to the client and sent {times(len(copies))}: that took "
        f"{span(until - copies[0].ns)} of {span(case.length_ns)}",
        [sent, facts.handshake(case), facts.place(case)],
        AT_CLIENT,
        split(case.start_ns, case.end_ns, [(copies[0].ns, UNKNOWN), (until, NETWORK)], UNKNOWN),
    )
