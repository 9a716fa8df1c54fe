"""Keys of flows: bytes in which the endpoints of a segment stand, and the one of two that both directions share.

A key is ``src dst sport dport`` as on the wire, 12 bytes for IPv4 and 36 for IPv6. What is found by one is in the
modules that keep flows.
"""

from librt.strings import BytesWriter
from mypy_extensions import i64

from pcapstall.core.words import V4_KEY_LEN, write_v4_key
from pcapstall.wire.segment import Segment


def v4_key(source: i64, destination: i64) -> bytes:
    """The key of a segment between two IPv4 endpoints, as numbers (wire.segment)."""
    key = BytesWriter()
    write_v4_key(key, source, destination)
    return key.getvalue()


def reverse_key(key: bytes) -> bytes:
    """The key of the other direction: addresses and ports swapped."""
    if len(key) == V4_KEY_LEN:
        return key[4:8] + key[0:4] + key[10:12] + key[8:10]
    return key[16:32] + key[0:16] + key[34:36] + key[32:34]


def shared_key(key: bytes, source: i64, destination: i64) -> bytes:
    """Of ``key`` and the key of the other direction always the same one, whichever of the two is given.

    ``source`` and ``destination`` are the endpoints as numbers (wire.segment).
    """
    if source < destination:
        return key
    reverse = reverse_key(key)
    if source > destination or reverse < key:
        return reverse
    return key


def segment_of(key: bytes) -> Segment:
    """A segment with the endpoints in ``key``, and nothing else."""
    segment = Segment()
    address_len: i64 = (len(key) - 4) >> 1
    segment.buf = key
    segment.tcp_offset = address_len + address_len
    segment.locate(0, address_len)
    return segment
