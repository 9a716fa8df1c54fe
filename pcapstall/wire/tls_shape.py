"""What the hellos of one kind of client have in common: ciphers, extensions, versions, ALPN, and so the JA4.

A busy capture has a hundred thousand hellos of a few dozen shapes, so each shape is worked out once and shared. The
memory is bounded: whoever sends a new shape each time only makes it start again. Nothing here reads a message.
"""

from typing import Final, final

from mypy_extensions import i64

from pcapstall.core.words import u16_be, u24_be
from pcapstall.wire.ja4 import ja4_fingerprint
from pcapstall.wire.tls_names import is_grease, printable

# IANA "TLS ExtensionType Values" that someone here asks for.
EXTENSION_SERVER_NAME: Final = 0
EXTENSION_SIGNATURE_ALGORITHMS: Final = 13
EXTENSION_ALPN: Final = 16
EXTENSION_SESSION_TICKET: Final = 35
EXTENSION_PRE_SHARED_KEY: Final = 41
EXTENSION_EARLY_DATA: Final = 42
EXTENSION_SUPPORTED_VERSIONS: Final = 43
EXTENSION_KEY_SHARE: Final = 51
EXTENSION_ECH: Final = 0xFE0D

_SHAPES_MAX: Final = 4096
_SHAPE_LEN_MAX: Final = 1024
_NAMES_MAX: Final = 4 * 1024
_NAME_LEN_MAX: Final = 255
_GROUPS_MAX: Final = 1024
EXTENSIONS_MAX: Final = 1024
"""Extensions of large numbers that are noted of one hello, and groups: it may have 16,000, and no client has 100."""
_LISTED_MAX: Final = 64
"""Entries of a list that are always kept: more than clients send."""
LONG_MAX: Final = 500_000
"""Entries of longer lists kept in all; then they are cut, for somebody makes hellos to fill memory."""

# Extensions below 60 are bits of one number, since clients shuffle them; these two, far above, are bits 60 and 61.
SET_END: Final = 60
_RENEGOTIATION_INFO: Final = 0xFF01


@final
class HelloShape:
    """Everything about a ClientHello that does not change from one connection of a client to the next."""

    def __init__(self, ciphers: bytes, ssl2: bool) -> None:
        self.legacy_version: i64 = 0
        self.ja4: str = ""
        self.alpn: tuple[str, ...] = ()
        self.versions: tuple[int, ...] = ()
        self.ech: bool = False
        self.early_data: bool = False
        self.psk: bool = False
        self.malformed: str = ""
        self._ciphers: bytes = ciphers
        self._ssl2: bool = ssl2
        self._extension_set: i64 = 0
        self._more_extensions: bytes = b""

    def cipher_suites(self) -> tuple[int, ...]:
        """IANA numbers in the client's order, GREASE left out; in SSLv2 format cipher specs of three bytes."""
        if self._ssl2:
            return tuple([u24_be(self._ciphers, at) for at in range(0, len(self._ciphers), 3)])
        return tuple(numbers_of(self._ciphers))

    def extensions(self) -> tuple[int, ...]:
        """IANA numbers, ascending, GREASE left out."""
        return tuple(_extensions_of(self._extension_set, self._more_extensions))


NO_SHAPE: Final = HelloShape(b"", False)
"""Of a hello of which nothing could be read."""


_Key = tuple[bytes, bytes, bytes, bytes, bytes, int, int]


