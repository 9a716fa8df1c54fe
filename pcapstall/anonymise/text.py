"""Lines of text in a packet, a strace or a log: addresses, names and words replaced, the words of protocols kept.

Works on one character a byte and keeps every length. What a line means is not looked at.
"""

import ipaddress
import re
from collections.abc import Callable
from collections.abc import Mapping as Table
from typing import Final

from pcapstall.anonymise.addresses import V4_IN_V6
from pcapstall.anonymise.mapping import Mapping
from pcapstall.anonymise.notations import V6
from pcapstall.core.endpoints import DOTTED_QUAD, format_address

_IPV4: Final = rf"(?<![\w.]){DOTTED_QUAD}(?![\w.]*\w)"
_DOTTED: Final = r"(?:(?<![A-Za-z0-9_-])[A-Za-z0-9_-]++|[A-Za-z0-9_-]{1,63})(?:\.[A-Za-z0-9_-]+)+"
"""Begun within a run only for the length of a label, lest a run without a dot is read once for each place in it."""
_PORT: Final = r":\d{1,5}(?![\w:.])"
_TOKEN: Final = re.compile(
    # 220 mail.example, HTTP/1.1 200, :server 670 nick, Content-Length: 12
    r"(?P<kept>^[1-5]\d\d(?=[ -]|\r?$)|(?<=HTTP/1\.[01] )\d{3}(?!\w)|(?<= )6(?:70|91)(?= )"
    r"|(?i:(?<=Content-Length:)|(?<=Content-Length: ))\d{1,9}(?=\r?$))"
    r"|(?P<proxy>^PROXY TCP[46] \S+ \S+ \d{1,5} \d{1,5}(?=\r?$))"
    rf"|(?P<v6>{V6})|(?P<ip>{_IPV4}(?:{_PORT})?)"
    rf"|(?P<target>(?i:(?<=CONNECT )|(?<=Host: )|(?<=Host:)|(?<=://))[A-Za-z0-9._-]+{_PORT})"
    rf"|(?P<port>(?<=\]){_PORT})|(?P<host>{_DOTTED})|(?P<word>[A-Za-z0-9]+)",
    re.MULTILINE,
)
"""A number is a port only behind an address or a host: behind a word it may be a password."""

KEPT_TOKENS: Final = frozenset(
    """
    proxy tcp4 tcp6 unknown connect http get post head put delete options patch pri host upgrade tls ssl connection
    content length type close keep alive user agent authorization authenticate ehlo helo lhlo starttls auth ftp stls ok
    err no bye bad preauth cap nick pass capability esmtp smtp lmtp imap imap4rev1 pop3 nntp ready go ahead begin now
    proceed failure features stream xmlns xmpp jabber streams etherx org urn ietf params xml ns version to from id
    implementation sasl sieve ssh html doctype body title mstshash cookie established error bad request found moved
    permanently forbidden not required gateway timeout service negotiation enabled server date utf iso quit completed
    us en text plain application json basic login size pipelining 8bitmime enhancedstatuscodes dsn chunking help mail
    rcpt data rset noop vrfy expn etrn verb idle literal namespace uidplus children unselect list lsub user uidl top
    """.split()
)
"""Words of protocols and of their answers: they tell what was spoken, and nobody's name."""
_KEPT_DOTTED: Final = frozenset(("etherx.jabber.org", "1.3.6.1.4.1.1466.20037", "1.0", "1.1", "2.0", "4.2.2"))
_NO_TEXT: Final = re.compile(rb"[^\t\r\n -~]")
_ANY_WORD: Final = re.compile(rb"[0-9A-Za-z]")
_ENDS_OF_LINES: Final = re.compile(rb"(?:\r\n)*|\n{1,2}|[^\r\n]")
_LETTERS: Final = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_LONE: Final = re.compile(rb"(?<![ -~])(?<![0-9A-Za-z]\0)[ -~](?![ -~])(?!\0[0-9A-Za-z])")
"""A byte of binary data that happens to be a letter, and no letter of UTF-16."""


