"""What something is called instead, whatever it is: one object for a whole anonymisation, so that it is consistent.

It also remembers the names that it met, for other files that speak of them. How files are read is not known here.
"""

import re
from typing import Final

from pcapstall.anonymise.addresses import Addresses
from pcapstall.anonymise.secret import Secret
from pcapstall.anonymise.words import Words

FILLER: Final = 0xEE
"""Stands for bytes that were replaced by nothing in particular: no content type, message or letter."""
_NAMES_MAX: Final = 100_000
NAME_LEN_MAX: Final = 253
"""Characters of a host's name (RFC 1035 section 2.3.4); more is none."""
_HOST: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")


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
        self.mac = self._addresses.mac
        self.word = self._words.word

    def name(self, text: str) -> str:
        """The other name of a host."""
        small = text.lower().rstrip(".")
        if len(small) <= NAME_LEN_MAX and len(self.names) < _NAMES_MAX and _HOST.fullmatch(small):
            self.names.add(small)
        return self._words.name(text)

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


def filler(length: int) -> bytes:
    """``length`` bytes that say nothing."""
    return bytes((FILLER,)) * max(length, 0)