@final
class HelloShapes:
    """The shapes met by one table of flows, and how much was kept of their long lists."""

    def __init__(self) -> None:
        self.known: dict[_Key, HelloShape] = {}
        self.long_entries: i64 = 0
        """Entries kept of lists that are longer than any client's."""

    def kept(self, packed: bytes, entry_len: i64) -> bytes:
        """What is kept of a list of entries of ``entry_len`` bytes."""
        if len(packed) <= entry_len * _LISTED_MAX:
            return packed
        return packed[: entry_len * self.kept_of(len(packed) // entry_len)]

    def kept_of(self, count: i64) -> i64:
        """How many of the ``count`` entries of a hello's list are kept."""
        if count <= _LISTED_MAX:
            return count
        if self.long_entries + count > LONG_MAX:
            return _LISTED_MAX
        self.long_entries += count
        return count


@final
class ShapeParts:
    """The parts of one hello that make its shape, as they stand in it. Two hellos with equal parts share a shape."""

    def __init__(self, legacy_version: i64, shapes: HelloShapes) -> None:
        self.shapes: HelloShapes = shapes
        """Those met before."""
        self.legacy_version: i64 = legacy_version
        self.ciphers: bytes = b""
        self.versions: bytes = b""
        self.alpn: bytes = b""
        self.signature_algorithms: bytes = b""
        self.extension_set: i64 = 0
        """A bit for each extension with a small number."""
        self.more_extensions: bytes = b""
        """The numbers of the others, and of those that came twice."""
        self.complete: bool = True
        """Whether the hello could be read to its end: else there is no fingerprint."""
        self.too_many: bool = False
        """Whether it has more extensions than are noted."""
        self.ssl2: bool = False

    def add_to_set(self, number: i64) -> bool:
        """Note extension ``number``, below `SET_END`; False when it has come before."""
        # Not `i64(1) << number`: mypyc makes that a shift of a 32-bit C int.
        bit: i64 = 1
        bit <<= number
        if self.extension_set & bit != 0:
            return False
        self.extension_set |= bit
        return True

    def add_extension(self, number: i64, message: bytes, at: i64) -> None:
        """Note extension ``number``, the two bytes at ``message[at]``, which is large or has come before."""
        if number == _RENEGOTIATION_INFO and self.add_to_set(SET_END):
            return
        if number == EXTENSION_ECH and self.add_to_set(SET_END + 1):
            return
        if len(self.more_extensions) < 2 * EXTENSIONS_MAX:
            self.more_extensions += message[at : at + 2]
        else:
            self.too_many = True

    def has_extension(self, number: i64) -> bool:
        """Whether the hello has extension ``number``, one of the first 60."""
        return (self.extension_set >> number) & 1 == 1

    def extensions(self) -> list[int]:
        """All their numbers, ascending."""
        return _extensions_of(self.extension_set, self.more_extensions)


def _extensions_of(extension_set: i64, more: bytes) -> list[int]:
    """The numbers in a set of bits and those in ``more``, ascending."""
    found = [number for number in range(SET_END) if (extension_set >> i64(number)) & 1 == 1]
    found.extend(numbers_of(more))
    if (extension_set >> SET_END) & 1 == 1:
        found.append(_RENEGOTIATION_INFO)
    if (extension_set >> (SET_END + 1)) & 1 == 1:
        found.append(EXTENSION_ECH)
    found.sort()
    return found


_names: Final[dict[bytes, str]] = {}
_groups: Final[dict[int, tuple[int, ...]]] = {}


def shape_of(parts: ShapeParts) -> HelloShape:
    """The shape that ``parts`` make, from memory if it was met before."""
    more: i64 = parts.legacy_version << 2
    if parts.complete:
        more |= 1
    if parts.ssl2:
        more |= 2
    key = (
        parts.ciphers,
        parts.versions,
        parts.alpn,
        parts.signature_algorithms,
        parts.more_extensions,
        parts.extension_set,
        more,
    )
    shapes = parts.shapes.known
    shape = shapes.get(key)
    if shape is not None:
        return shape
    shape = _work_out(parts)
    key_len: i64 = (
        len(parts.ciphers)
        + len(parts.versions)
        + len(parts.alpn)
        + len(parts.signature_algorithms)
        + len(parts.more_extensions)
    )
    if key_len <= _SHAPE_LEN_MAX:
        if len(shapes) >= _SHAPES_MAX:
            shapes.clear()
        shapes[key] = shape
    return shape


def _work_out(parts: ShapeParts) -> HelloShape:
    cipher_len: i64 = 2
    if parts.ssl2:
        cipher_len = 3
    shapes = parts.shapes
    shape = HelloShape(shapes.kept(parts.ciphers, cipher_len), parts.ssl2)
    shape.legacy_version = parts.legacy_version
    extensions = parts.extensions()
    protocols = _protocols(parts.alpn)
    version: i64 = parts.legacy_version
    shape.versions = (version,)
    if parts.has_extension(EXTENSION_SUPPORTED_VERSIONS):
        versions = numbers_of(parts.versions)
        shape.versions = tuple(versions[: shapes.kept_of(len(versions))])
        version = max(versions, default=0)
    shape.alpn = tuple([printable(protocol) for protocol in protocols[: shapes.kept_of(len(protocols))]])
    shape._extension_set = parts.extension_set
    shape._more_extensions = shapes.kept(parts.more_extensions, 2)
    shape.ech = EXTENSION_ECH in extensions
    shape.early_data = EXTENSION_EARLY_DATA in extensions
    shape.psk = EXTENSION_PRE_SHARED_KEY in extensions
    if len(parts.alpn) != sum([1 + len(protocol) for protocol in protocols]):
        shape.malformed = "application_layer_protocol_negotiation"
    if parts.complete and not parts.ssl2:
        first = b""
        if protocols:
            first = protocols[0]
        algorithms = numbers_of(parts.signature_algorithms)
        shape.ja4 = ja4_fingerprint(version, numbers_of(parts.ciphers), extensions, algorithms, first)
    return shape


def _protocols(data: bytes) -> list[bytes]:
    """The names in a ProtocolNameList (RFC 7301 section 3.1), as far as they are whole."""
    found: list[bytes] = []
    at: i64 = 0
    while at < len(data):
        end: i64 = at + 1 + i64(data[at])
        if end > len(data):
            break
        found.append(data[at + 1 : end])
        at = end
    return found


def numbers_of(data: bytes) -> list[int]:
    """The 16-bit numbers in ``data``, GREASE left out."""
    found: list[int] = []
    at: i64 = 0
    while at + 2 <= len(data):
        number: i64 = u16_be(data, at)
        if not is_grease(number):
            found.append(number)
        at += 2
    return found


def server_name(raw: bytes) -> str:
    """``raw`` as printable text, as much of it as can be a name; the same name is the same object."""
    raw = raw[:_NAME_LEN_MAX]
    name = _names.get(raw)
    if name is None:
        name = printable(raw)
        if len(_names) >= _NAMES_MAX:
            _names.clear()
        _names[raw] = name
    return name


def group_tuple(packed: i64, more: bytes, shapes: HelloShapes) -> tuple[int, ...]:
    """The groups packed below the leading 1 of ``packed``, 16 bits each, and the 16-bit numbers in ``more``."""
    groups = _groups.get(packed)
    if groups is None:
        found: list[int] = []
        left: i64 = packed
        while left > 1:
            found.append(left & 0xFFFF)
            left >>= 16
        found.reverse()
        groups = tuple(found)
        if len(_groups) >= _GROUPS_MAX:
            _groups.clear()
        _groups[packed] = groups
    if more:
        return groups + tuple(numbers_of(shapes.kept(more, 2)))
    return groups
