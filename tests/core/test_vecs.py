from hypothesis import given
from hypothesis import strategies as st
from librt.vecs import vec
from mypy_extensions import i64

from pcapstall.core.vecs import lengthened


@given(st.lists(st.integers(-9, 9)), st.integers(-1, 70))
def test_what_was_there_is_followed_by_as_many_as_are_wanted(values, count):
    found = lengthened(vec[i64](values), count)
    assert len(found) == len(values) + max(count, 0)
    assert list(found)[: len(values)] == values
