"""Pairs of hosts in rows of words: what a dictionary of objects would hold."""

import functools
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.frames import frame_ref
from pcapstall.diagnose.pair import Pair
from pcapstall.diagnose.pairs import Pairs, is_one_host, unpacked
from pcapstall.flows.flow import Flow
from pcapstall.wire.tls_reader import NEVER

V4 = [bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]), bytes([200, 255, 0, 1]), bytes([127, 0, 0, 1]), bytes(4)]
V6 = [bytes(15) + b"\x01", b"\xfe" * 16, bytes([32, 1]) + bytes(14)]
FIELDS = (
    "syn_synack_ns",
    "synack_ack_ns",
    "retried_syn_synack_ns",
    "retried_synack_ack_ns",
    "client_ttl",
    "server_ttl",
    "file_index",
    "unshown",
    "moment",
)
TIMES = st.integers(-5, 5) | st.integers(0, 1 << 61)
TTLS = st.sampled_from([0, 1, 64, 255])


@st.composite
def flows(draw: st.DrawFn) -> Flow:
    hosts = draw(st.sampled_from([V4, V6]))
    key = draw(st.sampled_from(hosts)) + draw(st.sampled_from(hosts)) + b"\x9c\x40\x01\xbb"
    flow = Flow(key, 1, 0, frame_ref(draw(st.integers(0, 3)), 1))
    flow.opener_is_client = draw(st.booleans())
    return flow


Seen = tuple[Flow, int, int, int, int, int, int, bool]
SEEN = st.tuples(flows(), TIMES, TIMES, TIMES, TIMES, TTLS, TTLS, st.booleans())
Model = dict[bytes, Pair]


def hosts_of(flow: Flow) -> bytes:
    half = (len(flow.key) - 4) // 2
    source, destination = flow.key[:half], flow.key[half : 2 * half]
    return source + destination if flow.opener_is_client else destination + source


