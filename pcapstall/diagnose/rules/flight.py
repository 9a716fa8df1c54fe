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


def _answered(copies: list[Seg], final: Seg | None) -> int | None:
    """Which of ``copies`` the ACK ``final`` answers by its TSecr; None when that cannot be told."""
    stamps = [seg.tsval for seg in copies]
    if final is None or -1 in stamps or final.tsecr not in stamps:
        return None
    return stamps.index(final.tsecr)


def _until_ns(case: Case, copies: list[Seg], final: Seg | None, answered: int | None) -> int:
    """Until when the bytes did not arrive."""
    if answered is not None:
        return copies[answered].ns
    return final.ns if final is not None else case.end_ns


def _only_full_ones_vanish(case: Case, copies: list[Seg], answered: int | None) -> bool:
    """Whether every copy that was lost was a full segment, and the one that arrived was not."""
    full: i64 = case.history.full_size(not case.hello_from_client)
    if answered is not None and copies[answered].payload_len >= full:
        return False
    return all(seg.payload_len >= full for seg in copies[:answered])


def flight_lost(case: Case) -> Judgement:
    """The server sent part of its flight again, and the client acknowledged a later copy or none."""
    if case.captured_at(case.hello_from_client):
        return "the capture was taken at the client, which had what came here"
    copies, final, sacked = _stuck(case)
    if len(copies) < 2:
        return "the server sent nothing again"
    answered = _answered(copies, final)
    if answered == 0 or (final is not None and final.is_duplicate_sack):
        return "the first copy arrived"
    until_ns = _until_ns(case, copies, final, answered)
    took_ns = until_ns - copies[0].ns
    if 2 * took_ns < case.length_ns:
        return "retransmissions took a small part of the time only"
    lost: int = len(copies) if answered is None else answered
    icmp = facts.too_big(case, not case.hello_from_client)
    sent = Fact(
        f"The server sent the same bytes {times(len(copies))}"
        + (f"; the client's ACK answers copy {answered + 1} by its TSecr." if answered is not None else "."),
        refs(*(seg.ref for seg in copies), final.ref if final else 0),
    )
    if sacked and (lost >= 2 or icmp) and _only_full_ones_vanish(case, copies, answered):
        return conclude(
            case,
            NETWORK,
            "mtu_black_hole",
            HIGH if lost >= AGAIN_MIN or icmp else MEDIUM,
            f"full segments of the server vanish on their way while smaller ones arrive: {times(lost)} for "
            f"{span(took_ns)}",
            [sent, icmp, facts.handshake(case), facts.place(case)],
            AT_CLIENT,
            split(case.start_ns, case.end_ns, [(copies[0].ns, UNKNOWN)], NETWORK),
        )
    return conclude(
        case,
        NETWORK if final is not None or sacked else UNKNOWN,
        "server_hello_loss",
        # Where the client goes silent altogether its host may be gone.
        HIGH if answered is not None else MEDIUM,
        f"the server's flight was lost on its way to the client and sent {times(len(copies))}: that took "
        f"{span(took_ns)} of {span(case.length_ns)}",
        [sent, facts.handshake(case), facts.place(case)],
        AT_CLIENT,
        split(case.start_ns, case.end_ns, [(copies[0].ns, UNKNOWN), (until_ns, NETWORK)], UNKNOWN),
    )
