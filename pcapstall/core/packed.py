"""Very many small things in few pieces of bytes: of each a key, a kind and some numbers of 64 bits.

Packed one after the other as they come, so that another process can be told of them as they are, and none of them is an
object before somebody asks. What the things are is not known here. Compiled, since each flow is one.
"""

import sys
from array import array
from typing import Final, NamedTuple

from librt.strings import BytesWriter, read_i64_le, write_i16_le, write_i64_le
from librt.vecs import vec
from mypy_extensions import i16, i64

from pcapstall.core.words import V4_KEY_LEN, write_v4_key

PIECE_LEN: Final = 1 << 16
"""So many bytes become a piece while they are in the cache."""
_NUMBER: Final = 8
_HEADER: Final = 2
"""The length of the key, and the kind."""
_PIECE_SHIFT: Final = 40
_AT: Final = (1 << 40) - 1


class Packed(NamedTuple):
    """Some of the things, in the order in which they were packed."""

    things: int
    """How many there are."""
    records: bytes
    """Of each the length of its key, its kind, its key, and its numbers."""


class Packer:
    """The things packed here, one after the other, and those that others have packed."""

    def __init__(self, numbers: i64) -> None:
        self._size: i64 = numbers * _NUMBER
        """Of the numbers of each."""
        self._things: i64 = 0
        self._pieces: list[Packed] = []
        self._fresh: BytesWriter = BytesWriter()
        """Those that are in no piece yet."""
        self._in_pieces: i64 = 0

    def __len__(self) -> int:
        return self._things

    def begin(self, key: bytes, kind: i64) -> None:
        """The next thing, whose numbers follow; its key has less than 256 bytes, and ``kind`` is below 128."""
        self._begin()
        write_i16_le(self._fresh, i16(len(key) | (kind << 8)))
        self._fresh.write(key)

    def begin_v4(self, source: i64, destination: i64, kind: i64) -> None:
        """The same with the key of a packet from one IPv4 endpoint to another, as numbers (core.words)."""
        self._begin()
        write_i16_le(self._fresh, i16(V4_KEY_LEN | (kind << 8)))
        write_v4_key(self._fresh, source, destination)

    def number(self, value: i64) -> None:
        """The next one of its numbers."""
        write_i64_le(self._fresh, value)

    def absorb(self, packed: Packed) -> None:
        """Take in what another one has packed."""
        self.pieces().append(packed)
        self._things += packed.things
        self._in_pieces += packed.things

    def pieces(self) -> list[Packed]:
        """All of them; there will be more pieces in the list when there are more things."""
        if self._things > self._in_pieces:
            self._pieces.append(Packed(self._things - self._in_pieces, self._fresh.getvalue()))
            self._in_pieces = self._things
            self._fresh.truncate(0)
        return self._pieces

    def _begin(self) -> None:
        if len(self._fresh) >= PIECE_LEN:
            self.pieces()
        self._things += 1

    def without_first(self, count: i64) -> "Packer":
        """All but the first ``count`` of them."""
        them = Unpacker(self)
        while count > 0 and them.next():
            count -= 1
        rest = Packer(self._size // _NUMBER)
        rest.absorb(them.rest())
        return rest


class Unpacker:
    """Gives the things back in the order of the pieces, also those that come while it does."""

    def __init__(self, packer: Packer) -> None:
        self.kind: i64 = 0
        """Of the thing that it has moved to."""
        self._packer: Packer = packer
        self._piece: i64 = -1
        self._given: i64 = 0
        """How many things it has moved to."""
        self._records: bytes = b""
        self._at: i64 = 0
        self._key_len: i64 = 0
        self._next: i64 = 0

    def next(self) -> bool:
        """Move to the next thing; False after the last."""
        if self._next >= len(self._records) and not self._next_piece():
            return False
        self._given += 1
        self._move(self._next)
        return True

    def key(self) -> bytes:
        """Of the thing that it has moved to."""
        begin: i64 = self._at + _HEADER
        return self._records[begin : begin + self._key_len]

    def number(self, which: i64) -> i64:
        """One of the thing's numbers, which count from 0; IndexError for what is beyond the last piece."""
        return read_i64_le(self._records, self._at + _HEADER + self._key_len + _NUMBER * which)

    def place(self) -> i64:
        """Where the thing is, for `go_to`."""
        return (self._piece << _PIECE_SHIFT) | self._at

    def go_to(self, place: i64) -> None:
        """Move to a thing that it has moved to before; `rest` is not for whoever went back: it would miscount."""
        self._piece = place >> _PIECE_SHIFT
        self._records = self._packer.pieces()[self._piece].records
        self._move(place & _AT)

    def rest(self) -> Packed:
        """All that come after the one that it has moved to; it moves on to the last of them."""
        records = [self._records[self._next :]]
        while self._next_piece():
            records.append(self._records)
        self._next = len(self._records)
        things: i64 = len(self._packer) - self._given
        self._given += things
        return Packed(things, b"".join(records))

    def _move(self, at: i64) -> None:
        self._at = at
        self._key_len = i64(self._records[at])
        self.kind = i64(self._records[at + 1])
        self._next = at + _HEADER + self._key_len + self._packer._size

    def _next_piece(self) -> bool:
        """Move to where the next piece begins."""
        pieces = self._packer.pieces()
        while self._piece + 1 < len(pieces):
            self._piece += 1
            self._records = pieces[self._piece].records
            self._next = 0
            if len(self._records) > 0:
                return True
        return False


def packed_words(words: memoryview) -> bytes:
    """64-bit words of this machine's as bytes, the lowest first, in one piece; `unpacked_words` is the inverse."""
    if sys.byteorder == "little":
        return bytes(words)
    swapped = array("q", words)
    swapped.byteswap()
    return swapped.tobytes()


def unpacked_words(packed: bytes) -> vec[i64]:
    """The words that `packed_words` has packed."""
    if sys.byteorder == "little":
        return vec[i64](memoryview(packed).cast("q"))
    swapped = array("q", packed)
    swapped.byteswap()
    return vec[i64](swapped)
