"""Text that nobody understands, with other names in it: addresses by their looks, names that are known from elsewhere.

Sentences of a report, lines of logs, what a strace prints between its strings. Lengths need not stay. What looks like
none of these is left as it is.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from pcapstall.anonymise.mapping import NAME_LEN_MAX, Mapping
from pcapstall.anonymise.words import WORD
from pcapstall.core.endpoints import DOTTED_QUAD, fold, format_address

_PORT_NEXT: Final = r"(?!\.\d)|(?=\.\d{1,5}(?!\.?\w))"
"""Behind an address: no further number, or only a port, as tcpdump writes it (10.0.0.1.443)."""
_V4: Final = rf"(?<!\d)(?<!\d\.){DOTTED_QUAD}(?!\d)(?:{_PORT_NEXT})"
_HEX: Final = "[0-9A-Fa-f]"
V6: Final = (
    rf"(?<!\w)(?<!\w\.)(?:(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}(?=:\d{{1,5}}(?![\w:]))"
    rf"|(?:{_HEX}{{0,4}}:){{2,8}}(?:{DOTTED_QUAD}|{_HEX}{{1,4}}|(?<=::))(?!\w|:[\w:])(?:{_PORT_NEXT}))"
)
_MAC: Final = (
    rf"(?<![0-9A-Za-z])(?:(?:{_HEX}{{1,2}}:){{5,130}}{_HEX}{{1,2}}|(?:{_HEX}{{2}}-){{5,130}}{_HEX}{{2}}"
    rf"|(?:{_HEX}{{4}}\.){{2}}{_HEX}{{4}})(?![.:-]?\w)"
)
"""IEEE's, the kernel's and Cisco's notation; longer runs are two addresses and a type (iptables), or a fingerprint."""
_DASHED: Final = r"(?<!\d)(?<!\d-)\d{1,3}(?:-\d{1,3}){3}(?!-?\d)"
_WITHIN: Final = re.compile(rf"(?P<mac>{_MAC})|{_V4}|{_DASHED}")
"""Addresses within other words: ip-10-0-0-7."""
_USER: Final = r"(?:(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]++@|[A-Za-z0-9._%+-]{1,64}@)"
"""Begun within a run only for the length of RFC 5321 section 4.5.3.1.1, lest it is read once for each place in it."""
_TEXT: Final = rf"{_USER}?[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_TOKEN: Final = re.compile(rf"(?P<mac>{_MAC})|(?P<v6>{V6})|(?P<v4>{_V4})|(?P<text>{_TEXT})")
_ADDRESSES: Final = re.compile(rf"(?P<mac>{_MAC})|(?P<v6>{V6})|(?P<v4>{_V4})")
_ANY_WORD: Final = re.compile(r"[^\W_]+")

_SUFFIXES: Final = frozenset(
    "com org net edu gov mil int io dev cloud app ai co eu de fr uk us nl ch at it es pl se no fi dk cz ru cn jp kr in"
    " br au ca info biz me tv local localdomain internal intranet lan home corp private svc cluster arpa test example"
    " invalid onion".split()
)
"""Last labels of names that are hosts' beyond doubt."""
GENERIC: Final = _SUFFIXES | frozenset(
    "www api http https tcp udp tls ssl the and for not localhost host server client proxy port mail smtp imap pop3 ftp"
    " dns name sni error info debug warn trace time data test app web node pod default system kube".split()
)
"""Words that a log is full of, whatever hosts are called."""
_SHORTEST: Final = 3
_MAC_LEN: Final = 6
_ETHERNET_LEN: Final = 14
_EUI_LEN: Final = 8
"""So many numbers with colons between may be an IPv6 address."""


