"""Rules for what a kernel holds back for the other one, and for what the capture itself got wrong.

Here the capture shows the reason itself, wherever it was taken. Compiled.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.times import DAY, format_step
from pcapstall.diagnose.case import NO_LOSS, STEADY_CLOCK, Case
from pcapstall.diagnose.clock_steps import Lapse
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import AT_CLIENT, Judgement, conclude, refs, span
from pcapstall.diagnose.rules.turns import NO_TURN, owed
from pcapstall.diagnose.segments import Seg
from pcapstall.diagnose.split import split
from pcapstall.diagnose.unseen import acknowledged_before
from pcapstall.diagnose.verdict import (
    CAPTURE,
    CLIENT_KERNEL,
    CLIENT_PROCESS,
    HIGH,
    LOW,
    MEDIUM,
    NETWORK,
    SERVER_KERNEL,
    SERVER_PROCESS,
    UNKNOWN,
    Fact,
    side_of,
)
from pcapstall.wire.segment import RST, SYN

_AT_ONCE_NS: Final = 5_000_000
"""A segment that was held until an ACK leaves within this time of it."""
_DELAYED_NS: Final = 30_000_000
"""Linux delays an ACK for 40 ms, others for up to 500 ms (RFC 9293 section 3.8.6.3)."""
_SHORT: Final = 500_000_000


def clock_step(case: Case) -> Judgement:
    """The time did not go by at the hosts, or no handshake stalls for so long: the clock of the capture was set."""
    clocks = case.host_clocks
    lapse = clocks.step(case.at_client, case.at_server)
    lapses = clocks.lapses
    where = ""
    if lapse is None and clocks.are_silent:
        lapse = case.surroundings.steps.during(case.start_ns, case.end_ns)
        lapses = [lapse] if lapse is not None else []
        where = " of another connection"
    if lapse is not None:
        side = side_of(lapse.before.from_client)
        return conclude(
            case,
            CAPTURE,
            "clock_step",
            MEDIUM,
            f"the capture's clock was set forward by {format_step(case.length_ns, lapse.lacking_ns)} while it ran, "
            f"which did not go by at the {side}{where}",
            [_lapse_fact(one, where) for one in lapses],
            STEADY_CLOCK,
            split(case.start_ns, case.end_ns, [(case.end_ns - lapse.lacking_ns, UNKNOWN)], CAPTURE),
        )
    if case.length_ns <= DAY:
        return "the stall is shorter than a day, and no clock of a host contradicts it"
    return conclude(
        case,
        CAPTURE,
        "clock_step",
        LOW,
        f"the capture's clock seems to have been set forward by about {span(case.length_ns)}: that much lies between "
        "two segments of a handshake",
        [Fact("The stamps of these frames.", refs(case.start_ref, case.end_ref))],
        STEADY_CLOCK,
        split(case.start_ns, case.end_ns, (), CAPTURE),
    )


def _lapse_fact(lapse: Lapse, where: str) -> Fact:
    return Fact(
        f"Between these segments of the {side_of(lapse.before.from_client)}{where} its TCP timestamps went on by "
        f"{lapse.ticks}, and the capture's clock by {span(lapse.after.ns - lapse.before.ns)}.",
        refs(lapse.before.ref, lapse.after.ref),
    )


def missed_by_capture(case: Case) -> Judgement:
    """What was waited for had been acknowledged long before the first copy that the capture has."""
    last = case.history.at(case.end_ref) if case.end_ref else None
    if last is None:
        return "what ended the stall was not seen, or not noted"
    known = acknowledged_before(case.history, last)
    if known is None:
        return "nothing shows that it had come before"
    if 2 * (int(known.ns) - case.start_ns) > case.length_ns:
        return "most of the time had passed when it was acknowledged"
    return conclude(
        case,
        CAPTURE,
        "missed_by_capture",
        MEDIUM,
        f"the capture missed {_what(case)} when it came: the {side_of(known.from_client)} acknowledged it "
        f"{span(last.ns - known.ns)} before the copy that is here, so the {span(case.length_ns)} are nobody's",
        [
            Fact(
                f"The {side_of(known.from_client)} acknowledged what the {side_of(last.from_client)} sent before it is "
                f"here.",
                refs(known.ref, last.ref),
            )
        ],
        NO_LOSS,
        split(case.start_ns, case.end_ns, [(known.ns, UNKNOWN)], CAPTURE),
    )


def _what(case: Case) -> str:
    due = owed(case)
    return due.what if due is not None else "what was waited for"


def zero_window(case: Case) -> Judgement:
    """The side whose turn it was had no room to send into: the other one's process did not read."""
    due = owed(case)
    if due is None:
        return NO_TURN
    end_ns: i64 = case.end_ns
    peers = [
        seg for seg in case.history.of(not due.turn.from_client) if not seg.flags & (RST | SYN) and seg.ns < end_ns
    ]
    closed: Seg | None = None
    for seg in peers:
        if seg.window == 0:
            if closed is None:
                closed = seg
        elif closed is not None:
            if 2 * (int(seg.ns) - max(int(closed.ns), case.start_ns)) >= case.length_ns:
                break
            closed = None
    if closed is None:
        return "no window was closed"
    opened: Seg | None = None
    until: int = case.end_ns
    for seg in peers:
        if seg.ns > closed.ns and seg.window != 0:
            opened = seg
            until = seg.ns
            break
    shut = until - max(int(closed.ns), case.start_ns)
    if 2 * shut < case.length_ns:
        return "the window was closed for a small part of the time only"
    other = due.other_side
    cause = SERVER_PROCESS if due.turn.from_client else CLIENT_PROCESS
    return conclude(
        case,
        cause,
        "zero_window",
        HIGH,
        f"the {other}'s window was closed for {span(shut)}: its process did not read, and the {due.side} could not "
        f"send",
        [Fact(f"The {other} announces a window of 0.", refs(closed.ref, opened.ref if opened else 0))],
        "",
        split(case.start_ns, case.end_ns, [(closed.ns, UNKNOWN), (until, cause)], UNKNOWN),
    )


