"""Numbers in the text of a strace: counts, times, descriptors, errors, in the two bases that strace prints them in.

A hostile number never reaches 2**63: the longest are cut, which no real one needs. Nothing here knows what is counted.
"""

from typing import Final

from librt.strings import read_i64_le
from mypy_extensions import i64

_MINUS: Final = 45
_LOWER: Final = 32
_MAX_DIGITS: Final = 18
"""More decimal digits than this are not read."""
_ZEROS: Final = 0x3030_3030_3030
"""The text of six zeros; the other digits differ from it in the lower half of each byte."""
_SIXES: Final = 0x0606_0606_0606
_HIGH_HALVES: Final = 0xF0F0_F0F0_F0F0


def skip_digits(buf: bytes, at: i64, end: i64) -> i64:
    """Past the decimal digits at ``at``."""
    while at < end:
        character: i64 = buf[at]
        if character < 48 or character > 57:
            break
        at += 1
    return at


def read_decimal(buf: bytes, at: i64, end: i64) -> i64:
    """The decimal digits at ``at`` as a number, the first 18 of them; 0 when there are none."""
    value: i64 = 0
    if end > at + _MAX_DIGITS:
        end = at + _MAX_DIGITS
    while at < end:
        character: i64 = buf[at]
        if character < 48 or character > 57:
            break
        value = value * 10 + (character - 48)
        at += 1
    return value


def read_fraction_ns(buf: bytes, at: i64, end: i64) -> i64:
    """The decimals of a second at ``at``, the first nine, in nanoseconds."""
    value: i64 = 0
    digits: i64 = 0
    while digits < 9:
        character: i64 = 0
        if at < end:
            character = i64(buf[at]) - 48
            if character < 0 or character > 9:
                character = 0
                end = at
        value = value * 10 + character
        at += 1
        digits += 1
    return value


def six_digits(buf: bytes, at: i64) -> i64:
    """The number of six digits at ``at``, before which two more characters stand; negative when they are not digits."""
    # All eight are read at once, the first in the lowest bits, and the digits are added up in pairs.
    word: i64 = read_i64_le(buf, at - 2) >> 16
    if word & _HIGH_HALVES != _ZEROS or (word + _SIXES) & _HIGH_HALVES != _ZEROS:
        return -1
    word -= _ZEROS
    word = (word * 10 + (word >> 8)) & 0x00FF_00FF_00FF
    return (word & 0xFF) * 10_000 + (word >> 16 & 0xFF) * 100 + (word >> 32)


def read_number(buf: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """A number as strace prints it (``16``, ``-1``, ``0x1f``) and the offset after it: ``at`` if none is there.

    Numbers beyond 62 bits are cut to their last 62: none of those is a descriptor, a count or an errno.
    """
    start: i64 = at
    negative = at < end and buf[at] == _MINUS
    if negative:
        at += 1
    value: i64 = 0
    if at + 2 < end and buf[at] == 48 and (buf[at + 1] | _LOWER) == 120:
        at += 2
        first: i64 = at
        while at < end:
            digit: i64 = hex_value(buf[at])
            if digit < 0:
                break
            value = ((value & 0x03FF_FFFF_FFFF_FFFF) << 4) | digit
            at += 1
        if at == first:
            at -= 1  # "0x" and no digit: a zero before an x
    else:
        first = at
        while at < end:
            character: i64 = buf[at]
            if character < 48 or character > 57:
                break
            value = (value * 10 + (character - 48)) & 0x03FF_FFFF_FFFF_FFFF
            at += 1
        if at == first:
            return 0, start
    if negative:
        value = -value
    return value, at


def hex_value(character: i64) -> i64:
    """The value of a hexadecimal digit, -1 for anything else."""
    if 48 <= character <= 57:
        return character - 48
    character |= _LOWER
    if 97 <= character <= 102:
        return character - 87
    return -1
