"""The key of an anonymisation, and the one function of it that everything else is made with.

BLAKE2b with a key (RFC 7693 section 2.9), which is a pseudorandom function. The key is never written anywhere.
"""

import hashlib
import os
import stat
from typing import Final

from pcapstall.core.errors import UsageError

_KEY_LEN: Final = 32
_SHORTEST: Final = 16
_FILE_MAX: Final = 1 << 20


class Secret:
    """A key of any length from 16 bytes."""

    def __init__(self, key: bytes) -> None:
        self._key = hashlib.blake2b(key, digest_size=_KEY_LEN, person=b"pcapstall").digest()
        self._made: dict[str, hashlib.blake2b] = {}

    def stream(self, use: str) -> "hashlib.blake2b":
        """A hash that has been told what it is for, to be fed on."""
        made = self._made.get(use)
        if made is None:
            made = self._made[use] = hashlib.blake2b(use.encode() + b"\0", key=self._key, digest_size=_KEY_LEN)
        return made.copy()

    def number(self, use: str, data: bytes, bits: int) -> int:
        """``bits`` bits, at most 256, that depend on all of ``data``."""
        made = self.stream(use)
        made.update(data)
        return int.from_bytes(made.digest(), "big") >> (8 * _KEY_LEN - bits)


def new_secret() -> Secret:
    """One that nobody knows, and that is gone with the process."""
    return Secret(os.urandom(_KEY_LEN))


def parse_secret(text: str) -> Secret:
    """The secret in the file ``text``, or ``text`` itself as hexadecimal digits; UsageError for one that is too short.

    All bytes of a file count, but for the end of its last line.
    """
    try:
        if os.path.exists(text):
            if not stat.S_ISREG(os.stat(text).st_mode):
                raise UsageError(f"--key {text}: is no regular file")
            with open(text, "rb") as file:
                key = file.read(_FILE_MAX).rstrip(b"\r\n")
        else:
            key = bytes.fromhex(text)
    except OSError as error:
        raise UsageError(f"--key {text}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"--key {text}: there is no such file, and it is not hexadecimal") from error
    if len(key) < _SHORTEST:
        raise UsageError(
            f"--key: {len(key)} bytes are too few to keep anything secret, {_SHORTEST} are the least"
            " (head -c 32 /dev/urandom > key)"
        )
    return Secret(key)
