"""What a forked process writes its results upon: memory that both have, with large pieces as they lie in its own.

Who writes, and what, is not known here.
"""

import mmap
import os
import pickle
import struct
from typing import Any


class Paper:
    """What `pickle` writes upon: large pieces come here as they are."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, told: bytes | memoryview) -> None:
        """All of it."""
        view = memoryview(told)
        while view:
            view = view[os.write(self._fd, view) :]

    def clear(self) -> None:
        """Nothing was written."""
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)


def tell(thing: object, paper: Paper) -> None:
    """Write ``thing`` for `heard`: large pieces of memory (`pickle.PickleBuffer`) as they are, behind all others."""
    buffers: list[pickle.PickleBuffer] = []
    pickle.dump(thing, paper, pickle.HIGHEST_PROTOCOL, buffer_callback=buffers.append)
    pieces = [buffer.raw() for buffer in buffers]
    for piece in pieces:
        paper.write(piece)
    paper.write(struct.pack(f"={len(pieces) + 1}q", *map(len, pieces), len(pieces)))


def heard(said: mmap.mmap) -> Any:
    """What `tell` was told; nothing of ``said`` is needed any more."""
    (count,) = struct.unpack_from("=q", said, len(said) - 8)
    end = len(said) - 8 * (count + 1)
    lens = struct.unpack_from(f"={count}q", said, end)
    pieces = []
    with memoryview(said) as everything:
        begin = end - sum(lens)
        for size in lens:
            pieces.append(everything[begin : begin + size])
            begin += size
        try:
            return pickle.loads(everything, buffers=pieces)
        finally:
            for piece in pieces:
                piece.release()
