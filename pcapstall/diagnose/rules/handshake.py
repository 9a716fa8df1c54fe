"""Rules for the TCP handshake: SYNs and SYN-ACKs that were lost, dropped, answered late or never.

A SYN-ACK's TSecr tells which SYN it answers (RFC 7323 section 3.2): the one evidence that tells a lost SYN from a lost
SYN-ACK at the client.
"""

from typing import Final

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import AT_CLIENT, AT_SERVER, Judgement, conclude, refs, several, span, times
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.split import split
from pcapstall.diagnose.verdict import CLIENT_KERNEL, HIGH, MEDIUM, NETWORK, SERVER_KERNEL, UNKNOWN, Fact

_RTO_NS: Final = 1_000_000_000
"""A SYN or SYN-ACK is repeated after a second (RFC 6298 section 2.1), and twice that each time after."""
_SLACK_NS: Final = 150_000_000


def syns(case: Case, until_ns: int) -> list[Seg]:
    """The SYNs up to a time."""
    return [seg for seg in case.history.client if seg.is_syn and seg.ns <= until_ns]


def syn_acks(case: Case, until_ns: int) -> list[Seg]:
    """The SYN-ACKs up to a time."""
    return [seg for seg in case.history.server if seg.is_syn_ack and seg.ns <= until_ns]


def syn_answered(case: Case, until_ns: int) -> tuple[int, Seg, list[Seg]] | None:
    """Which SYN the first SYN-ACK answers (from 0), the SYN-ACK, and all SYNs before it; None when it does not say."""
    answers = syn_acks(case, until_ns)
    if not answers:
        return None
    asked = syns(case, answers[0].ns)
    stamps = [seg.tsval for seg in asked]
    if -1 in stamps or answers[0].tsecr not in stamps or len(set(stamps)) < len(stamps):
        return None
    return stamps.index(answers[0].tsecr), answers[0], asked


def syn_ack_loss(case: Case) -> Judgement:
    """The SYN-ACK answers the first SYN although that was repeated: the SYN had arrived, its answer was lost."""
    answered = syn_answered(case, case.end_ns)
    if answered is None:
        return "the SYN-ACK does not tell which SYN it answers"
    which, answer, asked = answered
    if len(asked) < 2 or which > 0:
        return "the SYN-ACK answers the last SYN" if len(asked) > 1 else "the SYN was not repeated"
    return conclude(
        case,
        NETWORK,
        "syn_ack_loss",
        HIGH if _is_repetition(case, answer, asked) else MEDIUM,
        f"the first SYN arrived and its answer was lost: the SYN-ACK that came after {span(case.length_ns)} still "
        f"answers the first of {len(asked)} SYNs",
        [
            Fact(
                f"The SYN was sent {times(len(asked))}; the TSecr of the SYN-ACK is the first one's TSval.",
                refs(*(seg.ref for seg in asked), answer.ref),
            ),
            facts.place(case),
        ],
        AT_SERVER,
        anywhere=True,
    )


def syn_dropped_by_host(case: Case) -> Judgement:
    """Captured at the server: the SYN came and the host did not answer it."""
    if not case.at_server:
        return "the capture was not taken at the server"
    asked = [seg for seg in syns(case, case.end_ns) if seg.ns < case.end_ns]
    if not asked:
        return "no SYN is in the capture"
    answered = syn_answered(case, case.end_ns)
    if answered is not None and answered[0] == 0 and len(asked) > 1:
        return "the SYN-ACK answers the first SYN"
    never = "never" if case.is_open else f"only after {span(case.length_ns)}"
    return conclude(
        case,
        SERVER_KERNEL,
        "syn_dropped_by_host",
        case.at_point(HIGH) if len(asked) > 1 else MEDIUM,
        f"the SYN came to the server's host {times(len(asked))} and was answered {never}: a full queue, a firewall or "
        f"a reverse path filter dropped it there",
        [
            Fact("SYNs here that were not answered here.", refs(*(seg.ref for seg in asked))),
            facts.place(case),
        ],
        "the server's counters (nstat: TcpExtListenDrops, TcpExtListenOverflows), its firewall",
        split(case.start_ns, case.end_ns, (), SERVER_KERNEL),
    )


def syn_loss(case: Case) -> Judgement:
    """SYNs were repeated: lost on their way, or dropped by the server's host."""
    asked = syns(case, case.end_ns)
    answered = syn_answered(case, case.end_ns)
    if len(asked) < 2:
        return "the SYN was not repeated"
    unanswered = asked if answered is None else asked[: answered[0]]
    why = "was never answered" if case.is_open else f"was answered after {span(case.length_ns)}"
    proof = (
        "; the SYN-ACK answers the last one by its TSecr"
        if answered is not None and answered[0] == len(asked) - 1
        else ""
    )
    return conclude(
        case,
        UNKNOWN,
        "filtered" if case.outcome.tcp == "filtered" else "syn_loss",
        MEDIUM,
        f"the SYN, sent {times(len(asked))}, {why}: lost on its way, or dropped by the server's host",
        [
            Fact(
                f"{several(len(unanswered), 'SYN')} without an answer{proof}.",
                refs(*(seg.ref for seg in asked), case.end_ref),
            ),
            facts.place(case),
        ],
        AT_SERVER,
    )


