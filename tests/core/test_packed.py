import sys
from array import array

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
    lengths = unpacked(bytes(Lengths(values).packed()), sys.byteorder)
    lengths.absorb(Lengths(more))
    assert lengths.values() == values + more


@given(NUMBERS)
def test_lengths_come_out_on_a_machine_of_the_other_byte_order(values):
    swapped = array("q", Lengths(values).packed())
    swapped.byteswap()
    other = "big" if sys.byteorder == "little" else "little"
    assert unpacked(swapped.tobytes(), other).values() == values
