"""Rules for the last step of the TCP handshake: a SYN-ACK that was not heard, and ACKs that were lost or late.

Seen at the server or between; at the client there is little to tell. SYNs and their answers are in `handshake`.
Compiled.
"""

from mypy_extensions import i64

from pcapstall.core.counts import several
from pcapstall.diagnose.case import NO_LOSS, Case
from pcapstall.diagnose.intervals import SYN_RETRY_NS
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import AT_CLIENT, Judgement, conclude, refs, span, times
from pcapstall.diagnose.rules.handshake import syn_acks
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.verdict import CAPTURE, CLIENT_KERNEL, CLIENT_PROCESS, MEDIUM, NETWORK, UNKNOWN, Fact


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
    if _answers_first(ack, answers):
        return "the ACK answers the first SYN-ACK: that had arrived"
    why = (
        Fact("The client repeated its SYN though the SYN-ACK had passed here.", refs(*(seg.ref for seg in again)))
        if again
        else Fact("The ACK's TSecr is that of a repeated SYN-ACK.", refs(answers[-1].ref, case.end_ref))
    )
    return conclude(
        case,
        NETWORK,
        "syn_ack_loss",
        MEDIUM,
        f"the SYN-ACK was lost on its way to the client, which acknowledged a later one, after {span(case.length_ns)}, "
        f"unless the client's own host dropped it"
        if not case.is_open
        else "the SYN-ACK was lost on its way to the client, or dropped by the client's host",
        [why, Fact(f"The SYN-ACK was sent {times(len(answers))}.", refs(*(seg.ref for seg in answers)))],
        AT_CLIENT,
    )


def ack_missed(case: Case) -> Judgement:
    """Neither side repeated anything: the SYN-ACK had arrived, and so had an ACK that is not in the capture."""
    ack = case.history.at(case.end_ref)
    if ack is None:
        return "no ACK came"
    if case.length_ns < SYN_RETRY_NS:
        return "no side had to repeat anything yet"
    sent = [seg for seg in case.history.client if seg.is_syn and seg.ns <= case.end_ns]
    answers = syn_acks(case, case.end_ns)
    if len(answers) != 1 or not sent or sent[-1].ns > answers[0].ns:
        return "a side repeated what it had sent"
    missing = case.client_ids.missing(sent[-1], ack)
    if missing == 0:
        return "by its IP IDs the client had sent nothing before"
    evidence = [
        Fact(
            f"In {span(case.length_ns)} neither the SYN nor the SYN-ACK was repeated, as each is after a second "
            f"without an answer: the ACK had come, and is not here.",
            refs(sent[-1].ref, answers[0].ref, ack.ref),
        ),
        facts.place(case),
    ]
    if not ack.has_data or case.server_speaks_first or (missing is not None and missing > 1):
        return conclude(
            case,
            CAPTURE,
            "missed_by_capture",
            MEDIUM,
            f"the capture missed the client's ACK, so how long it took is not known: what is here came "
            f"{span(case.length_ns)} after the SYN-ACK",
            evidence,
            NO_LOSS,
        )
    return conclude(
        case,
        CLIENT_PROCESS,
        "client_silent",
        MEDIUM,
        f"the capture missed the client's ACK; the client, who speaks first, said nothing for {span(case.length_ns)}",
        evidence,
        NO_LOSS,
    )


def ack_loss(case: Case) -> Judgement:
    """By the client's IP IDs it had sent an ACK that never came here."""
    answers = syn_acks(case, case.end_ns)
    ack = case.history.at(case.end_ref)
    if case.at_client:
        return "the capture was taken at the client, which would have shown an earlier ACK"
    if ack is None:
        return "no ACK came"
    sent = [seg for seg in case.history.client if seg.is_syn]
    missing = case.client_ids.missing(sent[-1], ack) if sent else None
    if not missing:
        return "nothing says that an earlier ACK was sent"
    evidence = [
        Fact(
            f"{several(missing, 'segment')} of the client sent before it never came here, by its IP IDs.",
            refs(sent[-1].ref, ack.ref),
        ),
        Fact(f"The SYN-ACK was sent {times(len(answers))}.", refs(*(seg.ref for seg in answers))),
        facts.place(case),
    ]
    # Each SYN-ACK gets an ACK: if no more than those are missing, nothing else was sent before.
    if missing <= len(answers) and not case.server_speaks_first:
        return conclude(
            case,
            CLIENT_PROCESS,
            "client_silent",
            MEDIUM,
            f"the client's ACK of the SYN-ACK was lost, which held up nothing: the client, who speaks first, said "
            f"nothing for {span(case.length_ns)}",
            evidence,
            AT_CLIENT,
        )
    return conclude(
        case,
        UNKNOWN if ack.has_data else NETWORK,
        "ack_loss",
        MEDIUM,
        f"segments of the client were lost: what came, after {span(case.length_ns)}, is not the first that it sent",
        evidence,
        AT_CLIENT,
    )


def slow_ack(case: Case) -> Judgement:
    """The ACK is the client's first, by its IP IDs, and answers the first SYN-ACK: it was on its way for so long."""
    if case.at_client:
        return "the capture was taken at the client: the way to it and back is short"
    ack = case.history.at(case.end_ref)
    if ack is None:
        return "no ACK came"
    answers = syn_acks(case, case.end_ns)
    if not _answers_first(ack, answers):
        return "the ACK does not answer the first SYN-ACK"
    sent = [seg for seg in case.history.client if seg.is_syn]
    if not sent or case.client_ids.missing(sent[-1], ack) != 0:
        return "nothing says that it is the client's first"
    return conclude(
        case,
        NETWORK,
        "high_rtt",
        MEDIUM,
        f"the way to the client and back took {span(case.length_ns)}: the ACK that came is its first, and answers the "
        f"first SYN-ACK",
        [
            Fact(
                "The ACK's TSecr is the first SYN-ACK's TSval, and the client's IP IDs run on from its SYN.",
                refs(sent[-1].ref, case.start_ref, ack.ref),
            ),
            facts.place(case),
        ],
        AT_CLIENT,
    )


def late_ack(case: Case) -> Judgement:
    """The SYN-ACK was not acknowledged in time, and what was lost cannot be told."""
    answers = syn_acks(case, case.end_ns)
    evidence = [
        Fact(f"The SYN-ACK came {times(len(answers))}.", refs(*(seg.ref for seg in answers), case.end_ref)),
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


def _answers_first(ack: Seg | None, answers: list[Seg]) -> bool:
    """Whether the ACK's TSecr is that of the first SYN-ACK, and of no other."""
    if ack is None or not answers:
        return False
    stamp: i64 = ack.tsecr
    if stamp < 0 or stamp != answers[0].tsval:
        return False
    return all(seg.tsval != stamp for seg in answers[1:])
