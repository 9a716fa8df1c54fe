"""The quick way past application data: from one record's header to the next, without an event for each.

What it leaves in the reader is what the reader's own way would have left. It takes nothing but whole headers of
ordinary records; everything else is the reader's.
"""

from typing import Final

from librt.strings import read_i16_be
from mypy_extensions import i64

from pcapstall.wire.tls_event import is_record_header
from pcapstall.wire.tls_messages import OPAQUE, RECORD_HEADER, RECORD_HEADER_LEN
from pcapstall.wire.tls_names import APPLICATION_DATA_RECORD
from pcapstall.wire.tls_reader import TlsReader

ORDINARY_LEN: Final = 24
"""Application data shorter than this may be an alert, or be empty."""
OTHER: Final = -1


def behind_data(buf: bytes, at: i64, end: i64) -> i64:
    """Where the record begins behind those of ordinary application data whose headers lie in ``buf[at:end]``.

    ``at`` is where the first header is; `OTHER` when there may be anything else: an alert's length, a header that is
    cut.
    """
    while at < end:
        if at + RECORD_HEADER_LEN > end or i64(buf[at]) != APPLICATION_DATA_RECORD:
            return OTHER
        version: i64 = i64(read_i16_be(buf, at + 1)) & 0xFFFF
        length: i64 = i64(read_i16_be(buf, at + 3)) & 0xFFFF
        if length < ORDINARY_LEN or not is_record_header(APPLICATION_DATA_RECORD, version, length):
            return OTHER
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
    if at < 0:
        return False
    if offset + (at - start) > reader.record_end:
        reader.content_type = APPLICATION_DATA_RECORD
        reader.record_end = offset + (at - start)
    reader.offset = offset + (end - start)
    reader.state = OPAQUE
    if at == end:
        reader.state = RECORD_HEADER
    return True
