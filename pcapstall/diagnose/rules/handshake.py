"""Rules for the beginning of the TCP handshake: SYNs that were lost, dropped, answered late or never.

A SYN-ACK's TSecr tells which SYN it answers (RFC 7323 section 3.2): the one evidence that tells a lost SYN from a lost
SYN-ACK at the client. Compiled.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.counts import several
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import AT_SERVER, Judgement, conclude, refs, span, times
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.split import split
from pcapstall.diagnose.verdict import HIGH, MEDIUM, NETWORK, SERVER_KERNEL, UNKNOWN, Fact

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


def _is_repetition(case: Case, answer: Seg, asked: list[Seg]) -> bool:
    """Whether the SYN-ACK came when a repeated one has to: soon after a repeated SYN, or at the server's timeout."""
    since_last: i64 = answer.ns - asked[-1].ns
    if since_last <= max(3 * case.rtt_ns, _SLACK_NS):
        return True
    since_first: int = answer.ns - asked[0].ns
    return any(
        abs(since_first - case.rtt_ns - _RTO_NS * ((1 << k) - 1)) <= _SLACK_NS + since_first // 20 for k in range(1, 6)
    )
