"""The quick way over records that lie in one stretch of bytes: no state of a reader, no step but from header to header.

`read_whole` tells of one record what a `TlsReader` would tell of it, `behind_data` and `skim` pass over application
data. They take nothing but whole ordinary records of one message; everything else is the reader's, from there on.
"""

from typing import Final

from librt.strings import read_i16_be, read_i32_be
from mypy_extensions import i64

from pcapstall.wire.tls_event import (
    APP_DATA,
    CHANGE_CIPHER_SPEC,
    ENCRYPTED_HANDSHAKE,
    HANDSHAKE,
    TlsEvent,
    is_hello,
    is_known_message,
    is_record_header,
)
from pcapstall.wire.tls_messages import MESSAGE_HEADER_LEN, OPAQUE, PEEK_LEN, RECORD_HEADER, RECORD_HEADER_LEN
from pcapstall.wire.tls_names import APPLICATION_DATA_RECORD, CCS_RECORD, HANDSHAKE_RECORD
from pcapstall.wire.tls_reader import TlsReader

ORDINARY_LEN: Final = 24
"""Application data shorter than this may be an alert, or be empty."""
OTHER: Final = -1


def read_whole(buf: bytes, at: i64, end: i64, shift: i64, ccs: bool, event: TlsEvent) -> i64:
    """Fill ``event`` with the record whose header is at ``buf[at]``, as a reader that stands there would.

    Returns where the next record begins; that of application data may lie beyond ``end``. `OTHER`, and nothing told,
    when the record is none that this knows. ``shift`` makes a place in ``buf`` an offset in the stream; ``ccs`` says
    whether this direction has changed ciphers.
    """
    body: i64 = at + RECORD_HEADER_LEN
    if body > end:
        return OTHER
    word: i64 = i64(read_i32_be(buf, at))
    length: i64 = i64(read_i16_be(buf, at + 3)) & 0xFFFF
    content_type: i64 = word >> 24
    if not is_record_header(content_type, (word >> 8) & 0xFFFF, length):
        return OTHER
    behind: i64 = body + length
    kind: i64 = APP_DATA
    if content_type != APPLICATION_DATA_RECORD:
        if behind > end:
            return OTHER
        if content_type == HANDSHAKE_RECORD and length >= MESSAGE_HEADER_LEN:
            word = i64(read_i32_be(buf, body)) & 0xFFFF_FFFF
            message_type: i64 = word >> 24
            if not ccs:
                if (word & 0xFFFFFF) + MESSAGE_HEADER_LEN != length or not is_known_message(message_type):
                    return OTHER
                event.fill(HANDSHAKE, message_type, body + shift, behind + shift - 1, length - MESSAGE_HEADER_LEN)
                event.start_offset = at + shift
                if is_hello(message_type):
                    event.set_body(buf, body, behind)
                return behind
            if length < PEEK_LEN or is_hello(message_type):
                return OTHER
            kind = ENCRYPTED_HANDSHAKE
        elif content_type == CCS_RECORD and length == 1:
            kind = CHANGE_CIPHER_SPEC
        else:
            return OTHER
    event.fill(kind, content_type, at + shift, behind + shift - 1, length)
    return behind


def behind_data(buf: bytes, at: i64, end: i64) -> i64:
    """Where the first record begins that is no ordinary application data, from the header at ``buf[at]`` on.

    Or where one begins of which the header is cut, or that lies beyond ``end``.
    """
    while at + RECORD_HEADER_LEN <= end:
        word: i64 = i64(read_i32_be(buf, at))
        length: i64 = i64(read_i16_be(buf, at + 3)) & 0xFFFF
        if (
            word >> 24 != APPLICATION_DATA_RECORD
            or length < ORDINARY_LEN
            or not is_record_header(APPLICATION_DATA_RECORD, (word >> 8) & 0xFFFF, length)
        ):
            break
        at += RECORD_HEADER_LEN + length
    return at


def skim(reader: TlsReader, buf: bytes, start: i64, end: i64, offset: i64) -> bool:
    """Read ``buf[start:end]`` like `TlsReader.read`, if nothing begins there but ordinary application data.

    False, and nothing read, when there may be anything else, or there is a hole.
    """
    if reader.message_type >= 0 or reader.message_word_len > 0 or reader.word_len > 0 or reader.lost:
        return False
    if reader.state == RECORD_HEADER:
        if reader.offset != offset:
            return False
    elif reader.state != OPAQUE or reader.offset > offset or reader.record_end < offset:
        return False
    at: i64 = behind_data(buf, start + (reader.record_end - offset), end)
    if at < end:
        return False
    if offset + (at - start) > reader.record_end:
        reader.content_type = APPLICATION_DATA_RECORD
        reader.record_end = offset + (at - start)
    reader.offset = offset + (end - start)
    reader.state = OPAQUE
    if at == end:
        reader.state = RECORD_HEADER
    return True
