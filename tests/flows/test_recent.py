"""The short cut from a segment's endpoints to its half-flow: it may forget, and never takes one half for another."""

from hypothesis import given
from hypothesis import strategies as st

from pcapstall.flows.flow import NOBODY, Flow, HalfFlow
from pcapstall.flows.recent import PLACES, RecentHalves, _place
from pcapstall.wire.segment import Segment


def between(source: int, destination: int) -> Segment:
    segment = Segment()
    segment.source = source
    segment.destination = destination
    return segment


def a_half() -> HalfFlow:
    return Flow(b"", b"", 1, 0, 0).opener


CROWD = [source for source in range(20 * PLACES) if _place(source, 1) == _place(0, 1)][:6]
"""Sources that are looked for in the same two places when the destination is 1."""


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(CROWD)), max_size=60))
def test_the_last_two_of_a_crowd_are_found_and_nobody_is_taken_for_another(steps: list[tuple[bool, int]]) -> None:
    recent = RecentHalves()
    known: dict[int, HalfFlow] = {}
    latest = -1
    for sends, source in steps:
        found = recent.find(between(source, 1))
        assert found is known.get(source, NOBODY.opener) or found is NOBODY.opener
        if sends and found is NOBODY.opener:
            half = known.setdefault(source, a_half())
            recent.put(half, source, 1)
            assert recent.find(between(source, 1)) is half
            if latest in known:
                assert recent.find(between(latest, 1)) is known[latest]
            latest = source
        elif not sends and source in known:
            recent.remove(known.pop(source))
            assert recent.find(between(source, 1)) is NOBODY.opener


def test_a_host_that_talks_to_its_own_port_is_found_as_the_opener() -> None:
    recent = RecentHalves()
    flow = Flow(b"", b"", 1, 0, 0)
    recent.put(flow.answerer, 7, 7)
    recent.put(flow.opener, 7, 7)
    assert recent.find(between(7, 7)) is flow.opener
    recent.remove(flow.opener)
    recent.remove(flow.answerer)
    assert recent.find(between(7, 7)) is NOBODY.opener
