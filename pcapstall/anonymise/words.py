"""Names and other text under other letters: each run of letters and digits becomes another one of the same make.

A word's other name is a keyed permutation of all words with letters and digits in the same places, so two words never
become one. Separators, lengths and capitals stay. Addresses within text are not looked for here.
"""

import re
from typing import Final

from pcapstall.anonymise.secret import Secret

WORD: Final = re.compile(r"[A-Za-z0-9]+")
_ROUNDS: Final = 6
_CACHE_MAX: Final = 1 << 17
_PIECE_LEN: Final = 256
"""Longer runs are mapped piece by piece: as one number they would take the square of their length."""
_LETTERS: Final = 26
_DIGITS: Final = 10


class Words:
    """Maps words."""

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._known: dict[str, str] = {}

    def word(self, text: str) -> str:
        """The other name of a run of ASCII letters and digits."""
        if len(text) > _PIECE_LEN:
            return "".join(self.word(text[at : at + _PIECE_LEN]) for at in range(0, len(text), _PIECE_LEN))
        small = text.lower()
        found = self._known.get(small)
        if found is None:
            if len(self._known) >= _CACHE_MAX:
                self._known.clear()
            found = self._known[small] = self._word(small)
        if small == text:
            return found
        return "".join(new.upper() if old.isupper() else new for old, new in zip(text, found, strict=True))

    def name(self, text: str) -> str:
        """A host's name, or any text all of whose words name something: each word is replaced.

        What is neither ASCII nor printable becomes x.
        """
        replaced = WORD.sub(lambda match: self.word(match[0]), text)
        return "".join(character if " " <= character <= "~" else "x" for character in replaced)

    def _word(self, text: str) -> str:
        value, size = 0, 1
        for character in text:
            base = _DIGITS if character.isdigit() else _LETTERS
            value = value * base + (ord(character) - (48 if base == _DIGITS else 97))
            size *= base
        make = "".join("9" if character.isdigit() else "a" for character in text)
        value = self._permuted(value, size, make)
        found = []
        for character in reversed(text):
            base = _DIGITS if character.isdigit() else _LETTERS
            value, digit = divmod(value, base)
            found.append(chr((48 if base == _DIGITS else 97) + digit))
        return "".join(reversed(found))

    def _permuted(self, value: int, size: int, make: str) -> int:
        """Where ``value`` of 0 to ``size`` - 1 goes: a Feistel network, walked until it ends within (cycle walking)."""
        half = max((size - 1).bit_length() + 1 >> 1, 1)
        mask = (1 << half) - 1
        while True:
            left, right = value >> half, value & mask
            for number in range(_ROUNDS):
                data = f"{number}:{right}".encode()
                left, right = right, left ^ self._wide(f"word {make}", data, half)
            value = left << half | right
            if value < size:
                return value

    def _wide(self, use: str, data: bytes, bits: int) -> int:
        found = 0
        for part in range(0, bits, 256):
            found = found << 256 | self._secret.number(use, b"%d:" % part + data, 256)
        return found & ((1 << bits) - 1)
