"""Certificates under other names: the structure of DER stays, and with it what kind of certificate it is.

Strings are mapped, addresses and identifiers of organisations too; numbers, keys, signatures and times are filler. What
is no DER is filler as a whole.
"""

from typing import Final

from pcapstall.anonymise.mapping import Mapping, filler

_INTEGER: Final = 0x02
_BIT_STRING: Final = 0x03
_OCTET_STRING: Final = 0x04
_STRINGS: Final = frozenset((0x0C, 0x12, 0x13, 0x14, 0x16, 0x1A, 0x1B, 0x81, 0x82, 0x86))
"""Strings of one byte a character, and the alternatives of GeneralName that are such (RFC 5280 section 4.2.1.6)."""
_IP_ADDRESS: Final = 0x87
_KEPT: Final = frozenset((0x01, 0x05, 0x0A))
"""Truth values, NULL, enumerations."""
_OBJECT_IDENTIFIER: Final = 0x06
_OID_MAX: Final = 12
_ENTERPRISES: Final = bytes.fromhex("2b06010401")
"""1.3.6.1.4.1: the number behind it is an organisation's (IANA's private enterprise numbers)."""
_STANDARD_ARCS: Final = tuple(
    bytes.fromhex(arc)
    for arc in (
        "5504",  # 2.5.4: attributes of X.500
        "5508",  # 2.5.8: its algorithms
        "551d",  # 2.5.29: its extensions
        "2b060105",  # 1.3.6.1.5: PKIX, Kerberos
        "2a864886f70d01",  # 1.2.840.113549.1: PKCS
        "2a864886f70d02",  # 1.2.840.113549.2: RSA's digests
        "2a8648ce38",  # 1.2.840.10040: DSA
        "2a8648ce3d",  # 1.2.840.10045: elliptic curves of X9.62
        "2a8648ce3e",  # 1.2.840.10046: Diffie-Hellman of X9.42
        "2a811ccf5501",  # 1.2.156.10197.1: SM2, SM3
        "2a85030701",  # 1.2.643.7.1: GOST
        "2b0e0302",  # 1.3.14.3.2: SHA-1 of OIW
        "2b2403",  # 1.3.36.3: Brainpool
        *("2b656e", "2b656f", "2b6570", "2b6571"),  # 1.3.101.110 to 113: X25519, X448, Ed25519, Ed448
        "2b8104",  # 1.3.132: SECG's curves
        "6086480165",  # 2.16.840.1.101: NIST
        "60864801" + "86f842",  # 2.16.840.1.113730: Netscape's extensions
        "67810c01",  # 2.23.140.1: CA/Browser Forum
        "0992268993f22c6401",  # 0.9.2342.19200300.100.1: UID, DC
        "2b06010401" + "d6790204",  # 1.3.6.1.4.1.11129.2.4: Certificate Transparency
        "2b06010401" + "82371402",  # 1.3.6.1.4.1.311.20.2: kinds of certificates of Windows
        "2b06010401" + "82373c0201",  # 1.3.6.1.4.1.311.60.2.1: places in EV certificates
    )
)
"""Beginnings of object identifiers that are of standards: others are an organisation's, and name it."""
_WRAPPED: Final = frozenset((b"\x30", b"\x03", b"\x04"))
"""What an extension's OCTET STRING may hold: more DER, as RFC 5280 section 4.1 has it."""
_TIMES: Final = {0x17: b"700101000000Z", 0x18: b"19700101000000Z"}
_CONSTRUCTED: Final = 0x20
_DEEPEST: Final = 24


class Certificates:
    """Maps the body of a Certificate message of TLS 1.2 (RFC 5246 section 7.4.2) and older."""

    def __init__(self, mapping: Mapping) -> None:
        self._mapping = mapping

    def message(self, body: bytes) -> bytes:
        """A chain: its length, then each certificate behind its own."""
        out = bytearray(body[:3])
        at = 3
        while at + 3 <= len(body):
            size = int.from_bytes(body[at : at + 3], "big")
            out += body[at : at + 3]
            data = body[at + 3 : at + 3 + size]
            out += self._values(data, 0) if len(data) == size else filler(len(data))
            at += 3 + size
        return bytes(out) + filler(len(body) - len(out))

    def _values(self, data: bytes, depth: int) -> bytes:
        """A series of values; filler when they do not fill ``data`` exactly."""
        out = bytearray()
        at = 0
        while at < len(data):
            content, end = _extent(data, at)
            if end > len(data) or depth > _DEEPEST:
                return filler(len(data))
            out += data[at:content]
            out += self._value(data[at], data[content:end], depth)
            at = end
        return bytes(out)

    def _value(self, tag: int, content: bytes, depth: int) -> bytes:
        if tag & _CONSTRUCTED:
            return self._values(content, depth + 1)
        if (tag in _KEPT and len(content) <= 1) or (tag == _INTEGER and len(content) == 1):
            return content
        if tag == _OBJECT_IDENTIFIER:
            return self._identifier(content)
        if tag in _STRINGS:
            return self._mapping.name_bytes(content)
        if tag == _IP_ADDRESS and len(content) in (4, 16):
            return self._mapping.ip(content)
        if tag in _TIMES and len(content) == len(_TIMES[tag]):
            return _TIMES[tag]
        if tag == _OCTET_STRING and content[:1] in _WRAPPED:
            return self._values(content, depth + 1)
        if tag == _BIT_STRING and content[:2] == b"\0\x30":
            return content[:1] + self._values(content[1:], depth + 1)
        if tag == _INTEGER:
            return (b"\0" if content[:1] == b"\0" else b"\x01") + filler(len(content) - 1)
        return content[:1] + filler(len(content) - 1) if tag == _BIT_STRING else filler(len(content))

    def _identifier(self, content: bytes) -> bytes:
        """An object identifier: those of standards stay, others get other numbers of as many bytes (X.690 8.19)."""
        if content.startswith(_STANDARD_ARCS) and len(content) <= _OID_MAX:
            return content
        kept = len(_ENTERPRISES) if content.startswith(_ENTERPRISES) else 1
        out = bytearray(content[:kept])
        for old, new in zip(content[kept:], self._mapping.blob(content)[kept:], strict=True):
            more = old & 0x80
            # A number never begins with 0x80.
            out.append(more | (new & 0x7F or 1))
        return bytes(out)


def _extent(data: bytes, at: int) -> tuple[int, int]:
    """Where the content of the value at ``at`` starts and ends; beyond ``data`` for what is none."""
    beyond = len(data) + 1
    if at + 2 > len(data) or data[at] & 0x1F == 0x1F:
        return beyond, beyond
    length = data[at + 1]
    start = at + 2
    if length >= 0x80:
        start += length & 0x7F
        if length == 0x80 or start > len(data):
            return beyond, beyond
        length = int.from_bytes(data[at + 2 : start], "big")
    return start, start + length
