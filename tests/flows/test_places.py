"""Every flow is found by the segments of both its directions and by no others, however many share a place."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.flows.flow import NOBODY, Flow
from pcapstall.flows.keys import reverse_key, segment_of
from pcapstall.flows.places import GONE_MAX, PLACES, FlowPlaces
from pcapstall.wire.segment import V6_ENDPOINT

V4 = [bytes([10, 0, a, b, 10, 0, a, b]) for a in (0, 200) for b in (1, 255)]
PORTS = [ours + theirs for ours in (b"\x00\x07", b"\xff\xff") for theirs in (b"\x00\x07", b"\x80\x01")]
# The numbers of these endpoints are the same: two words were moved by the shifts that mix them (wire.segment).
ALIKE = [(number << 7).to_bytes(4, "big") + (number << 2).to_bytes(4, "big") + bytes(8) for number in range(6)]
V6 = [ours + theirs for ours in ALIKE[:4] for theirs in ALIKE[:4]]
KEYS = [*(address + ports for address in (*V4, *V6) for ports in PORTS)]


def one_place() -> FlowPlaces:
    """All flows are in the same place."""
    places = FlowPlaces()
    places._last = 0
    return places


def is_found(places: FlowPlaces, key: bytes) -> Flow | None:
    half = places.find(segment_of(key))
    if half is NOBODY.opener:
        return None
    flow = half.flow
    assert half is (flow.opener if key == flow.key else flow.answerer)
    return flow


@pytest.mark.parametrize("make", [FlowPlaces, one_place])
@given(steps=st.lists(st.tuples(st.booleans(), st.sampled_from(KEYS)), max_size=80))
def test_as_a_dictionary_of_keys(make: Callable[[], FlowPlaces], steps: list[tuple[bool, bytes]]) -> None:
    places = make()
    model: dict[frozenset[bytes], Flow] = {}
    for number, (comes, key) in enumerate(steps):
        both = frozenset((key, reverse_key(key)))
        assert is_found(places, key) is is_found(places, reverse_key(key)) is model.get(both)
        if comes and both not in model:
            model[both] = Flow(key, number, 0, 0)
            places.add(model[both], segment_of(key))
        elif not comes and both in model:
            places.remove(model.pop(both))
        assert places.in_order() == list(model.values())
        assert len(places) == len(model)
    for key in KEYS:
        assert is_found(places, key) is model.get(frozenset((key, reverse_key(key))))


def test_the_order_stays_while_many_come_and_go() -> None:
    places = FlowPlaces()
    flows = []
    for number in range(5 * (PLACES + GONE_MAX)):
        key = bytes([10]) + number.to_bytes(3, "big") + bytes([10, 0, 0, 1]) + b"\x80\x00\x01\xbb"
        flows.append(Flow(key, number, 0, 0))
        places.add(flows[-1], segment_of(key))
        if number % 5:
            places.remove(flows[number - number % 3])
            flows[number - number % 3] = NOBODY
        if flows[number - number % 3] is NOBODY:
            passing = Flow(key[::-1], 0, 0, 0)
            places.add(passing, segment_of(key[::-1]))
            places.remove(passing)
    stay = [flow for flow in flows if flow is not NOBODY]
    assert places.in_order() == stay
    assert all(is_found(places, flow.key) is flow for flow in stay)
    # After all the moving up each still knows where it is.
    for flow in stay[::2]:
        places.remove(flow)
    assert places.in_order() == stay[1::2]
    assert len(places) == len(stay[1::2])


def test_who_is_gone_may_be_taken_out_again() -> None:
    places = FlowPlaces()
    flow = Flow(KEYS[0], 1, 0, 0)
    places.add(flow, segment_of(KEYS[0]))
    places.remove(flow)
    places.remove(flow)
    assert len(places) == 0


def test_who_is_gone_holds_none_of_those_that_stay() -> None:
    places = one_place()
    flows = [Flow(key, number, 0, 0) for number, key in enumerate(KEYS[:3])]
    for flow in flows:
        places.add(flow, segment_of(flow.key))
    assert [flow.beside for flow in flows] == [None, *flows[:2]]
    for flow in (flows[1], flows[2]):
        places.remove(flow)
        assert flow.beside is None
    assert is_found(places, KEYS[0]) is flows[0]


def crowd(keys: list[bytes]) -> int:
    """How many flows are in the fullest place."""
    places = FlowPlaces()
    for number, key in enumerate(keys):
        places.add(Flow(key, number, 0, 0), segment_of(key))
    fullest = 0
    for at in range(len(places._places)):
        flow, found = places._places[at], 0
        while flow is not None:
            flow, found = flow.beside, found + 1
        fullest = max(fullest, found)
    return fullest


PAIR = PORTS[1]
SCANS = {
    "ports": [b"\n\0\0\1\n\0\0\2" + number.to_bytes(2, "big") + b"\1\xbb" for number in range(8000)],
    "hosts": [b"\n" + number.to_bytes(3, "big") + b"\n\0\0\2\x80\0\1\xbb" for number in range(8000)],
    "high bits": [(number << 12).to_bytes(4, "big") + b"\n\0\0\2\x80\0\1\xbb" for number in range(8000)],
    "both": [
        b"\n\0" + (n % 89).to_bytes(2, "big") + b"\n\1" + (n // 89).to_bytes(2, "big") + PAIR for n in range(7921)
    ],
    "sums": [b"\n\0" + n.to_bytes(2, "big") + b"\n\0" + (16_000 - n).to_bytes(2, "big") + PAIR for n in range(8000)],
    "IPv6": [(n << 7).to_bytes(4, "big") + (n << 2).to_bytes(4, "big") + bytes(24) + PAIR for n in range(8000)],
}


@pytest.mark.parametrize("scan", SCANS)
def test_nobody_makes_a_place_crowded(scan: str) -> None:
    assert crowd(SCANS[scan]) <= 12


def test_ipv6_endpoints_of_the_same_number_are_told_apart() -> None:
    segments = [segment_of(key) for key in SCANS["IPv6"][:100]]
    assert len({segment.source for segment in segments}) == 1
    assert segments[0].source >= V6_ENDPOINT
