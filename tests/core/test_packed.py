from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.lengths import Lengths, unpacked
from pcapstall.core.packed import Packer, Unpacker

NUMBERS = st.lists(st.integers(-(2**62), 2**62))
THINGS = st.integers(0, 4).flatmap(
    lambda width: st.lists(
        st.tuples(st.binary(max_size=255), st.lists(st.integers(-(2**62), 2**62), min_size=width, max_size=width))
    )
)


@given(THINGS)
def test_what_was_packed_comes_out(things):
    packer = Packer()
    for key, numbers in things:
        packer.begin(key)
        for number in numbers:
            packer.number(number)
    packed = packer.packed()
    them, found = Unpacker(packed), []
    while them.next():
        found.append((them.key, [them.number() for _ in things[0][1]]))
    assert found == things
    assert packed.things == len(things)
    assert not them.next()


@given(NUMBERS, NUMBERS)
def test_lengths_come_out_and_take_more(values, more):
    lengths = unpacked(Lengths(values).packed())
    lengths.absorb(Lengths(more))
    assert lengths.values() == values + more
