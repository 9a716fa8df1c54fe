"""Rules for ends of which one, or both, may not speak TLS: silence on an unknown port, bytes that are none, plain HTTP.

Whose mistake it was is not in the packets; what was said is. Turns within known protocols are in `before_hello`.
Compiled.
"""

from mypy_extensions import i64

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import Judgement, conclude, refs, span
from pcapstall.diagnose.rules.turns import exchange
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.split import split
from pcapstall.diagnose.verdict import CLIENT_PROCESS, LOW, MEDIUM, UNKNOWN, Fact
from pcapstall.wire.preamble_names import UNKNOWN as UNKNOWN_BYTES


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
        + facts.timer(case, silence_is_cause=False),
        [facts.handshake(case), facts.close(case), facts.place(case)],
        what_it_speaks(case),
        split(case.start_ns, case.end_ns, (), cause),
    )


def unknown_request(case: Case) -> Judgement:
    """The client sent bytes of no known protocol, and nothing came back."""
    if not case.is_open:
        return "the ClientHello came"
    said = exchange(case)
    if not said or said[-1].from_client != case.hello_from_client:
        return "the client did not speak last"
    if case.flow.preamble:
        return f"what the client said is known ({case.flow.preamble})"
    count = sum(seg.payload_len for seg in said if seg.from_client == case.hello_from_client)
    return conclude(
        case,
        UNKNOWN,
        "await_server",
        LOW,
        f"the client sent {count} bytes that are no TLS, and nothing came back for {span(case.end_ns - said[-1].ns)}: "
        f"whose turn it was is not known",
        [
            Fact("Bytes that are neither TLS nor anything known to come before it.", refs(*(seg.ref for seg in said))),
            facts.handshake(case),
            facts.close(case),
            facts.place(case),
        ],
        what_it_speaks(case),
        split(case.start_ns, case.end_ns, [(said[-1].ns, CLIENT_PROCESS)], UNKNOWN),
    )


def answered_otherwise(case: Case) -> Judgement:
    """The server answered the ClientHello with something that is no TLS."""
    answer = case.flow.answer
    if not answer:
        return "the server's bytes, if any, are TLS"
    hello_ns: i64 = case.flow.client_hello_last_ns
    first: Seg | None = None
    for seg in case.history.of(not case.hello_from_client):
        if seg.has_data and seg.ns >= hello_ns:
            first = seg
            break
    if answer == "ssh":
        what = "an SSH banner"
    elif answer == "html":
        what = "a page of HTML"
    elif answer == UNKNOWN_BYTES:
        what = "bytes that are no TLS"
    else:
        what = f"plain HTTP (status {answer.removeprefix('http_')})"
    return conclude(
        case,
        UNKNOWN,
        "not_tls",
        MEDIUM,
        f"the server answered the ClientHello with {what}: port {case.server_port} does not speak TLS, or not to this "
        f"client",
        [
            Fact(
                f"The ClientHello, and {what} in answer.",
                refs(case.flow.client_hello_last_ref, first.ref if first else 0),
            ),
            facts.place(case),
        ],
        f"knowing whether port {case.server_port} is meant to speak TLS",
    )


def what_it_speaks(case: Case) -> str:
    """What would settle a verdict on a port of which nobody knows what it speaks."""
    return f"knowing what port {case.server_port} speaks (--tls {case.server_port})"
