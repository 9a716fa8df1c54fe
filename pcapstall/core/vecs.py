"""Very long arrays of 64-bit numbers, made at once.

Compiled: to append one number after the other takes six times as long as to write into an array that is long enough.
What the numbers are is not known here.
"""

from librt.vecs import append, extend, vec
from mypy_extensions import i64


def lengthened(values: vec[i64], count: i64) -> vec[i64]:
    """``values`` and ``count`` more, which are to be written yet: what stands there does not matter. Nobody else may
    hold ``values``."""
    if count <= 0:
        return values
    end: i64 = len(values) + count
    values = append(values, 0)
    while len(values) < end:
        left: i64 = end - len(values)
        if left < len(values):
            values = extend(values, values[:left])
        else:
            values = extend(values, values)
    return values
