"""Where TLS begins in a stream that begins with something else: greetings, proxy headers, STARTTLS.

Looks at the kept first bytes of a half-flow; what the bytes of each protocol are is known to `wire`.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.core.words import u16_be
from pcapstall.flows.flow import FLAG_TLS_DUE, Flow, HalfFlow
from pcapstall.flows.head import StreamHead
from pcapstall.flows.roles import hello_receiver, talk_began_ns
from pcapstall.wire.preamble import (
    NEED_MORE,
    NOT_TLS,
    find_client_hello,
    is_refusal,
    name_answer,
    server_tls_start,
)

PREFIX_MAX: Final = 16 * 1024
"""Bytes searched for the beginning of TLS."""
RECORD_BEGIN_LEN: Final = 3
"""Bytes of a record that make it look like one: content type and version."""
_RECORD_HEADER_LEN: Final = 5


def looks_like_record(buf: bytes, at: i64) -> bool:
    """Content type 20 to 23 and major version 3 (RFC 8446 section 5.1)."""
    first: i64 = i64(buf[at])
    return first >= 20 and first <= 23 and i64(buf[at + 1]) == 3 and i64(buf[at + 2]) <= 4


def find_tls(half: HalfFlow, head: StreamHead) -> i64:
    """Where in ``head.prefix`` TLS begins, or `NEED_MORE` or `NOT_TLS`; the client's preamble gets its name.

    What the bytes up to some offset are is never told by how many of them came at a time: each rule waits until it has
    all that it asks for, and the rule that needs the fewest bytes of the stream comes first.
    """
    flow = half.flow
    if len(head.prefix) < RECORD_BEGIN_LEN:
        return NEED_MORE
    answers: bool = flow.client_hello_first_ref != 0 and half is hello_receiver(flow)
    if looks_like_record(head.prefix, 0) and (head.prefix_offset <= 0 or not answers):
        return 0
    at: i64 = NEED_MORE
    if answers:
        at = _find_answer(half, head)
    elif half is not hello_receiver(flow):
        at = _find_hello(half, head)
    else:
        return NEED_MORE
    if at == NEED_MORE and (len(head.prefix) >= PREFIX_MAX or head.prefix_offset + len(head.prefix) < head.read_offset):
        return NOT_TLS
    return at


def _find_hello(half: HalfFlow, head: StreamHead) -> i64:
    """Search a client's first bytes for its hello."""
    at: i64 = find_client_hello(head.prefix[:PREFIX_MAX], 0)
    if at < 0:
        return at
    greeting = b""
    server_head = half.peer.head
    if server_head is not None:
        greeting = server_head.prefix
    if at > 0 or len(greeting) > 0:
        from pcapstall.wire.preamble_names import name_preamble  # few connections begin with anything but TLS

        rare = half.flow.rare()
        rare.preamble = name_preamble(head.prefix[:at], greeting)
        hello_ns: i64 = head.arrival(head.prefix_offset + at).ns
        rare.preamble_ns = hello_ns - talk_began_ns(half.flow, hello_ns)
    return at


def _find_answer(half: HalfFlow, head: StreamHead) -> i64:
    """Search a server's bytes from what the ClientHello acknowledged on."""
    cut: i64 = half.flow.server_tls_offset - head.prefix_offset
    if cut > 0:
        if cut > len(head.prefix):
            cut = len(head.prefix)
        head.prefix = head.prefix[cut:]
        head.prefix_offset += cut
    if len(head.prefix) < RECORD_BEGIN_LEN:
        return NEED_MORE
    if looks_like_record(head.prefix, 0):
        return 0
    at: i64 = NOT_TLS
    if not is_refusal(head.prefix, 0):
        at = server_tls_start(head.prefix[:PREFIX_MAX], 0)
    if at == NOT_TLS:
        half.flow.rare().answer = name_answer(head.prefix)
    return at


def note_talk(flow: Flow) -> None:
    """The flow is over and its TLS did not begin, on one side or on both: keep what the bytes said instead."""
    client_head, server_head = flow.client().head, flow.server().head
    if client_head is None and server_head is None:
        return
    client, server = b"", b""
    if client_head is not None:
        client = client_head.prefix
    if server_head is not None:
        server = server_head.prefix
    if flow.client_hello_first_ref != 0:
        if server_head is not None and flow.server_hello_first_ref == 0 and hello_receiver(flow) is flow.server():
            cut: i64 = flow.server_tls_offset - server_head.prefix_offset
            if cut < 0:
                cut = 0
            if len(server) >= cut + _RECORD_HEADER_LEN:
                flow.rare().answer = name_answer(server[cut:])
        return
    if flow.ack_ref == 0 or len(client) + len(server) == 0:
        return
    from pcapstall.wire.preamble_names import name_preamble, server_owes, tls_due  # as above

    key = flow.answer_key
    if flow.opener_is_client:
        key = flow.key
    flow.rare().owes = server_owes(client, server, u16_be(key, len(key) - 2))
    due: bool = tls_due(client, server)
    name: str = name_preamble(client, server)
    if due:
        flow.flags |= FLAG_TLS_DUE
    if due or flow.owes != "" or name == "proxy_v1" or name == "proxy_v2":
        flow.rare().preamble = name


__all__ = ["NEED_MORE", "NOT_TLS", "PREFIX_MAX", "RECORD_BEGIN_LEN", "find_tls", "looks_like_record", "note_talk"]
