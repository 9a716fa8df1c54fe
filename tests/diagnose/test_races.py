"""Lost races among many connections: what is found by spans of time is what a search through all of them finds."""

from hypothesis import given
from hypothesis import strategies as st

from pcapstall.diagnose.connections import Connection, add_connection
from pcapstall.diagnose.intervals import SYN_RETRY_NS
from pcapstall.diagnose.knowledge import Knowledge
from pcapstall.diagnose.races import START_WITHIN_NS, Races
from pcapstall.flows.flow import Flow

STEP_NS = 200_000_000
CLIENTS = (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]), bytes(15) + b"\x01")
PORTS = (b"\x01\xbb", b"\x00\x50")

stamps = st.integers(-40, 40).map(lambda step: step * STEP_NS)


@st.composite
def keys(draw: st.DrawFn) -> bytes:
    client = draw(st.sampled_from(CLIENTS))
    return client + client[:-1] + bytes([draw(st.integers(7, 8))]) + b"\x9c\x40" + draw(st.sampled_from(PORTS))


@st.composite
def connections(draw: st.DrawFn) -> Connection:
    syn_ns = draw(stamps)
    return Connection(
        draw(keys()), draw(st.integers(0, 7)) > 0, syn_ns, syn_ns + draw(st.integers(0, 9)) * STEP_NS, True
    )


@st.composite
def flows(draw: st.DrawFn) -> Flow:
    key, syn_ns = draw(keys()), draw(stamps)
    flow = Flow(key, 1, syn_ns, 1)
    flow.syn_ref, flow.syn_ns = 1, syn_ns
    flow.last_ns = syn_ns + draw(st.integers(0, 9)) * STEP_NS
    if draw(st.booleans()):
        rare = flow.opener.rare()
        rare.rst_ref, rare.rst_ns = 2, syn_ns + draw(st.integers(0, 9)) * STEP_NS
    return flow


def wins(connection: Connection, flow: Flow) -> bool:
    """Whether ``connection`` won against ``flow``, by the rule itself."""
    other_family = len(connection.key) != len(flow.key)
    same_client = connection.key[: (len(flow.key) - 4) // 2] == flow.key[: (len(flow.key) - 4) // 2]
    if connection.key[-2:] != flow.key[-2:] or not (other_family or same_client):
        return False
    if not connection.connected or connection.key[:-4] == flow.key[:-4]:
        return False
    if abs(connection.syn_ns - flow.syn_ns) > START_WITHIN_NS:
        return False
    if flow.opener.rst_ref:
        return connection.ack_ns <= flow.opener.rst_ns
    return flow.last_ns <= connection.ack_ns <= 2 * flow.last_ns - flow.syn_ns + SYN_RETRY_NS


@given(st.lists(connections(), max_size=12), st.lists(flows(), min_size=1, max_size=4))
def test_a_race_is_lost_when_any_connection_won(known: list[Connection], asked: list[Flow]) -> None:
    knowledge = Knowledge()
    for one in known:
        add_connection(knowledge.connections, one.key, one.connected, one.syn_ns, one.ack_ns, one.speaks_tls)
    races = Races(knowledge)
    for flow in asked:
        assert races.is_lost_by(flow) == any(wins(connection, flow) for connection in known)


def test_a_connection_that_came_about_has_lost_nothing() -> None:
    key = CLIENTS[0] + bytes([10, 0, 0, 7]) + b"\x9c\x40" + PORTS[0]
    knowledge = Knowledge()
    add_connection(knowledge.connections, CLIENTS[0] + bytes([10, 0, 0, 8]) + key[-4:], True, 0, STEP_NS, True)
    flow = Flow(key, 1, 0, 1)
    assert not Races(knowledge).is_lost_by(flow)
    flow.syn_ref = 1
    assert Races(knowledge).is_lost_by(flow)
    flow.ack_ref = 2
    assert not Races(knowledge).is_lost_by(flow)
