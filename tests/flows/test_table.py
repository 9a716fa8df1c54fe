"""The table of flows: what is forgotten when, and what that leaves behind."""

from flow_support import ACK, CLIENT, FIN, RST, SECOND, START_NS, SYN, Kept, Talk, between, to_segment
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.flows.flow import Flow
from pcapstall.flows.table import FlowSink, FlowTable


class Forgetful(FlowSink):
    """Wants no flow."""

    def __init__(self) -> None:
        self.forgotten = 0

    def forgets(self, flow: Flow) -> bool:
        """Every one."""
        self.forgotten += 1
        return True

    def take(self, flow: Flow) -> bool:
        """None."""
        return False


def key_of(number: int, from_client: bool) -> bytes:
    """Endpoints of the ``number``-th client."""
    source, destination = bytes([10, 1]) + number.to_bytes(2, "big"), CLIENT[4:8]
    ports = CLIENT[8:12]
    return source + destination + ports if from_client else destination + source + ports[2:] + ports[:2]


def feed(table: FlowTable, talk: Talk, number: int) -> None:
    for frame, packet in enumerate(talk.packets, 1):
        segment = to_segment(packet, frame)
        between(segment, key_of(number, packet.from_client))
        table.add(segment)


def probe(seconds: int = 0) -> Talk:
    talk = Talk()
    talk.ns += seconds * SECOND
    talk.handshake()
    talk.close()
    return talk


def test_forgotten_flows_give_their_notes_back() -> None:
    sink = Forgetful()
    table = FlowTable(sink, SECOND)
    for number in range(100):
        feed(table, probe(), number)
    assert table.limits.notes > 0
    table.expire(probe().ns + 10 * SECOND)
    assert (len(table), sink.forgotten, table.limits.notes) == (0, 100, 0)


@given(
    st.lists(st.integers(-100, 100), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(-90, 90)), min_size=1, max_size=8),
    st.integers(0, 39),
)
def test_when_a_flow_is_forgotten_depends_on_no_other(
    steps: list[int], looks: list[tuple[int, int]], chosen: int
) -> None:
    """However the clock goes back: one flow among others, and by itself."""
    chosen %= len(steps)
    numbers = range(len(steps))
    assert forgotten_at(steps, looks, set(numbers), chosen) == forgotten_at(steps, looks, {chosen}, chosen)


def forgotten_at(steps: list[int], looks: list[tuple[int, int]], fed: set[int], chosen: int) -> int:
    """The look at which the flow ``chosen`` was gone; each begins ``steps`` seconds after the one before."""
    table = FlowTable(Forgetful(), SECOND)
    seconds = 1000
    left = iter(looks)
    after, later = next(left)
    look = 0
    found = -1
    for number, step in enumerate([*steps, *[0] * 41]):
        seconds += step
        if number in fed:
            talk = probe(seconds)
            feed(table, talk, number)
        for _ in range(2):
            if number == after and found < 0:
                look += 1
                table.expire(START_NS + (seconds + later) * SECOND)
                if number >= chosen and all(flow.key != key_of(chosen, True) for flow in table._flows.in_order()):
                    found = look
        if number >= after:
            step_on = next(left, None)
            if step_on is None:
                return found
            after, later = number + 1 + step_on[0] // 4, step_on[1]
    return found


def test_a_busy_flow_does_not_keep_those_behind_it() -> None:
    """A stray RST, and the flow goes on: the ones that closed after it are forgotten all the same."""
    sink = Forgetful()
    table = FlowTable(sink, SECOND)
    busy = Talk()
    busy.handshake()
    busy.server(flags=RST)
    feed(table, busy, 1)
    for number in range(2, 50):
        feed(table, probe(), number)
    late = Talk()
    late.ns = busy.ns + 5 * SECOND
    late.packets = [late.client(b"more")]
    feed(table, late, 1)
    table.expire(late.ns)
    assert len(table) == 1


def test_stragglers_of_a_forgotten_flow_begin_no_new_one() -> None:
    sink = Forgetful()
    table = FlowTable(sink, SECOND)
    talk = probe()
    feed(table, talk, 1)
    table.expire(talk.ns + 2 * SECOND)
    straggler = Talk()
    straggler.ns = talk.ns + 3 * SECOND
    straggler.client(flags=FIN | ACK)
    feed(table, straggler, 1)
    assert len(table) == 0
    again = Talk(client_isn=5)
    again.ns = talk.ns + 4 * SECOND
    again.client(flags=SYN)
    feed(table, again, 1)
    assert len(table) == 1


def test_what_is_wanted_stays_for_its_stragglers() -> None:
    sink = Kept()
    table = FlowTable(sink, SECOND)
    talk = probe()
    feed(table, talk, 1)
    table.expire(talk.ns + 10 * SECOND)
    assert (len(table), sink.flows) == (1, [])
    table.expire(talk.ns + 200 * SECOND)
    assert (len(table), len(sink.flows)) == (0, 1)


def test_source_and_destination_may_be_the_same() -> None:
    """A LAND packet, or a port that connected to itself: one key for both directions, and its reuse."""
    sink = Kept()
    table = FlowTable(sink, SECOND)
    for frame, isn in enumerate((100, 200, 200, 300), 1):
        talk = Talk(client_isn=isn)
        segment = to_segment(talk.client(flags=SYN), frame)
        between(segment, CLIENT[:4] + CLIENT[:4] + CLIENT[10:] + CLIENT[10:])
        table.add(segment)
    table.finish()
    assert len(sink.flows) == 3