def nagle(case: Case) -> Judgement:
    """A short segment waited for the ACK of the one before it, which the peer delayed (RFC 9293 section 3.7.4)."""
    flow = case.flow
    if case.is_open or case.length_ns > _SHORT:
        return "it took longer than an ACK is delayed"
    last = case.history.at(case.end_ref)
    if last is None:
        return "the segments were not noted"
    mine = [seg for seg in case.history.of(last.from_client) if seg.has_data and seg.ns < last.ns]
    acks = [
        seg
        for seg in case.history.of(not last.from_client)
        if seg.ack is not None and case.start_ns <= seg.ns <= last.ns and not seg.has_data
    ]
    if not mine or not acks:
        return "no ACK came before the rest was sent"
    ack = acks[-1]
    full = case.history.full_size(last.from_client)
    if last.payload_len >= full or ack.ack != mine[-1].end or last.offset != mine[-1].end:
        return "the rest was not a short segment that waited for that ACK"
    here = case.captured_at(last.from_client)
    slack = _AT_ONCE_NS + (0 if here else 2 * case.way_ns(last.from_client))
    rtt = min(case.way_ns(not last.from_client), ack.ns - mine[-1].ns)
    if last.ns - ack.ns > slack or ack.ns - mine[-1].ns - rtt < _DELAYED_NS:
        return "the rest did not follow a delayed ACK at once"
    delayer = SERVER_KERNEL if last.from_client else CLIENT_KERNEL
    holder = CLIENT_KERNEL if last.from_client else SERVER_KERNEL
    return conclude(
        case,
        holder,
        "nagle_delayed_ack",
        HIGH if here else MEDIUM,
        f"a short segment was held until the ACK of the one before it, which came {span(ack.ns - mine[-1].ns)} later: "
        f"Nagle's algorithm at one end, delayed ACKs at the other",
        [
            Fact("The rest followed the ACK at once.", refs(mine[-1].ref, ack.ref, last.ref)),
            facts.place(case),
        ],
        AT_CLIENT,
        split(flow.client_hello_first_ns, case.end_ns, [(case.start_ns + rtt, NETWORK), (ack.ns, delayer)], holder),
        side="",
    )
