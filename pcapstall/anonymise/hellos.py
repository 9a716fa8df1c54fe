"""ClientHello and ServerHello under other names, as long as before: what was offered and chosen stays.

Kept are versions, ciphers, groups, algorithms, common ALPN and the kinds of extensions (so JA4 is the same); mapped are
names, randoms, session ids and tickets; keys and everything unknown is filler. A message may be cut anywhere.
"""

from collections.abc import Callable
from typing import Final

from pcapstall.anonymise.mapping import Mapping, filler
from pcapstall.anonymise.protocols import protocol_name
from pcapstall.core.words import u16_be
from pcapstall.wire.tls_hello import begins_hello_retry
from pcapstall.wire.tls_messages import MESSAGE_HEADER_LEN
from pcapstall.wire.tls_shape import (
    EXTENSION_ALPN,
    EXTENSION_EARLY_DATA,
    EXTENSION_ECH,
    EXTENSION_KEY_SHARE,
    EXTENSION_PRE_SHARED_KEY,
    EXTENSION_SERVER_NAME,
    EXTENSION_SESSION_TICKET,
    EXTENSION_SIGNATURE_ALGORITHMS,
    EXTENSION_SUPPORTED_VERSIONS,
)

_RANDOM: Final = 2
_DRAFT_MAJOR: Final = 0x7F
"""Drafts of TLS 1.3 up to 21 had neither session id nor compression method in a ServerHello."""
_SESSION_ID: Final = 34

_SUPPORTED_GROUPS: Final = 10
_PADDING: Final = 21
_COMPRESS_CERTIFICATE: Final = 27
_SIGNATURE_ALGORITHMS_CERT: Final = 50
_RENEGOTIATION_INFO: Final = 0xFF01
_NUMBERS: Final = frozenset(
    (
        _SUPPORTED_GROUPS,
        EXTENSION_SIGNATURE_ALGORITHMS,
        _COMPRESS_CERTIFICATE,
        EXTENSION_SUPPORTED_VERSIONS,
        _SIGNATURE_ALGORITHMS_CERT,
    )
)
"""Extensions whose data are lists of IANA's numbers of two bytes, behind a length."""
_SHORT: Final = {1: 1, 5: 5, 11: 4, 17: 0, 22: 0, 23: 0, 28: 2, EXTENSION_EARLY_DATA: 4, 45: 3, 49: 0}
"""Extensions that are kept, and how long their data are at most."""
_TEXT_NUMBERS: Final = frozenset((0x3374, 0x4469, 0x44CD, 0x7550))
"""Numbers of extensions that look like two letters: NPN, ALPS, Channel ID."""
_COMPRESSION_MAX: Final = 4


class Hellos:
    """Maps the bodies of hello messages, without their four bytes of header."""

    def __init__(self, mapping: Mapping) -> None:
        self._mapping = mapping

    def body(self, body: bytes, from_client: bool) -> bytes:
        """The body of either hello, of which there may be only the beginning."""
        out = bytearray(filler(len(body)))
        try:
            self._fill(body, out, from_client)
        except IndexError:
            return bytes(out[: len(body)])  # it ends here; what was not understood is filler
        return bytes(out[: len(body)])

    def _fill(self, body: bytes, out: bytearray, from_client: bool) -> None:
        out[:_RANDOM] = body[:_RANDOM]
        random = body[_RANDOM:_SESSION_ID]
        beginning = bytes(MESSAGE_HEADER_LEN) + body[:_SESSION_ID]
        retry = begins_hello_retry(beginning, 0, len(beginning))
        out[_RANDOM : _RANDOM + len(random)] = random if retry else self._mapping.blob(random, len(random) == 32)
        if not from_client and body[0] == _DRAFT_MAJOR:
            at = _SESSION_ID
            _copy(body, out, at, at + 2)
            at += 2
            self._extensions(body, out, at, from_client)
            return
        at = self._session_id(body, out, _SESSION_ID)
        if from_client:
            at = _cipher_suites(body, out, at)
            at = _compression_methods(body, out, at)
        else:
            _copy(body, out, at, at + 3)
            at += 3
        self._extensions(body, out, at, from_client)

    def _extensions(self, body: bytes, out: bytearray, at: int, from_client: bool) -> None:
        _copy(body, out, at, at + 2)
        end = min(at + 2 + u16_be(body, at), len(body))
        at += 2
        while at < end:
            number, size = u16_be(body, at), u16_be(body, at + 2)
            if number not in _TEXT_NUMBERS and is_text(body[at : at + 2]):
                return  # no extension, but something that stands where one should
            _copy(body, out, at, at + 4)
            at += 4
            data = body[at : min(at + size, end)]
            out[at : at + len(data)] = self._extension(number, data, from_client)
            at += size

    def _session_id(self, body: bytes, out: bytearray, at: int) -> int:
        size = body[at]
        out[at] = size
        value = body[at + 1 : at + 1 + size]
        if size <= 32:
            out[at + 1 : at + 1 + len(value)] = self._mapping.blob(value, len(value) == 32)
        return at + 1 + size

    def _extension(self, number: int, data: bytes, from_client: bool) -> bytes:
        """The data of one extension, which may be cut."""
        if number in _SHORT:
            return data if len(data) <= _SHORT[number] else filler(len(data))
        if number in _NUMBERS:
            return _numbers(data, len(data) % 2 + (0 if len(data) % 2 else 2))
        if number == EXTENSION_ALPN:
            return self._protocols(data)
        out = bytearray(filler(len(data)))
        fill = _FILLED.get(number)
        if fill is not None:
            try:
                fill(self, data, out, from_client)
            except IndexError:
                return bytes(out[: len(data)])  # cut: what follows is filler
        return bytes(out[: len(data)])

    def server_names(self, data: bytes, out: bytearray, _from_client: bool) -> None:
        """RFC 6066 section 3: the list's length, then type, length and name."""
        _copy(data, out, 0, 2)
        at = 2
        while at < len(data):
            _copy(data, out, at, at + 3)
            size = u16_be(data, at + 1)
            name = data[at + 3 : at + 3 + size]
            out[at + 3 : at + 3 + len(name)] = self._mapping.name_bytes(name)
            at += 3 + size

    def ticket(self, data: bytes, out: bytearray, _from_client: bool) -> None:
        """RFC 5077 section 3.2: nothing but the ticket."""
        out[:] = self._mapping.blob(data)

    def pre_shared_keys(self, data: bytes, out: bytearray, from_client: bool) -> None:
        """RFC 8446 section 4.2.11: tickets with an age each, then binders; a server's number of the one it chose."""
        if not from_client:
            out[:2] = data[:2]
            return
        _copy(data, out, 0, 2)
        at, end = 2, 2 + u16_be(data, 0)
        while at < end:
            _copy(data, out, at, at + 2)
            size = u16_be(data, at)
            identity = data[at + 2 : at + 2 + size]
            out[at + 2 : at + 2 + len(identity)] = self._mapping.blob(identity)
            at += 2 + size + 4
        _copy(data, out, end, end + 2)
        at = end + 2
        while at < len(data):
            out[at] = data[at]
            at += 1 + data[at]

    def _protocols(self, data: bytes) -> bytes:
        """RFC 7301 section 3.1: a list of names, each behind its length; anything else is filler."""
        at, out = 2, bytearray(data)
        while at < len(data) and data[at] and at + 1 + data[at] <= len(data):
            end = at + 1 + data[at]
            out[at + 1 : end] = protocol_name(data[at + 1 : end], self._mapping)
            at = end
        return bytes(out) if at == len(data) and u16_be(data, 0) == len(data) - 2 else filler(len(data))

    def ssl2(self, hello: bytes, header_len: int) -> bytes:
        """An SSLv2-format hello with its header (RFC 5246 appendix E.2)."""
        at = header_len + 9
        out = bytearray(hello[:at])
        specs, session = u16_be(hello, header_len + 3), u16_be(hello, header_len + 5)
        out += hello[at : at + specs]
        out += self._mapping.blob(hello[at + specs : at + specs + session])
        out += self._mapping.blob(hello[at + specs + session :], True)
        return bytes(out)


