"""Which flows of two captures are one connection: by numbers that it keeps, never by a guess."""

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.diagnose.two_ends.pairing import (
    BY_CLIENT_ISN,
    BY_ISNS,
    BY_RANDOM,
    BY_SERVER_ISN,
    Pairing,
    pair_flows,
    signature,
)
from pcapstall.flows.flow import Flow


def flow(
    number: int, client_isn: int = -1, server_isn: int = -1, random: bytes = b"", *, host: int = 1, syn: bool = True
) -> Flow:
    """A flow with these numbers; -1 for one that was not seen."""
    key = bytes([10, 0, 0, host, 10, 0, 0, 99, 0x90, number % 256, 0x01, 0xBB])
    made = Flow(key, number, number, number)
    if client_isn >= 0 and syn:
        made.syn_ref = number
    if server_isn >= 0 and syn:
        made.syn_ack_ref = number
    made.client().base_seq = (client_isn + 1) % 2**32 if client_isn >= 0 else -1
    made.server().base_seq = (server_isn + 1) % 2**32 if server_isn >= 0 else -1
    if random:
        made.hello_message = b"\x01\x00\x00\x23\x03\x03" + random.ljust(32) + b"\x00"
    return made


def found(pairing: Pairing) -> list[tuple[int, int, str]]:
    return [(pair.client.id, pair.server.id, pair.way) for pair in pairing.pairs]


def test_both_initial_sequence_numbers() -> None:
    pairing = pair_flows([flow(1, 100, 200), flow(2, 100, 201)], [flow(1, 100, 201), flow(2, 100, 200)])
    assert found(pairing) == [(1, 2, BY_ISNS), (2, 1, BY_ISNS)]
    assert pairing.client_only == pairing.server_only == []


def test_the_largest_number_is_one() -> None:
    assert signature(flow(1, 2**32 - 1, 0)).client_isn == 2**32 - 1
    assert found(pair_flows([flow(1, 2**32 - 1, 0)], [flow(1, 2**32 - 1, 0)])) == [(1, 1, BY_ISNS)]


def test_rewritten_numbers_leave_the_random() -> None:
    assert found(pair_flows([flow(1, 1, 2, b"r")], [flow(1, 3, 4, b"r")])) == [(1, 1, BY_RANDOM)]


def test_a_capture_that_began_later_has_the_random() -> None:
    assert found(pair_flows([flow(1, 1, 2, b"r")], [flow(1, 9, 9, b"r", syn=False)])) == [(1, 1, BY_RANDOM)]


def test_a_syn_ack_that_never_came_leaves_the_clients_number() -> None:
    assert found(pair_flows([flow(1, 7)], [flow(1, 7, 8)])) == [(1, 1, BY_CLIENT_ISN)]


def test_one_number_is_not_enough_against_another() -> None:
    assert found(pair_flows([flow(1, 7, 9)], [flow(1, 7, 8)])) == []
    assert found(pair_flows([flow(1, 7, random=b"a")], [flow(1, 7, 8, b"b")])) == []


def test_the_servers_number_alone() -> None:
    one = flow(1, -1, 8)
    one.syn_ack_ref = 1
    assert found(pair_flows([one], [flow(1, 7, 8)])) == [(1, 1, BY_SERVER_ISN)]


def test_what_fits_twice_is_left_alone_and_named() -> None:
    pairing = pair_flows([flow(1, 7, host=3)], [flow(1, 7, 8), flow(2, 7, 9)])
    assert found(pairing) == []
    (lone,) = pairing.client_only
    assert [other.id for other in lone.candidates] == [1, 2]
    assert [[other.id for other in each.candidates] for each in pairing.server_only] == [[1], [1]]


