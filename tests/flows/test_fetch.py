"""Fetching flows gives each of them once, in order, and reads all their parts before they are taken up."""

import pytest
from flow_support import SECOND, Kept, Talk
from test_table import feed

from pcapstall.flows.fetch import AT_ONCE, READ, fetch, fetched
from pcapstall.flows.flow import Flow
from pcapstall.flows.table import FlowTable

WORDS = (
    "last_ns", "closed_ns", "first_ns", "ack_ns", "client_hello_acked_ns", "server_flight_last_ns", "server_hello_end",
    "queued",
)  # fmt: skip
HALF_WORDS = ("base_seq", "packets", "watch_offset", "fin_ref")
BYTES = ("hello_message",)
PARTS = [("", name) for name in (*WORDS, *BYTES)] + [
    (half, name) for half in ("opener", "answerer") for name in HALF_WORDS
]


def made(count: int) -> list[Flow]:
    return [Flow(bytes(12), number, number, number) for number in range(count)]


def read(flows: list[Flow]) -> int:
    """What fetching ``flows`` reads."""
    before = READ.words
    fetch(flows, 0)
    return READ.words ^ before


@pytest.mark.parametrize("count", [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE])
def test_all_in_order(count: int) -> None:
    flows = made(count)
    assert [fetched(flows, at).id for at in range(count)] == list(range(count))


@pytest.mark.parametrize(("half", "name"), PARTS)
def test_every_part_of_every_flow_is_read(half: str, name: str) -> None:
    flows = made(AT_ONCE)
    for flow in (flows[0], flows[-1]):
        before = read(flows)
        part = getattr(flow, half) if half else flow
        value = getattr(part, name)
        setattr(part, name, value + b"." if isinstance(value, bytes) else value + 1)
        assert read(flows) != before


class Watching(Kept):
    """Notes what had been read when the first flow was taken up."""

    def __init__(self) -> None:
        super().__init__()
        self.before = READ.words
        self.was_read: bool | None = None

    def forgets(self, flow: Flow) -> bool:
        """As the first to be asked of a flow that is done."""
        self._look()
        return False

    def take(self, flow: Flow) -> bool:
        """The same of one that ends with the capture."""
        self._look()
        return super().take(flow)

    def _look(self) -> None:
        if self.was_read is None:
            self.was_read = READ.words != self.before


@pytest.mark.parametrize("closed", [True, False])
def test_flows_are_fetched_before_they_are_taken_up(closed: bool) -> None:
    sink = Watching()
    table = FlowTable(sink, SECOND)
    talk = Talk()
    talk.handshake()
    if closed:
        talk.close()
    feed(table, talk, 1)
    if closed:
        table.expire(talk.ns + 60 * SECOND)
    else:
        table.finish()
    assert sink.was_read
