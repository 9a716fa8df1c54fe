"""A connection of the client's capture alone: what the server's capture, which lacks it, says of that, and what not."""

import pytest
from test_simulated import findings
from wire_support import SECOND, START_NS, SYN, Road

from pcapstall.diagnose.two_ends.clock import Clock, Sample, clock_of
from pcapstall.diagnose.two_ends.lone import judge_never_there
from pcapstall.diagnose.two_ends.scene import Span

ALL = Span(START_NS, START_NS + 60 * SECOND)
EARLY = Span(START_NS - 60 * SECOND, START_NS - SECOND)
ONE = "none of these SYNs; it was running for "


def clock() -> Clock:
    made = clock_of([Sample(START_NS, START_NS + 100, True), Sample(START_NS + 300, START_NS + 200, False)])
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("span", "known", "fact", "settle"),
    [
        (ALL, True, ONE + "all of them.", "a capture between the two ends"),
        (ALL, False, ONE + "all of them.", "knowing that the capture at the server would show that port and address"),
        (Span(START_NS, START_NS + 2 * SECOND), True, ONE + "2 of them.", "a capture between the two ends"),
        (EARLY, True, "nor any packet from after them.", "a capture at the server that surely went on until then"),
    ],
)
def test_syns_that_never_came(span: Span, known: bool, fact: str, settle: str) -> None:
    road = Road()
    for at in (0, 1, 3, 7):
        road.c(at * SECOND, SYN, lost_at=0.5)
    found, _ = findings(road, "client", int)
    (flow,) = found.flows()
    verdict = judge_never_there(found.case(flow), clock(), span, known)
    assert verdict is not None
    assert (verdict.cause, verdict.reason, verdict.confidence) == ("network_to_server", "filtered", "medium")
    assert verdict.evidence[0].text.endswith(fact)
    assert verdict.would_settle == settle
    without = judge_never_there(found.case(flow), None, span, known)
    assert without is not None
    assert without.cause != "network_to_server"
