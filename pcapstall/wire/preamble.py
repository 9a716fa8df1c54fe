"""Where TLS begins in a stream that does not begin with it: behind a proxy's header, CONNECT, SOCKS, STARTTLS.

Bytes only: the search for the first ClientHello and for the first record of the server that answers it. What went
before is named in `preamble_names`, which also tells whose turn it was.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be, u24_be
from pcapstall.wire.tls_event import is_record_header
from pcapstall.wire.tls_names import (
    ALERT_RECORD,
    APPLICATION_DATA_RECORD,
    CCS_RECORD,
    CLIENT_HELLO,
    FATAL,
    HANDSHAKE_RECORD,
    RECORD_LENGTH_MAX,
    SERVER_HELLO,
    WARNING,
)
from pcapstall.wire.tls_ssl2 import ssl2_hello_len

__all__ = [
    "NEED_MORE",
    "NOT_TLS",
    "SEARCH_MAX",
    "UNKNOWN",
    "find_client_hello",
    "is_refusal",
    "name_answer",
    "server_tls_start",
]

NEED_MORE: Final = -1
NOT_TLS: Final = -2

UNKNOWN: Final = "unknown"
"""The name of what no protocol is recognised in."""

SEARCH_MAX: Final = 16 * 1024
"""Where TLS has not begun after so many bytes, it does not begin any more."""

# Type, version, length of a record; type, length, version of a hello.
_HELLO_HEAD_LEN: Final = 11
_HELLO_MIN: Final = 38
_ALERT_LEN: Final = 7
# One byte of content type and the shortest tag.
_ENCRYPTED_MIN: Final = 17
_HANDSHAKE_HEAD: Final = b"\x16\x03"
_MAJOR_VERSION: Final = b"\x03"
_LINE_FEED: Final = b"\n"

_PROXY_V1: Final = b"PROXY "
# Requests that ask for anything but a tunnel; HTTP/2 in the clear begins with PRI.
_HTTP_METHODS: Final = (b"GET ", b"POST ", b"HEAD ", b"PUT ", b"DELETE ", b"OPTIONS ", b"PATCH ", b"PRI ")
_HTTP_METHOD_LEN_MAX: Final = 8
_BLANK_LINE: Final = b"\r\n\r\n"
_SSH: Final = b"SSH-"


def find_client_hello(data: bytes, start: i64) -> i64:
    """The offset of the first plausible ClientHello in ``data``, the head of a client's stream, from ``start`` on.

    `NEED_MORE` while there can still be one, `NOT_TLS` when there cannot. At ``start`` itself two bytes of a
    handshake record are enough; anywhere else it takes the first 11 bytes of record and hello. An SSLv2-format hello
    is looked for at ``start`` and behind a line feed. What comes behind another protocol's first request is not
    looked at.
    """
    end: i64 = len(data)
    if start < 0 or end - start < 2:
        return NEED_MORE
    if i64(data[start]) == HANDSHAKE_RECORD and _may_be_hello(data, start, end, CLIENT_HELLO):
        return start
    if ssl2_hello_len(data, start, end) > 0:
        return start
    other_end: i64 = _other_protocol_end(data, start)
    if other_end >= 0:
        end = other_end
    hello_at: i64 = _find_record(data, start + 1, end)
    ssl2_at: i64 = _find_ssl2(data, start, end)
    if hello_at >= 0 and (ssl2_at < 0 or hello_at < ssl2_at):
        return hello_at
    if ssl2_at >= 0:
        return ssl2_at
    if other_end >= 0 or end - start >= SEARCH_MAX:
        return NOT_TLS
    return NEED_MORE


def server_tls_start(data: bytes, start: i64) -> i64:
    """The offset of the first plausible TLS record in ``data``, the head of a server's stream, from ``start`` on.

    `NEED_MORE` while there can still be one, `NOT_TLS` when there cannot.
    """
    end: i64 = len(data)
    if start < 0 or end - start < 2:
        return NEED_MORE
    if _may_be_record(data, start, end):
        return start
    # Every record has 03 in its second byte, an alert is the shortest that is looked for.
    three: i64 = data.find(_MAJOR_VERSION, start + 2)
    while three >= 0 and three - 1 + _ALERT_LEN <= end:
        if _is_server_record(data, three - 1, end):
            return three - 1
        if i64(data[three - 1]) == HANDSHAKE_RECORD and three - 1 + _HELLO_HEAD_LEN > end:
            # It is not told yet, and what lies behind it comes later.
            break
        three = data.find(_MAJOR_VERSION, three + 1)
    if end - start >= SEARCH_MAX or is_refusal(data, start):
        return NOT_TLS
    return NEED_MORE


def name_answer(data: bytes) -> str:
    """What a server said to a ClientHello that is no TLS: ``http_400``, ``html``, ``ssh``, ``unknown``."""
    if data.startswith(_SSH):
        return "ssh"
    if data.startswith(b"HTTP/1.") and len(data) >= 12 and data[9:12].isdigit():
        return "http_" + data[9:12].decode()
    if data[:14].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        # An answer to what was taken for HTTP/0.9: no status line.
        return "html"
    return UNKNOWN


def _may_be_hello(data: bytes, at: i64, end: i64, hello: i64) -> bool:
    """Whether a record of type 22 at ``at`` can hold the beginning of a hello, as far as it is there.

    ``16 03 0x`` length ``01 00`` length ``03 0x``: the message fills the record or goes on in the next one.
    """
    have: i64 = end - at
    if have < 2 or i64(data[at + 1]) != 3:
        return False
    if have > 2 and i64(data[at + 2]) > 4:
        return False
    if have < 5:
        return True
    length: i64 = u16_be(data, at + 3)
    if length == 0 or length > RECORD_LENGTH_MAX:
        return False
    # What lies beyond the record's end belongs to the next record, whose header comes first.
    if have > 5 + length:
        have = 5 + length
    if have > 5 and i64(data[at + 5]) != hello:
        return False
    if have > 6 and i64(data[at + 6]) != 0:
        return False
    if have < 9:
        return True
    message_len: i64 = u24_be(data, at + 6)
    if message_len < _HELLO_MIN:
        return False
    if hello == CLIENT_HELLO and message_len + 4 < length:
        return False
    if have > 9 and i64(data[at + 9]) != 3 and i64(data[at + 9]) != 0x7F:
        return False
    return have < 11 or i64(data[at + 9]) == 0x7F or i64(data[at + 10]) <= 4


def _find_record(data: bytes, at: i64, end: i64) -> i64:
    """The first record from ``at`` on that begins a ClientHello; -1 for none."""
    at = data.find(_HANDSHAKE_HEAD, at)
    while at >= 0 and at + _HELLO_HEAD_LEN <= end:
        if _may_be_hello(data, at, end, CLIENT_HELLO):
            return at
        at = data.find(_HANDSHAKE_HEAD, at + 1)
    return -1


def _find_ssl2(data: bytes, at: i64, end: i64) -> i64:
    """The first SSLv2-format ClientHello behind a line feed from ``at`` on; -1 for none."""
    at = data.find(_LINE_FEED, at) + 1
    while at > 0 and at + _HELLO_HEAD_LEN <= end:
        if i64(data[at]) >= 0x80 and ssl2_hello_len(data, at, end) > 0:
            return at
        at = data.find(_LINE_FEED, at) + 1
    return -1


def _may_be_record(data: bytes, at: i64, end: i64) -> bool:
    """Whether any record can begin at ``at``, as far as it is there."""
    have: i64 = end - at
    content_type: i64 = i64(data[at])
    if content_type < CCS_RECORD or content_type > APPLICATION_DATA_RECORD or i64(data[at + 1]) != 3:
        return False
    if have < 5:
        return have < 3 or i64(data[at + 2]) <= 4
    return is_record_header(content_type, u16_be(data, at + 1), u16_be(data, at + 3))


def _is_server_record(data: bytes, at: i64, end: i64) -> bool:
    """Whether a server's first record begins at ``at``, among bytes that are something else."""
    if not _may_be_record(data, at, end):
        return False
    content_type: i64 = i64(data[at])
    length: i64 = u16_be(data, at + 3)
    if content_type == HANDSHAKE_RECORD:
        return at + _HELLO_HEAD_LEN <= end and _may_be_hello(data, at, end, SERVER_HELLO)
    if content_type == CCS_RECORD:
        return length == 1 and i64(data[at + 5]) == 1
    if content_type == ALERT_RECORD:
        level: i64 = i64(data[at + 5])
        return length == 2 and (level == WARNING or level == FATAL)
    return length >= _ENCRYPTED_MIN