def protocol_text(data: bytes, mapping: Mapping) -> bytes:
    """``data`` with other names in it, as long as before; bytes that are no text become 0.

    Behind the last whole line before such a byte signs are no text either: four of them may be an address.
    """
    no_text = _NO_TEXT.search(data)
    lines_len = len(data) if no_text is None else data.rfind(b"\n", 0, no_text.start()) + 1
    if _ANY_WORD.search(data, 0, lines_len) is None and _ENDS_OF_LINES.fullmatch(data, 0, lines_len) is None:
        lines_len = 0
    text = data.decode("latin-1")
    replaced = _TOKEN.sub(lambda match: _token(match, mapping), text)
    if len(replaced) != len(text):
        return bytes(len(data))
    made = bytearray(replaced.encode("latin-1"))
    for at in range(lines_len, len(made)):
        if made[at] not in _LETTERS:
            made[at] = 0
    return bytes(made)


def binary_text(data: bytes, mapping: Mapping, header_len: int) -> bytes:
    """The same for a binary request whose other bytes are known to be harmless: those are kept, and its header."""
    mapped = bytearray(protocol_text(data, mapping))
    for at, old in enumerate(data):
        if at < header_len or not 0x20 <= old <= 0x7E:
            mapped[at] = old
    for match in _LONE.finditer(data):
        mapped[match.start()] = data[match.start()]
    return bytes(mapped)


def _token(match: re.Match[str], mapping: Mapping) -> str:
    return _MAPPED[match.lastgroup or "word"](match[0], mapping)


def _kept(text: str, _mapping: Mapping) -> str:
    return text


def _proxy(text: str, mapping: Mapping) -> str:
    """A PROXY header of version 1: both ports stand behind both addresses."""
    *head, source, destination, source_port, destination_port = text.split(" ")
    mapped = [_TOKEN.sub(lambda match: _token(match, mapping), address) for address in (source, destination)]
    return " ".join((*(_word(word, mapping) for word in head), *mapped, source_port, destination_port))


def _ip(text: str, mapping: Mapping) -> str:
    address, colon, port = text.partition(":")
    return _same_length(address, mapping) + colon + port


def _target(text: str, mapping: Mapping) -> str:
    host, colon, port = text.rpartition(":")
    return mapping.name(host) + colon + port


def _host(text: str, mapping: Mapping) -> str:
    return text if text in _KEPT_DOTTED else mapping.name(text)


def _word(text: str, mapping: Mapping) -> str:
    small = text.lower()
    return text if small in KEPT_TOKENS and not mapping.hides(text) else mapping.word(text)


def _same_length(text: str, mapping: Mapping) -> str:
    """An IPv4 address within a packet: each number keeps how many digits it has, for a stream cannot grow.

    It is the packets' other name wherever that is as long, and never that of another address in a text.
    """
    try:
        packed = ipaddress.IPv4Address(text).packed
    except ValueError:
        return mapping.words(text)
    return format_address(mapping.same_length(packed))


def _same_length_v6(text: str, mapping: Mapping) -> str:
    """The same for an IPv6 address; of each group the zeros before its first digit stay."""
    try:
        packed = ipaddress.IPv6Address(text).packed
    except ValueError:
        return mapping.words(text)
    if packed[:12] in V4_IN_V6:
        mapped = packed[:12] + mapping.ip_within(packed[12:], _nibbles(packed[12:]))
    else:
        mapped = mapping.ip_within(packed, _nibbles(packed))
    groups, parts = text.split(":"), mapped.hex(":", 2).split(":")
    gap = groups.index("") if "" in groups else len(groups)
    is_dotted = "." in groups[-1]
    made = [
        _same_length(group, mapping)
        if "." in group
        else parts[number if number < gap else number - len(groups) - is_dotted][4 - len(group) :]
        for number, group in enumerate(groups)
    ]
    return ":".join(made)


def _nibbles(packed: bytes) -> list[range]:
    """What each hexadecimal digit of an address may become: a group of four keeps its length without leading zeros."""
    ranges: list[range] = []
    for group in packed.hex(":", 2).split(":"):
        zeros = len(group) - len(group.lstrip("0"))
        ranges += [range(1)] * zeros + [range(1, 16), range(16), range(16), range(16)][: 4 - zeros]
    return ranges


_MAPPED: Final[Table[str, Callable[[str, Mapping], str]]] = {
    "kept": _kept,
    "port": _kept,
    "proxy": _proxy,
    "v6": _same_length_v6,
    "ip": _ip,
    "target": _target,
    "host": _host,
    "word": _word,
}