def late_syn_ack(case: Case) -> Judgement:
    """One SYN, one late answer, and nothing to compare it with."""
    return conclude(
        case,
        UNKNOWN,
        "syn_loss" if not case.is_open else "filtered",
        MEDIUM,
        f"the SYN was {'not ' if case.is_open else ''}answered {'within' if case.is_open else 'after'} "
        f"{span(case.length_ns)}: a slow path, a loss or a slow host",
        [Fact("The SYN and its answer.", refs(case.start_ref, case.end_ref)), facts.place(case)],
        AT_SERVER,
    )


def syn_ack_unheard(case: Case) -> Judgement:
    """The client repeated its SYN after the SYN-ACK had passed here, or acknowledges a later SYN-ACK: one was lost."""
    answers = syn_acks(case, case.end_ns)
    again = [seg for seg in case.history.client if seg.is_syn and case.start_ns < seg.ns <= case.end_ns]
    ack = case.history.at(case.end_ref)
    stamps = [seg.tsval for seg in answers]
    later = ack is not None and ack.tsecr in stamps[1:] and ack.tsecr != stamps[0]
    if case.at_client:
        return "the capture was taken at the client, so the SYN-ACK had come to it"
    if not again and not later:
        return "nothing says that the SYN-ACK did not arrive"
    why = (
        Fact("The client repeated its SYN though the SYN-ACK had passed here.", refs(*(seg.ref for seg in again)))
        if again
        else Fact("The ACK's TSecr is that of a repeated SYN-ACK.", refs(answers[-1].ref, case.end_ref))
    )
    return conclude(
        case,
        NETWORK,
        "syn_ack_loss",
        HIGH if not case.is_open and (len(answers) > 1 or again) else MEDIUM,
        f"the SYN-ACK was lost on its way to the client, which acknowledged it {span(case.length_ns)} later"
        if not case.is_open
        else "the SYN-ACK was lost on its way to the client",
        [why, Fact(f"The SYN-ACK was sent {times(len(answers))}.", refs(*(seg.ref for seg in answers)))],
        AT_CLIENT,
    )


def ack_loss(case: Case) -> Judgement:
    """The ACK that came answers the first SYN-ACK though that was repeated, or an ACK is missing by its IP ID."""
    answers = syn_acks(case, case.end_ns)
    ack = case.history.at(case.end_ref)
    if case.at_client:
        return "the capture was taken at the client, which would have shown an earlier ACK"
    if ack is None:
        return "no ACK came"
    sent = [seg for seg in case.history.client if seg.is_syn]
    missing = case.client_ids.missing(sent[-1], ack) if sent else None
    first = bool(answers) and ack.tsecr == answers[0].tsval and len({seg.tsval for seg in answers}) > 1
    if not first and not missing:
        return "nothing says that an earlier ACK was sent"
    return conclude(
        case,
        NETWORK,
        "ack_loss",
        HIGH if missing and first else MEDIUM,
        f"the client acknowledged the SYN-ACK before, and that ACK was lost: the one that came is "
        f"{span(case.length_ns)} late",
        [
            Fact(
                f"{several(missing, 'segment')} of the client sent before it never came here, by its IP IDs.",
                refs(sent[-1].ref, ack.ref),
            )
            if missing
            else Fact(
                "The ACK's TSecr is that of the first SYN-ACK, which was repeated.", refs(case.start_ref, ack.ref)
            ),
            facts.place(case),
        ],
        AT_CLIENT,
    )


def late_ack(case: Case) -> Judgement:
    """The SYN-ACK was not acknowledged in time, and what was lost cannot be told."""
    answers = syn_acks(case, case.end_ns)
    evidence = [
        Fact(f"The SYN-ACK came by {times(len(answers))}.", refs(*(seg.ref for seg in answers), case.end_ref)),
        facts.place(case),
    ]
    never = "never" if case.is_open else f"only after {span(case.length_ns)}"
    if case.at_client:
        return conclude(
            case,
            CLIENT_KERNEL,
            "ack_loss",
            MEDIUM,
            f"the SYN-ACK came to the client's host and was acknowledged {never}: its kernel or firewall held it back",
            evidence,
            "the client's firewall and counters (nstat)",
        )
    return conclude(
        case,
        UNKNOWN,
        "ack_loss",
        MEDIUM,
        f"the SYN-ACK was acknowledged {never}: it was lost, or its ACK was",
        evidence,
        AT_CLIENT,
    )


def _is_repetition(case: Case, answer: Seg, asked: list[Seg]) -> bool:
    """Whether the SYN-ACK came when a repeated one has to: soon after a repeated SYN, or at the server's timeout."""
    since_last = answer.ns - asked[-1].ns
    if since_last <= max(3 * case.rtt_ns, _SLACK_NS):
        return True
    since_first = answer.ns - asked[0].ns
    return any(
        abs(since_first - case.rtt_ns - _RTO_NS * ((1 << k) - 1)) <= _SLACK_NS + since_first // 20 for k in range(1, 6)
    )
