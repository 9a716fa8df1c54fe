"""The offset of two clocks: the true one is always within the error that is told, and no line is forced on a step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.diagnose.two_ends.clock import Clock, Sample, clock_of

MS, SECOND = 10**6, 10**9
START = 1_800_000_000 * SECOND
DELAYS = st.lists(
    st.tuples(st.integers(0, 100 * SECOND), st.booleans(), st.integers(0, 40 * MS)), min_size=1, max_size=40
)
"""When a packet left, in which direction, and by how much it was slower than the fastest."""


def samples(offset_ns: int, drift_ppb: int, ways: tuple[int, int], sent: list[tuple[int, bool, int]]) -> list[Sample]:
    """Packets between two hosts whose clocks differ so."""

    def server_clock(client_ns: int) -> int:
        return client_ns + offset_ns + (client_ns - START) * drift_ppb // 10**9

    found: list[Sample] = []
    for at, to_server, late in sent:
        left = START + at
        came = left + ways[not to_server] + late
        found.append(Sample(left, server_clock(came), True) if to_server else Sample(came, server_clock(left), False))
    return found


def both_ways(sent: list[tuple[int, bool, int]]) -> list[tuple[int, bool, int]]:
    """With one packet more of each direction."""
    return [*sent, (0, True, 0), (MS, False, 0)]


@given(
    DELAYS,
    st.integers(-(10**15), 10**15),
    st.integers(-90_000, 90_000),
    st.integers(0, 50 * MS),
    st.integers(0, 50 * MS),
)
def test_the_true_offset_lies_within_the_error(
    sent: list[tuple[int, bool, int]], offset_ns: int, drift_ppb: int, there: int, back: int
) -> None:
    clock = clock_of(samples(offset_ns, drift_ppb, (there, back), both_ways(sent)))
    assert clock is not None
    for at in (0, 10 * SECOND, 50 * SECOND, 100 * SECOND):
        true = offset_ns + at * drift_ppb // 10**9
        assert abs(clock.offset_at(START + at) - true) <= clock.error_at(START + at) + 1_000


@given(DELAYS, st.integers(-(10**15), 10**15), st.integers(0, 50 * MS), st.integers(0, 50 * MS))
def test_no_packet_is_faster_than_the_fastest(
    sent: list[tuple[int, bool, int]], offset_ns: int, there: int, back: int
) -> None:
    found = samples(offset_ns, 0, (there, back), both_ways(sent))
    clock = clock_of(found)
    assert clock is not None
    assert clock.drift_ppb == 0
    assert there + back <= clock.fastest_ns <= there + back + 3_000
    for sample, (_, to_server, late) in zip(found, both_ways(sent), strict=True):
        assert sample.to_server is to_server
        assert abs(clock.above_fastest(sample) - late) <= 3_000


@given(DELAYS, st.integers(-(10**12), 10**12))
def test_a_clock_shifted_by_a_constant_only_shifts_the_offset(sent: list[tuple[int, bool, int]], shift: int) -> None:
    found = samples(0, 0, (MS, MS), both_ways(sent))
    one = clock_of(found)
    other = clock_of([Sample(s.client_ns, s.server_ns + shift, s.to_server) for s in found])
    assert one is not None
    assert other is not None
    assert (other.offset_ns - one.offset_ns, other.fastest_ns) == (shift, one.fastest_ns)


def test_times_turn_over_and_back() -> None:
    sent = [(at * SECOND, at % 2 == 0, 0) for at in range(100)]
    clock = clock_of(samples(7 * SECOND, 50_000, (MS, MS), sent))
    assert isinstance(clock, Clock)
    assert abs(clock.drift_ppb - 50_000) < 25_000
    for at in range(0, 100 * SECOND, 7 * SECOND):
        assert abs(clock.to_client(clock.to_server(START + at)) - START - at) <= 2


def test_a_drift_is_not_claimed_in_a_few_seconds() -> None:
    sent = [(0, True, 0), (MS, False, 0), (3 * SECOND, True, 20_000), (3 * SECOND + MS, False, 0)]
    clock = clock_of(samples(0, 0, (30_000, 30_000), sent))
    assert clock is not None
    assert clock.drift_ppb == 0


@pytest.mark.parametrize("step_ns", [-SECOND, SECOND])
def test_a_clock_that_was_set_has_no_offset(step_ns: int) -> None:
    sent = [(at * SECOND, at % 2 == 0, 0) for at in range(10)]
    found = samples(0, 0, (MS, MS), sent)
    stepped = [
        Sample(s.client_ns, s.server_ns + (step_ns if s.client_ns > START + 5 * SECOND else 0), s.to_server)
        for s in found
    ]
    assert clock_of(stepped) is None


@pytest.mark.parametrize("to_server", [True, False])
def test_one_direction_is_not_enough(to_server: bool) -> None:
    assert clock_of(samples(0, 0, (MS, MS), [(0, to_server, 0), (SECOND, to_server, 0)])) is None


def test_no_packet_at_both_ends() -> None:
    assert clock_of([]) is None
