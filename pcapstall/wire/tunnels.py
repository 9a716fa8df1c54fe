"""Tunnels: their kinds and names, and those that IP carries as a protocol of its own (GRE, PPTP, ERSPAN, WCCP).

A reader returns what the tunnel carries, where, the tunnel's kind and its identifier (-1 without one). The inner packet
is not read here.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be, u32_be
from pcapstall.wire.protocols import (
    ETHERNET,
    ETHERTYPE_ERSPAN,
    ETHERTYPE_ERSPAN_III,
    ETHERTYPE_MIN,
    ETHERTYPE_PPP,
    ETHERTYPE_WCCP,
    IP_ANY,
    NOT_TCP,
    TUNNEL_CUT,
)

# Kinds of tunnel: the index of their name.
GRE: Final = 0
PPTP: Final = 1
ERSPAN: Final = 2
VXLAN: Final = 3
GENEVE: Final = 4
GTP_U: Final = 5
IPIP: Final = 6
SIX_IN_FOUR: Final = 7
FOUR_IN_SIX: Final = 8
SIX_IN_SIX: Final = 9
TEREDO: Final = 10
MPLS_OVER_UDP: Final = 11
MPLS_OVER_IP: Final = 12
ETHERIP: Final = 13
ETHERNET_OVER_IP: Final = 14
NO_TUNNEL: Final = -1

_NAMES: Final = (
    "gre",
    "pptp",
    "gre/erspan",
    "vxlan",
    "geneve",
    "gtp",
    "ipip",
    "6in4",
    "4in6",
    "6in6",
    "teredo",
    "mpls/udp",
    "mpls/ip",
    "etherip",
    "ethernet/ip",
)


class TunnelNames:
    """The texts of ``segment.tunnel``: each is made once, then found by what it is made of."""

    LIMIT: Final = 1 << 16
    """So many texts are kept before the cache starts anew: a hostile capture may name a tunnel in each packet."""

    def __init__(self) -> None:
        self._last_key: i64 = -1
        self._last_outer: str = ""
        self._last_text: str = ""
        self._count: i64 = 0
        self._texts: dict[str, dict[int, str]] = {}

    @property
    def kept(self) -> int:
        """How many texts are remembered."""
        return self._count

    def inside(self, outer: str, kind: i64, ident: i64) -> str:
        """The name of the tunnel ``kind`` with identifier ``ident`` (-1: none) inside the one named ``outer``."""
        key: i64 = ((ident + 1) << 8) | kind
        if key == self._last_key and outer is self._last_outer:
            return self._last_text
        texts = self._texts.get(outer)
        if texts is None:
            texts = self._texts[outer] = {}
        text = texts.get(key)
        if text is None:
            self._count += 1
            if self._count > self.LIMIT:
                self._count = 1
                self._texts.clear()
                texts = self._texts[outer] = {}
            text = _NAMES[kind]
            if ident >= 0:
                text = f"{text}:{ident}"
            if outer:
                text = f"{outer}/{text}"
            texts[key] = text
        self._last_key = key
        self._last_outer = outer
        self._last_text = text
        return text


def gre(buf: bytes, at: i64, end: i64) -> tuple[i64, i64, i64, i64]:
    """RFC 2784 and 2890 (version 0), RFC 2637 section 4.1 (version 1, PPTP), and what ERSPAN and WCCP put inside."""
    if at + 4 > end:
        return TUNNEL_CUT, end, NO_TUNNEL, -1
    flags: i64 = u16_be(buf, at)
    proto: i64 = u16_be(buf, at + 2)
    at += 4
    version: i64 = flags & 7
    ident: i64 = -1
    if version == 1:
        if proto != ETHERTYPE_PPP or flags & 0x2000 == 0:
            return NOT_TCP, at, NO_TUNNEL, -1
        if at + 4 > end:
            return TUNNEL_CUT, end, NO_TUNNEL, -1
        ident = u16_be(buf, at + 2)  # the call, one number for each direction
        at += 4
        if flags & 0x0080:
            at += 4
        if flags & 0x1000 == 0:
            return NOT_TCP, at, NO_TUNNEL, -1  # an acknowledgment alone
        return ETHERTYPE_PPP, at + 4, PPTP, ident
    if version != 0:
        return NOT_TCP, at, NO_TUNNEL, -1
    if flags & 0xC000:
        at += 4  # checksum, offset
    if flags & 0x2000:
        if at + 4 > end:
            return TUNNEL_CUT, end, NO_TUNNEL, -1
        ident = u32_be(buf, at)
        at += 4
    if flags & 0x1000:
        at += 4
    if flags & 0x4000:
        at = _past_source_routes(buf, at, end)
    if at > end:
        return TUNNEL_CUT, end, NO_TUNNEL, -1
    if proto == ETHERTYPE_ERSPAN:
        if flags & 0x1000 == 0:
            return ETHERNET, at, ERSPAN, -1  # type I has no header of its own
        return _erspan(buf, at, end, 8)
    if proto == ETHERTYPE_ERSPAN_III:
        return _erspan(buf, at, end, 12)
    if proto == ETHERTYPE_WCCP:
        # Version 2 puts a redirect header of 4 bytes before the IP packet.
        if at < end and i64(buf[at]) >> 4 != 4:
            at += 4
        return IP_ANY, at, GRE, ident
    if proto < ETHERTYPE_MIN:
        return NOT_TCP, at, NO_TUNNEL, -1  # a keepalive of Cisco's has 0
    return proto, at, GRE, ident


def _past_source_routes(buf: bytes, at: i64, end: i64) -> i64:
    """The end of the source route entries (RFC 1701): family, offset, length; an empty one is the last."""
    while at + 4 <= end:
        family: i64 = u16_be(buf, at)
        length: i64 = i64(buf[at + 3])
        at += 4 + length
        if family == 0 and length == 0:
            return at
    return end + 1


def _erspan(buf: bytes, at: i64, end: i64, length: i64) -> tuple[i64, i64, i64, i64]:
    """ERSPAN types II (8 bytes) and III (12, and 8 more with the O flag): draft-foschiano-erspan sections 4.2, 4.3."""
    if at + length > end:
        return TUNNEL_CUT, end, NO_TUNNEL, -1
    session: i64 = u16_be(buf, at + 2) & 0x3FF
    inner: i64 = ETHERNET
    if length == 12:
        last: i64 = u16_be(buf, at + 10)
        if last & 1:
            length += 8
        if (last >> 10) & 0x1F == 2:
            inner = IP_ANY
    at += length
    if at > end:
        return TUNNEL_CUT, end, NO_TUNNEL, -1
    return inner, at, ERSPAN, session
