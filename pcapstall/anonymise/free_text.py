"""Text that nobody understands, with other names in it: addresses by their looks, names that are known from elsewhere.

Sentences of a report, lines of logs, what a strace prints between its strings. Lengths need not stay. What looks like
none of these is left as it is.
"""

import ipaddress
import re
from collections.abc import Iterable
from typing import Final

from pcapstall.anonymise.mapping import Mapping
from pcapstall.core.endpoints import format_address

_V4: Final = r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?!\.?\d)"
_V6: Final = r"(?<![\w.])(?:[0-9A-Fa-f]{0,4}:){2,7}(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4})(?![\w:]|\.\d)"
_MAC: Final = r"(?<![0-9A-Fa-f:-])(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}(?![0-9A-Fa-f:-])"
_DASHED: Final = r"(?<!\d)(?<!\d-)\d{1,3}(?:-\d{1,3}){3}(?!-?\d)"
_WITHIN: Final = re.compile(rf"{_V4}|{_DASHED}")
"""Addresses within other words: ip-10-0-0-7."""
_TEXT: Final = r"(?:[A-Za-z0-9._%+-]+@)?[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_TOKEN: Final = re.compile(rf"(?P<mac>{_MAC})|(?P<v6>{_V6})|(?P<v4>{_V4})|(?P<text>{_TEXT})")
_ADDRESSES: Final = re.compile(rf"(?P<mac>{_MAC})|(?P<v6>{_V6})|(?P<v4>{_V4})")
_WORD: Final = re.compile(r"[A-Za-z0-9]+")

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


class FreeText:
    """Replaces what is recognised."""

    def __init__(self, mapping: Mapping, hidden: Iterable[str] = ()) -> None:
        self._mapping = mapping
        self._hidden = {word.lower() for text in hidden for word in _WORD.findall(text)}
        """Words that were named by hand: replaced wherever they stand."""
        self._names: set[str] = set()
        self._words: set[str] = set()
        self._known = -1

    def line(self, text: str) -> str:
        """``text`` with other names."""
        self._learn()
        return _TOKEN.sub(self._token, text)

    def addresses(self, text: str) -> str:
        """``text`` with other addresses, and all its words."""
        return _ADDRESSES.sub(self._token, text)

    def _learn(self) -> None:
        """Names that were met since, with the domains that they are in."""
        if self._known == len(self._mapping.names):
            return
        self._known = len(self._mapping.names)
        for name in self._mapping.names:
            labels = name.split(".")
            self._names.update(".".join(labels[index:]) for index in range(len(labels) - 1))
            words = _WORD.findall(name)
            self._words.update(word for word in words if len(word) >= _SHORTEST and not word.isdigit())
        self._words -= GENERIC

    def _token(self, match: re.Match[str]) -> str:
        text, kind = match[0], match.lastgroup
        if kind == "mac":
            address = bytes.fromhex(text.replace(":", "").replace("-", ""))
            return self._mapping.mac(address).hex(text[2])
        if kind in ("v4", "v6"):
            return self.address(text)
        return self._text(text)

    def address(self, text: str) -> str:
        """The other name of an address; what is none stays."""
        try:
            packed = ipaddress.ip_address(text).packed
        except ValueError:
            return text
        other = self._mapping.ip(packed)
        if other == packed:
            return text
        if "." in text and len(packed) == 16:
            return (
                str(ipaddress.IPv6Address(other))
                if other[:12] != bytes(10) + b"\xff\xff"
                else (f"{text[: text.rindex(':') + 1]}{format_address(other[12:])}")
            )
        return format_address(other)

    def _text(self, text: str) -> str:
        text = _WITHIN.sub(self._within, text)
        user, at, rest = text.rpartition("@")
        if at and "." in rest:
            return f"{self._mapping.words(user)}@{self._mapping.name(rest)}"
        small = text.lower()
        if small in self._names or self.is_host(small):
            return self._mapping.words(text)
        return _WORD.sub(self._word, text)

    def _within(self, match: re.Match[str]) -> str:
        if "." in match[0]:
            return self.address(match[0])
        return self.address(match[0].replace("-", ".")).replace(".", "-")

    def is_host(self, small: str) -> bool:
        """Whether a word in small letters is a host's name, by how it ends or because its domain is known."""
        labels = small.split(".")
        if len(labels) < 2:
            return False
        above = (".".join(labels[index:]) for index in range(1, len(labels) - 1))
        return labels[-1] in _SUFFIXES or any(name in self._names for name in above)

    def _word(self, match: re.Match[str]) -> str:
        small = match[0].lower()
        return self._mapping.word(match[0]) if small in self._words or small in self._hidden else match[0]
