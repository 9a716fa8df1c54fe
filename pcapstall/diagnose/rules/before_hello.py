"""Rules for the time before a hello in which it is not known whose turn it was, or the server owed an answer.

Plain proofs of a silent client are in `waiting`; these come first.
"""

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import AT_SERVER, Judgement, conclude, refs, span
from pcapstall.diagnose.rules.turns import NO_TURN, exchange, owed
from pcapstall.diagnose.split import split
from pcapstall.diagnose.verdict import AWAIT_SERVER, CLIENT_PROCESS, HIGH, LOW, MEDIUM, SERVER_PROCESS, UNKNOWN, Fact


def both_silent(case: Case) -> Judgement:
    """No byte from either side, and nobody knows who ought to speak first there."""
    if not case.is_open:
        return "the ClientHello came"
    if exchange(case) or case.flow.server().payload_bytes or case.flow.client().payload_bytes:
        return "somebody spoke"
    if case.server_speaks_first:
        return "the server speaks first on this port"
    if case.speaks_tls:
        return "the server is known to speak TLS"
    cause = CLIENT_PROCESS if case.at_client else UNKNOWN
    return conclude(
        case,
        cause,
        "both_silent",
        LOW,
        f"neither side sent a byte for {span(case.length_ns)}, and it is not known whether TLS is spoken there"
        + facts.timer(case).replace(" and the silence is the cause", ""),
        [facts.handshake(case), facts.close(case), facts.place(case)],
        f"knowing what port {case.server_port} speaks (--tls {case.server_port})",
        split(case.start_ns, case.end_ns, (), cause),
    )


def await_server(case: Case) -> Judgement:
    """Most of the time before the hello was the server's: it owed a greeting or an answer."""
    turn = owed(case)
    if turn is None:
        return NO_TURN
    said = exchange(case)
    marks = list(turn.marks)
    server_turn_ref = case.start_ref
    last_is_client = bool(said) and said[-1].from_client == case.hello_from_client
    no_answer = case.is_open and (
        (last_is_client and not case.flow.preamble.startswith("proxy_v")) or (not said and case.server_speaks_first)
    )
    if no_answer:
        marks.append((case.end_ns, AWAIT_SERVER))
        if said:
            server_turn_ref = said[-1].ref
    parts = split(case.start_ns, case.end_ns, marks, turn.process)
    waited = parts.get(AWAIT_SERVER, 0)
    if 2 * waited < case.length_ns:
        return "the server did not owe a byte for most of the time"
    spoke = [seg for seg in said if seg.from_client != case.hello_from_client]
    what = "its greeting" if not said or said[0] in spoke else "an answer"
    name = case.flow.preamble.replace("_", " ") if case.flow.preamble else "a byte that the client waits for"
    return conclude(
        case,
        SERVER_PROCESS,
        "await_server",
        case.at_point(HIGH) if case.at_server else MEDIUM,
        f"for {span(waited)} of {span(case.length_ns)} the client waited for {what}, which the server owed"
        + (f" ({name})" if case.flow.preamble else ""),
        [
            Fact(
                f"Before the ClientHello the server owed {what} for {span(waited)} in all.",
                refs(server_turn_ref, *(seg.ref for seg in said)),
            ),
            facts.handshake(case),
            facts.place(case),
        ],
        AT_SERVER,
        parts,
    )
