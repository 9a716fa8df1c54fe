"""Addresses in the notations that text has for them, each under the other name that it has in packets.

Dotted, with colons, in hexadecimal as the kernel and programs print it, backwards as DNS asks for it. Which words of a
line are looked at is known to `free_text` and `strace_text`.
"""

import ipaddress
import re
from typing import Final

from pcapstall.anonymise.mapping import Mapping
from pcapstall.core.endpoints import DOTTED_QUAD, fold, format_address

_PORT_NEXT: Final = r"(?!\.\d)|(?=\.\d{1,5}(?!\.?\w))"
"""Behind an address: no further number, or only a port, as tcpdump writes it (10.0.0.1.443)."""
V4: Final = rf"(?<!\d)(?<!\d\.){DOTTED_QUAD}(?!\d)(?:{_PORT_NEXT})"
_HEX: Final = "[0-9A-Fa-f]"
V6: Final = (
    rf"(?<!\w)(?<!\w\.)(?:(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}(?=:\d{{1,5}}(?![\w:]))"
    rf"|(?:{_HEX}{{0,4}}:){{2,8}}(?:{DOTTED_QUAD}|{_HEX}{{1,4}}|(?<=::))(?!\w|:[\w:])(?:{_PORT_NEXT}))"
)
MAC: Final = (
    rf"(?<![0-9A-Za-z])(?:(?:{_HEX}{{1,2}}:){{5,130}}{_HEX}{{1,2}}|(?:{_HEX}{{2}}-){{5,130}}{_HEX}{{2}}"
    rf"|(?:{_HEX}{{4}}\.){{2}}{_HEX}{{4}})(?![.:-]?\w)"
)
"""IEEE's, the kernel's and Cisco's notation; longer runs are two addresses and a type (iptables), or a fingerprint."""
DASHED: Final = r"(?<!\d)(?<!\d[-_])(?:\d{1,3}(?:-\d{1,3}){3}|\d{1,3}(?:_\d{1,3}){3})(?![-_]?\d)"
"""ip-10-0-0-7, ip_10_0_0_7."""
MANY: Final = r"(?<!\d)(?<!\d\.)\d+(?:\.\d+){5,}(?!\d)"
"""So many numbers are an object identifier, which may end with an address, or several addresses in a row."""
COMMAS: Final = r"(?<![\d,.])\d{1,3}(?:,\d{1,3}){5}(?![\d,.])"
"""Address and port as FTP has them (RFC 959 section 4.1.2)."""
KERNEL: Final = rf"(?<!\w)(?:{_HEX}{{8}}|{_HEX}{{32}}):{_HEX}{{4}}(?!\w)"
"""As in /proc/net/tcp: words in the machine's order, and the port."""
UUID: Final = rf"(?<![0-9A-Za-z]){_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}(?![0-9A-Za-z])"
BARE: Final = rf"(?<![0-9A-Za-z.])(?:0[xX])?{_HEX}{{7,}}(?![0-9A-Za-z])"
"""Digits without anything between: an address, an identifier, a key, or only a number."""
_PART: Final = rf"(?:0[xX]0{{0,6}}{_HEX}{{1,2}}|0[0-7]{{3}}|\d{{1,3}})"
_SIGN: Final = r"(?:\.|\[\.\]|\(\.\)|\{\.\}|\[(?i:dot)\]|\((?i:dot)\))"
PARTS: Final = (
    rf"(?<!\w)(?<!\w\.)(?=[\d.]{{0,12}}(?:0[xX]|(?<!\d)0\d{{3}}|\d[\[({{]))"
    rf"{_PART}(?:{_SIGN}{_PART}){{3}}(?!\w)(?:{_PORT_NEXT})"
)
"""inet_aton's 0x0a.0x28.0x27.0x2d and 0012.0050.0047.0055; 10.40.39[.]45, which nobody can click on."""
FEWER: Final = r"(?<![\w.])\d{1,3}\.(?:\d{5,8}|\d{1,3}\.\d{3,5})(?![\w.]*\w)"
"""Fewer numbers than four, of which the last one has several bytes (inet_aton): or a number with decimals."""
STAMP: Final = (
    r"(?<![\w.:/-])(?:\d{1,2}[-/ ](?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[-/ ]\d{4}[: T]|[IWEFDV]20\d{6} )"
    r"[012]\d:[0-5]\d:[0-6]\d(?![\d:])"
)
"""30/Nov/2026:07:24:02, E20261130 07:24:02: no address with colons, and no identifier."""
_MAC_LEN: Final = 6
_ETHERNET_LEN: Final = 14
_EUI_LEN: Final = 8
"""So many numbers with colons between may be an IPv6 address."""
_SHORTEST_ID: Final = 8
_LONGEST_NUMBER: Final = 20
_PIECES: Final = re.compile(f"({_SIGN})")
_COLONS: Final = re.compile(rf"(?:{_HEX}|:)*")
_TOLD: Final = re.compile(rf"(?=[0-9a-f]*\d){_HEX}{{3,4}}", re.IGNORECASE)
"""A group of something with colons that is no address and may be a part of one."""


