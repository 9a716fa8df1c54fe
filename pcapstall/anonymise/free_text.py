"""Text that nobody understands, with other names in it: addresses by their looks, names that are known from elsewhere.

Sentences of a report and lines of logs. Lengths need not stay. What looks like none of these is left as it is; how
addresses are written is known to `notations`, how text is escaped to `escapes`.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final
from unicodedata import normalize

from pcapstall.anonymise.called import URL, secrets
from pcapstall.anonymise.escapes import is_escaped, runs
from pcapstall.anonymise.mapping import NAME_LEN_MAX, Mapping
from pcapstall.anonymise.notations import (
    BARE,
    COMMAS,
    DASHED,
    FEWER,
    KERNEL,
    MAC,
    MANY,
    PARTS,
    STAMP,
    UUID,
    V4,
    V6,
    Notations,
)
from pcapstall.anonymise.words import WORD

_WITHIN: Final = re.compile(
    rf"(?P<mac>{MAC})|(?P<uuid>{UUID})|(?P<many>{MANY})|(?P<v4>{V4})|(?P<dashed>{DASHED})|(?P<bare>{BARE})"
)
"""Addresses within other words: ip-10-0-0-7."""
_USER: Final = r"(?:(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]++@|[A-Za-z0-9._%+-]{1,64}@)"
"""Begun within a run only for the length of RFC 5321 section 4.5.3.1.1, lest it is read once for each place in it."""
_TEXT: Final = rf"{_USER}?[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_ARPA: Final = r"(?<![\w.-])(?:[0-9A-Fa-f]{1,3}\.){1,32}(?i:in-addr|ip6)\.(?i:arpa)(?![\w-])"
_KEY: Final = (
    r"(?<![A-Za-z0-9+/_=-])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*"
    r"|(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{20,}={0,2}(?![A-Za-z0-9+/_=-])"
)
"""A JSON web token; anything as long as a key."""
_HASH: Final = "[bcdfghjklmnpqrstvwxz2456789]"
_POD: Final = rf"(?<![\w.-])[a-z0-9](?:[a-z0-9-]{{0,200}}[a-z0-9])?-{_HASH}{{8,10}}-{_HASH}{{5}}(?![\w-])"
"""A pod of a deployment: its name and two names that Kubernetes made up."""
_JA4: Final = r"(?<!\w)[tqd]\d\d[di]\d{4}\w\w_[0-9a-f]{12}_[0-9a-f]{12}(?!\w)"
_TOKEN: Final = re.compile(
    rf"(?P<ja4>{_JA4})|(?P<url>{URL})|(?P<stamp>{STAMP})|(?P<parts>{PARTS})|(?P<uuid>{UUID})"
    rf"|(?P<kernel>{KERNEL})|(?P<mac>{MAC})|(?P<arpa>{_ARPA})"
    rf"|(?P<v6>{V6})(?:%(?P<zone>[\w.-]+))?|(?P<many>{MANY})|(?P<v4>{V4})|(?P<fewer>{FEWER})"
    rf"|(?P<commas>{COMMAS})|(?P<bare>{BARE})"
    rf"|(?P<pod>{_POD})|(?P<key>{_KEY})|(?P<text>{_TEXT})"
)
_BUT_KEYS: Final = re.compile(_TOKEN.pattern.replace(rf"|(?P<key>{_KEY})", ""))
_ADDRESSES: Final = re.compile(rf"(?P<mac>{MAC})|(?P<v6>{V6})|(?P<v4>{V4})")
_PORT_BEHIND: Final = re.compile(
    r"(.+)(\.(?:\d{1,5}|https?|domain|smtp|submission|imaps?|ldaps?|ssh|mysql|postgresql))"
)
"""A host's port as tcpdump has it."""
_ESCAPED: Final = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[0-7]{1,3})|%[0-9A-Fa-f]{2}|&#?\w{1,8};")
_SIGN: Final = re.compile(r"(\\+[A-Za-z]?)")
"""A backslash and its letter stay, so that a string of JSON is one afterwards."""
_MAC_ALONE: Final = re.compile(MAC)
_ANY_WORD: Final = re.compile(r"[^\W_]+")
_COMMON_INTERFACE: Final = re.compile(r"(?:any|lo|(?:eth|en[ops]|enp|wlan|wlp|bond|br|tun|tap|docker)[\dsfp]*)")
_URL_PARTS: Final = re.compile(
    r"(?P<scheme>[^:]+://)(?:(?P<user>[^/?#]*)@)?(?P<host>\[[^\]]*\]|[^/?#:]*)(?P<port>:\d{1,5}(?!\d))?(?P<rest>.*)",
    re.DOTALL,
)

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
        self._notations = notations = Notations(mapping)
        self.address, self.number, self.hides = notations.address, notations.number, mapping.hides
        words = {
            normalize("NFC", word).lower() for text in hidden for word in _ANY_WORD.findall(normalize("NFC", text))
        }
        mapping.hidden.update(word for word in words if word.isascii())
        spellings = {normalize(form, word) for word in words if not word.isascii() for form in ("NFC", "NFD")}
        foreign = "|".join(re.escape(word) for word in sorted(spellings, key=len, reverse=True))
        self._foreign = re.compile(rf"(?<![^\W_])(?:{foreign})(?![^\W_])", re.IGNORECASE) if foreign else None
        """Words that were named by hand, of other letters than ASCII's."""
        self._names: set[str] = set()
        self._words: set[str] = set()
        self._known = -1
        self._kinds: dict[str, Callable[[str], str]] = {
            "ja4": str, "stamp": self._stamp, "parts": notations.parts, "fewer": notations.fewer, "url": self._url,
            "uuid": notations.uuid, "kernel": notations.kernel, "mac": notations.hardware,
            "arpa": mapping.name, "v6": notations.address, "many": mapping.words, "v4": notations.address,
            "commas": notations.commas, "dashed": notations.dashed, "bare": notations.bare, "pod": mapping.words,
            "key": self._key, "text": self._text,
        }  # fmt: skip

    def line(self, text: str) -> str:
        """``text`` with other names."""
        self._learn()
        return self._but_secrets(text, self._between)

    def _but_secrets(self, text: str, between: Callable[[str], str]) -> str:
        """``text`` without what is called a secret there, and with what ``between`` makes of all else."""
        made: list[str] = []
        at = 0
        for begins, ends in secrets(text):
            made += between(text[at:begins]), self._secret(text[begins:ends])
            at = ends
        return "".join((*made, between(text[at:])))

    def _secret(self, text: str) -> str:
        parts = _SIGN.split(_ESCAPED.sub("x", text))
        return "".join(part if index % 2 else self._mapping.words(part) for index, part in enumerate(parts))

    def _between(self, text: str) -> str:
        """Text in which nothing is called a secret as it stands; decoded, something may be."""
        if not is_escaped(text):
            return self._plain(text)
        made = ""
        for part, decoded, escaped in runs(text):
            if decoded is None:
                made += self._plain(part)
            else:
                other = self._but_secrets(decoded, self._plain)
                made += part if other == decoded else escaped(other)
        return made

    def _plain(self, text: str) -> str:
        """Text in which nothing is escaped."""
        if self._foreign is not None:
            text = self._foreign.sub(lambda match: self._mapping.words(match[0]), text)
        return _TOKEN.sub(self._token, text)

    def written(self, text: str) -> str:
        """The other name of an address of any kind."""
        return self._notations.hardware(text) if _MAC_ALONE.fullmatch(text) else self.address(text)

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
        kind = match.lastgroup or "text"
        if kind == "zone":
            zone = match["zone"]
            return f"{self.address(match['v6'])}%{zone if is_common_interface(zone) else self._mapping.words(zone)}"
        return self._kinds[kind](match[0])

    def _stamp(self, text: str) -> str:
        return self._mapping.words(text) if self.hides(text) else text

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

    def _url(self, text: str) -> str:
        """But for the scheme, the port and common words all of it may be somebody's."""
        parts = _URL_PARTS.fullmatch(text)
        if parts is None:
            return self._mapping.words(text)
        user, host = parts["user"], parts["host"]
        made = parts["scheme"] + ("" if user is None else self._mapping.words(user) + "@")
        if host.startswith("["):
            made += f"[{_BUT_KEYS.sub(self._token, host[1:-1])}]"
        else:
            made += host if host.lower() in GENERIC else self.host(host)
        rest = WORD.sub(
            lambda word: word[0] if word[0].lower() in GENERIC else self._mapping.word(word[0]), parts["rest"]
        )
        return made + (parts["port"] or "") + rest

    def _key(self, text: str) -> str:
        """Letters of both cases with digits among them are Base64; others are paths and long names."""
        digits = re.findall(r"\d+", text)
        if text.startswith("eyJ") or (len(digits) > 1 and text.lower() != text and text.upper() != text):
            return self._mapping.words(text)
        return _BUT_KEYS.sub(self._token, text)

    def _text(self, text: str) -> str:
        user, at, rest = text.rpartition("@")
        if at:
            return f"{self._mapping.words(user)}@{(self._mapping.name if '.' in rest else self._mapping.words)(rest)}"
        behind = _PORT_BEHIND.fullmatch(text)
        name, port = (text, "") if behind is None else behind.groups()
        if name.lower() in self._names or self.is_host(name.lower()):
            return self._mapping.words(name) + port
        return WORD.sub(self._word, _WITHIN.sub(self._within, text))

    def _within(self, match: re.Match[str]) -> str:
        return self._kinds[match.lastgroup or ""](match[0])

    def is_host(self, small: str) -> bool:
        """Whether a word in small letters is a host's name, by how it ends or because its domain is known."""
        labels = small[-NAME_LEN_MAX:].split(".")
        if len(labels) < 2:
            return False
        above = (".".join(labels[index:]) for index in range(1, len(labels) - 1))
        return labels[-1] in _SUFFIXES or any(name in self._names for name in above)

    def _word(self, match: re.Match[str]) -> str:
        word = match[0]
        return self._mapping.word(word) if word.lower() in self._words or self.hides(word) else word


def is_common_interface(name: str) -> bool:
    """Whether every host may have an interface of that name."""
    return _COMMON_INTERFACE.fullmatch(name) is not None
