"""Internet checksums (RFC 1071) of packets that were changed: what was right is right again, wrong stays wrong.

What a card was still to fill in stays that, and 0 stays 0. Nothing of the old sum is kept.
"""

from typing import Final

_ONES: Final = 0xFFFF


def internet_sum(data: bytes, start: int = 0) -> int:
    """The 16-bit one's complement sum of ``data``, an odd last byte counting as the high one."""
    if len(data) % 2:
        data += b"\0"
    # The sum of the words is the number that they make together, modulo 0xFFFF, which is not 0 unless all words are.
    total = int.from_bytes(data, "big") + start
    return (total - 1) % _ONES + 1 if total else 0


def carried(
    old: bytes, new: bytes, at: int, old_pseudo: bytes = b"", new_pseudo: bytes = b"", whole: bool = True
) -> int:
    """The checksum for ``new``, which was ``old``; the field is at ``at`` in both.

    The pseudo headers are summed, too. Where not the ``whole`` was captured the old one counts as right.
    """
    told = int.from_bytes(old[at : at + 2], "big")
    if told == 0:
        return 0
    right = _right(new, at, new_pseudo)
    if not whole or told == _right(old, at, old_pseudo) or (told == _ONES and _right(old, at, old_pseudo) == 0):
        return right or _ONES
    if old_pseudo and told == internet_sum(old_pseudo):
        return internet_sum(new_pseudo)  # an offloading card was to add the rest
    wrong = right ^ 0x5555
    return wrong or 1


def _right(data: bytes, at: int, pseudo: bytes) -> int:
    return internet_sum(data[:at] + b"\0\0" + data[at + 2 :], internet_sum(pseudo)) ^ _ONES