class FreeText:
    """Replaces what is recognised."""

    def __init__(self, mapping: Mapping, hidden: Iterable[str] = ()) -> None:
        self._mapping = mapping
        words = {word.lower() for text in hidden for word in _ANY_WORD.findall(text)}
        self._hidden = mapping.hidden
        """Words that were named by hand: replaced wherever they stand."""
        self._hidden.update(word for word in words if word.isascii())
        foreign = "|".join(re.escape(word) for word in sorted(words - self._hidden, key=len, reverse=True))
        self._foreign = re.compile(rf"(?<![^\W_])(?:{foreign})(?![^\W_])", re.IGNORECASE) if foreign else None
        """Those of other letters than ASCII's."""
        self._names: set[str] = set()
        self._words: set[str] = set()
        self._known = -1

    def line(self, text: str) -> str:
        """``text`` with other names."""
        self._learn()
        if self._foreign is not None:
            text = self._foreign.sub(lambda match: self._mapping.words(match[0]), text)
        return _TOKEN.sub(self._token, text)

    def addresses(self, text: str) -> str:
        """``text`` with other addresses; of its words only those that are hidden are replaced."""
        pieces, at = [], 0
        for match in _ADDRESSES.finditer(text):
            pieces += [self._hide(text[at : match.start()]), self._token(match)]
            at = match.end()
        return "".join((*pieces, self._hide(text[at:])))

    def hides(self, text: str) -> bool:
        """Whether a hidden word stands in ``text``."""
        return bool(self._hidden) and not self._hidden.isdisjoint(WORD.findall(text.lower()))

    def _hide(self, text: str) -> str:
        if not self._hidden:
            return text
        return WORD.sub(lambda match: self._mapping.word(match[0]) if self.hides(match[0]) else match[0], text)

    def _learn(self) -> None:
        """Names that were met since, with the domains that they are in."""
        if self._known == len(self._mapping.names):
            return
        self._known = len(self._mapping.names)
        for name in self._mapping.names:
            labels = name.split(".")
            self._names.update(".".join(labels[index:]) for index in range(len(labels) - 1))
            words = WORD.findall(name)
            self._words.update(word for word in words if len(word) >= _SHORTEST and not word.isdigit())
        self._words -= GENERIC

    def _token(self, match: re.Match[str]) -> str:
        text, kind = match[0], match.lastgroup
        if kind == "mac":
            return self._hardware(text)
        if kind in ("v4", "v6"):
            return self.address(text)
        return self._text(text)

    def host(self, text: str) -> str:
        """The other name of what is known to be a host: an address, or words with an address among them."""
        if _ADDRESSES.fullmatch(text):
            return self.address(text)
        self._mapping.name(text)
        made, at = "", 0
        for match in _WITHIN.finditer(text):
            made += self._mapping.words(text[at : match.start()]) + self._within(match)
            at = match.end()
        return made + self._mapping.words(text[at:])

    def _hardware(self, text: str) -> str:
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

    def address(self, text: str) -> str:
        """The other name of an address; what is none stays."""
        try:
            packed = ipaddress.ip_address(text).packed
        except ValueError:
            return text
        other = self._mapping.ip(packed)
        if other == packed:
            return text
        folded = fold(other)
        if "." in text and len(folded) < len(other):
            return text[: text.rindex(":") + 1] + format_address(folded)
        return format_address(other)

    def _text(self, text: str) -> str:
        user, at, rest = text.rpartition("@")
        if at and "." in rest:
            return f"{self._mapping.words(user)}@{self._mapping.name(rest)}"
        small = text.lower()
        if small in self._names or self.is_host(small):
            return self._mapping.words(text)
        return WORD.sub(self._word, _WITHIN.sub(self._within, text))

    def _within(self, match: re.Match[str]) -> str:
        if match["mac"] is not None:
            return self._hardware(match[0])
        if "." in match[0]:
            return self.address(match[0])
        return self.address(match[0].replace("-", ".")).replace(".", "-")

    def is_host(self, small: str) -> bool:
        """Whether a word in small letters is a host's name, by how it ends or because its domain is known."""
        labels = small[-NAME_LEN_MAX:].split(".")
        if len(labels) < 2:
            return False
        above = (".".join(labels[index:]) for index in range(1, len(labels) - 1))
        return labels[-1] in _SUFFIXES or any(name in self._names for name in above)

    def _word(self, match: re.Match[str]) -> str:
        small = match[0].lower()
        return self._mapping.word(match[0]) if small in self._words or small in self._hidden else match[0]
