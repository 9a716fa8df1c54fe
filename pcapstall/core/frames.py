"""A frame's name: which file, which frame of it, in one 64-bit number.

Frame numbers are Wireshark's (the first record of a file is 1), so 0 is free to mean "not seen". Files are counted
from 0 in the order in which the report lists them.
"""

from collections.abc import Iterable
from typing import Final

from mypy_extensions import i64

_FILE_SHIFT: Final = 40
_FRAME_MASK: Final = (1 << 40) - 1


def frame_ref(file_index: i64, frame: i64) -> i64:
    """Name frame ``frame`` (from 1) of file ``file_index`` (from 0)."""
    return (file_index << _FILE_SHIFT) | frame


def file_of(ref: i64) -> i64:
    """The file index in ``ref``."""
    return ref >> _FILE_SHIFT


def frame_of(ref: i64) -> i64:
    """The frame number in ``ref``."""
    return ref & _FRAME_MASK


def frames_by_file(refs: Iterable[int]) -> dict[int, list[int]]:
    """The frame numbers in ``refs`` by file index, each once, in the order in which they come."""
    found: dict[int, list[int]] = {}
    for ref in refs:
        numbers = found.setdefault(file_of(ref), [])
        if frame_of(ref) not in numbers:
            numbers.append(frame_of(ref))
    return found
