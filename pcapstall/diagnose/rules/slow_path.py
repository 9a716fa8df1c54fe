"""Rules for a path that is as slow as that for everything: nothing was lost and nobody waited.

An interval that holds a round trip is compared with other round trips between the same hosts. Compiled.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.diagnose.case import Case
from pcapstall.diagnose.intervals import Intervals
from pcapstall.diagnose.lengths import ABSENT
from pcapstall.diagnose.rules import facts
from pcapstall.diagnose.rules.base import Judgement, conclude, span
from pcapstall.diagnose.rules.handshake import syn_answered
from pcapstall.diagnose.verdict import HIGH, MEDIUM, NETWORK, Fact
from pcapstall.wire.tls_reader import NEVER

_MOST_PERCENT: Final = 70
"""So much of the interval must be a round trip."""


def high_rtt(case: Case) -> Judgement:
    """Other round trips between the hosts take as long."""
    rtts = other_round_trips(case)
    if case.stalled in ("sh_cfin", "hrr_ch2") and case.captured_at(case.hello_from_client):
        return "the interval holds no round trip"
    if not rtts:
        return "no other round trip is known"
    shortest = min(rtts)
    way = case.way_ns(_is_to_client(case))
    if way:
        shortest = min(shortest, way)
    if 100 * shortest < _MOST_PERCENT * case.length_ns:
        return f"another round trip between the hosts took {span(shortest)} only"
    return conclude(
        case,
        NETWORK,
        "high_rtt",
        HIGH if len(rtts) > 1 else MEDIUM,
        f"the path is slow: {span(case.length_ns)} is what every round trip takes, the shortest {span(shortest)}",
        [facts.handshake(case), Fact(f"The shortest round trip between the hosts takes {span(shortest)}.")],
        "more round trips between the hosts",
    )


def other_round_trips(case: Case) -> list[int]:
    """Round trips from here to the side that was waited for and back, other than the interval itself."""
    intervals, pair = case.intervals, case.pair
    to_client = _is_to_client(case)
    own_name = "synack_ack" if to_client else "syn_synack"
    smallest: i64 = pair.syn_synack_ns
    again: i64 = pair.retried_syn_synack_ns
    if to_client:
        smallest = pair.synack_ack_ns
        again = pair.retried_synack_ack_ns
    if smallest == NEVER:
        smallest = again
    own = _closed(intervals, own_name)
    found: list[int] = []
    if case.stalled == own_name:
        own = None
    elif own is not None and own > 0 and _counts(case):
        found.append(own)
    if smallest != NEVER and smallest != _closed(intervals, own_name):
        found.append(smallest)
    ch_ack = _closed(intervals, "ch_ack")
    if not to_client and case.stalled != "ch_ack" and ch_ack is not None and ch_ack > 0:
        found.append(ch_ack)
    return found


def _closed(intervals: Intervals, name: str) -> int | None:
    """The length of a closed interval; None without one."""
    ns: int = getattr(intervals, name)
    return None if ns == ABSENT else ns


def _is_to_client(case: Case) -> bool:
    """Whether it was the client that was waited for, not the server."""
    return case.stalled in ("synack_ack", "hrr_ch2", "sh_cfin")


def _counts(case: Case) -> bool:
    """Whether the handshake's own time is a round trip, and not a timeout; or may be one, since the SYN-ACK answers the
    first of several SYNs."""
    if case.flow.syn_retries == 0 and case.flow.syn_ack_retries == 0:
        return True
    answered = syn_answered(case, case.flow.ack_ns)
    return answered is not None and answered[0] == 0
