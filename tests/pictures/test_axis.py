from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.times import DAY, HOUR, MINUTE, MS, SECOND, US
from pcapstall.report.pictures.log_scale import LogScale
from pcapstall.report.pictures.time_axis import make_axis
from pcapstall.report.pictures.time_ticks import ticks

ROOMS = st.lists(
    st.tuples(
        st.integers(-(10**12), 10**12),
        st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([12.0, 17.0])), max_size=2),
    ),
    min_size=1,
    max_size=40,
).map(lambda rooms: sorted(rooms, key=lambda room: room[0]))


@given(ROOMS)
def test_the_order_of_times_is_the_order_of_places(rooms) -> None:
    axis = make_axis(rooms, 100.0)
    assert len(axis.spots) == len(rooms)
    assert axis.spots == sorted(axis.spots)
    assert min(axis.spots) >= 100.0
    for (ns, _), spot in zip(rooms, axis.spots, strict=True):
        assert spot <= axis.at(ns) + 1e-6
    middles = [(before + after) // 2 for (before, _), (after, _) in pairwise(rooms)]
    places = [axis.at(ns) for ns in sorted([ns for ns, _ in rooms] + middles)]
    assert places == sorted(places)


@given(ROOMS)
def test_texts_of_a_column_do_not_touch(rooms) -> None:
    spots = make_axis(rooms, 0.0).spots
    last: dict[str, float] = {}
    for (_, columns), spot in zip(rooms, spots, strict=True):
        for column, tall in columns:
            if column in last:
                assert spot - last[column] >= tall / 2 - 1e-6
        for column, tall in columns:
            last[column] = spot + tall / 2


def test_a_long_silence_is_cut_short_and_says_how_long_it_was() -> None:
    times = [0, MS, 2 * MS, 52 * SECOND, 52 * SECOND + MS]
    axis = make_axis([(ns, [("a", 17.0)]) for ns in times], 0.0)
    (silence,) = axis.silences
    assert silence.length_ns == 52 * SECOND - 2 * MS
    assert axis.at(2 * MS) == silence.start
    assert axis.at(52 * SECOND) == silence.end
    assert axis.at(27 * SECOND) > silence.start
    # The busy ends keep their room.
    assert axis.at(MS) - axis.at(0) >= 17
    assert silence.end - silence.start < 200


def test_beyond_its_ends_a_time_is_at_them() -> None:
    axis = make_axis([(0, []), (SECOND, [])], 10.0)
    assert axis.at(-SECOND) == 10.0
    assert axis.at(2 * SECOND) == axis.at(SECOND)


@given(st.integers(1, 10**13), st.integers(1, 10**13))
def test_a_scale_holds_what_it_is_made_for(one, other) -> None:
    low, high = min(one, other), max(one, other)
    scale = LogScale(low, high, 0.0, 100.0)
    assert 0 <= scale.at(low) <= scale.at(high) <= 100
    marks = [place for place, _ in scale.ticks()]
    assert marks == sorted(set(marks))
    assert (marks[0], marks[-1]) == (0.0, 100.0)


def test_ticks_of_a_scale_are_round() -> None:
    assert [words for _, words in LogScale(40 * US, 52 * SECOND, 0, 1).ticks()] == [
        "10 us", "100 us", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s",
    ]  # fmt: skip


@given(st.integers(0, 2 * 10**18), st.sampled_from([1, US, 7 * MS, SECOND, 61 * SECOND, 50 * MINUTE, HOUR, 40 * DAY]))
def test_ticks_of_time_are_few_and_inside(first, span) -> None:
    made = ticks(first, span)
    assert len(made) <= 10
    assert all(first <= ns <= first + span for ns, _ in made)
    assert len({words for _, words in made}) == len(made)


def test_ticks_of_time_are_round() -> None:
    first = 1_796_023_442_348_255_000
    assert [words for _, words in ticks(first, 62 * SECOND)] == [
        "07:24:10", "07:24:20", "07:24:30", "07:24:40", "07:24:50", "07:25:00",
    ]  # fmt: skip
