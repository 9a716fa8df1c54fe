import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.lengths import Column, Lengths

NUMBERS = st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 3), min_size=1)


@given(NUMBERS, st.data())
def test_a_rank_is_a_place_among_all_when_sorted(values, data):
    lengths = Lengths(values)
    for rank in data.draw(st.lists(st.integers(1, len(values)), min_size=1, max_size=5)):
        assert lengths.of_rank(rank) == sorted(values)[rank - 1]
    assert lengths.longest() == max(values)
    assert sorted(lengths.values()) == sorted(values)
    for more in data.draw(st.lists(st.integers(-5, 5), max_size=2)):
        lengths.append(more)
        values = [*values, more]
        rank = data.draw(st.integers(1, len(values)))
        assert (lengths.of_rank(rank), lengths.longest()) == (sorted(values)[rank - 1], max(values))


@given(st.lists(NUMBERS))
def test_lengths_take_in_others_and_leave_them_as_they_were(parts):
    whole, kept = Lengths(), [Lengths(part) for part in parts]
    for lengths in kept:
        whole.absorb(lengths)
    whole.append(5)
    assert whole.values() == [*(number for part in parts for number in part), 5]
    assert [lengths.values() for lengths in kept] == parts
    assert len(whole) == sum(map(len, parts)) + 1


class Held(Column):
    """Numbers in a list."""

    def __init__(self, numbers):
        super().__init__(len(numbers))
        self.numbers = numbers

    def write(self, values, start):
        for at, number in enumerate(self.numbers, start):
            values[at] = number


@given(st.lists(st.integers(-9, 9)), st.lists(st.lists(st.integers(-9, 9))), st.booleans(), st.data())
def test_columns_are_read_when_somebody_asks(values, columns, is_handed_on, data):
    lengths = Lengths(values)
    for numbers in columns:
        lengths.absorb_column(Held(numbers))
        if data.draw(st.booleans()):
            lengths.append(7)
            values = [*values, 7]
    everything = sorted([*values, *(number for numbers in columns for number in numbers)])
    if is_handed_on:
        whole = Lengths()
        whole.absorb(lengths)
        assert len(whole) == len(everything)
        lengths = whole
    assert len(lengths) == len(everything)
    if everything:
        assert lengths.longest() == everything[-1]
        rank = data.draw(st.integers(1, len(everything)))
        assert lengths.of_rank(rank) == everything[rank - 1]
    assert sorted(lengths.values()) == everything
    assert len(lengths) == len(everything)


def arranged(count: int) -> list[int]:
    """The middle one of those that are left is always the shortest."""
    places, values = list(range(count)), [0] * count
    for shortest in range(count):
        middle = (shortest + count - 1) >> 1
        values[places[middle]] = shortest
        places[shortest], places[middle] = places[middle], places[shortest]
    return values


def test_lengths_that_somebody_arranged_take_no_longer():
    """Each division would put one aside: 20 milliards of steps."""
    lengths = Lengths(arranged(200_000))
    assert lengths.of_rank(200_000) == 199_999
    assert lengths.of_rank(100_000) == 99_999


@pytest.mark.parametrize("rank", [0, 4])
def test_there_is_no_rank_beyond_the_lengths(rank):
    with pytest.raises(IndexError):
        Lengths([3, 1, 2]).of_rank(rank)
