"""Histories that are kept: the same as long as the flow has the same notes, and never more than a bounded number."""

from wire_support import SECOND, Road, flows_of, merged

from pcapstall.diagnose.histories import Histories
from pcapstall.flows.flow import Flow


def followed(count: int = 1) -> list[Flow]:
    roads = [Road(client_port=40_000 + n) for n in range(count)]
    for road in roads:
        road.handshake(SECOND)
    return flows_of(merged(*(road.captured("client") for road in roads)))


def test_a_history_is_made_once() -> None:
    (flow,) = followed()
    histories = Histories(1)
    assert histories.of(flow) is histories.of(flow)


def test_of_a_flow_whose_notes_were_made_anew_another_one_is_made() -> None:
    (flow,), (again,) = followed(), followed()
    histories = Histories(1)
    before = histories.of(flow)
    flow.book = again.book
    after = histories.of(flow)
    assert after is not before
    assert len(after.segs) == len(before.segs)
    assert histories.of(flow) is after


def test_no_more_are_kept_than_there_may_be() -> None:
    first, second = followed(2)
    histories = Histories(1)
    kept = histories.of(first)
    assert histories.of(second) is not histories.of(second)
    assert histories.of(first) is kept
    assert Histories().of(first) is not kept