def _key_shares(_hellos: Hellos, data: bytes, out: bytearray, from_client: bool) -> None:
    """RFC 8446 section 4.2.8: groups and lengths stay, keys do not."""
    at = 0
    if from_client:
        _copy(data, out, 0, 2)
        at = 2
    while at < len(data):
        _copy(data, out, at, at + 4)
        at += 4 + (u16_be(data, at + 2) if at + 4 <= len(data) else 0)


def _copy(source: bytes, out: bytearray, start: int, end: int) -> None:
    """IndexError where the message ends before ``end``; what there is was copied."""
    part = source[start:end]
    out[start : start + len(part)] = part
    if len(part) < end - start:
        raise IndexError("cut")


def _cipher_suites(body: bytes, out: bytearray, at: int) -> int:
    _copy(body, out, at, at + 2)
    end = at + 2 + u16_be(body, at)
    suites = body[at + 2 : end]
    out[at + 2 : at + 2 + len(suites)] = _numbers(suites, 0)
    if end > len(body):
        raise IndexError("cut")
    return end


def _compression_methods(body: bytes, out: bytearray, at: int) -> int:
    size = body[at]
    out[at] = size
    _copy(body, out, at + 1, at + 1 + min(size, _COMPRESSION_MAX))
    return at + 1 + size


def is_text(pair: bytes) -> bool:
    """Whether two bytes are letters, digits or what stands between them in names, and no GREASE."""
    return len(pair) == 2 and all(byte in _TEXT for byte in pair) and not (pair[0] == pair[1] and pair[0] & 15 == 10)


_TEXT: Final = frozenset(b"-.0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def _numbers(data: bytes, head: int) -> bytes:
    """A list of numbers of two bytes behind ``head`` bytes; what looks like text is none of IANA's."""
    out = bytearray(data)
    for at in range(head, len(data), 2):
        if is_text(data[at : at + 2]) or at + 1 == len(data):
            out[at : at + 2] = filler(len(data[at : at + 2]))
    return bytes(out)


def _first_byte(_hellos: Hellos, data: bytes, out: bytearray, _from_client: bool) -> None:
    """A length (RFC 5746 section 3.2), or which side of ECH it is (RFC 9849 section 5)."""
    out[:1] = data[:1]


def _zeros(_hellos: Hellos, data: bytes, out: bytearray, _from_client: bool) -> None:
    """RFC 7685 section 3."""
    out[:] = bytes(len(data))


_FILLED: Final[dict[int, Callable[[Hellos, bytes, bytearray, bool], None]]] = {
    EXTENSION_SERVER_NAME: Hellos.server_names,
    _PADDING: _zeros,
    EXTENSION_SESSION_TICKET: Hellos.ticket,
    EXTENSION_PRE_SHARED_KEY: Hellos.pre_shared_keys,
    EXTENSION_KEY_SHARE: _key_shares,
    EXTENSION_ECH: _first_byte,
    _RENEGOTIATION_INFO: _first_byte,
}
"""Extensions of which only some bytes are filler: what fills in the others."""
