"""Named tuples that are made quickly are those of `typing`."""

import copy
import pickle
import typing
from typing import Any, Generic, TypeVar

import pytest

from pcapstall.core.records import NamedTuple

What = TypeVar("What")


class Ours(NamedTuple):
    """One of each kind."""

    name: str
    count: int = 3
    places: tuple[int, ...] = ()

    @property
    def twice(self) -> int:
        """A property."""
        return 2 * self.count


class Theirs(typing.NamedTuple):
    name: str
    count: int = 3
    places: tuple[int, ...] = ()


class OfSome(NamedTuple, Generic[What]):
    what: What


def outcome(call: Any) -> object:
    try:
        return call()
    except (TypeError, ValueError, AttributeError) as error:
        return type(error)


@pytest.mark.parametrize(
    "call",
    [
        lambda made: tuple(made("a")),
        lambda made: tuple(made("a", 4)),
        lambda made: tuple(made(name="a", places=(1,))),
        lambda made: made(),
        lambda made: made("a", 1, (), 5),
        lambda made: made("a", other=5),
        lambda made: made._fields,
        lambda made: made._field_defaults,
        lambda made: made.__match_args__,
        lambda made: made.__annotations__,
        lambda made: tuple(made("a")._replace(count=9)),
        lambda made: made("a")._replace(other=9),
        lambda made: made("a")._asdict(),
        lambda made: tuple(made._make(["a", 1, ()])),
        lambda made: made._make(["a", 1]),
        lambda made: made("a") == ("a", 3, ()),
        lambda made: hash(made("a")),
        lambda made: made("a") < made("b"),
        lambda made: repr(made("a")).partition("(")[2],
        lambda made: made("a").count,
        lambda made: setattr(made("a"), "count", 5),
        lambda made: setattr(made("a"), "other", 5),
        lambda made: tuple(made("a", places=(2,)))[::-1],
        lambda made: made("a").__doc__ is None,
    ],
)
def test_they_do_the_same(call: Any) -> None:
    for _ in range(2):  # the first value makes the constructor
        assert outcome(lambda: call(Ours)) == outcome(lambda: call(Theirs))


def test_a_value_can_be_copied_and_handed_over() -> None:
    made = Ours("a", 1)
    for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert type(again) is Ours
        assert again == made
    assert made.twice == 2
    assert OfSome[int](5).what == 5
    match made:
        case Ours(name, count):
            assert (name, count) == ("a", 1)


def test_a_field_without_a_default_comes_first() -> None:
    with pytest.raises(TypeError, match="follows one with a default"):
        type(Ours)("Wrong", (NamedTuple,), {"__annotations__": {"a": int, "b": int}, "a": 1})
