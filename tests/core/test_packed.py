import sys
from array import array

from hypothesis import given
from hypothesis import strategies as st

from pcapstall.core.lengths import Lengths, unpacked
from pcapstall.core.packed import Packer, Unpacker, packed_words, unpacked_words

NUMBERS = st.lists(st.integers(-(2**62), 2**62))
WIDTH = 3
THING = st.tuples(
    st.binary(max_size=255),
    st.integers(0, 127),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=WIDTH, max_size=WIDTH),
)
PIECES = st.lists(st.lists(THING, max_size=5), max_size=4)


def pack(packer, things):
    for key, kind, numbers in things:
        packer.begin(key, kind)
        for number in numbers:
            packer.number(number)


def here(them):
    return them.key(), them.kind, [them.number(which) for which in range(WIDTH)]


def unpack(them):
    found = []
    while them.next():
        found.append(here(them))
    return found


@given(PIECES, st.lists(THING, max_size=4), st.data())
def test_what_was_packed_comes_out(pieces, last, data):
    packer, things = Packer(WIDTH), []
    them, found = Unpacker(packer), []
    for piece in pieces:
        if data.draw(st.booleans()):
            pack(packer, piece)
        else:
            other = Packer(WIDTH)
            pack(other, piece)
            for packed in other.pieces():
                packer.absorb(packed)
        things += piece
        if data.draw(st.booleans()):
            found += unpack(them)
        assert len(packer) == len(things)
    pack(packer, last)
    things += last
    assert found + unpack(them) == things
    assert unpack(Unpacker(packer)) == things
    assert sum(piece.things for piece in packer.pieces()) == len(things)


def test_very_many_are_in_several_pieces():
    packer = Packer(WIDTH)
    things = [
        (bytes([number & 255]) * (number % 200), number % 128, [number, -number, 2**60]) for number in range(2000)
    ]
    pack(packer, things)
    assert 2 < len(packer.pieces()) < 6
    assert unpack(Unpacker(packer)) == things


@given(PIECES, st.data())
def test_whoever_comes_back_finds_the_same(pieces, data):
    packer, things = Packer(WIDTH), []
    for piece in pieces:
        pack(packer, piece)
        things += [] if packer.pieces() is None else piece
    them, places = Unpacker(packer), []
    while them.next():
        places.append(them.place())
    for at in data.draw(st.lists(st.integers(0, len(things) - 1), max_size=5)) if things else []:
        them.go_to(places[at])
        assert here(them) == things[at]


@given(PIECES, st.lists(THING, max_size=4), st.integers(0, 12))
def test_the_first_ones_are_left_out(pieces, last, count):
    packer = Packer(WIDTH)
    for piece in pieces:
        pack(packer, piece)
        packer.pieces()
    pack(packer, last)
    things = [thing for piece in [*pieces, last] for thing in piece]
    rest = packer.without_first(count)
    pack(rest, last)
    assert len(rest) == len(things[count:] + last)
    assert unpack(Unpacker(rest)) == things[count:] + last
    assert unpack(Unpacker(packer)) == things


@given(st.lists(st.tuples(st.lists(THING, max_size=5), st.integers(0, 3), st.booleans()), max_size=5))
def test_the_rest_is_what_was_not_given_yet(rounds):
    packer = Packer(WIDTH)
    them, waiting = Unpacker(packer), []
    for things, one_by_one, all_others in rounds:
        pack(packer, things)
        waiting += things
        for _ in range(min(one_by_one, len(waiting))):
            assert them.next()
            assert here(them) == waiting.pop(0)
        if all_others:
            rest = them.rest()
            assert rest.things == len(waiting)
            other = Packer(WIDTH)
            other.absorb(rest)
            assert unpack(Unpacker(other)) == waiting
            assert not them.next()
            waiting = []


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


@given(NUMBERS)
def test_words_come_out_in_one_order_of_bytes(values):
    packed = packed_words(memoryview(array("q", values)))
    assert packed == b"".join(value.to_bytes(8, "little", signed=True) for value in values)
    assert list(unpacked_words(packed)) == values