def see(pairs: Pairs, model: Model, seen: list[Seen], most: int) -> None:
    """What flows tell, told to both."""
    for number, (flow, to_server, to_client, again, back, client_ttl, server_ttl, shown) in enumerate(seen):
        moment = (number // 2, number)
        hosts = hosts_of(flow)
        assert (pairs.find(flow) >= 0) == (hosts in model)
        row = pairs.meet(flow, most, moment)
        pair = model.get(hosts)
        if pair is None:
            if len(model) >= most:
                assert row == -1
                continue
            pair = model[hosts] = Pair()
            pair.file_index, pair.moment = flow.first_ref >> 40, moment
        assert row == pairs.find(flow) == list(model).index(hosts)
        pairs.see_handshake(row, to_server, to_client)
        if to_server >= 0:
            pair.syn_synack_ns = min(pair.syn_synack_ns, to_server)
        if to_client >= 0:
            pair.synack_ack_ns = min(pair.synack_ack_ns, to_client)
        pairs.see_retried_handshake(row, again, back)
        pair.retried_syn_synack_ns = min(pair.retried_syn_synack_ns, again)
        pair.retried_synack_ack_ns = min(pair.retried_synack_ack_ns, back)
        pairs.see_ttls(row, client_ttl, server_ttl)
        pair.see_ttls(client_ttl, server_ttl)
        if not shown:
            pairs.count_unshown(row)
            pair.unshown += 1


def told(pair: Pair) -> list[object]:
    return [getattr(pair, name) for name in FIELDS]


def check(pairs: Pairs, model: Model) -> None:
    assert len(pairs) == len(model)
    assert {hosts: told(pair) for hosts, pair in pairs.items()} == {hosts: told(pair) for hosts, pair in model.items()}
    for row, (hosts, pair) in enumerate(pairs.items()):
        assert pairs.hosts(row) == hosts
        assert pairs.is_one_host(row) == is_one_host(hosts)
        assert (pairs.unshown(row), pairs.moment(row)) == (pair.unshown, pair.moment)


@given(st.lists(SEEN, max_size=30), st.sampled_from([3, 1 << 40]))
def test_rows_hold_what_a_dictionary_of_objects_would(seen: list[Seen], most: int) -> None:
    pairs, model = Pairs(), Model()
    see(pairs, model, seen, most)
    assert [hosts for hosts, _ in pairs.items()] == list(model)
    check(pairs, model)


@given(st.lists(SEEN, max_size=20), st.lists(SEEN, max_size=20))
def test_another_process_tells_what_it_learned(
    seen: list[Seen],
    more: list[Seen],
) -> None:
    pairs, model, theirs, their_model = Pairs(), Model(), Pairs(), Model()
    see(pairs, model, seen, 1 << 40)
    see(theirs, their_model, more, 1 << 40)
    theirs = unpacked(theirs.packed())
    check(theirs, their_model)
    pairs.absorb(theirs)
    for hosts, pair in their_model.items():
        if hosts in model:
            model[hosts].absorb(pair)
        else:
            model[hosts] = pair
    check(pairs, model)
    see(pairs, model, more, 1 << 40)
    check(pairs, model)


@given(st.lists(SEEN, min_size=1, max_size=20), st.data())
def test_some_are_picked(seen: list[Seen], data: st.DataObject) -> None:
    pairs, model = Pairs(), Model()
    see(pairs, model, seen, 1 << 40)
    assert pairs.in_order() == sorted(range(len(pairs)), key=lambda row: (pairs.moment(row), row))
    rows = data.draw(st.lists(st.integers(0, len(pairs) - 1), unique=True))
    names = list(model)
    picked = pairs.only(rows)
    some = {names[row]: model[names[row]] for row in rows}
    check(picked, some)
    see(picked, some, seen, 1 << 40)
    check(picked, some)


@given(st.lists(SEEN, max_size=20), st.lists(flows(), min_size=1, max_size=50))
def test_what_is_fetched_is_what_is_met(seen: list[Seen], asked: list[Flow]) -> None:
    """Both words that a flow reads of its hosts, or of those that took its place; that changes nothing."""
    pairs, model = Pairs(), Model()
    see(pairs, model, seen, 1 << 40)
    words = {
        hosts: int.from_bytes(hosts, "big", signed=True) ^ pair.unshown
        for hosts, pair in model.items()
        if len(hosts) == 8
    }
    for at, flow in enumerate(asked):
        read = pairs.fetch(asked, at, at + 1)
        if len(flow.key) != 12:
            assert read == 0
        else:
            assert read in words.values() or (read == 0 and hosts_of(flow) not in words)
    assert pairs.fetch(asked, 0, len(asked)) == functools.reduce(
        operator.xor, [pairs.fetch(asked, at, at + 1) for at in range(len(asked))]
    )
    check(pairs, model)


@pytest.mark.parametrize(
    ("seen", "ttl"),
    [([], 0), ([0], 0), ([64], 64), ([0, 64, 0, 64], 64), ([64, 63], -1), ([64, 63, 64], -1), ([64, 63, 0], -1)],
)
def test_a_ttl_is_that_of_all(seen: list[int], ttl: int) -> None:
    """And one side's is none of the other's."""
    pairs = Pairs()
    row = pairs.meet(Flow(V4[0] + V4[1] + b"\x9c\x40\x01\xbb", 1, 0, 1), 1, (0, 0))
    for one in seen:
        pairs.see_ttls(row, one, 255)
    pair = pairs.pair(row)
    assert (pair.client_ttl, pair.server_ttl) == (ttl, 255 if seen else 0)


@pytest.mark.parametrize("with_v6", [False, True], ids=["IPv4", "IPv4 and IPv6"])
def test_many_are_told_to_another_process(with_v6: bool) -> None:
    """First so few that they fit the places there are at first: where no more are made, more than these are never
    found."""
    for count in (250, 350, 3000):
        pairs, made = Pairs(), []
        for number in range(count):
            part = number.to_bytes(2, "big")
            if with_v6 and number % 3 == 1:
                key = bytes(14) + part + V6[0] + b"\x9c\x40\x01\xbb"
            else:
                key = bytes([10, 9]) + part + bytes([10, 1, 2, 3]) + b"\x9c\x40\x01\xbb"
            made.append(Flow(key, 1, 0, 1))
            assert pairs.meet(made[-1], count, (0, number)) == number
        found = unpacked(pairs.packed())
        assert len(found._places) >= 2 * len(found) == 2 * count
        assert [found.find(flow) for flow in made] == list(range(count))
        assert found.meet(Flow(bytes(12), 1, 0, 1), count, (0, 0)) == -1
        assert [(hosts, told(pair)) for hosts, pair in found.items()] == [
            (hosts, told(pair)) for hosts, pair in pairs.items()
        ]


@pytest.mark.parametrize("high", [False, True], ids=["next to each other", "far from each other"])
def test_many_are_told_apart(high: bool) -> None:
    pairs, count = Pairs(), 3000
    keys = []
    for number in range(count):
        part = number.to_bytes(2, "big")
        client = part + bytes(2) if high else bytes(2) + part
        keys.append(client + bytes([10, 1, 2, 3]) + b"\x9c\x40\x01\xbb")
    made = [Flow(key, 1, 0, 1) for key in keys]
    assert [pairs.meet(flow, count, (0, 0)) for flow in made] == list(range(count))
    assert [pairs.find(flow) for flow in made] == list(range(count))
    assert pairs.meet(Flow(bytes(12), 1, 0, 1), count, (0, 0)) == -1
    assert pairs.pair(count - 1).syn_synack_ns == NEVER