class Notations:
    """Maps what is written."""

    def __init__(self, mapping: Mapping) -> None:
        self._mapping = mapping

    def address(self, text: str) -> str:
        """The other name of an IPv4 or IPv6 address; what is none has its numbers replaced."""
        packed = _packed(text)
        if packed is None:
            return self._no_address(text)
        other = self._mapping.ip(packed)
        if other == packed:
            return text
        folded = fold(other)
        if "." in text and len(folded) < len(other):
            return text[: text.rindex(":") + 1] + format_address(folded)
        return format_address(other)

    def _no_address(self, text: str) -> str:
        """12:34:56:78 may be a time; words of other makes of it are not."""
        if ":" not in text or _COLONS.fullmatch(text) is None:
            return self._mapping.words(text)
        return _TOLD.sub(lambda match: self._mapping.words(match[0]), text)

    def hardware(self, text: str) -> str:
        """The other name of a MAC address in any notation; of a longer run of bytes, other bytes."""
        if "." in text:
            digits = self._mapping.mac(bytes.fromhex(text.replace(".", ""))).hex()
            return ".".join((digits[:4], digits[4:8], digits[8:]))
        separator = "-" if "-" in text else ":"
        data = bytes(int(part, 16) for part in text.split(separator))
        if len(data) == _MAC_LEN:
            return self._mapping.mac(data).hex(separator)
        if len(data) == _ETHERNET_LEN:
            destination, source, kind = data[:_MAC_LEN], data[_MAC_LEN : 2 * _MAC_LEN], data[2 * _MAC_LEN :]
            return (self._mapping.mac(destination) + self._mapping.mac(source) + kind).hex(separator)
        if len(data) == _EUI_LEN and separator == ":":
            return self.address(text)
        return self._mapping.blob(data).hex(separator)

    def dashed(self, text: str) -> str:
        """An IPv4 address with another sign between its numbers."""
        sign = "-" if "-" in text else "_"
        return self.address(text.replace(sign, ".")).replace(".", sign)

    def parts(self, text: str) -> str:
        """An IPv4 address of numbers to any base, or with any sign between, in the same way."""
        pieces = _PIECES.split(text)
        numbers = [_number(piece) for piece in pieces[::2]]
        if max(numbers) > 255:
            return self._mapping.words(text)
        for at, number in enumerate(self._mapping.ip(bytes(numbers))):
            old = pieces[2 * at]
            like = "0x{:02x}" if old[:2] in ("0x", "0X") else "0{:03o}" if len(old) == 4 else "{}"
            pieces[2 * at] = like.format(number)
        return "".join(pieces)

    def fewer(self, text: str) -> str:
        """An address that was met, as inet_aton reads two or three numbers; any other number stays."""
        *first, last = map(int, text.split("."))
        shift = 8 * (4 - len(first))
        if max(first) > 255 or last >> shift:
            return text
        met = self._mapping.numbers.get(int.from_bytes(bytes(first), "big") << shift | last)
        if met is None:
            return text
        return ".".join((*map(str, met.to_bytes(4, "big")[: len(first)]), str(met & ((1 << shift) - 1))))

    def commas(self, text: str) -> str:
        """Six numbers, of which the last two are the port; other numbers than bytes stay."""
        numbers = text.split(",")
        if any(int(number) > 255 for number in numbers):
            return text
        return ",".join((self.address(".".join(numbers[:4])).replace(".", ","), *numbers[4:]))

    def kernel(self, text: str) -> str:
        """An address of /proc/net/tcp with its port."""
        digits, _, port = text.partition(":")
        swapped = b"".join(bytes.fromhex(digits[at : at + 8])[::-1] for at in range(0, len(digits), 8))
        other = self._mapping.ip(swapped)
        made = "".join(other[at : at + 4][::-1].hex() for at in range(0, len(other), 4))
        return f"{made.upper() if digits.upper() == digits else made}:{port}"

    def uuid(self, text: str) -> str:
        """Other digits."""
        made = iter(self._blob(text.replace("-", "")))
        return "".join(sign if sign == "-" else next(made) for sign in text)

    def bare(self, text: str) -> str:
        """Hexadecimal digits: those that are an address, or that look like an identifier."""
        head, digits = (text[:2], text[2:]) if text[:2].lower() == "0x" else ("", text)
        met = self._mapping.numbers.get(int(digits, 16)) if len(digits) <= 8 else None
        if met is not None:
            made = f"{met:0{len(digits)}x}"
        elif not head and digits.isdigit() and len(digits) <= 10 and self.number(text) != text:
            return self.number(text)
        elif len(digits) == 2 * _MAC_LEN:
            made = self._mapping.mac(bytes.fromhex(digits)).hex()
        elif len(digits) > _LONGEST_NUMBER or (
            len(digits) >= _SHORTEST_ID and not digits.isdigit() and not digits.isalpha()
        ):
            made = self._blob(digits)
        else:
            return text
        return head + (made.upper() if digits.upper() == digits else made)

    def _blob(self, digits: str) -> str:
        return self._mapping.blob(bytes.fromhex(digits.lower() + "0" * (len(digits) % 2))).hex()[: len(digits)]

    def number(self, text: str, is_address: bool = False) -> str:
        """A number that is an address that was met, in either order of its bytes; any one if it ``is_address``."""
        hexadecimal = text[:2] in ("0x", "0X")
        digits = text[2:] if hexadecimal else text
        if len(digits) > 10:
            return text
        value = int(digits, 16 if hexadecimal else 10)
        known = self._mapping.numbers.get(value)
        if known is None and is_address and value < 1 << 32:
            known = int.from_bytes(self._mapping.ip(value.to_bytes(4, "big")), "big")
        if known is None:
            return text
        return f"0x{known:0{len(digits)}x}" if hexadecimal else str(known)


def _number(text: str) -> int:
    """As inet_aton reads it, but for three digits that begin with 0: those are filled up more often than octal."""
    if text[:2] in ("0x", "0X"):
        return int(text[2:], 16)
    return int(text, 8 if len(text) == 4 else 10)


def _packed(text: str) -> bytes | None:
    """The bytes of an address, also where numbers of it begin with 0; None for what is none."""
    try:
        return ipaddress.ip_address(text).packed
    except ValueError:
        pass
    numbers = text.split(".")
    if len(numbers) == 4 and all(number.isdigit() and int(number) < 256 for number in numbers):
        return bytes(map(int, numbers))
    return None
