"""Very many small things in two pieces of bytes, for another process: of each a key and some numbers of 64 bits.

Compiled: a list of numbers would hold an object for each of them, and `pickle` would look at every one. What the things
are is not known here.
"""

from typing import Final, NamedTuple

from librt.strings import BytesWriter, read_i64_le, write_i64_le
from mypy_extensions import i64

_NUMBER: Final = 8


class Packed(NamedTuple):
    """The things, in the order in which they were packed."""

    things: int
    """How many there are."""
    keys: bytes
    """Each with its length before it, in a byte."""
    numbers: bytes
    """Those of one thing after those of another, eight bytes each."""


class Packer:
    """Takes one thing after the other: its key, then its numbers."""

    def __init__(self) -> None:
        self._count: i64 = 0
        self._keys: BytesWriter = BytesWriter()
        self._numbers: BytesWriter = BytesWriter()

    def begin(self, key: bytes) -> None:
        """The next thing; its key has less than 256 bytes."""
        self._count += 1
        self._keys.append(len(key))
        self._keys.write(key)

    def number(self, value: i64) -> None:
        """The next one of its numbers."""
        write_i64_le(self._numbers, value)

    def packed(self) -> Packed:
        """All of them."""
        return Packed(self._count, self._keys.getvalue(), self._numbers.getvalue())


class Unpacker:
    """Gives them back in the same order: after each `next` as many numbers must be taken as were packed."""

    def __init__(self, packed: Packed) -> None:
        self.key: bytes = b""
        self._keys: bytes = packed.keys
        self._numbers: bytes = packed.numbers
        self._key_at: i64 = 0
        self._number_at: i64 = 0

    def next(self) -> bool:
        """Move to the next thing, whose ``key`` is there then; False after the last."""
        at: i64 = self._key_at
        keys = self._keys
        if at == len(keys):
            return False
        begin: i64 = at + 1
        end: i64 = begin + i64(keys[at])
        self.key = keys[begin:end]
        self._key_at = end
        return True

    def number(self) -> i64:
        """The next one of its numbers; IndexError when there is none."""
        at: i64 = self._number_at
        self._number_at = at + _NUMBER
        return read_i64_le(self._numbers, at)
