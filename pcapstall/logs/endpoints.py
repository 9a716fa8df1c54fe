"""Endpoints in the text of a line: ``1.2.3.4:80``, ``[2001:db8::1]:80``, ``1.2.3.4 port 80`` and the other spellings.

Addresses come out packed, v4-mapped ones folded to four bytes, so that every spelling of one endpoint is equal. Whose
endpoint it is is not known here.
"""

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv6Address
from typing import Final

from pcapstall.core.endpoints import DOTTED_QUAD, fold

Endpoint = tuple[bytes, int]
"""A packed address (4 or 16 bytes) and a port."""

_QUAD: Final = DOTTED_QUAD.encode()
MAX_NAMED: Final = 32
"""So many endpoints of a line are looked at."""

# 1.2.3.4:80, ::ffff:1.2.3.4:80, [::ffff:1.2.3.4]:80, 1.2.3.4#53, 1.2.3.4 port 80, "1.2.3.4","port":80,
# 1.2.3.4, port=80, ('1.2.3.4', 80): what Python prints of an address
_BETWEEN: Final = (
    rb"(?:\]?:|\#|[\]\"'\\]{0,3}[,;)]?[ ]{0,2}[\"'\\]{0,2}[\w.@-]{0,24}(?i:port(?:_?value)?)"
    rb"[\"'\\]{0,2}[ =:]{1,3}[\"'\\]{0,2}|', (?=\d{1,5}[,)]))"
)
_V4: Final = re.compile(rb"(?<![\d.])(" + _QUAD + rb")(?=[\]\"'\\,;):\# ])" + _BETWEEN + rb"(\d{1,5})(?![\d.]*\d)")
# [2001:db8::1]:80, [fe80::1%eth0]:80, 2001:db8::1 port 80, 2001:db8::1#53
_V6: Final = re.compile(
    rb"(?<![\w:.])\[?([0-9a-fA-F]{0,4}:[0-9a-fA-F:]{1,36}(?:" + _QUAD + rb")?)(?:%[\w.-]{1,15})?"
    rb"(?:\]:|" + _BETWEEN.replace(rb"\]?:|", rb"") + rb")(\d{1,5})(?!\d)"
)


@lru_cache(maxsize=4096)
def _packed_v4(text: bytes) -> bytes | None:
    numbers = list(map(int, text.split(b".")))
    return bytes(numbers) if max(numbers) <= 255 else None


@lru_cache(maxsize=4096)
def _packed_v6(text: bytes) -> bytes | None:
    try:
        packed = IPv6Address(text.decode("ascii")).packed
    except AddressValueError:
        return None
    return fold(packed)


def endpoints_in(line: bytes) -> list[Endpoint]:
    """The endpoints that ``line`` names, each once, in the order in which they stand there."""
    if b"::" in line or b"]:" in line or line.count(b":") >= _V6_COLONS:
        return _of_both_kinds(line)
    found: list[Endpoint] = []
    for text, port in _V4.findall(line)[:MAX_NAMED]:
        packed = _packed_v4(text)
        if packed is not None and int(port) <= 0xFFFF:
            found.append((packed, int(port)))
    return found if len(found) < 2 else list(dict.fromkeys(found))


# client: 10.0.0.1, server: x; 10.0.0.1 - - [30/Nov/2026; "remote_addr":"2001:db8::1"
_BARE_V4: Final = re.compile(rb"(?<![\w.:-])(?:::ffff:)?(" + _QUAD + rb")(?![\w.-]*\w|:\d|/\d)")
_BARE_V6: Final = re.compile(rb"(?<![\w:.])([0-9a-fA-F]{1,4}:[0-9a-fA-F:]{2,37})(?![\w:.]|\]:\d|/\d)")


def addresses_in(line: bytes) -> list[bytes]:
    """The addresses that ``line`` names without a port behind them."""
    found = [_packed_v4(text) for text in _BARE_V4.findall(line)[:MAX_NAMED]]
    if line.count(b":") > 1:
        found += [_packed_v6(text) for text in _BARE_V6.findall(line)[:MAX_NAMED]]
    return [packed for packed in found if packed is not None]


_V6_COLONS: Final = 7
"""An IPv6 address without a ``::`` has so many."""


def _of_both_kinds(line: bytes) -> list[Endpoint]:
    found: list[tuple[int, Endpoint]] = []
    for pattern, packed_of in ((_V4, _packed_v4), (_V6, _packed_v6)):
        for number, match in enumerate(pattern.finditer(line)):
            packed, port = packed_of(match[1]), int(match[2])
            if packed is not None and port <= 0xFFFF:
                found.append((match.start(), (packed, port)))
            if number >= MAX_NAMED:
                break
    found.sort()
    return list(dict.fromkeys(endpoint for _, endpoint in found))
