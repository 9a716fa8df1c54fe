"""JA4, the fingerprint of a TLS client over TCP, as FoxIO's JA4 specification (technical_details/JA4.md) defines it.

Only JA4 itself, which is under the BSD licence; none of the other JA4+ methods. Works on lists of numbers taken from a
ClientHello, GREASE values (RFC 8701) already left out.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

_VERSIONS: Final[dict[int, str]] = {
    0x0304: "13",
    0x0303: "12",
    0x0302: "11",
    0x0301: "10",
    0x0300: "s3",
    0x0002: "s2",
}
_UNKNOWN_VERSION: Final = "00"
_NOTHING: Final = "000000000000"
_COUNT_MAX: Final = 99
_HASH_LEN: Final = 12
_OWN_SHA256: Final = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
"""Python's own, whose `sha256` hashlib takes without OpenSSL: to load that is as much as to follow a thousand flows."""
_SERVER_NAME: Final = 0x0000
_ALPN: Final = 0x0010


def ja4_fingerprint(
    version: int, ciphers: list[int], extensions: list[int], signature_algorithms: list[int], first_alpn: bytes
) -> str:
    """``t13d1516h2_8daaf6152771_e5627efa2ab1``.

    ``version`` is the highest of supported_versions, or the hello's own without that extension; ``first_alpn`` the
    first protocol of the ALPN extension, empty without one. The order of ciphers and extensions does not matter.
    """
    name_kind = "d" if _SERVER_NAME in extensions else "i"
    head = (
        f"t{_VERSIONS.get(version, _UNKNOWN_VERSION)}{name_kind}"
        f"{min(len(ciphers), _COUNT_MAX):02d}{min(len(extensions), _COUNT_MAX):02d}{alpn_mark(first_alpn)}"
    )
    counted = sorted(number for number in extensions if number != _SERVER_NAME and number != _ALPN)
    listed = _hex_list(counted)
    if counted and signature_algorithms:
        listed += "_" + _hex_list(signature_algorithms)
    return f"{head}_{_short_hash(_hex_list(sorted(ciphers)))}_{_short_hash(listed)}"


def alpn_mark(protocol: bytes) -> str:
    """The first and last character of a protocol's name: ``h1`` for ``http/1.1``, ``00`` for none.

    When either is not an ASCII letter or digit: the first and last digit of the whole name in hexadecimal.
    """
    if not protocol:
        return "00"
    ends = protocol[:1] + protocol[-1:]
    if ends.isalnum():
        return ends.decode("ascii")
    digits = ends.hex()
    return digits[0] + digits[3]


def _hex_list(numbers: list[int]) -> str:
    return ",".join([f"{number:04x}" for number in numbers])


def _short_hash(text: str) -> str:
    if not text:
        return _NOTHING
    digest: str = _sha256()(text.encode("ascii"), usedforsecurity=False).hexdigest()
    return digest[:_HASH_LEN]


def _sha256() -> Callable[..., Any]:
    """Loaded with the first hello: a run that sees none does not pay for it."""
    if not _hashes:
        try:
            module = import_module(_OWN_SHA256)
        except ImportError:  # a Python that was built without it
            module = import_module("hashlib")
        _hashes.append(module.sha256)
    return _hashes[0]


_hashes: list[Callable[..., Any]] = []
"""The one that was loaded."""
