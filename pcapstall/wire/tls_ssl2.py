"""The ClientHello in SSLv2 format, with which old clients opened a TLS connection (RFC 5246 appendix E.2).

It has its own record header of two bytes (three with padding), 3-byte cipher specs and no extensions. Only its shape
is known here; `tls_hello` makes a ClientHello of it. Nothing else of SSL 2.0 is read.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be
from pcapstall.wire.tls_names import CLIENT_HELLO

NEED_MORE: Final = 0
NOT_SSL2: Final = -1

_CHALLENGE_MIN: Final = 16
_CHALLENGE_MAX: Final = 32


def ssl2_header_len(first: i64) -> i64:
    """Length of the record header that begins with byte ``first``: the high bit says that there is no padding."""
    if first >= 0x80:
        return 2
    return 3


def ssl2_hello_len(data: bytes, start: i64, end: i64) -> i64:
    """Length, header included, of the SSLv2-format ClientHello at ``data[start:end]``.

    `NEED_MORE` while it can still be one, `NOT_SSL2` as soon as it cannot. The lengths in it must add up.
    """
    if start >= end:
        return NEED_MORE
    first: i64 = i64(data[start])
    header_len: i64 = ssl2_header_len(first)
    at: i64 = start + header_len
    if at >= end:
        return NEED_MORE
    if i64(data[at]) != CLIENT_HELLO:
        return NOT_SSL2
    if at + 2 >= end:
        return NEED_MORE
    version: i64 = u16_be(data, at + 1)
    if version != 0x0002 and (version < 0x0300 or version > 0x0304):
        return NOT_SSL2
    if at + 8 >= end:
        return NEED_MORE
    specs_len: i64 = u16_be(data, at + 3)
    session_id_len: i64 = u16_be(data, at + 5)
    challenge_len: i64 = u16_be(data, at + 7)
    length: i64 = u16_be(data, start) & 0x7FFF
    padding: i64 = 0
    if header_len == 3:
        length &= 0x3FFF
        padding = i64(data[start + 2])
    if (
        specs_len == 0
        or specs_len % 3 != 0
        or (session_id_len != 0 and session_id_len != 16)
        or challenge_len < _CHALLENGE_MIN
        or challenge_len > _CHALLENGE_MAX
        or 9 + specs_len + session_id_len + challenge_len + padding != length
    ):
        return NOT_SSL2
    return header_len + length
