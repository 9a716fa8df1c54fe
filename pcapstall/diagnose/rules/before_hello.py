"""Rules for the time before a hello in which the server owed a greeting or an answer, or what the client said was lost.

Plain proofs of a silent client are in `waiting`, ports of which nobody knows what they speak in `plaintext`. Compiled.
"""

from mypy_extensions import i64

from pcapstall.core.counts import several
from pcapstall.diagnose.case import Case
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import AT_SERVER, Judgement, conclude, refs, span, times
from pcapstall.diagnose.rules.turns import NO_TURN, exchange, owed
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.sight import misses_bytes
from pcapstall.diagnose.split import split
from pcapstall.diagnose.verdict import AWAIT_SERVER, HIGH, LOW, MEDIUM, NETWORK, SERVER_PROCESS, UNKNOWN, Fact
from pcapstall.wire.preamble_names import GREETING


def unacknowledged_request(case: Case) -> Judgement:
    """What the client said before its hello was not acknowledged: the server may never have got it."""
    if not case.is_open:
        return "the ClientHello came"
    mine = [seg for seg in case.history.of(case.hello_from_client) if seg.has_data and seg.ns <= case.end_ns]
    # A copy may be the very last packet; nothing has been waited for that first comes then.
    if not mine or mine[0].ns == case.end_ns:
        return "the client said nothing"
    highest = max(seg.end for seg in mine)
    acks = [seg.ack for seg in case.history.of(not case.hello_from_client) if seg.ack is not None and not seg.is_rst]
    acked = max(acks, default=0)
    if acked >= highest:
        return "what the client said was acknowledged"
    copies = [seg for seg in mine if seg.offset <= acked < seg.end]
    icmp = facts.too_big(case, case.hello_from_client)
    since_ns: i64 = mine[-1].ns
    if copies:
        since_ns = copies[0].ns
    sent = Fact(
        f"{several(copies[0].payload_len if copies else 0, 'byte')} of the client, sent {times(len(copies))}, were not "
        f"acknowledged.",
        refs(*(seg.ref for seg in copies)),
    )
    parts = split(case.start_ns, case.end_ns, [(since_ns, UNKNOWN)], NETWORK if icmp else UNKNOWN)
    if icmp is not None:
        return conclude(
            case,
            NETWORK,
            "mtu_black_hole",
            HIGH if len(copies) > 1 else MEDIUM,
            f"what the client sent is too big for a link on its way and never came to the server, for "
            f"{span(case.end_ns - since_ns)}",
            [sent, icmp, facts.handshake(case), facts.place(case)],
            AT_SERVER,
            parts,
        )
    return conclude(
        case,
        UNKNOWN,
        "await_server",
        MEDIUM if len(copies) > 1 else LOW,
        f"what the client sent before any ClientHello was not acknowledged for {span(case.end_ns - since_ns)}: lost on "
        f"its way, not taken by the server's host, or answered outside of this capture",
        [sent, facts.handshake(case), facts.place(case)],
        AT_SERVER,
        parts,
    )


def await_server(case: Case) -> Judgement:
    """Most of the time before the hello was the server's: it owed a greeting or an answer."""
    due = owed(case)
    if due is None:
        return NO_TURN
    said = exchange(case)
    marks = list(due.marks)
    owes = ""
    if case.is_open:
        owes = case.flow.owes or (GREETING if not said and case.server_speaks_first else "")
        if misses_bytes(case.flow.server()):
            return "the capture lacks bytes of the server"
    if owes:
        marks.append((case.end_ns, AWAIT_SERVER))
    parts = split(case.start_ns, case.end_ns, marks, due.process)
    waited = parts.get(AWAIT_SERVER, 0)
    if 2 * waited < case.length_ns:
        return "the server did not owe a byte for most of the time"
    greeting = owes == GREETING or not said or said[0].from_client != case.hello_from_client
    what = "the greeting" if greeting else "an answer"
    name = case.flow.preamble.replace("_", " ").upper()
    trips = _round_trips(case, said)
    slow_path = 2 * trips >= waited
    all_of_it = 20 * waited >= 19 * case.length_ns
    sentence = (
        f"the client waited {span(waited)}{'' if all_of_it else f' of {span(case.length_ns)}'} for {what} that the "
        f"server owed"
        + (f" ({name})" if name else "")
        + (f"; {span(trips)} of that was the way there and back" if slow_path else "")
        + (facts.timer(case, silence_is_cause=False) if case.is_open else "")
    )
    facts_of_it = [
        _longest_wait(case, said, owes),
        Fact(f"The shortest round trip between the hosts takes {span(case.rtt_ns)}.") if slow_path else None,
        facts.handshake(case),
        facts.close(case),
        facts.place(case),
    ]
    if slow_path:
        return conclude(case, NETWORK, "await_server", MEDIUM, sentence, facts_of_it, AT_SERVER, parts)
    confidence = case.at_point(HIGH) if case.at_server else MEDIUM
    return conclude(case, SERVER_PROCESS, "await_server", confidence, sentence, facts_of_it, AT_SERVER, parts)


def _round_trips(case: Case, said: list[Seg]) -> int:
    """How much of the time that the server's answers took was the way there and back, as seen from here."""
    found, asked_ns = 0, 0
    for seg in said:
        if seg.from_client == case.hello_from_client:
            asked_ns = seg.ns
        elif asked_ns:
            found += min(seg.ns - asked_ns, case.rtt_ns)
            asked_ns = 0
    return found


def _longest_wait(case: Case, said: list[Seg], owes: str) -> Fact:
    """The longest time that the server let the client wait, and the frames that it lies between."""
    asked_ns, asked_ref = case.start_ns, case.start_ref
    waits: list[tuple[int, int, int]] = []
    for seg in said:
        if seg.from_client != case.hello_from_client:
            waits.append((seg.ns - asked_ns, asked_ref, seg.ref))
        asked_ns, asked_ref = seg.ns, seg.ref
    if owes:
        waits.append((case.end_ns - asked_ns, asked_ref, 0))
    longest, before, after = max(waits, default=(0, asked_ref, 0))
    if after:
        return Fact(f"The server let {span(longest)} pass before these bytes of its own.", refs(before, after))
    return Fact(f"Nothing of what it owed came in the {span(longest)} after this.", refs(before))