def test_both_sides_of_a_translation_in_one_capture() -> None:
    """The untranslated copy is the one that the other end has, too."""
    pairing = pair_flows([flow(1, 7, 8, host=5), flow(2, 7, 8)], [flow(2, 7, 8)])
    assert found(pairing) == [(2, 2, BY_ISNS)]
    assert [lone.flow.id for lone in pairing.client_only] == [1]


@given(
    st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)), unique=True, max_size=20), st.randoms()
)
def test_the_order_of_flows_does_not_matter(numbers: list[tuple[int, int]], shuffle: object) -> None:
    here = [flow(at, *both) for at, both in enumerate(numbers, 1)]
    there = [flow(at, *both, host=77) for at, both in enumerate(numbers, 1)]
    shuffle.shuffle(there)  # type: ignore[attr-defined]
    assert found(pair_flows(here, there)) == [(at, at, BY_ISNS) for at in range(1, len(numbers) + 1)]


@given(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3), st.sampled_from([b"", b"a", b"b"])), max_size=8),
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3), st.sampled_from([b"", b"a", b"b"])), max_size=8),
)
def test_no_flow_is_paired_twice_or_lost(
    mine: list[tuple[int, int, bytes]], theirs: list[tuple[int, int, bytes]]
) -> None:
    here = [flow(at, *numbers) for at, numbers in enumerate(mine, 1)]
    there = [flow(at, *numbers, host=7) for at, numbers in enumerate(theirs, 1)]
    pairing = pair_flows(here, there)
    left = [pair.client.id for pair in pairing.pairs] + [lone.flow.id for lone in pairing.client_only]
    right = [pair.server.id for pair in pairing.pairs] + [lone.flow.id for lone in pairing.server_only]
    assert sorted(left) == list(range(1, len(mine) + 1))
    assert sorted(right) == list(range(1, len(theirs) + 1))
    turned = pair_flows(there, here)
    assert sorted((b, a, way) for a, b, way in found(turned)) == sorted(found(pairing))


def calls(here: list[Flow], there: list[Flow]) -> int:
    """How many functions are called to pair them."""
    count = 0

    def count_one(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(count_one)
    try:
        pair_flows(here, there)
    finally:
        sys.setprofile(before)
    return count


SCANS = {
    "one number": lambda number: flow(number, 7, host=number // 256),
    "one number, translated": lambda number: flow(number, 7, host=number // 256 + 100 * (number % 2)),
    "other answers": lambda number: flow(number, 7, number, host=number // 256),
}
"""What a scan that sends all of its SYNs with one number leaves in the capture at the client."""


@pytest.mark.parametrize("kind", SCANS)
def test_the_work_grows_as_the_flows_do_though_all_have_one_number(kind: str) -> None:
    def work(count: int) -> int:
        here = [SCANS[kind](number) for number in range(1, count)]
        there = [flow(number, 7, 10_000 + number, host=50 + number // 256) for number in range(1, count)]
        there += [flow(number, 7, host=number // 256) for number in range(count, 2 * count)]
        return calls(here, there)

    assert work(800) < 3 * work(400)


def test_candidates_are_few_and_kept_once() -> None:
    here = [flow(number, 7, host=1) for number in range(1, 100)]
    there = [flow(number, 7, host=2) for number in range(1, 100)]
    pairing = pair_flows(here, there)
    assert not pairing.pairs
    assert {len(lone.candidates) for lone in [*pairing.client_only, *pairing.server_only]} == {16}
    assert len({id(lone.candidates) for lone in pairing.client_only}) == 1


def test_what_one_knows_and_what_another_knows_need_not_be_the_same() -> None:
    """Nothing that both know differs; each of the other's flows is contradicted by something else."""
    mine = [flow(1, 7, 9, b"a")]
    assert found(pair_flows(mine, [flow(1, 7, 8), flow(2, 7, random=b"b"), flow(3, 7)])) == [(1, 3, BY_CLIENT_ISN)]
    assert found(pair_flows(mine, [flow(1, 7, 8), flow(2, 7, random=b"b")])) == []
