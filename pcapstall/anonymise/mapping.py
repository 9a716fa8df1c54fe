"""What something is called instead, whatever it is: one object for a whole anonymisation, so that it is consistent.

It also remembers the names that it met, for other files that speak of them. How files are read is not known here.
"""

import re
from typing import Final

from pcapstall.anonymise.addresses import Addresses
from pcapstall.anonymise.secret import Secret
from pcapstall.anonymise.words import WORD, Words

FILLER: Final = 0xEE
"""Stands for bytes that were replaced by nothing in particular: no content type, message or letter."""
_NAMES_MAX: Final = 100_000
NAME_LEN_MAX: Final = 253
"""Characters of a host's name (RFC 1035 section 2.3.4); more is none."""
_HOST: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
"""What a word is made of: AcmeHost2 has Acme and Host."""
_REVERSE: Final = re.compile(r"((?:[0-9a-z]+\.)*)(in-addr|ip6)\.arpa\.?", re.IGNORECASE)
_AS_LONG: Final = {1: range(10), 2: range(10, 100), 3: range(100, 256)}
"""The numbers of so many digits that an IPv4 address may have."""


class Mapping:
    """Everything that one key decides."""

    def __init__(self, secret: Secret) -> None:
        self._secret = secret
        self._addresses = Addresses(secret)
        self._words = Words(secret)
        self.names: set[str] = set()
        """Hosts' names that were met, in small letters."""
        self.hidden: set[str] = set()
        """Words in small letters that are replaced even where a protocol or every system has them."""
        self.blobs: dict[bytes, bytes] = {}
        """Randoms and session ids that were met, and what they became."""
        self.ip = self._addresses.ip
        self.ip_within = self._addresses.within
        self.numbers = self._addresses.numbers
        self.mac = self._addresses.mac
        self.word = self._words.word

    def name(self, text: str) -> str:
        """The other name of a host."""
        small = text.lower().rstrip(".")
        if len(small) <= NAME_LEN_MAX and len(self.names) < _NAMES_MAX and _is_host(small):
            self.names.add(small)
        reverse = _REVERSE.fullmatch(text)
        return self._words.name(text) if reverse is None else self._reverse(reverse)

    def _reverse(self, match: re.Match[str]) -> str:
        """What DNS calls an address or a block of them (RFC 1035 section 3.5, RFC 3596 section 2.5)."""
        labels, rest = match[1].split(".")[-2::-1], match[0][match.end(1) :]
        is_v4 = match[2].lower() == "in-addr"
        try:
            values = [int(label, 10 if is_v4 else 16) for label in labels]
            if is_v4:
                packed = bytes(values + [0] * (4 - len(values)))
                made = [str(number) for number in self.same_length(packed)]
            else:
                packed = bytes.fromhex("".join(f"{value:x}" for value in values).ljust(32, "0"))
                made = list(self.ip(packed).hex())
        except ValueError:
            return self._words.name(match[1]) + rest
        if list(map(len, made[: len(labels)])) != list(map(len, labels)):
            return self._words.name(match[1]) + rest
        return "".join(f"{label}." for label in made[: len(labels)][::-1]) + rest

    def same_length(self, packed: bytes) -> bytes:
        """The other name of an IPv4 address of whose numbers each keeps how many digits it has."""
        return self.ip_within(packed, [_AS_LONG[len(str(number))] for number in packed])

    def hides(self, text: str) -> bool:
        """Whether a word that was named by hand stands in ``text``, also as a part of a longer one."""
        if not self.hidden:
            return False
        return any(part.lower() in self.hidden for word in WORD.findall(text) for part in (word, *_PARTS.findall(word)))

    def words(self, text: str) -> str:
        """``text`` with each of its words replaced, none of which is a host's name."""
        return self._words.name(text)

    def name_bytes(self, data: bytes) -> bytes:
        """A name as it stands in a packet."""
        return self.name(data.decode("latin-1")).encode("ascii")

    def blob(self, data: bytes, remember: bool = False) -> bytes:
        """Other bytes for ``data``, as many; those of its beginning depend on nothing behind it.

        So a strace that shows the beginning of a random shows the beginning of its other name.
        """
        known = self.blobs.get(data)
        if known is not None:
            return known
        stream = self._secret.stream("blob")
        found = bytearray()
        for byte in data:
            found.append(byte ^ stream.copy().digest()[0])
            stream.update(bytes((byte,)))
        if remember and len(self.blobs) < _NAMES_MAX:
            self.blobs[data] = bytes(found)
        return bytes(found)


def _is_host(small: str) -> bool:
    return _HOST.fullmatch(small) is not None and not small.endswith(".arpa")


def filler(length: int) -> bytes:
    """``length`` bytes that say nothing."""
    return bytes((FILLER,)) * max(length, 0)
