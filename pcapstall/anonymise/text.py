"""Lines of text in a packet, a strace or a log: addresses, names and words replaced, the words of protocols kept.

Works on one character a byte and keeps every length. What a line means is not looked at.
"""

import ipaddress
import re
from typing import Final

from pcapstall.anonymise.mapping import Mapping
from pcapstall.core.endpoints import format_address

IPV4: Final = r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\w)"
_DOTTED: Final = r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+"
_TOKEN: Final = re.compile(rf"(?P<ip>{IPV4})|(?P<host>{_DOTTED})|(?P<port>:\d{{1,5}}\b)|(?P<word>[A-Za-z0-9]+)")

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
_SHORT_NUMBER: Final = 3


def protocol_text(data: bytes, mapping: Mapping) -> bytes:
    """``data`` with other names in it, as long as before; bytes that are no text become 0."""
    text = data.decode("latin-1")
    replaced = _TOKEN.sub(lambda match: _token(match, mapping), text)
    return bytes(
        ord(c) if " " <= c <= "~" or c in "\r\n\t" else 0 for c in (replaced if len(replaced) == len(text) else "")
    ) or bytes(len(data))


def binary_text(data: bytes, mapping: Mapping) -> bytes:
    """The same for a binary request whose other bytes are known to be harmless: those are kept."""
    mapped = protocol_text(data, mapping)
    return bytes(new if 0x20 <= old <= 0x7E else old for old, new in zip(data, mapped, strict=True))


def _token(match: re.Match[str], mapping: Mapping) -> str:
    text = match[0]
    kind = match.lastgroup
    if kind == "port":
        return text
    if kind == "ip":
        return _same_length(text, mapping)
    if kind == "host":
        # A number with dots may be the beginning of an address that was cut.
        if text in _KEPT_DOTTED or all(part.lower() in KEPT_TOKENS for part in text.split(".")):
            return text
        return mapping.name(text)
    if text.lower() in KEPT_TOKENS or _is_short(text):
        return text
    return mapping.word(text)


def _is_short(text: str) -> bool:
    return text.isdigit() and len(text) <= _SHORT_NUMBER


def _same_length(text: str, mapping: Mapping) -> str:
    """An IPv4 address within a packet: the other name where that is as long, else another address that is.

    A stream cannot grow. The octets keep how many digits they have.
    """
    try:
        packed = ipaddress.IPv4Address(text).packed
    except ValueError:
        return mapping.words(text)
    other = format_address(mapping.ip(packed))
    if len(other) == len(text):
        return other
    octets = []
    for old, new in zip(text.split("."), mapping.blob(packed), strict=True):
        least, most = {1: (1, 9), 2: (10, 99)}.get(len(old), (100, 255))
        octets.append(str(least + new % (most - least + 1)))
    return ".".join(octets)
