"""Where TLS begins in a stream that begins with something else: greetings, proxy headers, STARTTLS.

Looks at the kept first bytes of a half-flow; what the bytes of each protocol are is known to `wire.preamble`.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.flow import HalfFlow, peer_of
from pcapstall.flows.head import StreamHead
from pcapstall.flows.roles import hello_receiver
from pcapstall.wire.preamble import NEED_MORE, NOT_TLS, find_client_hello, name_preamble, server_tls_start

PREFIX_MAX: Final = 16 * 1024
"""Bytes searched for the beginning of TLS."""


def looks_like_record(buf: bytes, at: i64) -> bool:
    """Content type 20 to 23 and major version 3 (RFC 8446 section 5.1)."""
    return 20 <= buf[at] <= 23 and buf[at + 1] == 3 and buf[at + 2] <= 4


def find_tls(half: HalfFlow, head: StreamHead) -> i64:
    """Where in ``head.prefix`` TLS begins, or `NEED_MORE` or `NOT_TLS`; the client's preamble gets its name."""
    at: i64 = NEED_MORE
    if half is not hello_receiver(half.flow):
        at = _find_hello(half, head)
    elif half.flow.client_hello_first_ref != 0:
        at = _find_answer(half, head)
    else:
        return NEED_MORE
    if at == NEED_MORE and len(head.prefix) >= PREFIX_MAX:
        return NOT_TLS
    return at


def _find_hello(half: HalfFlow, head: StreamHead) -> i64:
    """Search a client's first bytes for its hello."""
    at: i64 = find_client_hello(head.prefix, 0)
    if at < 0:
        return at
    greeting = b""
    server_head = peer_of(half).head
    if server_head is not None:
        greeting = server_head.prefix
    if at > 0 or len(greeting) > 0:
        half.flow.preamble = name_preamble(head.prefix[:at], greeting)
    return at


def _find_answer(half: HalfFlow, head: StreamHead) -> i64:
    """Search a server's bytes from what the ClientHello acknowledged on."""
    cut: i64 = half.flow.server_tls_offset - head.prefix_offset
    if cut > 0:
        if cut > len(head.prefix):
            cut = len(head.prefix)
        head.prefix = head.prefix[cut:]
        head.prefix_offset += cut
    return server_tls_start(head.prefix, 0)


__all__ = ["NEED_MORE", "NOT_TLS", "PREFIX_MAX", "find_tls", "looks_like_record"]