def _other_protocol_end(data: bytes, start: i64) -> i64:
    """Where it is known that the client speaks another protocol, -1 when it is not.

    Behind the first letters of SSH, or behind the headers of an HTTP request that asks for neither a tunnel nor an
    upgrade.
    """
    if data.startswith(_PROXY_V1, start):
        line_end: i64 = data.find(b"\r\n", start)
        if line_end < 0:
            return -1
        start = line_end + 2
    if data.startswith(_SSH, start):
        return start + len(_SSH)
    if not data[start : start + _HTTP_METHOD_LEN_MAX].startswith(_HTTP_METHODS):
        return -1
    head_end: i64 = data.find(_BLANK_LINE, start)
    if head_end < 0 or b"\r\nupgrade:" in data[start:head_end].lower():
        return -1
    return head_end + len(_BLANK_LINE)


def is_refusal(data: bytes, start: i64) -> bool:
    """An SSH banner, or an HTTP answer that opens no tunnel: the server did not understand TLS, or did not want it."""
    if data.startswith(_SSH, start):
        return True
    if not data.startswith(b"HTTP/1.", start) or len(data) < start + 12:
        return False
    # "HTTP/1.1 400": only 2xx opens a tunnel, and 101 an upgrade.
    return i64(data[start + 9]) >= 0x33 and i64(data[start + 9]) <= 0x35
