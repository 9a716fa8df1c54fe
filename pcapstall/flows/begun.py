"""A ClientHello of which some bytes are here and others are not: when its earliest byte came.

Asked while a flow goes on, by whoever watches it, and when it ends. What follows from it is decided elsewhere.
"""

from typing import Final

from mypy_extensions import i64

from pcapstall.flows.flow import IGNORED, SEEKING, Flow
from pcapstall.flows.head import Arrival
from pcapstall.wire.tls_messages import MESSAGE_HEADER, SSL2_HELLO
from pcapstall.wire.tls_reader import TlsReader

_CLIENT_HELLO: Final = 1
_HANDSHAKE_RECORD: Final = 22


def begun_hello(flow: Flow) -> Arrival | None:
    """The arrival of the earliest byte seen of a ClientHello that is not whole yet; None without one."""
    half = flow.client()
    head = half.head
    if flow.client_hello_first_ref != 0 or head is None or half.phase == IGNORED:
        return None
    reader = half.reader
    if reader is not None:
        if reader.message_type == _CLIENT_HELLO or _begins_hello(reader):
            return head.arrival(reader.begun_offset())
    elif half.phase == SEEKING and len(head.held) > 0:
        # Its first bytes are missing so far.
        return head.held[0].arrival
    return None


def _begins_hello(reader: TlsReader) -> bool:
    """Whether there is a record's header of a client's first message, and nothing yet that makes it no hello."""
    if reader.state == SSL2_HELLO:
        return True
    if reader.lost or reader.ccs or reader.content_type != _HANDSHAKE_RECORD or reader.state != MESSAGE_HEADER:
        return False
    begun: i64 = reader.begun_offset()
    if begun != reader.record_offset:
        return False
    return reader.message_word_len == 0 or reader.message_word >> (8 * (reader.message_word_len - 1)) == _CLIENT_HELLO
